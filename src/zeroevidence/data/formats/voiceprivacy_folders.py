"""Results of the VoicePrivacy Challenges: score folders, and what a kit collects from them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.data.files import error_reason, unreadable_reason
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile, uncompressed_name
from zeroevidence.data.threat import UNPROTECTED, ThreatModel, Training, threat_from_sides
from zeroevidence.errors import InputError, Problem

_DEPTH = 6
_SKIPPED = {"data", "wav", "corpora", "venv", "node_modules", "emb_xvect"}
_FOLDER = re.compile(
    r"(?P<asv>ASV-)?(?P<set>(?P<dataset>.+)_(?P<split>[^_-]+))_enrolls(?P<enrolment>(?:_.*?)?)"
    r"-(?P<trials>(?P=set)_trials(?:_(?P<sex>f|m|mixed)(?=_|$))?(?:_(?P<part>common|all)(?=_|$))?)(?P<suffix>(?:_.*)?)"
)
_ANONYMISED = re.compile(r"asv_anon(?:_track[0-9]+_[0-9]+_[a-z]{2}(?=_|$))?(?P<suffix>.*)")
_TRAINED = re.compile(r"(?P<before>.*)\.(?P<trained>orig|anon)(?:_(?P<system>.+))?")
_TITLE = re.compile(r"RESULTS_(?:summary_)?|_summary$")
_KIT_FILE = "results.txt"  # as the kits call it in the folder of a run
_LAYOUTS = "results-*/ASV-<enrolls>-<trials>/scores or asv_*/<enrolls>-<trials>/scores"


@dataclass(frozen=True, slots=True)
class KitScores:
    """A score file of a kit.

    Parameters
    ----------
    scores
        The file.
    key
        Its key.
    labels
        System, data set, split and sex, from the names of folders.
    threat
        The attacker, from the names of folders.
    speakers
        ``utt2spk`` beside the key, None where there is none.
    """

    scores: Path
    key: Path
    labels: dict[str, str]
    threat: ThreatModel
    speakers: Path | None


def find_kit_scores(folder: str | Path, *, key: str | Path | None = None) -> list[KitScores]:
    r"""Return the score files under a folder: a project, its ``exp``, one results folder, or one scores folder.

    Parameters
    ----------
    folder
        Where to look.
    key
        The ``data`` folder (or one key file for all); otherwise ``data`` is looked for upwards.

    Raises
    ------
    InputError
        When nothing is recognised, or a key is missing.

    Examples
    --------
    >>> import tempfile
    >>> project = Path(tempfile.mkdtemp())
    >>> scores = project / "exp" / "asv_orig" / "libri_dev_enrolls-libri_dev_trials_f" / "scores"
    >>> key = project / "data" / "libri_dev_trials_f" / "trials"
    >>> for file, text in ((scores, "ada u1 2.1\n"), (key, "ada u1 target\n")):
    ...     file.parent.mkdir(parents=True)
    ...     _ = file.write_text(text)
    >>> [(row.scores == scores, row.key == key) for row in find_kit_scores(project)]
    [(True, True)]
    """
    root = Path(folder)
    reason = unreadable_reason(root, folder=True)
    if reason:
        raise InputError(f"{reason}; expected VoicePrivacy results", path=folder)
    files = recognise_scores(kit_files(root), key)
    if not files:
        raise InputError(f"no VoicePrivacy results found; expected {_LAYOUTS}", path=folder)
    return files


def recognise_scores(files: Iterable[Path], key: str | Path | None = None) -> list[KitScores]:
    """Return those of these files that are scores of a kit, in the order of their names.

    Raises
    ------
    InputError
        When a key is missing.
    """
    recognised: list[KitScores] = []
    problems: list[Problem] = []
    for scores in sorted(file for file in files if file.name == "scores"):
        result = _recognise(scores, key)
        if isinstance(result, KitScores):
            recognised.append(result)
        elif result is not None:
            problems.append(result)
    if problems:
        raise InputError.of(problems)
    return recognised


def set_labels(dataset: str, split: str, sex: str | None, part: str | None) -> dict[str, str]:
    """Return the labels of a data set; a part such as "common" belongs to its name."""
    labels = {"dataset": f"{dataset}_{part}" if part else dataset, "split": split}
    return labels | ({"sex": sex} if sex else {})


def kit_files(folder: Path, depth: int = _DEPTH, visited: set[Path] | None = None) -> Iterator[Path]:
    """Yield the files of a kit except its data, following links but never twice into the same folder."""
    visited = set() if visited is None else visited
    real = folder.resolve()
    if real in visited:
        return
    visited.add(real)
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise InputError(f"cannot be read: {error_reason(error)}", path=folder) from None
    for entry in entries:
        if entry.is_file():
            yield entry
        elif depth and entry.is_dir() and entry.name not in _SKIPPED and not entry.name.startswith("."):
            yield from kit_files(entry, depth - 1, visited)


def _recognise(scores: Path, key: str | Path | None) -> KitScores | Problem | None:
    """Return one score file with its key, or its problem; None when its folder is no VoicePrivacy result."""
    parts = scores.absolute().parent
    match = _FOLDER.fullmatch(parts.name)
    model = _model(parts, old=match["asv"] is not None) if match else None
    if match is None or model is None:
        return None
    enrolment, trial = (_side(match[side]) for side in ("enrolment", "suffix"))
    system, training = model
    threat = threat_from_sides(enrolment, trial, training)
    if not match["asv"]:
        # In 2024 and later the suffix names the system; original speech belongs to none.
        system = (match["suffix"] or match["enrolment"] or system).removeprefix("_") or UNPROTECTED
    labels = _labels(system, match)
    names = [match["trials"] + match["suffix"], match["trials"]]
    candidates = data_files(scores, key, list(dict.fromkeys(names)), "trials")
    if key is not None:
        candidates = [*candidates, Path(key) / "trials"] if Path(key).is_dir() else [Path(key)]
    for file in candidates:
        if file.is_file():
            speakers = file.parent / "utt2spk"
            return KitScores(scores, file, labels, threat, speakers if speakers.is_file() else None)
    searched = ", ".join(str(file.parent) for file in candidates)
    return Problem(str(scores), None, f"its key is missing; expected a file named trials in one of {searched}")


def _labels(system: str, match: re.Match[str]) -> dict[str, str]:
    """Return the labels of a comparison, in their usual order."""
    return {"system": system, **set_labels(*match.group("dataset", "split", "sex", "part"))}


def _side(suffix: str | None) -> Training:
    return "anonymised" if suffix else "original"


def results_name(path: Path) -> tuple[str, Training | None]:
    """Return the system of a results folder or file of 2020 or 2022, and what its attacker was trained on.

    ``.orig`` or ``.anon`` in the name says so, and a folder without either beside that of ``.orig``, as the kit writes
    them. Nothing else does.

    Examples
    --------
    >>> results_name(Path("results.orig_mcadams")), results_name(Path("RESULTS_mcadams"))
    (('mcadams', 'original'), ('mcadams', None))
    """
    match = _TRAINED.fullmatch(path.name)
    if match is not None:
        return match["system"] or match["before"], "original" if match["trained"] == "orig" else "anonymised"
    beside = path.with_name(f"{path.name}.orig").is_dir()
    return _TITLE.sub("", path.name) or path.name, "anonymised" if beside else None


def _model(folder: Path, *, old: bool) -> tuple[str, Training | None] | None:
    """Return the system, as far as the folders above name it, and what the attacker was trained on."""
    if old:
        return results_name(folder.parent)
    for above in list(folder.parents)[:2]:
        if trained := _ANONYMISED.fullmatch(above.name):
            return trained["suffix"], "anonymised"
        if above.name.startswith("asv"):
            return "", "original"
    return None


def data_files(result: Path, key: str | Path | None, names: Sequence[str], file: str) -> list[Path]:
    """Return where the file of a data set may be that a result is of, best first."""
    homes = [Path(key), Path(key) / "data"] if key is not None else [up / "data" for up in result.absolute().parents]
    return [home / name / file for home in homes for name in names]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One line of a published table.

    Parameters
    ----------
    labels
        System, dataset, split and sex, where they are given; ``emotion`` where the line is about one.
    measures
        Its values, rates as fractions: ``eer``, ``wer``, ``uar``, or ``recall`` of one emotion; of 2020 and 2022 more.
    threat
        The attacker of an equal error rate.
    speech
        Whether the utility is that of original or of anonymised speech.
    line
        Its line.
    """

    labels: dict[str, str]
    measures: Mapping[str, float]
    threat: ThreatModel | None
    speech: Training | None
    line: int


