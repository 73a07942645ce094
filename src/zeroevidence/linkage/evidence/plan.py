"""A search, checked once: what every engine needs to know, and the terms of each row that have a closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.evidence.moments import EnrolmentMoments, enrolment_moments
from zeroevidence.linkage.evidence.trial_evidence import LN2, TrialEvidence
from zeroevidence.linkage.inputs.scoring import ScoreFunction, Scoring, check_scoring
from zeroevidence.linkage.inputs.vectors import VectorSet

_HEAVY = 3.0  # share of the sum times exponent from which rounding of a single product would show


@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """Both sides, the true identity of each trial and its calibration."""

    trial: VectorSet
    enrol: VectorSet
    mated: IntArray
    weight: FloatArray  # one per trial
    bias: FloatArray
    threshold: FloatArray | None
    ddof: int
    dtype: Any  # of the products
    function: ScoreFunction | None
    moments: EnrolmentMoments | None  # None with a scoring function, or where the engine does without

    @property
    def identities(self) -> int:
        """Number of enrolled identities."""
        return self.enrol.count

    @property
    def trials(self) -> int:
        """Number of trials."""
        return len(self.mated)


def plan_search(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    weight: float | FloatArray,
    bias: float | FloatArray = 0.0,
    scoring: Scoring = "dot",
    ddof: int = 0,
    threshold: float | FloatArray | None = None,
    dtype: Any = None,
    moments: Callable[[VectorSet], EnrolmentMoments | None] = enrolment_moments,
) -> SearchPlan:
    """Check everything that can be checked before the work, and take the moments of the enrolment by `moments`.

    Raises
    ------
    InputError
        Naming the trial, the enrolment or the option that is wrong.
    """
    check_scoring(scoring)
    trial = VectorSet.of(trial_vectors, "trial", cosine=scoring == "cosine")
    enrol = VectorSet.of(enrol_vectors, "enrolment", cosine=scoring == "cosine")
    if trial.dim != enrol.dim and not callable(scoring):
        raise InputError(f"trial vectors have {trial.dim} entries, enrolment vectors {enrol.dim}; expected the same")
    if enrol.count < 2:
        raise InputError(f"a search needs at least two enrolled identities, got {enrol.count}")
    if ddof not in (0, 1):
        raise UsageError(f"expected ddof 0 or 1, got {ddof}")
    if dtype is None:
        dtype = np.float32 if trial.single and enrol.single and not callable(scoring) else np.float64
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise UsageError(f"expected products in float32 or float64, got {np.dtype(dtype)}")
    return SearchPlan(
        trial,
        enrol,
        _check_mated(mated, trial.count, enrol.count),
        _per_trial("weight", weight, trial.count),
        _per_trial("bias", bias, trial.count),
        None if threshold is None else _per_trial("threshold", threshold, trial.count),
        ddof,
        np.dtype(dtype),
        scoring if callable(scoring) else None,
        None if callable(scoring) else moments(enrol),
    )


def _check_mated(mated: Any, trials: int, identities: int) -> IntArray:
    array = np.asarray(mated)
    if array.shape != (trials,) or not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"mated: expected {trials} whole numbers, one per trial, got {array.dtype} {array.shape}")
    outside = np.flatnonzero((array < 0) | (array >= identities))
    if len(outside):
        row = int(outside[0])
        raise InputError(f"mated: trial {row} names identity {array[row]}; expected 0 to {identities - 1}")
    return array.astype(np.int64)


def _per_trial(name: str, value: float | FloatArray, trials: int) -> FloatArray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (trials,)):
        raise InputError(f"{name}: expected one number, or {trials}, one per trial; got shape {array.shape}")
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong) and not (name == "threshold" and not np.isnan(array).any()):
        raise InputError(f"{name}: expected finite numbers, got {array.flat[wrong[0]]}")
    return np.broadcast_to(array, (trials,))


@dataclass(frozen=True, slots=True, eq=False)
class RowTerms:
    """Closed-form parts of a run of rows; scores in it are centred, `offset` brings them back."""

    offset: FloatArray
    score: FloatArray  # of the true identity, in double precision
    mean: FloatArray
    deviation: FloatArray
    slope: FloatArray  # weight over deviation, 0 for a row of equal scores
    doubtful: BoolArray
    x: FloatArray  # trial vectors in double precision; empty where they are on a device
    own_vectors: FloatArray  # those of the true identities, centred; likewise

    @classmethod
    def of(
        cls,
        plan: SearchPlan,
        weight: FloatArray,
        offset: FloatArray,
        score: FloatArray,
        mean: FloatArray,
        deviation: FloatArray,
        *,
        doubtful: BoolArray,
        x: FloatArray | None = None,
        own_vectors: FloatArray | None = None,
        xp: Any = np,
    ) -> RowTerms:
        """Terms with the slope that the moments of each row give; the arrays are those of the module `xp`."""
        slope = xp.where(deviation > 0.0, weight / xp.where(deviation > 0.0, deviation, 1.0), 0.0)
        # As the products' precision has it, in powers of two: used for the true identity and for the others alike,
        # the rounding cancels.
        narrow = xp.asarray(slope / LN2, dtype=getattr(xp, plan.dtype.name))
        slope = xp.asarray(narrow, dtype=xp.float64) * LN2
        none: FloatArray = np.zeros((0, 0))
        vectors = none if x is None else x, none if own_vectors is None else own_vectors
        return cls(offset, score, mean, deviation, slope, doubtful, *vectors)

    @property
    def own(self) -> FloatArray:
        """Standardised, weighted score of the true identity."""
        own: FloatArray = self.slope * (self.score - self.mean)
        return own


def row_terms(plan: SearchPlan, rows: IntArray) -> RowTerms:
    """Terms of some trials; rows that rounding spoils are worked out the long way."""
    moments = plan.moments
    assert moments is not None
    x = plan.trial.take(rows)
    mean, deviation, doubtful = moments.of_rows(x, plan.ddof)
    own = plan.enrol.take(plan.mated[rows])
    own -= moments.centre
    score = np.einsum("ij,ij->i", x, own)
    for at in np.flatnonzero(doubtful):
        mean[at], deviation[at] = _direct(plan, moments, x[at])
    weight, offset = plan.weight[rows], x @ moments.centre
    return RowTerms.of(plan, weight, offset, score, mean, deviation, doubtful=doubtful, x=x, own_vectors=own)


def _direct(plan: SearchPlan, moments: EnrolmentMoments, x: FloatArray) -> tuple[float, float]:
    """Mean and deviation of one row from its scores, 0 where they are all equal."""
    low, high, total = np.inf, -np.inf, 0.0
    for start, stop in plan.enrol.blocks():
        scores = (plan.enrol.read(start, stop) - moments.centre) @ x
        low, high, total = min(low, scores.min()), max(high, scores.max()), total + scores.sum()
    mean = total / plan.identities
    # equal products of equal vectors can differ in the last digit, by the kernel that worked them out
    if high - low <= 4.0 * np.finfo(np.float64).eps * np.linalg.norm(x) * (moments.longest + 1e-300):
        return mean, 0.0
    squares = 0.0
    for start, stop in plan.enrol.blocks():
        scores = (plan.enrol.read(start, stop) - moments.centre) @ x - mean
        squares += float(scores @ scores)
    return mean, float(np.sqrt(squares / (plan.identities - plan.ddof)))


def finish(
    plan: SearchPlan,
    rows: IntArray,
    terms: RowTerms,
    *,
    log_others: FloatArray,
    greater: IntArray,
    equal: IntArray,
    best: FloatArray,
    best_at: IntArray,
    fires: IntArray | None,
    rounded: FloatArray | None = None,
) -> TrialEvidence:
    """Results of some trials from what an engine found among the others.

    `log_others` is the logarithm of the sum of ``exp(slope * (score - mean))`` over the others; `best` is the highest
    centred score among them; `rounded` is the true identity's as the products have it, if in single precision.
    """
    own = terms.own
    if rounded is not None:
        log_others, best = _refined(plan, rows, terms, log_others, equal, best, best_at, rounded)
    log_sum = np.logaddexp(own, log_others)
    lid = np.where(terms.slope == 0.0, 0.0, (own - log_sum + np.log(plan.identities)) / LN2)
    mated = plan.mated[rows]
    flat = terms.deviation == 0.0  # all equal, whatever rounding made of it
    greater, equal = np.where(flat, 0, greater), np.where(flat, plan.identities - 1, equal)
    best_at = np.where(flat, np.where(mated == 0, 1, 0), best_at)
    won = (greater == 0) & ((equal == 0) | (mated < best_at))
    return TrialEvidence(
        identities=plan.identities,
        score=terms.score + terms.offset,
        mean=terms.mean + terms.offset,
        deviation=terms.deviation,
        log_sum=log_sum + plan.bias[rows],
        lid=lid,
        greater=greater,
        equal=equal,
        best_other=best + terms.offset,
        top=np.where(won, mated, best_at),
        fires=np.full(len(rows), -1) if fires is None else fires,
    )


def _refined(
    plan: SearchPlan,
    rows: IntArray,
    terms: RowTerms,
    log_others: FloatArray,
    equal: IntArray,
    best: FloatArray,
    best_at: IntArray,
    rounded: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """The sum over the others with its dominant terms in double precision.

    A product in single precision is off by some 1e-7 of itself. Where one identity dominates the sum, that error is
    not averaged away, and a large exponent multiplies it: there its score is worked out again.
    """
    moments = plan.moments
    assert moments is not None

    def exchanged(log_sum: FloatArray, old: FloatArray, new: FloatArray, count: IntArray | int) -> FloatArray:
        change: FloatArray = count * (np.exp(new - log_sum) - np.exp(old - log_sum))
        return log_sum + np.log1p(np.maximum(change, -0.5))

    own = terms.own
    tied = np.flatnonzero(equal > 0)
    log_others, best = log_others.copy(), best.copy()
    old = terms.slope[tied] * (rounded[tied] - terms.mean[tied])
    log_others[tied] = exchanged(log_others[tied], old, own[tied], equal[tied])
    reach = terms.slope * (best - terms.mean)
    heavy = np.flatnonzero((best != rounded) & (np.exp(reach - np.logaddexp(own, log_others)) * reach > _HEAVY))
    if len(heavy):
        x = plan.trial.take(rows[heavy])
        y = plan.enrol.take(best_at[heavy]) - moments.centre
        best[heavy] = np.einsum("ij,ij->i", x, y)
        new = terms.slope[heavy] * (best[heavy] - terms.mean[heavy])
        log_others[heavy] = exchanged(log_others[heavy], reach[heavy], new, 1)
    return log_others, best
