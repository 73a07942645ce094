"""Local Information Disclosure (LID) of a trial in a search, for uniform and other priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import nan
from typing import Any

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
from zeroevidence.data.embeddings import rank_names
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import IntervalRule, search_measure
from zeroevidence.measure.search.rank import rank_distribution
from zeroevidence.measure.softplus import LN2, by_exp2, powers_by_numpy
from zeroevidence.measure.views import Line, NameCounts, SearchView

_LARGEST_EXPONENT = 115.0  # a power of two that, with a sum of such, is within single precision
_NEAR = 1e-4
_FAR = 600.0  # natural logarithms whose exponentials are sure to be finite
_BLOCK = 1 << 14  # trials that stay in the cache together


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
    scores: FloatArray, mated: IntArray, calibration: RowCalibration, *, prior: FloatArray | None = None
) -> RowEvidence:
    r"""LID and rank of the true identity for each row, in bounded memory [Šterns et al.].

    The attacker's posterior over identities is the softmax of the calibrated row; LID is the gain, in bits, of the true
    identity over its prior. Everything that is needed from a row is computed in one pass over the matrix.

    .. math:: LID_i = \log_2 \frac{p_{i m_i}}{\pi_{m_i}}, \quad p_{ij} \propto \pi_j e^{LLR_{ij}}

    `prior` is over identities, uniform unless given. A row of equal scores has LID 0.
    """
    check_searchable(scores, mated)
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
            value = _affine_lid(x, high, low, mated[rows], calibration, space[: len(x)])
        else:
            value = lid_of_llrs(row_llrs(x, calibration), mated[rows], log_prior)
        lid[rows] = np.where(high == low, 0.0, value) / LN2
    return RowEvidence(lid, greater, equal, n_columns)


def _affine_lid(
    x: FloatArray, high: FloatArray, low: FloatArray, mated: IntArray, calibration: AffineCalibration, space: FloatArray
) -> FloatArray:
    """Natural LID of a block of rows, whose extremes are at hand, with few passes over it and space of its size.

    The mean of a row cancels whatever the scaling is. It is taken off where it is larger than the deviation, so that no
    digits are lost, and so is the largest exponent where the exponentials would leave the range of single precision.
    """
    n_columns = x.shape[1]
    mean, spread = row_sums(x) / n_columns, np.ones(len(x))
    standardised = calibration.scaling == "standardise"
    if standardised:
        variance = (row_sums(x, squared=True) - n_columns * mean**2) / (n_columns - calibration.ddof)
        spread = np.sqrt(np.maximum(variance, 0.0))
    centred = not standardised or bool((np.abs(mean) > spread).any())
    centre = mean.astype(x.dtype) if centred else np.zeros(len(x), x.dtype)
    z = np.subtract(x, centre[:, None], out=space) if centred else x
    if standardised and centred:
        spread = np.sqrt(row_sums(z, squared=True) / (n_columns - calibration.ddof))
    slope = calibration.weight / LN2 / np.where(high == low, np.inf, spread)  # exponentials are powers of two
    true = slope * z[np.arange(len(x)), mated]
    top = slope * (np.where(slope >= 0.0, high, low) - centre)
    z = np.multiply(z, slope[:, None].astype(z.dtype), out=space)
    if top.max() + np.log2(n_columns) > _LARGEST_EXPONENT or top.min() < -_LARGEST_EXPONENT / 2.0:
        z -= top[:, None].astype(z.dtype)
    else:
        top = np.zeros(len(x))
    (powers_by_numpy() if z.dtype == np.float32 else by_exp2)(z)
    return np.asarray(LN2 * (true - top) - np.log(row_sums(z) / n_columns))


def lid_of_llrs(llr: FloatArray, mated: IntArray, log_prior: FloatArray | None) -> FloatArray:
    """Natural LID of rows of LLRs."""
    return np.asarray(llr[np.arange(len(llr)), mated] - log_totals(llr, log_prior))


def log_totals(llr: FloatArray, log_prior: FloatArray | None) -> FloatArray:
    """Natural logarithm of the likelihood of each row, the mean of its likelihoods over the prior of identities."""
    weighed = llr - np.log(llr.shape[1]) if log_prior is None else llr + log_prior
    top = weighed.max(axis=1)
    return np.asarray(top + np.log(np.exp(weighed - top[:, None]).sum(axis=1)))


def check_prior(prior: FloatArray, n_columns: int) -> FloatArray:
    """Return a prior over identities, normalised; refuse one with zeros or of another length."""
    prior = np.asarray(prior, dtype=np.float64)
    if prior.shape != (n_columns,):
        raise InputError(f"prior: expected {n_columns} probabilities, one per identity, got shape {prior.shape}")
    if not (prior > 0.0).all() or not np.isclose(prior.sum(), 1.0, atol=1e-6):
        raise InputError("prior: expected positive probabilities that sum to 1")
    return np.asarray(prior / prior.sum())


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


_lid_measure = partial(search_measure, unit="bit", high_note="log2 N", references=("sterns2026",))


@_lid_measure("alid", "ALID", limits=(-np.inf, np.inf), place=10, headline=16, strength=10, null=True, tested=True)
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


def _where_refitted(view: SearchView | None) -> IntervalRule | None:
    """The rule of measures that a calibration moves as much as the people do who are judged by it."""
    return "smooth" if view is None or view.refitted else None


@_lid_measure("lid_pos", "LID+", place=40, interval=_where_refitted)
def _lid_pos(view: SearchView) -> FloatArray:
    """Mean disclosure of the utterances that reveal something."""
    return np.where(view.positive > 0, view.lid_positive / np.maximum(view.positive, 1.0), nan)


@search_measure(
    "lid_neg", "LID-", unit="bit", limits=(-np.inf, 0.0), place=50, interval=_where_refitted, references=("sterns2026",)
)
def _lid_neg(view: SearchView) -> FloatArray:
    """Mean disclosure of the utterances that mislead the attacker."""
    negative = view.trials - view.positive
    return np.where(negative > 0, (view.lid - view.lid_positive) / np.maximum(negative, 1.0), nan)


@_lid_measure("lid_max", "LID_max", limits=(-np.inf, np.inf), place=60, headline=19, interval=None, null=True)
def _lid_max(view: SearchView) -> FloatArray | None:
    """Disclosure of the worst utterance: each bit doubles the attacker's chance of naming its speaker."""
    return view.highest