_NAME = re.compile(r"(?:ASV|ASR)-\S+(?: +(?:EER:|%WER) .*)?")
_OF_SET = re.compile(
    r"(?P<dataset>[^_ ]+)_(?P<split>[^_ ]+)_trials_(?P<sex>f|m)(?:_(?P<part>common))? +"
    r"(?:Pitch_correlation: mean=(?P<pitch_correlation>\S+) std=\S+"
    r"|Gain of voice distinctiveness ?: (?P<voice_distinctiveness_gain>\S+))"
)
_SET = re.compile(r"ASR-(?P<dataset>.+)_(?P<split>[^_-]+)_asr(?P<suffix>(?:_.*)?)")
_NUMBER = r"([0-9.eE+-]+)"
# Patterns, and for each number the measure and its unit.
_ASV = (
    (re.compile(rf"EER: {_NUMBER}%?"), (("eer", 100.0),)),
    (re.compile(rf"Cllr \(min/act\): {_NUMBER}[/ ]{_NUMBER}"), (("cllr_min", 1.0), ("cllr", 1.0))),
    (re.compile(rf"ROCCH-EER: {_NUMBER}%"), (("eer_rocch", 100.0),)),
    (re.compile(rf"linkability: {_NUMBER}"), (("linkability", 1.0),)),
    (re.compile(rf"Population: {_NUMBER} bit"), (("d_ece", 1.0),)),
    (re.compile(rf"Individual: {_NUMBER} \(\w+\)"), (("worst_case", 1.0),)),
)
_WER = re.compile(
    r"%WER [0-9.]+ \[ (?P<errors>[0-9]+) / (?P<words>[0-9]+), (?P<ins>[0-9]+) ins, (?P<del>[0-9]+) del, "
    r"(?P<sub>[0-9]+) sub \](?: (?P<file>\S+))?"
)
_GLUED = re.compile(r"(?<=\d)(?=linkability)")  # a line end that sidekit's script leaves out
_KINDS = {"wer": "errors", "wer_insertions": "ins", "wer_deletions": "del", "wer_substitutions": "sub"}


