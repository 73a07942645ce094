"""Score files with their keys, and their evaluation."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import get_args

from zeroevidence.data.files import is_folder, naming_file
from zeroevidence.data.formats.input_file import uncompressed_name
from zeroevidence.data.formats.scores.read import diagnose, diagnose_lists, is_score_list, read_score_lists, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.formats.voiceprivacy_folders import find_kit_scores
from zeroevidence.data.loaded_scores import LoadedScores, pool_groups
from zeroevidence.data.preparing import check_direction
from zeroevidence.data.printable import file_name_text
from zeroevidence.data.scores import Scores
from zeroevidence.data.threat import Training
from zeroevidence.errors import InputError, Problem, UsageError
from zeroevidence.evaluation.curves import add_similarity
from zeroevidence.evaluation.finding.beside import flag_rows
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.score_checks import sex_flags
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.parallel import compute_in_copies
from zeroevidence.run import Each, Run, setting

_ONCE = "once for all SCORES, or once for each"
LABELS = ("system", "dataset", "split", "sex", "enrolment", "trial", "attacker")


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """A score file, its key, and what is known about it.

    Parameters
    ----------
    scores
        Path of the scores; "-" is standard input.
    key
        Path of the key.
    speakers
        Path of the list of speakers.
    labels
        Labels of the row.
    about
        What the row is about.
    dev
        The file of other speakers that the search and single scores are calibrated on.
    calibrate
        The file of other speakers that single scores are calibrated on instead.
    source
        What was named to find it: itself, or the folder that it is in.
    parts
        Files whose scores are pooled; then `scores` names them for people.
    pooled
        The label that pooled files differ by.
    nontargets
        Path of the scores of non-targets, where `scores` are those of targets alone, one number a line.
    """

    scores: str
    key: str | None = None
    speakers: str | None = None
    labels: dict[str, str] = field(default_factory=dict)
    about: About = field(default_factory=About)
    dev: ScoreFile | None = None
    calibrate: ScoreFile | None = None
    source: str = ""
    parts: tuple[ScoreFile, ...] = ()
    pooled: str = ""
    nontargets: str | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it is read from, with those of other speakers."""
        given = (self.scores, self.key, self.speakers, self.nontargets) if not self.parts else ()
        others = (*self.parts, *(other for other in (self.dev, self.calibrate) if other is not None))
        return (*(path for path in given if path is not None), *(path for other in others for path in other.paths))

    def read(self, options: ReadingOptions = ReadingOptions()) -> LoadedScores:
        """Return the scores, pooled where these are several files; distances are refused."""
        if self.parts:
            return pool_groups([part.read(options) for part in self.parts], self.pooled)
        every_pair = replace(options, speakers=self.speakers, sessions=None)
        if self.nontargets is not None:
            loaded = read_score_lists(self.scores, self.nontargets, every_pair)
        else:
            loaded = read_scores(self.scores, self.key, every_pair)
        check_direction(loaded.data, self.scores)
        return ReadingOptions(sessions=options.sessions).applied(loaded)

    def evaluate(
        self,
        loaded: LoadedScores,
        reading: ReadingOptions,
        options: Options,
        run: Run,
        *,
        prior: dict[str, float] | None = None,
        resampled: Collection[str] | None = None,
    ) -> Evaluation:
        """The row of the scores that were read from it, with those of other speakers; see `evaluate`."""
        others = [None if other is None else other.read(reading) for other in (self.dev, self.calibrate)]
        names = [file.scores for file in (self, self.dev, self.calibrate) if file is not None]
        with naming_file(" and ".join(names)):
            row = evaluate(
                loaded,
                dev=others[0],
                calibrate=others[1],
                prior=prior,
                labels=self.labels,
                about=self.about,
                options=options,
                run=run,
                resampled=resampled,
            )
        return row if self.dev is None else row.with_flags(*sex_flags(self.labels, self.dev.labels))

    def problems(self, options: ReadingOptions = ReadingOptions()) -> list[Problem]:
        """Return everything that is wrong with the file."""
        if self.parts:
            return [problem for part in self.parts for problem in part.problems(options)]
        if self.nontargets is not None:
            problems = diagnose_lists(self.scores, self.nontargets, options)
        else:
            problems = diagnose(self.scores, self.key, replace(options, speakers=self.speakers))
        if problems or "-" in (self.scores, self.key, self.speakers):  # which can be read once
            return problems
        try:
            self.read(options)
        except InputError as error:
            return [error.problem]
        return []


