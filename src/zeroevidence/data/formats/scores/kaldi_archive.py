"""Kaldi archives of scores: for each trial a vector with its score for every identity, in text or binary.

The archive names the trials but not the identities, which are numbers. The key has `trial number` on each line, -1
where the speaker is not enrolled, like a Kaldi list of integer classes.
"""

from __future__ import annotations

import re

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import TEXT, Container, InputFile
from zeroevidence.data.formats.lists.speakers import SpeakerList
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.matrix import build_matrix
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Matrix, ScoreFormat
from zeroevidence.data.formats.vectors.kaldi import read_ark, stack_vectors
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError

_NAME = "kaldi-ark"
_ARCHIVE = Container(TEXT, "Kaldi archive", ())  # begins with a name, as other text does
_FIRST_ENTRY = re.compile(rb"\s*[^\s\[\]]+ (?: *\[[ \t]|\x00B[FD]V )")
_HEAD = 4096
_NUMBER = re.compile("-?[0-9]{1,9}")


def is_archive(file: InputFile) -> bool:
    """Return whether a file begins with a name and a vector."""
    with file.stream() as stream:
        return _FIRST_ENTRY.match(stream.read(_HEAD)) is not None


def read_archive(file: InputFile, key: InputFile | None, speakers: SpeakerList | None) -> ScoreMatrix:
    """Return the score matrix of the search.

    Raises
    ------
    InputError
        When the archive is damaged, its vectors differ in length, or the key does not fit.
    """
    vectors = read_ark(file.read(), file.name)
    scores = stack_vectors(vectors, file.name)
    if key is None:
        raise InputError("no labels; expected a key (--key KEY) with `trial number` on each line", path=file.name)
    mated = _mated(list(vectors), scores.shape[1], key, file.name)
    return build_matrix({"scores": scores, "mated": mated, "trials": np.array(list(vectors))}, file.name, speakers)


def _mated(trials: list[str], identities: int, key: InputFile, name: str) -> IntArray:
    """Return the column of each trial's speaker."""
    problems = FileProblems(key.name)
    column: dict[str, int] = {}
    present = set(trials)
    for number, trial, written in text.two_columns(key, problems, "trial number"):
        if not _NUMBER.fullmatch(written) or not -1 <= int(written) < identities:
            problems.add(number, f"{written!r} is no identity; expected a whole number from -1 to {identities - 1}")
        elif trial not in present:
            problems.add(number, f"{trial!r} is not in {name}; expected a trial of the archive")
        elif column.setdefault(trial, int(written)) != int(written):
            problems.add(number, f"{trial!r} is {column[trial]} before; expected one identity")
    for trial in () if problems else trials:
        if trial not in column:
            problems.add(None, f"{trial!r} of {name} is missing; expected a line for every trial")
    problems.check()
    return np.array([column[trial] for trial in trials], np.int64)


SCORE_FORMATS.add(
    ScoreFormat(
        name=_NAME,
        description="Kaldi archive, `trial [ score score ... ]` in text or binary",
        matrix=Matrix((_ARCHIVE,), read_archive),
        takes=is_archive,
        place=80,
    )
)
