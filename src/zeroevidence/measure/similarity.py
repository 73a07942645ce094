"""Voice similarity matrices: de-identification and voice distinctiveness [Noé et al. 2020].

An entry is the posterior probability, at even odds, that two speakers are one, from the mean calibrated LLR of their
utterance pairs. A dominant diagonal means that recordings of different people can be told apart.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import pav_llrs
from zeroevidence.data.scores import Scores, as_array
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import similarity_measure
from zeroevidence.measure.views import SimilarityView


def similarity_matrix(scores: Scores) -> tuple[FloatArray, list[str]]:
    """S(i, j) = sigmoid(mean LLR of enrolments of speaker i against trials of speaker j), and the speakers' order.

    The LLRs are oracle-calibrated on these scores with Laplace's rule, so they are finite. Only speakers on both
    sides count; a pair of speakers that was never compared is NaN.

    Examples
    --------
    >>> from zeroevidence.data.matrix import ScoreMatrix
    >>> people = ["ann", "bob"]
    >>> trials = ScoreMatrix([[2.0, -1.0], [0.0, 3.0]], [0, 1], trial_speakers=people, enrolment_speakers=people)
    >>> similarity, names = similarity_matrix(trials.to_scores())
    >>> names, bool(similarity[0, 0] > similarity[0, 1])
    (['ann', 'bob'], True)
    """
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        raise InputError("a similarity matrix needs to know who was compared with whom")
    if scores.enrolment_speakers is None or scores.trial_speakers is None:
        raise InputError("a similarity matrix needs speakers on both sides (--speakers)")
    common = np.intersect1d(scores.enrolment_speakers, scores.trial_speakers)
    names = common[common != ""]
    if len(names) < 2:
        raise InputError(f"a similarity matrix needs at least two speakers on both sides, got {len(names)}")
    rows, columns = _positions(scores.enrolment_speakers, names), _positions(scores.trial_speakers, names)
    total, number = np.zeros(len(names) ** 2), np.zeros(len(names) ** 2)
    llrs = pav_llrs(scores.target, scores.nontarget, laplace=True)
    for pairs, llr in zip((scores.target_pairs, scores.nontarget_pairs), llrs, strict=True):
        i, j = rows[pairs.enrolment], columns[pairs.trial]
        inside = (i >= 0) & (j >= 0)
        cell = i[inside] * len(names) + j[inside]
        total += np.bincount(cell, weights=llr[inside], minlength=len(total))
        number += np.bincount(cell, minlength=len(total))
    with np.errstate(invalid="ignore"):
        mean = (total / number).reshape(len(names), len(names))
    return 1.0 / (1.0 + np.exp(-mean)), [str(name) for name in names]


def _positions(speakers: StrArray, names: StrArray) -> IntArray:
    at = np.minimum(np.searchsorted(names, speakers), len(names) - 1)
    return np.where(names[at] == speakers, at, -1)


def diagonal_dominance(similarity: FloatArray) -> float:
    """Absolute difference between the mean of the diagonal and the mean of everything else."""
    values = as_array(similarity, "similarities")
    diagonal = np.eye(len(values), dtype=bool)
    return float(abs(np.nanmean(values[diagonal]) - np.nanmean(values[~diagonal])))


def deid(original: FloatArray, crossed: FloatArray) -> float:
    """De-identification: 1 when original and protected voices of a person no longer look alike, 0 when as before.

    `original` is the matrix of original against original speech, `crossed` of original against protected.

    Examples
    --------
    >>> deid(np.eye(3), np.full((3, 3), 0.5))
    1.0
    """
    return 1.0 - _ratio(crossed, original)


def voice_distinctiveness_gain(original: FloatArray, protected: FloatArray) -> float:
    """Gain of voice distinctiveness in dB: 0 keeps voices as distinct as they were, negative loses distinctiveness.

    `protected` is the matrix of protected against protected speech; -inf when no difference is left.

    Examples
    --------
    >>> voice_distinctiveness_gain(np.eye(3), np.eye(3))
    0.0
    """
    ratio = _ratio(protected, original)
    return 10.0 * float(np.log10(ratio)) if ratio > 0.0 else -np.inf


def _ratio(numerator: FloatArray, denominator: FloatArray) -> float:
    base = diagonal_dominance(denominator)
    if base == 0.0:
        raise InputError("original speech shows no voice distinctiveness, so nothing can be compared with it")
    return diagonal_dominance(numerator) / base


_voice_measure = partial(similarity_measure, references=("noe2020",))


@_voice_measure("deid", "DeID", unit="fraction", limits=(-np.inf, 1.0), discloses="down", place=10, headline=130)
def _deid(view: SimilarityView) -> float | None:
    """De-identification: 1 when a protected voice no longer resembles the original, 0 when nothing changed."""
    defined = view.enrolment == "original" and _is_distinctive(view)
    return deid(view.original, view.compared) if defined else None


@_voice_measure(
    "voice_distinctiveness_gain", "G_VD", unit="dB", limits=(-np.inf, np.inf), discloses="none", place=20, headline=140
)
def _voice_distinctiveness_gain(view: SimilarityView) -> float | None:
    """How well protected voices can be distinguished: 0 as well as before, negative less well."""
    defined = view.enrolment == "anonymised" and _is_distinctive(view)
    return voice_distinctiveness_gain(view.original, view.compared) if defined else None


def _is_distinctive(view: SimilarityView) -> bool:
    """Whether original speech has any voice distinctiveness to compare with."""
    return diagonal_dominance(view.original) > 0.0