def parse_label(text: str) -> tuple[str, str]:
    """Return name and value of a label.

    Examples
    --------
    >>> parse_label("attacker=oa")
    ('attacker', 'oa')
    >>> parse_label("speaker=ann")
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: label 'speaker=ann': expected NAME=VALUE with NAME one of system, dataset, split, \
sex, enrolment, trial, attacker
    """
    name, _, value = text.partition("=")
    if name not in LABELS or not value:
        raise UsageError(f"label {text!r}: expected NAME=VALUE with NAME one of {', '.join(LABELS)}")
    if name in ("enrolment", "trial") and value not in get_args(Training):
        raise UsageError(f"label {text!r}: expected {' or '.join(get_args(Training))}")
    return name, value


@dataclass(frozen=True, slots=True)
class ScorePaths:
    """Score files, and folders of them, with their keys.

    Parameters
    ----------
    scores
        Score files, and folders of them.
    keys
        One key for all files, or one for each.
    speakers
        Who speaks, where the key does not say.
    systems
        A name for each, also of `targets`; made of the file names unless given.
    dev
        Development files, one for all or one for each.
    dev_keys
        Keys of the development files.
    calibrate
        Files to calibrate on, one for all or one for each.
    calibrate_keys
        Keys of the files to calibrate on.
    targets
        Lists of the scores of targets, one number a line.
    nontargets
        A list of the scores of non-targets for each of `targets`.
    labels
        Names and values of labels; one value of a name for all, or one for each, also of `targets`.
    """

    scores: Sequence[str] = setting((), "", argument=True, metavar="[SCORES]...")
    keys: Sequence[str] = setting(
        (), f"File with the labels of the trials; may be a Kaldi data folder; {_ONCE}.", spelling="--key", metavar="KEY"
    )
    speakers: str | None = setting(
        None,
        "Speaker of each utterance, where the data do not name it: lines of `utterance speaker` (Kaldi utt2spk).",
        metavar="FILE",
    )
    systems: Sequence[str] = setting(
        (),
        "Name of the system in the results; one for each of SCORES [default: from the file names].",
        spelling="--system",
        metavar="NAME",
    )
    dev: Sequence[str] = setting((), f"Scores of other people, to calibrate on; {_ONCE}.", metavar="SCORES")
    dev_keys: Sequence[str] = setting((), "Key of --dev, like --key.", spelling="--dev-key", metavar="KEY")
    calibrate: Sequence[str] = setting(
        (), f"Scores of other people, to calibrate single scores on, but no search; {_ONCE}.", metavar="SCORES"
    )
    calibrate_keys: Sequence[str] = setting(
        (), "Key of --calibrate, like --key.", spelling="--calibrate-key", metavar="KEY"
    )
    targets: Sequence[str] = setting(
        (), "Scores of targets alone, one number a line; with --nontargets, instead of SCORES.", metavar="FILE"
    )
    nontargets: Sequence[str] = setting(
        (), "Scores of nontargets alone, one number a line; once for each --targets.", metavar="FILE"
    )
    labels: Sequence[tuple[str, str]] = setting(
        (),
        f"What the scores are of, such as attacker=oa; {_ONCE}; NAME is {', '.join(LABELS[:-1])} or {LABELS[-1]}.",
        spelling="--label",
        metavar="NAME=VALUE",
        parse=lambda texts: tuple(map(parse_label, texts)),
    )


