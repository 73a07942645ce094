"""Local Information Disclosure (LID) of a trial in a search among N identities [Šterns et al.].

The attacker's posterior over identities is the softmax of the calibrated row; LID is the gain, in bits, of the
true identity over its prior. Everything that is needed from a row is computed in one pass over the matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.rows import (
    AffineCalibration,
    RowCalibration,
    check_finite,
    check_scale,
    check_searchable,
    count_rows,
    rescale_extreme_rows,
    row_blocks,
    row_llrs,
    row_sums,
)
from zeroevidence.data.names import rank_names
from zeroevidence.errors import InputError
from zeroevidence.measure.exponentials import by_exp2, powers_by_numpy
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import SearchView

_LARGEST_EXPONENT = 115.0  # a power of two that, with a sum of such, is within single precision


@dataclass(frozen=True, slots=True, eq=False)
class RowEvidence:
    """Evidence of each trial of a search.

    Parameters
    ----------
    lid
        Disclosure in bits.
    greater
        Number of identities that score higher than the true one.
    equal
        Number of other identities that score the same.
    identities
        Number of enrolled identities.
    """

    lid: FloatArray
    greater: IntArray
    equal: IntArray
    identities: int

    @property
    def posterior(self) -> FloatArray:
        """Probability of the true identity under a uniform prior."""
        return np.exp2(self.lid) / self.identities


def join_evidence(parts: Sequence[RowEvidence]) -> RowEvidence:
    """Return the evidence of several searches with equally many identities together."""
    if len(parts) == 1:
        return parts[0]
    lid, greater, equal = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("lid", "greater", "equal")
    )
    return RowEvidence(lid, greater, equal, parts[0].identities)


def row_evidence(
    scores: FloatArray,
    mated: IntArray,
    calibration: RowCalibration,
    *,
    ddof: int = 0,
    prior: FloatArray | None = None,
) -> RowEvidence:
    r"""LID and rank of the true identity for each row, in bounded memory.

    .. math:: LID_i = \log_2 \frac{p_{i m_i}}{\pi_{m_i}}, \quad p_{ij} \propto \pi_j e^{LLR_{ij}}

    `prior` is over identities, uniform unless given. A row of equal scores has LID 0.
    """
    check_searchable(scores, mated, ddof=ddof)
    check_scale(scores, calibration.scaling)
    n_rows, n_columns = scores.shape
    log_prior = None if prior is None else np.log(check_prior(prior, n_columns))
    lid = np.empty(n_rows)
    greater, equal = np.empty(n_rows, dtype=np.int64), np.empty(n_rows, dtype=np.int64)
    blocks = list(row_blocks(n_rows, n_columns))
    space = np.empty((blocks[0].stop if blocks else 0, n_columns), scores.dtype)  # memory that is new costs time
    for rows in blocks:
        x = scores[rows]
        at = np.arange(len(x))
        true = x[at, mated[rows]][:, None]
        greater[rows] = count_rows(np.greater, x, true)
        equal[rows] = count_rows(np.greater_equal, x, true) - 1 - greater[rows]
        high, low = x.max(axis=1), x.min(axis=1)
        check_finite(x, np.stack((high, low)), rows.start)
        if calibration.scaling == "standardise":
            rescaled = rescale_extreme_rows(x, np.maximum(high, -low))
            if rescaled is not x:
                x, high, low = rescaled, rescaled.max(axis=1), rescaled.min(axis=1)
        if isinstance(calibration, AffineCalibration) and log_prior is None:
            value = _affine_lid(x, high, low, mated[rows], calibration, ddof, space[: len(x)])
        else:
            value = _general_lid(x, mated[rows], calibration, ddof, log_prior)
        lid[rows] = np.where(high == low, 0.0, value) / LN2
    return RowEvidence(lid, greater, equal, n_columns)


def _affine_lid(
    x: FloatArray,
    high: FloatArray,
    low: FloatArray,
    mated: IntArray,
    calibration: AffineCalibration,
    ddof: int,
    space: FloatArray,
) -> FloatArray:
    """Natural LID of a block of rows, whose extremes are at hand, with few passes over it and space of its size.

    The mean of a row cancels whatever the scaling is. It is taken off where it is larger than the deviation, so that no
    digits are lost, and so is the largest exponent where the exponentials would leave the range of single precision.
    """
    n_columns = x.shape[1]
    mean, spread = row_sums(x) / n_columns, np.ones(len(x))
    standardised = calibration.scaling == "standardise"
    if standardised:
        variance = (row_sums(x, squared=True) - n_columns * mean**2) / (n_columns - ddof)
        spread = np.sqrt(np.maximum(variance, 0.0))
    centred = not standardised or bool((np.abs(mean) > spread).any())
    centre = mean.astype(x.dtype) if centred else np.zeros(len(x), x.dtype)
    z = np.subtract(x, centre[:, None], out=space) if centred else x
    if standardised and centred:
        spread = np.sqrt(row_sums(z, squared=True) / (n_columns - ddof))
    slope = calibration.weight / LN2 / np.where(high == low, np.inf, spread)  # exponentials are powers of two
    true = slope * z[np.arange(len(x)), mated]
    top = slope * (np.where(slope >= 0.0, high, low) - centre)
    z = np.multiply(z, slope[:, None].astype(z.dtype), out=space)
    if top.max() + np.log2(n_columns) > _LARGEST_EXPONENT or top.min() < -_LARGEST_EXPONENT / 2.0:
        z -= top[:, None].astype(z.dtype)
    else:
        top = np.zeros(len(x))
    (powers_by_numpy() if z.dtype == np.float32 else by_exp2)(z)
    result: FloatArray = LN2 * (true - top) - np.log(row_sums(z) / n_columns)
    return result


def _general_lid(
    x: FloatArray, mated: IntArray, calibration: RowCalibration, ddof: int, log_prior: FloatArray | None
) -> FloatArray:
    """Natural LID of a block of rows."""
    llr = row_llrs(x, calibration, ddof=ddof)
    weighed = llr - np.log(x.shape[1]) if log_prior is None else llr + log_prior
    top = weighed.max(axis=1)
    value: FloatArray = llr[np.arange(len(x)), mated] - top - np.log(np.exp(weighed - top[:, None]).sum(axis=1))
    return value


def check_prior(prior: FloatArray, n_columns: int) -> FloatArray:
    """Return a prior over identities, normalised; refuse one with zeros or of another length."""
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_columns,):
        raise InputError(f"prior: expected {n_columns} probabilities, one per identity, got shape {prior.shape}")
    if not (prior > 0.0).all() or not np.isclose(prior.sum(), 1.0, atol=1e-6):
        raise InputError("prior: expected positive probabilities that sum to 1")
    normalised: FloatArray = prior / prior.sum()
    return normalised


def ccdf(lid: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct levels in bits, ascending, and the share of trials that disclose more than each."""
    levels, counts = np.unique(lid, return_counts=True)
    return levels, 1.0 - np.cumsum(counts) / len(lid)


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerRisk:
    """Disclosure per speaker, the most exposed first; `whose` is the place in this table of each trial's speaker."""

    speaker: StrArray
    trials: IntArray
    mean: FloatArray
    max: FloatArray
    share_positive: FloatArray
    whose: IntArray