PRIOR_FREE_MAX = 1.0 / LN2  # the true person is certain


def log_ratio_from_lid(lid: FloatArray, prior: FloatArray | float) -> FloatArray:
    """Natural log of the likelihood ratio R of the true identity against the others, from LID at a prior.

    Examples
    --------
    >>> np.exp(log_ratio_from_lid(np.array([1.0]), 0.25)).round(9).tolist()  # 1/4 becomes 1/2
    [3.0]
    """
    lid, prior = np.asarray(lid, dtype=np.float64), np.asarray(prior, dtype=np.float64)
    if not ((prior > 0.0) & (prior < 1.0)).all():
        raise InputError("expected priors between 0 and 1")
    with np.errstate(divide="ignore", over="ignore"):
        after = np.minimum(np.exp2(lid) * prior, 1.0)  # rounding may go beyond
        return np.asarray(lid * LN2 + np.log1p(-prior) - np.log1p(-after))


def lid_at(log_ratio: FloatArray, log_odds: FloatArray) -> FloatArray:
    r"""LID in bits of each trial (row) at each prior log-odds (column).

    Let the true identity have the prior :math:`\pi` and the others share the rest in equal parts. The evidence of a
    trial is one number, the likelihood ratio R of the true identity against the average of the others, and

    .. math:: LID(\pi) = \log_2 \frac{R}{\pi R + 1 - \pi}.

    With :math:`\pi = 1/N` it is the LID of a uniform prior, which R follows from. Its mean over all :math:`\pi` needs
    no prior at all.

    Examples
    --------
    >>> lid_at(np.log([3.0]), np.log([1.0 / 3.0])).round(12).tolist()
    [[1.0]]
    """
    r, prior = np.asarray(log_ratio)[:, None], 1.0 / (1.0 + np.exp(-np.asarray(log_odds)[None, :]))
    # ln R - ln(pi R + 1 - pi), as minus ln(pi + (1 - pi) / R), which an infinite R leaves finite
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(-np.logaddexp(np.log(prior), np.log1p(-prior) - r) / LN2)


def total_lid_at(log_ratio: FloatArray, log_odds: FloatArray) -> FloatArray:
    """Sum over trials of their LID in bits at each prior log-odds, without a matrix of them.

    Examples
    --------
    >>> total_lid_at(np.log([3.0, 1.0]), np.log([1.0 / 3.0])).round(12).tolist()
    [1.0]
    """
    odds = np.asarray(log_odds)
    prior, rest = 1.0 / (1.0 + np.exp(-odds)), 1.0 / (1.0 + np.exp(odds))
    total = np.zeros(len(odds))
    for start in range(0, len(log_ratio), _BLOCK):
        r = log_ratio[start : start + _BLOCK]
        near = np.abs(r) < _FAR
        inverse = np.exp(-r[near])
        total -= [np.log2(p + q * inverse).sum() for p, q in zip(prior, rest, strict=True)]
        if not near.all():
            total += lid_at(r[~near], odds).sum(axis=0)
    return total


