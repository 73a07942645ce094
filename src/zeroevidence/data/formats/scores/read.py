"""Reading scores with their key, or of targets and non-targets in a list each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.data.files import is_folder, naming_file
from zeroevidence.data.formats.input_file import (
    EXPORT,
    HDF5,
    NPY,
    NPZ,
    TEXT,
    InputFile,
    open_frame,
    open_input,
    refuse_pickle,
)
from zeroevidence.data.formats.lists import SpeakerList, read_speakers
from zeroevidence.data.formats.scores import detect
from zeroevidence.data.formats.scores.arrays import load_arrays, not_finite, only_array, score_table
from zeroevidence.data.formats.scores.join import build_scores, compose_tables, join, one_class_problem
from zeroevidence.data.formats.scores.layout import HEAD, Table, labelled_by_people, sample_lines, with_measured_scores
from zeroevidence.data.formats.scores.score_format import (
    AUTO,
    SCORE_FORMATS,
    Columns,
    ReadingOptions,
    ScoreFormat,
    binary_format,
    format_names,
)
from zeroevidence.data.formats.scores.text_reader import read_text
from zeroevidence.data.formats.text import collecting, refuse_binary
from zeroevidence.data.loaded_scores import LlrUnit, LoadedScores, RelaxedRule, Scale, composed_rule
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing import acquired_scores, check_pairs
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, Problem, UsageError

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

ACCEPT = " (--infinite accept takes infinite ones)"
FAILED = " (--failures fta counts NaN as failures to acquire)"
_TWO_READINGS = (
    "{rows} x 2 scores with a key of 0 and 1: a search through two identities (--input-format matrix reads it), or two "
    "log-posteriors for each trial (np.savez('scores.npz', scores=x[:, 1] - x[:, 0], labels=key)); expected one of them"
)


def read_scores(
    path: str | Path | IntoDataFrame,
    key: str | Path | IntoDataFrame | None = None,
    options: ReadingOptions = ReadingOptions(),
) -> LoadedScores:
    r"""Return the scores of a file or data frame, joined with their key on (enrolment, trial).

    Parameters
    ----------
    path
        The score file; "-" is standard input. Or a data frame of polars or pandas, with columns as in files.
    key
        Labels of the trials: a file, a Kaldi data folder with ``trials`` and perhaps ``utt2spk``, or a data frame.
    options
        How to read them.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem, and how many more there are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "scores").write_text("ada u1 2.1\nbob u1 0.3\nada u1 2.5\n")
    >>> _ = (folder / "trials").write_text("ada u1 target\nbob u1 nontarget\nbob u2 target\n")
    >>> relaxed = ReadingOptions(duplicates="keep-last", allow_missing=True)
    >>> loaded = read_scores(folder / "scores", folder / "trials", relaxed)
    >>> loaded.data.target, loaded.data.nontarget, loaded.format
    (array([2.5]), array([0.3]), 'kaldi')
    >>> [str(rule) for rule in loaded.relaxed]
    ['duplicates:keep-last:1', 'missing:1']
    """
    loaded, problems = _attempt(path, key, options)
    if loaded is None:
        raise InputError.of(problems)
    return options.applied(loaded)


def diagnose(
    path: str | Path, key: str | Path | None = None, options: ReadingOptions = ReadingOptions()
) -> list[Problem]:
    """Return every problem that `read_scores` would meet with these files and options; empty when it would succeed."""
    return _attempt(path, key, options)[1]


def _attempt(
    path: str | Path | IntoDataFrame, key_path: str | Path | IntoDataFrame | None, options: ReadingOptions
) -> tuple[LoadedScores | None, list[Problem]]:
    """Return the scores, or every reason why there are none."""
    options.check(format_names(), ("error", "keep-last"))
    if [str(name) for name in (path, key_path, options.speakers) if isinstance(name, (str, Path))].count("-") > 1:
        raise UsageError("standard input can be only one of scores, key and speakers")
    (scores, key, speaker_file), problems = _open_files(path, key_path, options.speakers)
    if scores is None or problems:
        return None, problems
    rule = options.speaker_rule
    speakers = None if rule is None else SpeakerList("--speaker-of", {}, rule)
    if speaker_file is not None and rule is None:
        with collecting(problems):
            speakers, problems = read_speakers(speaker_file)
        speakers = None if problems else speakers
    # the format of a matrix: what the file is, or else what was asked for
    formats = binary_format(scores, options.format), None if options.format == AUTO else SCORE_FORMATS[options.format]
    format = next((format for format in formats if format is not None and format.matrix is not None), None)
    loaded: LoadedScores | None = None
    more: list[Problem] = []
    with collecting(problems), naming_file(scores.name):
        if format is None:
            loaded, more = _read_trials(scores, key, options, speakers)
        else:
            loaded, more = _read_matrix(format, scores, key, options, speakers)
        loaded = None if loaded is None else check_pairs(loaded, allow_same=options.allow_same)
    return (None if problems else loaded), more + problems


def _open_files(
    path: str | Path | IntoDataFrame, key: str | Path | IntoDataFrame | None, speakers: str | Path | None
) -> tuple[list[InputFile | None], list[Problem]]:
    """Open scores, key and speakers, those of a Kaldi data folder by their names in it; list those that are missing."""
    if speakers is not None and is_folder(speakers):
        speakers = Path(speakers) / "utt2spk"
    if isinstance(key, (str, Path)) and is_folder(key):
        folder = Path(key)
        key = folder / "trials"
        if speakers is None and (folder / "utt2spk").is_file():
            speakers = folder / "utt2spk"
    files: list[InputFile | None] = []
    problems: list[Problem] = []
    for name, expected in ((path, "scores"), (key, "a key"), (speakers, "lines of utterance and speaker")):
        file = None
        with collecting(problems):
            if name is not None:
                file = open_input(name) if isinstance(name, (str, Path)) else open_frame(name, f"<{expected}>")
                refuse_pickle(file, EXPORT)
                if binary_format(file, AUTO) is None:
                    refuse_binary(file, expected)
        files.append(file)
    return files, problems


def _read_matrix(
    format: ScoreFormat, scores: InputFile, key: InputFile | None, options: ReadingOptions, speakers: SpeakerList | None
) -> tuple[LoadedScores | None, list[Problem]]:
    """Return the matrix of a whole search, or why there is none."""
    assert format.matrix is not None
    if options.format not in (AUTO, format.name):
        reason = f"is a {format.files} {format.kind(scores)} file; expected {options.format}"
        return None, [Problem(scores.name, None, reason)]
    scale = Scale(llr=options.llr)
    try:
        matrix, failed = format.matrix.read(scores, key, speakers)
        with naming_file(scores.name):
            measured = matrix.scores if options.llr is None else scale.measured(matrix.scores)
    except InputError as error:
        return None, [error.problem]
    # two columns that nothing names may be two classes as well as two identities
    two = matrix.scores.shape[1] == 2 and matrix.enrolments is None and (matrix.mated >= 0).all()
    if two and options.format == AUTO and key is not None and key.kind == NPY.name:
        return None, [Problem(scores.name, None, _TWO_READINGS.format(rows=len(matrix.scores)))]
    key_format = None if key is None else format.name
    rules = (np.isinf(measured), options.infinite, ACCEPT), (failed, options.failures, FAILED)
    for wrong, rule, advice in rules:
        if wrong.any() and rule == "refuse":
            shown = np.where(failed, np.nan, matrix.scores)
            return None, [Problem(scores.name, None, not_finite(shown, wrong, advice))]
    relaxed = (*composed_rule(matrix.spellings), *scale.relaxed(measured.size), *infinite_rule(measured))
    matrix = replace(matrix, scores=measured)
    data, failures = _acquired(matrix, failed) if failed.any() else (matrix, ())
    return LoadedScores(data, format.name, key_format, (*relaxed, *failures)), []


def _acquired(matrix: ScoreMatrix, failed: BoolArray) -> tuple[Scores, tuple[RelaxedRule, ...]]:
    """Return the comparisons of a search that did not fail, and the rules that count those that did."""
    scores, marks = matrix.to_scores(), matrix.with_scores(failed.astype(np.float64)).to_scores()
    target, nontarget = (
        np.where(marks.target, np.nan, scores.target),
        np.where(marks.nontarget, np.nan, scores.nontarget),
    )
    names = scores.enrolments, scores.trials, scores.enrolment_speakers, scores.trial_speakers
    return acquired_scores(target, nontarget, scores.target_pairs, scores.nontarget_pairs, *names)


def _read_trials(
    scores: InputFile, key: InputFile | None, options: ReadingOptions, speakers: SpeakerList | None
) -> tuple[LoadedScores | None, list[Problem]]:
    """Return one-to-one scores, or every problem of both files."""
    problems: list[Problem] = []
    key_table = None
    if key is not None:
        key_table = detect.read_table(key, "key", AUTO, options.names.of("key", with_key=True), problems)
    names = options.names.of("scores", with_key=key is not None)
    score_table = detect.read_table(scores, "scores", options.format, names, problems, key=key_table)
    if score_table is not None and key is None:
        score_table = labelled_by_people(score_table, named=isinstance(SCORE_FORMATS[score_table.format].text, Columns))
    if score_table is not None:
        score_table = _measured(score_table, options)
    listed = [problem for table in (score_table, key_table) if table is not None for problem in table.problems]
    if score_table is None or (key is not None and key_table is None):
        return None, problems + listed
    loaded, problems = _combine(score_table, key_table, options, speakers)
    return (None if listed or problems else loaded), listed + problems


def _combine(
    scores: Table, key: Table | None, options: ReadingOptions, speakers: SpeakerList | None
) -> tuple[LoadedScores | None, list[Problem]]:
    """Join scores with their key and build the result, or return the problems in the way."""
    problem = _missing_column(scores, key)
    if problem:
        return None, [problem]
    if scores.frame.is_empty() or (key is not None and key.frame.is_empty()):
        return None, []
    if not scores.has("enrol"):
        if scores.problems:
            return None, []
        label, score = scores.frame["label"].to_numpy(), scores.frame["score"].to_numpy()
        problem = one_class_problem(scores.name, label)
        if problem:
            return None, [problem]
        data, failures = acquired_scores(score[label], score[~label])
        relaxed = (*_unit_rule(options.llr, scores.unit, len(score)), *infinite_rule(score), *failures)
        return LoadedScores(data, scores.format, None, relaxed), []
    scores, key, composed = compose_tables(scores, key, () if speakers is None else speakers.spellings)
    joined, problems = join(scores, key, options)
    if joined is None or scores.problems or (key is not None and key.problems):
        return None, problems
    pairs, inferred, problems = build_scores(joined, scores, key, speakers)
    if pairs is None:
        return None, problems
    unit = _unit_rule(options.llr, scores.unit, len(pairs))
    relaxed = (*joined.relaxed, *composed, *inferred, *unit, *infinite_rule(pairs.target, pairs.nontarget))
    return LoadedScores(pairs, scores.format, None if key is None else key.format, relaxed), problems


def _measured(table: Table, options: ReadingOptions) -> Table:
    """Return a table with scores as measures take them; their unit is the one named, or what their column is called."""
    infinite = ACCEPT if options.infinite == "refuse" else None
    return with_measured_scores(
        table, options.llr or table.unit, infinite, FAILED if options.failures == "refuse" else None
    )


def _unit_rule(asked: LlrUnit | None, column: LlrUnit | None, count: int) -> tuple[RelaxedRule, ...]:
    """Return the rule that says in which unit scores are likelihood ratios, and who said so."""
    if asked is not None:
        return Scale(llr=asked).relaxed(count)
    return () if column is None else (RelaxedRule("llr-column", count, how=column),)


def infinite_rule(*scores: FloatArray) -> tuple[RelaxedRule, ...]:
    """Return the rule that was relaxed where scores are infinite."""
    count = sum(int(np.isinf(part).sum()) for part in scores)
    return (RelaxedRule("infinite", count),) if count else ()


def _missing_column(scores: Table, key: Table | None) -> Problem | None:
    """Return the problem of a column that is needed and not there."""
    columns, named = scores.columns_text, bool(scores.titles)
    if not scores.has("score"):
        reason = f"no column named score (found: {columns}); expected one"
        reason += ", or --score-column with its name" if named else ""
    elif scores.has("enrol") != scores.has("trial"):
        reason = f"enrol without trial, or trial without enrol (found: {columns}); expected both"
    elif key is None and not scores.has("label"):
        reason = "no labels; expected a key (--key KEY) or a label column"
        if scores.titles:
            reason = f"no labels (found: {columns}); expected a key (--key KEY), or --label-column with its name"
        elif scores.has("enrol") and not scores.problems and scores.frame["score"].is_in([0.0, 1.0]).all():
            reason = "a key without scores: where they should be there are 1 and 0 alone"
            reason += "; expected scores, and this as --key"
    elif key is not None and not all(map(key.has, ("enrol", "trial", "label"))):
        columns = key.columns_text
        return Problem(key.name, None, f"not a key (found columns: {columns}); expected enrol, trial and label")
    elif key is not None and not scores.has("enrol"):
        instead = ", or no key (it has its own labels)" if scores.has("label") else ""
        reason = f"no enrol and trial columns to join with {key.name}; expected them{instead}"
    else:
        return None
    return Problem(scores.name, None, reason)


def read_score_lists(
    targets: str | Path, nontargets: str | Path, options: ReadingOptions = ReadingOptions()
) -> LoadedScores:
    r"""Return the scores of a list of targets and a list of non-targets.

    Parameters
    ----------
    targets
        One number a line, perhaps below a name, or as R writes it (``"","x"``); or an ``.npy`` of one dimension, or an
        HDF5 file of one array.
    nontargets
        The same of non-targets.
    options
        How to read them.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem, and how many more there are.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "mated.txt").write_text("2.1\n1.7\n")
    >>> _ = (folder / "nonmated.csv").write_text('"","x"\n"1",0.3\n"2",-1\n')
    >>> loaded = read_score_lists(folder / "mated.txt", folder / "nonmated.csv")
    >>> loaded.data.target, loaded.data.nontarget
    (array([2.1, 1.7]), array([ 0.3, -1. ]))
    """
    tables, problems = _attempt_lists(targets, nontargets, options)
    if problems:
        raise InputError.of(problems)
    target, nontarget = (table.frame["score"].to_numpy() for table in tables)
    relaxed = _unit_rule(options.llr, tables[0].unit, len(target) + len(nontarget))
    data, failures = acquired_scores(target, nontarget)
    relaxed += (*infinite_rule(target, nontarget), *failures)
    return options.applied(LoadedScores(data, detect.LIST, None, relaxed))


def diagnose_lists(
    targets: str | Path, nontargets: str | Path, options: ReadingOptions = ReadingOptions()
) -> list[Problem]:
    """Return every problem that `read_score_lists` would meet."""
    return _attempt_lists(targets, nontargets, options)[1]


def _attempt_lists(
    targets: str | Path, nontargets: str | Path, options: ReadingOptions
) -> tuple[list[Table], list[Problem]]:
    """Return the tables of both lists, and every reason why they cannot be used."""
    if "-" in (str(targets), str(nontargets)):
        raise UsageError("lists of scores are read twice, so standard input cannot be one; expected two files")
    problems: list[Problem] = []
    tables = []
    for path in (targets, nontargets):
        with collecting(problems):
            tables.append(_measured(_list_table(open_input(path)), options))
            problems += tables[-1].problems
    names = [table.unit or "scores" for table in tables]
    if options.llr is None and len(set(names)) > 1:
        reason = f"{names[1]} by the name of the column, but {names[0]} in {targets}; expected one unit, or --llr"
        problems.append(Problem(str(nontargets), None, reason))
    return tables, problems


def is_score_list(path: str | Path) -> bool:
    """Return whether a file has one number for each trial and nothing else; False for what cannot be read, too."""
    if str(path) == "-":  # which can be read once
        return False
    try:
        file = open_input(path)
        if file.kind == NPY.name:
            return bool(load_arrays(file, "scores", ())["scores"].ndim == 1)
        return file.kind == TEXT and detect.list_layout(sample_lines(file.head(2 * HEAD), file.name)) is not None
    except InputError:
        return False


def _list_table(file: InputFile) -> Table:
    """Return the numbers of a list as a table."""
    if file.kind in (NPY.name, NPZ.name, HDF5.name):
        return _array_table(file)
    refuse_binary(file, "one number a line")
    file.check_text("one number a line")
    sample = sample_lines(file.head(2 * HEAD), file.name)
    layout, lines = detect.list_layout(sample), [line.strip(" \t") for _, line in sample]
    if layout is not None and not (lines[0] == "0" and len(lines) > 1 and all("." in line for line in lines[1:])):
        return read_text(file, layout)
    reason = "more than one number a line, or none; expected a list of scores, one number a line"
    if layout is not None:  # its first number may be a name
        reason = "0 above decimals, as pandas names a column; expected header=False, or 0.0 if it is a score"
    elif detect.is_written_by_r(sample):
        reason = detect.WRITTEN_BY_R
    raise InputError(reason, path=file.name, line=sample[0][0])


def _array_table(file: InputFile) -> Table:
    scores = only_array(file) if file.kind == HDF5.name else load_arrays(file, "scores", ("scores",)).get("scores")
    if scores is not None and scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores is None:
        raise InputError("no array named scores; expected numbers, one per trial", path=file.name)
    return score_table(file, scores, detect.LIST)