def is_collected(line: str) -> bool:
    """Return whether a first line is that of such a file."""
    return _NAME.fullmatch(line.strip()) is not None


def collected_results(source: InputFile) -> Iterator[SummaryRow]:
    """Yield every result.

    Raises
    ------
    InputError
        When a line is none of those that the kits write.
    """
    place = source.path.resolve()
    results = place.parent if place.name == _KIT_FILE else place.with_name(uncompressed_name(place.name))
    name, start, measures = "", 0, dict[str, float]()
    for number, line in text.strict_lines(source):
        content = " ".join(line.split())
        if content and not line.startswith((" ", "\t")):
            if measures:
                yield _comparison(name, results, measures, start, source.name)
            if of_set := _OF_SET.fullmatch(content):
                yield _utility_of_set(of_set, results, number, source.name)
            name, start, measures = content, number, {}
            if content.startswith(("ASV-", "ASR-")):  # in a summary values stand on the same line
                name, _, content = content.partition(" ")
        if not content or content == name:
            continue
        if name.startswith("ASV-"):
            for part in _GLUED.sub("\n", content).split("\n"):
                measures |= _measures(part, source.name, number)
        elif name.startswith("ASR-"):
            yield _recognition(name, results, content, number, source.name)
    if measures:
        yield _comparison(name, results, measures, start, source.name)


def _utility_of_set(match: re.Match[str], results: Path, number: int, file: str) -> SummaryRow:
    """Return what a summary says of the pitch or of the distinctiveness of the voices of a set."""
    measure = next(name for name in ("pitch_correlation", "voice_distinctiveness_gain") if match[name] is not None)
    value = text.parse_score(match[measure])
    if isinstance(value, str):
        raise InputError(value, path=file, line=number)
    return SummaryRow(_labels(results_name(results)[0], match), {measure: value}, None, "anonymised", number)


def _measures(line: str, file: str, number: int) -> dict[str, float]:
    """Return the measures of one line; other lines are refused."""
    for pattern, measures in _ASV:
        if match := pattern.fullmatch(line):
            values = [text.parse_score(token) for token in match.groups()]
            if all(isinstance(value, float) for value in values):
                return {name: float(value) / unit for value, (name, unit) in zip(values, measures, strict=True)}
    expected = "EER, Cllr, ROCCH-EER, linkability, Population or Individual"
    raise InputError(f"{line!r}; expected {expected}", path=file, line=number)


def _comparison(name: str, results: Path, measures: dict[str, float], line: int, file: str) -> SummaryRow:
    match = _FOLDER.fullmatch(name)
    if match is None or match["asv"] is None:
        raise InputError(f"{name!r}; expected ASV-<enrolls>-<trials>", path=file, line=line)
    system, training = results_name(results)
    threat = threat_from_sides(_side(match["enrolment"]), _side(match["suffix"]), training)
    return SummaryRow(_labels(system, match), measures, threat, None, line)


def _recognition(name: str, results: Path, line: str, number: int, file: str) -> SummaryRow:
    where, match = _SET.fullmatch(name), _WER.fullmatch(line)
    if where is None or match is None or not int(match["words"]):
        raise InputError(f"{name}: {line!r}; expected a line of %WER", path=file, line=number)
    speech = _side(where["suffix"])
    system = UNPROTECTED if speech == "original" else results_name(results)[0]
    labels = {"system": system, "dataset": where["dataset"], "split": where["split"]}
    if match["file"]:  # a recogniser may have been tried with several language models
        labels["recogniser"] = Path(match["file"]).parent.name
    rates = {measure: int(match[kind]) / int(match["words"]) for measure, kind in _KINDS.items()}
    return SummaryRow(labels, rates, None, speech, number)
