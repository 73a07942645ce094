"""Readers of the files of a corpus: Kaldi data folders, a table, or a tree of folders.

Each reader gives rows with the line that they came from, and the problems of single lines. What concerns several rows
is checked in `read`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zeroevidence.data.audio import conversion_advice
from zeroevidence.data.corpus import SEGMENT_RATE, SUFFIXES, Utterance
from zeroevidence.data.files import is_file
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile, open_input, refuse_pickle
from zeroevidence.data.formats.lists import read_speakers, table_rows
from zeroevidence.data.json_values import shortened
from zeroevidence.data.printable import compose, file_name_text, merge_spellings
from zeroevidence.errors import InputError, Problem

_ROLES = {
    **dict.fromkeys(("enrol", "enroll", "enrolls", "enrols", "enrolment", "enrollment"), "enrol"),
    **dict.fromkeys(("trial", "trials"), "trial"),
    **dict.fromkeys(("train", "training"), "train"),
}
_SPLITS = {
    **dict.fromkeys(("dev", "development", "valid", "val"), "dev"),
    **dict.fromkeys(("eval", "evaluation", "test"), "eval"),
}
_SEX = {"f": "F", "female": "F", "m": "M", "male": "M"}
SAMPLES = re.compile("[0-9]{1,15}")  # a position in a file
_LONGEST_S = 1e9
_PLAIN_COMMAND = re.compile(r"(?:flac(?:\s+-[a-z-]+)*|cat)\s+(?P<file>\S+)\s*\|")


@dataclass(frozen=True, slots=True)
class UtteranceRow:
    """An utterance, the file that names it, and the line there (None for a tree of folders)."""

    utterance: Utterance
    name: str
    line: int | None

    def note(self, reason: str) -> Problem:
        """Return a problem, or a note, of its line."""
        return Problem(self.name, self.line, reason)

    def problem(self, reason: str) -> Problem:
        """Return a problem of its audio."""
        path = str(self.utterance.path)
        return Problem(path, None, reason) if self.line is None else self.note(f"{path}: {reason}")


@dataclass(slots=True)
class CorpusRows:
    """The rows of a corpus read so far, problems, notes that do not prevent an audit, and whether it lists trials."""

    root: Path
    rows: list[UtteranceRow] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    notes: list[Problem] = field(default_factory=list)
    trial_lists: bool = False
    spellings: set[str] = field(default_factory=set)


def read_files(path: str | Path) -> CorpusRows:
    """Return the rows of a corpus of any of the three kinds.

    Raises
    ------
    InputError
        When there is nothing of that kind, or a file cannot be opened.
    """
    place = Path(path)
    corpus = CorpusRows(place)
    if place.is_file() and place.suffix.lower() in SUFFIXES:
        raise InputError("is one recording; expected a folder speaker/utterance.wav, or a table", path=place)
    if not place.is_dir():
        source = open_input(path)
        corpus = CorpusRows(source.path.parent)
        read_table(source, corpus)
    elif (place / "wav.scp").is_file():
        read_kaldi(place, corpus)
    elif folders := sorted(file.parent for file in place.glob("*/wav.scp")):
        for folder in folders:
            read_kaldi(folder, corpus)
    elif (place / "utterances.tsv").is_file():
        read_table(open_input(place / "utterances.tsv"), corpus)
    else:
        read_tree(place, corpus)
    corpus.root = _common_folder(corpus)
    count, example = merge_spellings(corpus.spellings)
    if count:
        reason = f"{count} names are written in several ways that look alike, such as {example}; each is one"
        corpus.notes.append(Problem(str(path), None, reason))
    return corpus


def _common_folder(corpus: CorpusRows) -> Path:
    """Return the folder below which all files lie: that of the corpus where it holds them, else their deepest one."""
    place = corpus.root
    parents = {row.utterance.path.parent for row in corpus.rows}
    if not parents or all(parent.is_relative_to(place) for parent in parents):
        return place
    first, *rest = (parent.parts for parent in parents)
    depth = next((i for i, part in enumerate(first) if any(other[i : i + 1] != (part,) for other in rest)), len(first))
    return Path(*first[:depth]) if depth else place


def read_table(source: InputFile, corpus: CorpusRows) -> None:
    """Read a table with a header: utterance, speaker and path, and role, split, start, end, attributes."""
    refuse_pickle(source, "frame[['utterance', 'speaker', 'path']].to_csv('utterances.tsv', sep='\\t', index=False)")
    source.check_text("a table of utterances")
    problems = text.FileProblems(source.name)
    speakers = read_speaker_table(corpus.root / "speakers.tsv", corpus)
    for number, cells in table_rows(source, ("speaker", "path"), problems):
        role, split = cells.pop("role", "").lower(), cells.pop("split", "").lower()
        span = [cells.pop(name, "") for name in ("start", "end")]
        name, file = cells.pop("utterance", "") or Path(cells["path"]).stem, cells["path"]
        corpus.spellings |= {name, cells["speaker"]}
        speaker = compose(cells["speaker"])
        attributes = {key: value for key, value in cells.items() if key not in ("speaker", "path")}
        if not speaker or not file:
            problems.add(number, f"no {'path' if speaker else 'speaker'}; expected utterance, speaker and path")
        elif role and role not in _ROLES:
            problems.add(number, f"unknown role {role!r}; expected enrol, trial or train")
        elif split and split not in _SPLITS:
            problems.add(number, f"unknown split {split!r}; expected dev or eval")
        elif any(value and not SAMPLES.fullmatch(value) for value in span):
            problems.add(number, f"start {span[0]!r}, end {span[1]!r}; expected samples at 16 kHz")
        else:
            start, end = (int(value) if value else None for value in span)
            if end is not None and end <= (start or 0):
                problems.add(number, f"start {span[0]!r}, end {span[1]!r}; expected start < end")
                continue
            attributes = speakers.get(speaker, {}) | _normalise(attributes)
            audio = Path(os.path.normpath(corpus.root / file))
            utterance = Utterance(name, speaker, audio, _ROLES.get(role), _SPLITS.get(split), attributes, start, end)
            corpus.rows.append(UtteranceRow(utterance, source.name, number))
            sex = speakers.get(speaker, {}).get("sex")
            if sex and attributes.get("sex") and sex != attributes["sex"]:
                reason = f"speaker {speaker!r} has sex {attributes['sex']} here and {sex} in speakers.tsv"
                problems.add(number, f"{reason}; are they two speakers with one name?")
    corpus.problems += problems.all()


def read_speaker_table(path: Path, corpus: CorpusRows) -> dict[str, dict[str, str]]:
    """Return the attributes of the speakers of a table, where there is one."""
    if not path.is_file():
        return {}
    first: dict[str, tuple[dict[str, str], int]] = {}
    problems = text.FileProblems(str(path))
    for number, cells in table_rows(open_input(path), ("speaker",), problems):
        speaker = compose(cells.pop("speaker"))
        attributes = _normalise(cells)
        earlier, line = first.setdefault(speaker, (attributes, number))
        if earlier != attributes:
            reason = f"speaker {speaker!r} is described differently on line {line}"
            problems.add(number, f"{reason}; are they two speakers with one name?")
    corpus.problems += problems.all()
    return {speaker: attributes for speaker, (attributes, _) in first.items()}


def _normalise(attributes: dict[str, str]) -> dict[str, str]:
    """Return attributes under one name each: gender is sex, f and female are F."""
    sex = attributes.pop("gender", "")
    if sex:
        attributes.setdefault("sex", sex)
    if "sex" in attributes:
        attributes["sex"] = _SEX.get(attributes["sex"].lower(), attributes["sex"])
    return attributes


def read_kaldi(folder: Path, corpus: CorpusRows) -> None:
    """Read a Kaldi data folder: wav.scp and utt2spk, perhaps spk2gender, segments, enrolls and trials."""
    if not (folder / "utt2spk").is_file():
        corpus.problems.append(Problem(str(folder), None, "no utt2spk; expected one beside wav.scp"))
        return
    listing, of_listing = read_speakers(open_input(folder / "utt2spk"))
    corpus.problems += of_listing
    speakers = listing.speakers
    corpus.spellings |= listing.spellings
    sexes = _read_sexes(folder / "spk2gender", corpus)
    recordings = scp_files(folder, corpus)
    spans = _kaldi_segments(folder / "segments", corpus)
    lists = _trial_lists(folder, corpus)
    role, split = _role_and_split(folder.name)
    listed = {name for names in lists.values() for name in names}
    unlisted = 0
    entries = spans or {name: (line, name, None, None) for name, (line, _) in recordings.items()}
    source = str(folder / ("segments" if spans else "wav.scp"))
    problems = text.FileProblems(source)
    for name, (line, recording, start, end) in entries.items():
        if lists and name not in listed:
            unlisted += 1
        elif name not in speakers:
            problems.add(line, f"no speaker for utterance {name!r} in utt2spk; expected a line for every utterance")
        elif recording not in recordings:
            problems.add(line, f"no recording {recording!r} in wav.scp; expected a line for every recording")
        else:
            sex = sexes.get(speakers[name], "")
            attributes = _normalise({"sex": sex}) if sex else {}
            roles: list[str | None] = [kind for kind, names in lists.items() if name in names] or [role]
            if len(roles) > 1:
                problems.add(line, f"{name!r} is in enrolls and in trials; expected one of them")
            audio = recordings[recording][1]
            utterance = Utterance(name, speakers[name], audio, roles[0], split, attributes, start, end)
            corpus.rows.append(UtteranceRow(utterance, source, line))
    corpus.problems += problems.all()
    for kind, names in lists.items():
        for name in [name for name in names if name not in entries]:
            reason = f"{kind} utterance {name!r} is not in {Path(source).name}; expected its audio"
            corpus.problems.append(Problem(str(folder), None, reason))
    if unlisted:
        corpus.notes.append(Problem(source, None, f"{unlisted} utterances are in neither enrolls nor trials; left out"))


def _role_and_split(name: str) -> tuple[str | None, str | None]:
    """Return role and split as far as the name of a folder has them."""
    parts = re.split(r"[^a-z]+", name.lower())
    role = next((_ROLES[word] for word in parts if word in _ROLES), None)
    split = next((_SPLITS[word] for word in parts if word in _SPLITS), None)
    return role, None if role == "train" else split


def _read_sexes(path: Path, corpus: CorpusRows) -> dict[str, str]:
    """Return the sex of each speaker of spk2gender, where there is such a file."""
    if not path.is_file():
        return {}
    problems = text.FileProblems(str(path))
    sexes: dict[str, str] = {}
    for number, speaker, sex in text.two_columns(open_input(path), problems, "speaker f|m"):
        if sexes.setdefault(speaker, sex) != sex:
            problems.add(number, f"speaker {speaker!r} is {sex} here and {sexes[speaker]} above; two with one name?")
    corpus.problems += problems.all()
    return sexes


def scp_files(folder: Path, corpus: CorpusRows) -> dict[str, tuple[int, Path]]:
    """Return line and file of each recording of wav.scp."""
    problems = text.FileProblems(str(folder / "wav.scp"))
    recordings: dict[str, tuple[int, Path]] = {}
    for number, line in _lines(folder / "wav.scp", problems):
        name, _, rest = line.replace("\t", " ").partition(" ")
        name, file = compose(name), rest.strip()
        command = _PLAIN_COMMAND.fullmatch(file)
        if command:
            file = command["file"]
        if not file:
            problems.add(number, "1 column(s); expected 2: utterance file")
        elif file.endswith("|"):
            problems.add(number, f"{name!r} is the output of a command, which is not run; expected an audio file")
        elif name in recordings:
            problems.add(number, f"{name!r} occurs twice (line {recordings[name][0]}); expected once")
        else:
            recordings[name] = number, _find_audio(folder, file)
    corpus.problems += problems.all()
    return recordings


def _find_audio(folder: Path, file: str) -> Path:
    """Return a path of wav.scp: as written, or below the data folder or one of those above it."""
    for home in (folder, *list(folder.absolute().parents)[:3]):
        if is_file(home / file):
            return Path(os.path.normpath(home / file))
    return Path(file)


def _kaldi_segments(path: Path, corpus: CorpusRows) -> dict[str, tuple[int, str, int | None, int | None]]:
    """Return line, recording, start and end of each utterance of a segments file, whose times are in seconds."""
    if not path.is_file():
        return {}
    problems = text.FileProblems(str(path))
    spans: dict[str, tuple[int, str, int | None, int | None]] = {}
    for number, line in _lines(path, problems):
        cells = compose(line).split()
        times = [text.parse_score(cell) for cell in cells[2:]]
        if len(cells) != 4 or not all(isinstance(time, float) and abs(time) < _LONGEST_S for time in times):
            problems.add(number, f"{shortened(line)!r}; expected utterance recording start end")
            continue
        start, end = (round(float(time) * SEGMENT_RATE) for time in times)
        if start < 0 or (end <= start and times[1] != -1.0):
            problems.add(number, f"from {cells[2]} to {cells[3]} seconds; expected 0 <= start < end")
        elif cells[0] in spans:
            problems.add(number, f"{cells[0]!r} occurs twice (line {spans[cells[0]][0]}); expected once")
        else:
            spans[cells[0]] = number, cells[1], start, end if end > start else None
    corpus.problems += problems.all()
    return spans


def _trial_lists(folder: Path, corpus: CorpusRows) -> dict[str, list[str]]:
    """Return the utterances that enrolls and trials name, by role."""
    lists: dict[str, list[str]] = {}
    for file, role, column in (("enrolls", "enrol", 0), ("trials", "trial", 1)):
        if not (folder / file).is_file():
            continue
        problems = text.FileProblems(str(folder / file))
        names: dict[str, None] = {}
        for number, line in _lines(folder / file, problems):
            cells = compose(line).split()
            if len(cells) <= column:
                problems.add(number, f"{len(cells)} column(s); expected speaker utterance target|nontarget")
            else:
                names[cells[column]] = None
        corpus.problems += problems.all()
        corpus.trial_lists |= role == "trial"
        lists[role] = list(names)
    return lists


def _lines(path: Path, problems: text.FileProblems) -> Iterator[tuple[int, str]]:
    return ((number, line.strip(" \t")) for number, line in text.full_lines(open_input(path).read(), problems))


def _files_below(folder: Path, corpus: CorpusRows, above: tuple[Path, ...]) -> Iterator[Path]:
    """Yield all files below a folder, through links too; a link back to a folder above it is a problem."""
    for entry in folder.iterdir():
        if not entry.is_dir():
            yield entry
            continue
        real = entry.resolve()
        if real in above:
            reason = f"is a link back to {real.name or real}, which it is in; expected folders of speakers"
            corpus.problems.append(Problem(str(entry), None, reason))
        else:
            yield from _files_below(entry, corpus, (*above, real))


def read_tree(folder: Path, corpus: CorpusRows) -> None:
    """Read folders of speakers with audio files in them, at any depth; speakers.tsv beside them has attributes."""
    all_files = sorted(_files_below(folder, corpus, (folder.resolve(),)))
    files = [file for file in all_files if file.suffix.lower() in SUFFIXES]
    corpus.problems += [Problem(str(file), None, reason) for file in all_files if (reason := conversion_advice(file))]
    loose = [file for file in files if file.parent == folder]
    if len(loose) == len(files) and not corpus.problems:
        reason = "audio files without a speaker's folder" if loose else "no audio"
        raise InputError(f"{reason}; expected wav.scp, a table of utterances, or speaker/utterance.wav", path=folder)
    corpus.problems += [Problem(str(file), None, "no speaker; expected speaker/utterance.wav") for file in loose]
    speakers = read_speaker_table(folder / "speakers.tsv", corpus)
    below = [file.relative_to(folder) for file in files if file.parent != folder]
    unique = len({compose(file.stem) for file in below}) == len(below)
    for file in below:
        name = file_name_text(file.stem if unique else file.with_suffix("").as_posix())
        corpus.spellings |= {name, file_name_text(file.parts[0])}
        speaker = compose(file_name_text(file.parts[0]))
        utterance = Utterance(name, speaker, folder / file, attributes=speakers.get(speaker, {}))
        corpus.rows.append(UtteranceRow(utterance, str(folder), None))
    for name in sorted({row.utterance.speaker for row in corpus.rows} - set(speakers)) if speakers else []:
        corpus.notes.append(Problem(str(folder / "speakers.tsv"), None, f"speaker {name!r} is not described"))