def score_files(paths: ScorePaths) -> list[ScoreFile]:
    """Score files with their keys; folders are opened up into theirs.

    A folder is the result folder of a VoicePrivacy challenge.
    """
    scores, keys, systems = paths.scores, paths.keys, paths.systems
    targets, nontargets = paths.targets, paths.nontargets
    if len(targets) != len(nontargets):
        raise UsageError(
            f"{len(targets)} lists of targets and {len(nontargets)} of non-targets; expected --nontargets for each "
            "--targets"
        )
    if keys and not scores:
        raise UsageError("--key goes with SCORES; lists of targets and non-targets need none")
    systems_wanted = len(scores) + len(targets)
    if systems and len(systems) != systems_wanted:
        raise UsageError(f"expected one name for each of the {systems_wanted} systems, got {len(systems)}")
    if len(scores) == 2 and not keys and all(map(is_score_list, scores)):
        raise UsageError(
            f"{scores[0]} and {scores[1]} hold one number a line, without labels; expected --targets and --nontargets "
            "to say which of them are the scores of targets"
        )
    labels = _labels_of_each(paths, systems_wanted)
    files = _resolved(scores, keys, paths.speakers, systems[: len(scores)], labels) if scores else []
    titles = systems[len(scores) :] or (distinct_names(targets) if targets else ())
    files += [
        ScoreFile(target, labels={"system": title, **given}, source=title, nontargets=nontarget)
        for title, target, nontarget, given in zip(titles, targets, nontargets, labels[len(scores) :], strict=True)
    ]
    dev = _others(paths.dev, paths.dev_keys, len(files))
    pairs = zip(dev, _others(paths.calibrate, paths.calibrate_keys, len(files)), strict=True)
    return [replace(file, dev=dev, calibrate=calibrate) for file, (dev, calibrate) in zip(files, pairs, strict=True)]


def _labels_of_each(paths: ScorePaths, number: int) -> list[dict[str, str]]:
    """Return the labels that are given for each of `number` score files and folders."""
    if paths.systems and any(name == "system" for name, _ in paths.labels):
        raise UsageError("--system and --label system name the same; expected one of them")
    by_name: dict[str, list[str]] = {}
    for name, value in paths.labels:
        by_name.setdefault(name, []).append(value)
    for name, values in by_name.items():
        if len(values) not in (1, number):
            raise UsageError(f"label {name}: expected one value, or one for each of {number} SCORES, got {len(values)}")
    return [
        {name: values[place if len(values) == number else 0] for name, values in by_name.items()}
        for place in range(number)
    ]


def _with_labels(file: ScoreFile, given: Mapping[str, str]) -> ScoreFile:
    """Return the file with further labels; a system may be renamed, but what else the file says itself stands."""
    said = set(file.labels) - {"system"} | ({"enrolment", "trial", "attacker"} if file.about.threat else set())
    for name in given:
        if name in said:
            raise UsageError(f"label {name}: {file.source} says itself what it is; expected files that do not")
    return replace(file, labels={**file.labels, **given})


def _others(scores: Sequence[str], keys: Sequence[str], number: int) -> Sequence[ScoreFile | None]:
    """Return the development file of each of `number` score files."""
    resolved = _resolved(scores, keys, None, (), [{}] * len(scores)) if scores else [None]
    if len(resolved) not in (1, number):
        raise UsageError(
            f"expected one development file, or one for each of the {number} score files, got {len(resolved)}"
        )
    return resolved if len(resolved) == number else [resolved[0]] * number


def _resolved(
    scores: Sequence[str],
    keys: Sequence[str],
    speakers: str | None,
    systems: Sequence[str],
    labels: Sequence[Mapping[str, str]],
) -> list[ScoreFile]:
    if len(keys) not in (0, 1, len(scores)):
        raise UsageError(f"expected one key, or one for each of the {len(scores)} score files, got {len(keys)}")
    if list(scores).count("-") > 1:
        raise UsageError("standard input (-) can be given once")
    files = []
    titles = systems or distinct_names(scores)
    for index, path in enumerate(scores):
        key = keys[index if len(keys) == len(scores) else 0] if keys else None
        if path != "-" and is_folder(path):
            for row in find_kit_scores(path, key=key):
                row_labels = {**row.labels, **({"system": systems[index]} if systems else {})}
                row_key, row_speakers = (None if file is None else str(file) for file in (row.key, row.speakers))
                about = About() if row.threat is None else About.against(row.threat)
                paths_of_row = str(row.scores), row_key or key, speakers or row_speakers
                file = ScoreFile(*paths_of_row, row_labels, about, source=titles[index])
                files.append(_with_labels(file, labels[index]))
        else:
            file = ScoreFile(path, key, speakers, {"system": titles[index]}, source=titles[index])
            files.append(_with_labels(file, labels[index]))
    return files


