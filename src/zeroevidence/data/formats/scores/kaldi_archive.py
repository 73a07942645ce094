"""Kaldi archives of scores: for each trial a vector with its score for every identity, in text or binary.

The archive names the trials, not the identities, which are numbers: the key says `trial number` on each line, -1
where the speaker is not among them, as a list of classes in whole numbers does in Kaldi.
"""

from __future__ import annotations

import re

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.input_file import TEXT, Container, InputFile
from zeroevidence.data.formats.lists.speakers import Speakers, two_columns
from zeroevidence.data.formats.scores.matrix import checked_matrix
from zeroevidence.data.formats.scores.reading.table import Problems
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Matrix, ScoreFormat
from zeroevidence.data.formats.vectors.kaldi import read_ark, stacked
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError

_NAME = "kaldi-ark"
_ARCHIVE = Container(TEXT, "Kaldi archive", ())  # begins with a name, as other text does
_FIRST_ENTRY = re.compile(rb"\s*[^\s\[\]]+ (?: *\[[ \t]|\x00B[FD]V )")
_HEAD = 4096
_NUMBER = re.compile("-?[0-9]{1,9}")


def is_archive(file: InputFile) -> bool:
    """Whether the file begins with a name and a vector."""
    with file.stream() as stream:
        return _FIRST_ENTRY.match(stream.read(_HEAD)) is not None


def read_archive(file: InputFile, key: InputFile | None, speakers: Speakers | None) -> ScoreMatrix:
    """The matrix of the search.

    Raises
    ------
    InputError
        When the archive is damaged, its vectors differ in length, or the key does not fit.
    """
    vectors = read_ark(file.read(), file.name)
    scores = stacked(vectors, file.name)
    if key is None:
        raise InputError("no labels; expected a key (--key KEY) with `trial number` on each line", path=file.name)
    mated = _mated(list(vectors), scores.shape[1], key, file.name)
    return checked_matrix({"scores": scores, "mated": mated, "trials": np.array(list(vectors))}, file.name, speakers)


def _mated(trials: list[str], identities: int, key: InputFile, name: str) -> IntArray:
    """The column of each trial's speaker."""
    problems = Problems(key.name)
    known, column = set(trials), dict[str, int]()
    for number, trial, written in two_columns(key, problems, "trial number"):
        if not _NUMBER.fullmatch(written) or not -1 <= int(written) < identities:
            problems.add(number, f"{written!r} is no identity; expected a whole number from -1 to {identities - 1}")
        elif trial not in known:
            problems.add(number, f"{trial!r} is not in {name}; expected a trial of the archive")
        elif column.setdefault(trial, int(written)) != int(written):
            problems.add(number, f"{trial!r} is {column[trial]} before; expected one identity")
    if not problems.found:
        for trial in trials:
            if trial not in column:
                problems.add(None, f"{trial!r} of {name} is missing; expected a line for every trial")
    if problems.found:
        raise InputError.of(problems.all())
    return np.array([column[trial] for trial in trials], np.int64)


SCORE_FORMATS.add(
    ScoreFormat(
        name=_NAME,
        words="Kaldi archive, `trial [ score score ... ]` in text or binary",
        matrix=Matrix((_ARCHIVE,), read_archive),
        takes=is_archive,
        place=80,
    )
)
