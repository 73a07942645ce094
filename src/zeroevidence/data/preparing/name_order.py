"""Scores and embeddings in the order of their names, so that the order of the lines of a file changes no number.

Folds of speakers, permutations of speakers and halves of them are drawn by position. Positions follow names here: those
of enrolments and trials, of pairs of them, and of embeddings. What has no names keeps its positions.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.names import rank_names, row_numbers
from zeroevidence.data.scores import Pairs, Scores

_BITS = 63  # of a number that is not negative
_BLOCK = 1 << 16  # scores that stay in the cache together


@overload
def sort_by_name(data: Scores) -> Scores: ...


@overload
def sort_by_name(data: ScoreMatrix) -> ScoreMatrix: ...


@overload
def sort_by_name(data: Scores | ScoreMatrix) -> Scores | ScoreMatrix: ...


@overload
def sort_by_name(data: Embeddings) -> Embeddings: ...


def sort_by_name(data: Scores | ScoreMatrix | Embeddings) -> Scores | ScoreMatrix | Embeddings:
    """Return the same data with identifiers sorted, and scores or vectors in their order.

    Examples
    --------
    >>> ordered = sort_by_name(ScoreMatrix([[1.0, 2.0], [4.0, 3.0]], [1, 0], enrolments=["bob", "ann"]))
    >>> ordered.scores.tolist(), ordered.mated.tolist(), ordered.enrolments.tolist()
    ([[2.0, 1.0], [3.0, 4.0]], [0, 1], ['ann', 'bob'])
    """
    if isinstance(data, Embeddings):
        return _embeddings(data)
    return _matrix(data) if isinstance(data, ScoreMatrix) else _scores(data)


def name_ranks(names: StrArray) -> IntArray:
    """Return the rank of each name among the sorted distinct names.

    Examples
    --------
    >>> name_ranks(np.array(["eve", "ann", "eve", "bob"])).tolist()
    [2, 0, 2, 1]
    """
    return rank_names(names)[1]


def order_of_appearance(names: StrArray, some: StrArray) -> IntArray:
    """Return the order that brings some of the names into the order in which they appear among all names.

    Examples
    --------
    >>> some = np.array(["ann", "bob"])
    >>> some[order_of_appearance(np.array(["eve", "bob", "ann"]), some)].tolist()
    ['bob', 'ann']
    """
    return np.argsort(row_numbers(names, some))


def _embeddings(data: Embeddings) -> Embeddings:
    """Sort by speaker and identifier; vectors whose identifiers are their numbers keep their positions."""
    rows = np.arange(len(data))
    if np.array_equal(data.ids, rows.astype(np.str_)):
        return data
    order = np.lexsort((data.ids,) if data.speakers is None else (data.ids, data.speakers))
    return data if np.array_equal(order, rows) else data.take(order)


def _matrix(matrix: ScoreMatrix) -> ScoreMatrix:
    rows = _sorting(matrix.trials, matrix.trial_speakers)
    columns = _sorting(matrix.enrolments, matrix.enrolment_speakers)
    if rows is None and columns is None:
        return matrix
    scores, mated = matrix.scores, matrix.mated
    if columns is not None:
        place = np.append(np.argsort(columns), -1)  # the last is for those who are not enrolled
        scores, mated = scores[:, columns], place[mated]
    if rows is not None:
        scores, mated = scores[rows], mated[rows]
    trials, trial_speakers = (_taken(names, rows) for names in (matrix.trials, matrix.trial_speakers))
    enrolments, speakers = (_taken(names, columns) for names in (matrix.enrolments, matrix.enrolment_speakers))
    return ScoreMatrix(scores, mated, trials, enrolments, trial_speakers, speakers)


def _scores(scores: Scores) -> Scores:
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return scores
    enrolments, trials = _sorting(scores.enrolments), _sorting(scores.trials)
    ranks = _inverse(enrolments), _inverse(trials)
    target, target_pairs = _in_pair_order(scores.target, scores.target_pairs, *ranks)
    nontarget, nontarget_pairs = _in_pair_order(scores.nontarget, scores.nontarget_pairs, *ranks)
    return Scores(
        target,
        nontarget,
        target_pairs,
        nontarget_pairs,
        enrolments=_taken(scores.enrolments, enrolments),
        trials=_taken(scores.trials, trials),
        enrolment_speakers=_taken(scores.enrolment_speakers, enrolments),
        trial_speakers=_taken(scores.trial_speakers, trials),
    )


def _inverse(order: IntArray | None) -> IntArray | None:
    """Return the new position of each old one."""
    if order is None:
        return None
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _in_pair_order(
    values: FloatArray, pairs: Pairs, enrolments: IntArray | None, trials: IntArray | None
) -> tuple[FloatArray, Pairs]:
    """Sort the scores of one class by enrolment and trial, and by score where a pair was compared more than once.

    `enrolments` and `trials` are the new positions of identifiers, None where they stay.
    """
    n = len(values)
    bits = [int(most).bit_length() for most in (_highest(pairs.trial, trials), n - 1)]
    if _highest(pairs.enrolment, enrolments).bit_length() + sum(bits) > _BITS:
        return _by_columns(values, *(_placed(*side) for side in ((pairs.enrolment, enrolments), (pairs.trial, trials))))
    # enrolment, trial and place of a score in one number: sorting these is far quicker than sorting places by them
    keys = np.empty(n, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        span = slice(start, start + _BLOCK)
        key = keys[span]
        np.left_shift(_placed(pairs.enrolment[span], enrolments), bits[0], out=key)
        key |= _placed(pairs.trial[span], trials)
        key <<= bits[1]
        key |= np.arange(start, start + len(key))
    if (keys[1:] <= keys[:-1]).any():
        keys.sort()
    return _unpacked(values, keys, *bits)


def _unpacked(values: FloatArray, keys: IntArray, bits_trial: int, bits_score: int) -> tuple[FloatArray, Pairs]:
    """Return scores and pairs in the order of sorted keys."""
    ordered = np.empty_like(values)
    enrolment, trial = np.empty_like(keys), np.empty_like(keys)
    again = False
    for start in range(0, len(keys), _BLOCK):
        span = slice(start, start + _BLOCK)
        key = keys[span]
        ordered[span] = values[key & ((1 << bits_score) - 1)]
        pair = keys[max(start - 1, 0) : start + len(key)] >> bits_score
        again = again or bool((pair[1:] == pair[:-1]).any())
        pair = pair[-len(key) :]
        np.bitwise_and(pair, (1 << bits_trial) - 1, out=trial[span])
        np.right_shift(pair, bits_trial, out=enrolment[span])
    return _by_columns(ordered, enrolment, trial) if again else (ordered, Pairs(enrolment, trial))


def _by_columns(values: FloatArray, enrolment: IntArray, trial: IntArray) -> tuple[FloatArray, Pairs]:
    """Sort column by column, which works for any numbers, and for pairs that were compared more than once."""
    order = np.lexsort((values, trial, enrolment))
    return values[order], Pairs(enrolment[order], trial[order])


def _highest(side: IntArray, places: IntArray | None) -> int:
    return int(side.max()) if places is None else len(places) - 1


def _placed(side: IntArray, places: IntArray | None) -> IntArray:
    return side if places is None else places[side]


def _sorting(*candidates: StrArray | None) -> IntArray | None:
    """Return the order that sorts the first names that are known; None where none are or they are sorted already."""
    for names in candidates:
        if names is not None:
            order = np.argsort(names, kind="stable")
            return None if bool((np.diff(order) > 0).all()) else order
    return None


def _taken(names: StrArray | None, order: IntArray | None) -> StrArray | None:
    return names if names is None or order is None else names[order]