def by_speaker(lid: FloatArray, speakers: StrArray) -> SpeakerRisk:
    """Mean, maximum and share of positive disclosure of each speaker's trials."""
    names, index = rank_names(speakers)
    trials = np.bincount(index)
    mean = np.bincount(index, weights=lid) / trials
    positive = np.bincount(index, weights=lid > 0.0) / trials
    highest = np.full(len(names), -np.inf)
    np.maximum.at(highest, index, lid)
    order = np.argsort(-mean, kind="stable")  # those with equal means stay in the order of their names
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return SpeakerRisk(names[order], trials[order], mean[order], highest[order], positive[order], place[index])


@search_measure(
    "alid",
    "ALID",
    unit="bit",
    limits=(-np.inf, np.inf),
    high_note="log2 N",
    place=10,
    headline=16,
    strength=10,
    null=True,
    tested=True,
    references=("sterns2026",),
    null_note="Below 0 where nothing leaks: the attacker would trust the scores as much as now, and be misled.",
)
def _alid(view: SearchView) -> FloatArray:
    """What one utterance reveals about its speaker in a search, averaged over utterances; 0 is nothing."""
    return view.lid / view.trials


@search_measure("pdr", "PDR", unit="rate", place=20, headline=90, references=("sterns2026",))
def _pdr(view: SearchView) -> FloatArray:
    """Share of utterances that make their speaker more likely than before."""
    return view.positive / view.trials


@search_measure("ndr", "NDR", unit="rate", discloses="down", place=30, references=("sterns2026",))
def _ndr(view: SearchView) -> FloatArray:
    """Share of utterances that reveal nothing or point to another speaker."""
    return 1.0 - view.positive / view.trials


@search_measure("lid_pos", "LID+", unit="bit", high_note="log2 N", place=40, references=("sterns2026",))
def _lid_pos(view: SearchView) -> FloatArray:
    """Mean disclosure of the utterances that reveal something."""
    return np.where(view.positive > 0, view.lid_positive / np.maximum(view.positive, 1.0), 0.0)


@search_measure("lid_neg", "LID-", unit="bit", limits=(-np.inf, 0.0), place=50, references=("sterns2026",))
def _lid_neg(view: SearchView) -> FloatArray:
    """Mean disclosure of the utterances that mislead the attacker."""
    negative = view.trials - view.positive
    return np.where(negative > 0, (view.lid - view.lid_positive) / np.maximum(negative, 1.0), nan)


@search_measure(
    "lid_max",
    "LID_max",
    unit="bit",
    limits=(-np.inf, np.inf),
    high_note="log2 N",
    place=60,
    headline=19,
    interval="extreme",
    null=True,
    references=("sterns2026",),
)
def _lid_max(view: SearchView) -> FloatArray:
    """Disclosure of the worst utterance: each bit doubles the attacker's chance of naming its speaker."""
    return view.highest