def pool_files(files: Sequence[ScoreFile], label: str) -> list[ScoreFile]:
    """Files that differ in one label alone, such as the sex of the people, as one file each.

    Parameters
    ----------
    files
        As `score_files` finds them.
    label
        What they may differ in; the pooled file has the values with a plus between.

    Examples
    --------
    >>> files = [ScoreFile(f"{sex}.scores", labels={"system": "a", "sex": sex}) for sex in "fm"]
    >>> [file.labels for file in pool_files(files, "sex")]
    [{'system': 'a', 'sex': 'f+m'}]
    """
    if not any(label in file.labels for file in files):
        labels = ", ".join(dict.fromkeys(name for file in files for name in file.labels))
        raise UsageError(f"nothing to pool: no file has the label {label!r} (found: {labels})")
    groups: dict[Hashable, list[ScoreFile]] = {}
    for file in files:
        other_labels = tuple(sorted((name, text) for name, text in file.labels.items() if name != label))
        groups.setdefault((other_labels, file.about.threat, file.source), []).append(file)
    return [
        files_of_group[0] if len(files_of_group) == 1 else _pooled_file(files_of_group, label)
        for files_of_group in groups.values()
    ]


def by_sex(files: Sequence[ScoreFile]) -> list[ScoreFile]:
    """Return files as tables of a challenge list them: by data set, women before men, then in their order.

    The sex is that of a file's labels, or what the name of its scores or key ends in, as in ``trials_f``.

    Examples
    --------
    >>> files = [ScoreFile("oo_m.scores"), ScoreFile("oo.scores", "trials_f")]
    >>> [(file.scores, file.labels) for file in by_sex(files)]
    [('oo.scores', {'sex': 'f'}), ('oo_m.scores', {'sex': 'm'})]
    """
    labelled = []
    for file in files:
        names = (Path(path).with_suffix("").name for path in (file.scores, file.key) if path is not None)
        sexes = [name[-1] for name in names if name[-2:] in ("_f", "_m")]
        labelled.append(replace(file, labels={**({"sex": sexes[0]} if sexes else {}), **file.labels}))
    return sorted(labelled, key=lambda file: (file.labels.get("dataset", ""), file.labels.get("sex", "")))


def _pooled_file(files: Sequence[ScoreFile], label: str) -> ScoreFile:
    if any(file.dev is not None for file in files):
        raise UsageError("development scores calibrate a search, and pooled groups have none; leave them out")
    labels = {**files[0].labels, label: "+".join(file.labels.get(label, "") for file in files)}
    names = " + ".join(file.scores for file in files)
    return replace(files[0], scores=names, labels=labels, parts=tuple(files), pooled=label)


def distinct_names(paths: Sequence[str]) -> list[str]:
    """File names without their ending, with as much of the path before them as it takes to tell them apart."""
    parts = [tuple(map(file_name_text, _name_parts(path))) for path in paths]
    for depth in range(1, max(map(len, parts), default=0) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(names):
            return names
    return list(map(file_name_text, paths))


def _name_parts(path: str) -> tuple[str, ...]:
    """The parts of a path that may name a system: those of a file without its ending, of ``.`` those of the folder."""
    if path == "-":
        return ("stdin",)
    place = Path(path) if Path(path).name not in ("", "..") else Path(path).resolve()
    return place.parts if place.is_dir() else place.with_name(uncompressed_name(place.name)).with_suffix("").parts


def evaluate_files(
    files: Sequence[ScoreFile],
    reading: ReadingOptions = ReadingOptions(),
    *,
    options: Options = Options(),
    run: Run = Run(),
    prior: dict[str, float] | None = None,
    each: Each = map,
) -> list[Evaluation]:
    """Evaluate every file, and compare the rows where they belong together.

    Parameters
    ----------
    files
        As `score_files` finds them.
    reading
        How to read them.
    options
        As in `evaluate`.
    run
        As in `evaluate`.
    prior
        As in `evaluate`.
    each
        Applies a function to every file, as `map` does.
    """

    def evaluated(number: int) -> tuple[Evaluation, Scores]:
        # Where copies are to draw the null, one reads, because it starts threads of polars, which are not copied.
        several = map if run.meanwhile is None else partial(compute_in_copies, run=run, meanwhile=run.meanwhile)
        (loaded,) = several(lambda file: file.read(reading), [files[number]])
        titled = run.titled(f"{number + 1}/{len(files)}")
        return files[number].evaluate(loaded, reading, options, titled, prior=prior), loaded.data.to_scores()

    return flag_rows(add_similarity(list(each(evaluated, range(len(files))))))
