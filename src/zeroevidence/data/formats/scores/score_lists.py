"""Scores of targets in one file and of non-targets in another, one number a line: nobody knows who was compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from zeroevidence.data.formats.input_file import NPY, NPZ, TEXT, InputFile, open_input
from zeroevidence.data.formats.scores.detect import (
    DECIMAL_COMMAS,
    LIST,
    WRITTEN_BY_R,
    has_decimal_commas,
    is_written_by_r,
    list_layout,
)
from zeroevidence.data.formats.scores.layout import HEAD, Layout, Lines, Table, sample_lines, with_infinite_problems
from zeroevidence.data.formats.scores.matrices import load_arrays
from zeroevidence.data.formats.scores.read import ACCEPT, ReadingOptions, infinite_rule
from zeroevidence.data.formats.scores.text_reader import read_text
from zeroevidence.data.formats.text import FileProblems
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, Problem, UsageError


def read_score_lists(
    targets: str | Path, nontargets: str | Path, options: ReadingOptions = ReadingOptions()
) -> LoadedScores:
    r"""Return the scores of a list of targets and a list of non-targets.

    Parameters
    ----------
    targets
        One number a line, perhaps below a name, or as R writes it (``"","x"``); or an ``.npy`` of one dimension.
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
    problems = diagnose_lists(targets, nontargets, options)
    if problems:
        raise InputError.of(problems)
    target, nontarget = (_table(open_input(path)).frame["score"].to_numpy() for path in (targets, nontargets))
    return options.applied(LoadedScores(Scores(target, nontarget), LIST, None, infinite_rule(target, nontarget)))


def diagnose_lists(
    targets: str | Path, nontargets: str | Path, options: ReadingOptions = ReadingOptions()
) -> list[Problem]:
    """Return every problem that `read_score_lists` would meet."""
    if "-" in (str(targets), str(nontargets)):
        raise UsageError("lists of scores are read twice, so standard input cannot be one; expected two files")
    problems: list[Problem] = []
    for path in (targets, nontargets):
        try:
            table = _table(open_input(path))
        except InputError as error:
            problems.append(error.problem)
            continue
        problems += (with_infinite_problems(table, ACCEPT) if options.infinite == "refuse" else table).problems
    return problems


def is_score_list(path: str | Path) -> bool:
    """Return whether a file has one number for each trial and nothing else; False for what cannot be read, too."""
    if str(path) == "-":  # which can be read once
        return False
    try:
        file = open_input(path)
        if file.kind == NPY.name:
            return bool(load_arrays(file, "scores", ())["scores"].ndim == 1)
        return file.kind == TEXT and list_layout(sample_lines(file.head(2 * HEAD), file.name)) is not None
    except InputError:
        return False


def _table(file: InputFile) -> Table:
    """Return the numbers of a list as a table."""
    if file.kind in (NPY.name, NPZ.name):
        return _array_table(file)
    if file.kind != TEXT:
        raise InputError(f"is a {file.kind} file; expected one number a line", path=file.name)
    sample = sample_lines(file.head(2 * HEAD), file.name)
    try:
        layout = _layout(sample)
    except InputError as error:
        raise InputError(str(error), path=file.name, line=sample[0][0]) from None
    return read_text(file, layout)


def _layout(sample: Lines) -> Layout:
    """Return the layout of a list; other lines are refused, and so is a list whose first number may be a name."""
    layout, lines = list_layout(sample), [line.strip(" \t") for _, line in sample]
    if layout is None and has_decimal_commas(sample):
        raise InputError(DECIMAL_COMMAS)
    if layout is None and is_written_by_r(sample):
        raise InputError(WRITTEN_BY_R)
    if layout is None:
        raise InputError("more than one number a line, or none; expected a list of scores, one number a line")
    if lines[0] == "0" and len(lines) > 1 and all("." in line for line in lines[1:]):
        raise InputError("0 above decimals, as pandas names a column; expected header=False, or 0.0 if it is a score")
    return layout


def _array_table(file: InputFile) -> Table:
    scores = load_arrays(file, "scores", ("scores",)).get("scores")
    if scores is not None and scores.ndim == 2 and scores.shape[1] == 1:
        scores = scores[:, 0]
    if scores is None or scores.ndim != 1 or scores.dtype.kind not in "biuf" or not scores.size:
        content = "no array named scores" if scores is None else f"{scores.dtype} of shape {scores.shape}"
        raise InputError(f"{content}; expected numbers, one per trial", path=file.name)
    problems = FileProblems(file.name)
    for at in np.flatnonzero(np.isnan(scores)).tolist():
        problems.add(None, f"score {scores[at]} at position {at} is not finite; expected a finite number")
    frame = pl.DataFrame({"score": scores.astype(np.float64)})
    return Table(file.name, Layout(LIST, ("score",)).format, frame, None, tuple(problems.all()))