def prior_free(log_ratio: FloatArray) -> FloatArray:
    r"""LID of each trial, averaged over all priors, in bits.

    .. math:: \int_0^1 LID(\pi)\,d\pi = \frac{1}{\ln 2} \left(1 - \frac{\ln R}{R - 1}\right)

    Examples
    --------
    >>> prior_free(np.array([np.log(2.0), 0.0, np.inf])).round(4).tolist()
    [0.4427, 0.0, 1.4427]
    """
    r = np.asarray(log_ratio, dtype=np.float64)
    near = np.abs(r) < _NEAR
    far = np.where(near | np.isinf(r), 1.0, r)
    with np.errstate(over="ignore"):
        value = 1.0 - far / np.expm1(far)
    small = np.where(near, r, 0.0)
    value = np.where(near, small / 2.0 - small**2 / 12.0, value)
    value = np.where(r == np.inf, 1.0, np.where(r == -np.inf, -np.inf, value))
    return value / LN2


@search_measure(
    "lid_prior_free",
    "prior-free LID",
    unit="bit",
    limits=(-np.inf, PRIOR_FREE_MAX),
    place=65,
    references=("sterns2026", "nautsch2020"),
)
def _lid_prior_free(view: SearchView) -> FloatArray | None:
    """What one utterance reveals about its speaker, averaged over all priors; 0 is nothing and 1.44 everything."""
    return None if view.prior_free is None else view.prior_free / view.trials


_calibration_measure = partial(
    search_measure, unit="nat", limits=(-np.inf, np.inf), null=True, references=("sterns2026",)
)


@_calibration_measure("weight", "weight w", place=150, interval=_where_refitted)
def _weight(view: SearchView) -> FloatArray | None:
    """Log-likelihood ratio that one unit of a scaled score is worth to the attacker: the power of the scores."""
    return None if view.line is None else np.array([view.line.weight])


@_calibration_measure("bias", "bias b", discloses="down", place=160, interval=None)
def _bias(view: SearchView) -> FloatArray | None:
    """Log-odds of a pair whose scaled score is 0, fitted together with the weight; it cancels in LID."""
    return None if view.line is None or view.line.bias is None else np.array([view.line.bias])


def mean_line(calibrations: Sequence[RowCalibration], trials: Sequence[int]) -> Line | None:
    """Return mean weight and bias over calibrations of so many trials each; None unless all are lines of one kind.

    Examples
    --------
    >>> folds = [AffineCalibration("logistic", weight, -2.0, -1.0) for weight in (1.0, 2.0)]
    >>> mean_line(folds, [30, 10])
    Line(weight=1.25, bias=-2.0)
    """
    lines = [calibration for calibration in calibrations if isinstance(calibration, AffineCalibration)]
    if len(lines) < len(calibrations) or len({(line.fit and line.fit.method, line.scaling) for line in lines}) > 1:
        return None
    weight, bias = (
        float(np.average([getattr(line, name) for line in lines], weights=trials)) for name in ("weight", "bias")
    )
    fit = lines[0].fit
    return Line(weight, None if fit is not None and fit.method == "temperature" else bias)


def search_view(
    evidence: RowEvidence, singled: IntArray | None = None, names: NameCounts | None = None, line: Line | None = None
) -> SearchView:
    """Return the view of all trials of a search; `singled`, `names` and `line` are None where these are not known."""
    columns = trial_columns(evidence, singled)
    sums: dict[str, Any] = {name: np.array([column.sum()], dtype=np.float64) for name, column in columns.items()}
    ranks = rank_distribution(evidence.greater, evidence.equal, evidence.identities)[None, :]
    highest = np.array([evidence.lid.max()])
    return SearchView(evidence.identities, highest=highest, ranks=ranks, names=names, line=line, **sums)


def trial_columns(evidence: RowEvidence, singled: IntArray | None) -> dict[str, FloatArray]:
    """Return what each trial adds to the sums of a `SearchView`, by the name of the sum."""
    lid = evidence.lid
    positive = lid > 0.0
    columns = {
        "trials": np.ones(len(lid)),
        "lid": lid,
        "positive": positive.astype(np.float64),
        "lid_positive": np.where(positive, lid, 0.0),
        "first": np.where(evidence.greater == 0, 1.0 / (evidence.equal + 1.0), 0.0),
        "linked": ((evidence.greater == 0) & (evidence.equal == 0)).astype(np.float64),
        "prior_free": prior_free(log_ratio_from_lid(lid, 1.0 / evidence.identities)),
    }
    return columns if singled is None else columns | {"singled": singled.astype(np.float64)}
