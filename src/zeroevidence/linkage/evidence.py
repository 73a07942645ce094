"""Evidence of trials: terms in closed form, and what an engine summed and counted over the other identities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.linkage.plan import LARGEST_WEIGHT, EnrolmentMoments, SearchPlan

if TYPE_CHECKING:
    from zeroevidence.measure.search.disclosure import RowEvidence

LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, eq=False)
class TrialEvidence:
    """Evidence of T trials in a search through N identities; one entry per trial in every array."""

    identities: int
    score: FloatArray  # of the true identity
    mean: FloatArray  # of the row of scores
    deviation: FloatArray  # of the row, 0 where all its scores are equal
    log_sum: FloatArray  # ln of the sum of exp(LLR) over the row
    lid: FloatArray  # disclosure in bits, log2(N p)
    greater: IntArray  # identities that score higher than the true one
    equal: IntArray  # other identities that score the same
    best_other: FloatArray  # highest score among the others
    top: IntArray  # identity with the highest score; of equals the first
    fires: IntArray  # identities above the threshold, -1 where none was given

    def __len__(self) -> int:
        return len(self.lid)

    @property
    def evidence(self) -> RowEvidence:
        """The part that the one-to-N measures take."""
        from zeroevidence.measure.search.disclosure import RowEvidence

        return RowEvidence(self.lid, self.greater, self.equal, self.identities)

    def take(self, rows: IntArray | slice) -> TrialEvidence:
        """Return the evidence of some of the trials."""
        return TrialEvidence(self.identities, **{name: getattr(self, name)[rows] for name in ARRAYS})

    @staticmethod
    def join(parts: Sequence[TrialEvidence]) -> TrialEvidence:
        """Return the trials of several parts, one after the other."""
        arrays = {name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
        return TrialEvidence(parts[0].identities, **arrays)


ARRAYS = tuple(field.name for field in fields(TrialEvidence) if field.name != "identities")


_MOST_SCORES = 1 << 22  # in memory at once


def score_rows(plan: SearchPlan, rows: IntArray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield the scores of some trials against every identity, in double precision, a few rows at a time."""
    step = max(1, min(256, _MOST_SCORES // plan.identities))
    for start in range(0, len(rows), step):
        part = slice(start, min(len(rows), start + step))
        x = plan.trial.take(rows[part])
        scores = np.empty((len(x), plan.identities))
        for first, stop in plan.enrol.blocks():
            y = plan.enrol.read(first, stop)
            function = plan.options.function
            block = x @ y.T if function is None else np.asarray(function(x, y), dtype=np.float64)
            if block.shape != (len(x), len(y)):
                raise InputError(f"the scoring function gave shape {block.shape}; expected {(len(x), len(y))}")
            scores[:, first:stop] = block
        if not np.isfinite(scores.sum()) and not np.isfinite(scores).all():
            at, column = np.argwhere(~np.isfinite(scores))[0]
            pair = f"trial {rows[part][at]}, identity {column}"
            raise InputError(f"{pair}: the scoring function gave {scores[at, column]}; expected finite scores")
        yield part, scores


def centred(scores: FloatArray, ddof: int) -> tuple[FloatArray, FloatArray]:
    """Mean and deviation of each row, the latter 0 where all scores are equal; `scores` lose their mean in place."""
    flat = scores.max(axis=1) == scores.min(axis=1)
    mean = scores.mean(axis=1)
    scores -= mean[:, None]
    deviation = np.sqrt(np.einsum("ij,ij->i", scores, scores) / (scores.shape[1] - ddof))
    return mean, np.where(flat, 0.0, deviation)


# Deviations of scores that products of a precision can show: beyond, slopes or products would not be finite.
_DEVIATIONS = {"float32": (1e-28, 1e30), "float64": (1e-140, 1e140)}
_HEAVY = 3.0  # share of the sum times exponent from which rounding of a single product would show


@dataclass(frozen=True, slots=True, eq=False)
class RowTerms:
    """Closed-form terms of rows, on the host or on a device; scores in it are centred, `offset` brings them back."""

    offset: FloatArray
    score: FloatArray  # of the true identity, in double precision
    mean: FloatArray
    deviation: FloatArray
    slope: FloatArray  # weight, over the deviation where rows are standardised; 0 for a row of equal scores
    doubtful: BoolArray  # rounding may have spoilt mean and deviation

    @property
    def exponent(self) -> FloatArray:
        """Scaled, weighted score of the true identity, as though rows were centred."""
        return self.slope * (self.score - self.mean)


TERMS = tuple(field.name for field in fields(RowTerms))


@dataclass(frozen=True, slots=True, eq=False)
class OtherIdentities:
    """Sums and counts over the other identities of some rows."""

    log_sum: FloatArray  # logarithm of the sum of exp(slope * (score - mean))
    greater: IntArray  # how many score higher than the true identity
    equal: IntArray  # how many score the same
    best: FloatArray  # highest centred score
    best_at: IntArray  # which of them has it
    fires: IntArray | None  # identities above the threshold, the true one included
    rounded: FloatArray | None  # score of the true identity as the products have it, if in single precision


def calibrated_slope(plan: SearchPlan, weight: FloatArray, deviation: FloatArray, xp: Any = np) -> FloatArray:
    """Weight of a score in its row, 0 for a row of equal scores; the arrays are those of the module `xp`."""
    divisor = deviation if plan.options.row_scaling == "standardise" else xp.ones_like(deviation)
    slope = xp.where(deviation > 0.0, weight / xp.where(deviation > 0.0, divisor, 1.0), 0.0)
    # As the products' precision has it, in powers of two: used for the true identity and for the others alike,
    # the rounding cancels.
    narrow = xp.asarray(slope / LN2, dtype=getattr(xp, plan.dtype.name))
    rounded: FloatArray = xp.asarray(narrow, dtype=xp.float64) * LN2
    return rounded


def removed_level(plan: SearchPlan, slope: FloatArray, mean: FloatArray) -> FloatArray | float:
    """LLR that centring removes from every score of a row, to be added again where rows keep their level; else 0."""
    return slope * mean if plan.options.row_scaling == "none" else 0.0


def row_terms(plan: SearchPlan, rows: IntArray) -> tuple[RowTerms, FloatArray, FloatArray]:
    """Terms of some trials, their vectors, and the centred vectors of their true identities.

    Mean and deviation of rows that rounding spoils are computed from the scores themselves.
    """
    moments = plan.moments
    assert moments is not None
    x = plan.trial.take(rows)
    variance, square = np.einsum("ij,ij->i", x @ moments.covariance, x), np.einsum("ij,ij->i", x, x)
    mean, deviation, doubtful = moments.of_products(x @ moments.mean, variance, square, plan.options.ddof)
    mated = plan.enrol.take(plan.mated[rows])
    mated -= moments.centre
    score = np.einsum("ij,ij->i", x, mated)
    for at in np.flatnonzero(doubtful):
        mean[at], deviation[at] = _direct(plan, moments, x[at])
    slope = calibrated_slope(plan, plan.weight[rows], deviation)
    return RowTerms(x @ moments.centre, score, mean, deviation, slope, doubtful), x, mated


def _direct(plan: SearchPlan, moments: EnrolmentMoments, x: FloatArray) -> tuple[float, float]:
    """Mean and deviation of one row from its scores, 0 where they are all equal."""
    low, high, total = np.inf, -np.inf, 0.0
    for start, stop in plan.enrol.blocks():
        scores = (plan.enrol.read(start, stop) - moments.centre) @ x
        low, high, total = min(low, scores.min()), max(high, scores.max()), total + scores.sum()
    mean = total / plan.identities
    # equal products of equal vectors can differ in the last digit, by the kernel that computed them
    if high - low <= 4.0 * np.finfo(np.float64).eps * np.linalg.norm(x) * (moments.longest + 1e-300):
        return mean, 0.0
    squares = 0.0
    for start, stop in plan.enrol.blocks():
        scores = (plan.enrol.read(start, stop) - moments.centre) @ x - mean
        squares += float(scores @ scores)
    return mean, float(np.sqrt(squares / (plan.identities - plan.options.ddof)))


@np.errstate(over="ignore", invalid="ignore")
def finish(plan: SearchPlan, rows: IntArray, terms: RowTerms, others: OtherIdentities) -> TrialEvidence:
    """Return the evidence of some trials."""
    log_others, best = others.log_sum, others.best
    if others.rounded is not None:
        log_others, best = _refine(plan, rows, terms, others, others.rounded)
    exponent = terms.exponent
    log_sum = np.logaddexp(exponent, log_others)
    lid = np.where(terms.slope == 0.0, 0.0, (exponent - log_sum + np.log(plan.identities)) / LN2)
    mated = plan.mated[rows]
    flat = terms.deviation == 0.0  # all equal, whatever rounding made of it
    greater, equal = np.where(flat, 0, others.greater), np.where(flat, plan.identities - 1, others.equal)
    best_at = np.where(flat, np.where(mated == 0, 1, 0), others.best_at)
    first = (greater == 0) & ((equal == 0) | (mated < best_at))
    evidence = TrialEvidence(
        identities=plan.identities,
        score=terms.score + terms.offset,
        mean=terms.mean + terms.offset,
        deviation=terms.deviation,
        log_sum=log_sum + plan.bias[rows] + removed_level(plan, terms.slope, terms.mean + terms.offset),
        lid=lid,
        greater=greater,
        equal=equal,
        best_other=best + terms.offset,
        top=np.where(first, mated, best_at),
        fires=np.full(len(rows), -1) if others.fires is None else others.fires,
    )
    return check_range(plan, rows, evidence)


def check_range(plan: SearchPlan, rows: IntArray, evidence: TrialEvidence) -> TrialEvidence:
    """Return the evidence of some trials; scores that the precision of the products cannot hold are refused."""
    low, high = _DEVIATIONS[plan.dtype.name]
    deviation = evidence.deviation
    fine = (deviation == 0.0) | ((deviation >= low) & (deviation <= high))
    for values in (evidence.score, evidence.mean, evidence.log_sum, evidence.lid, evidence.best_other):
        fine &= np.isfinite(values)
    if plan.options.row_scaling != "standardise":
        reach = np.abs(plan.weight[rows]) * deviation
        if not (reach[fine] <= LARGEST_WEIGHT).all():
            at = int(np.argmax(reach))
            reason = f"a weight of {plan.weight[rows][at]:.3g} times scores with deviation {deviation[at]:.3g}"
            raise InputError(f"trial {rows[at]}: {reason} is out of range; expected at most {LARGEST_WEIGHT:g}")
    if not fine.all():
        at = int(np.argmin(fine))
        other = "; use 64 bits, or scale the vectors" if plan.dtype == np.float32 else "; scale the vectors"
        reason = f"scores with mean {evidence.mean[at]:.3g} and deviation {deviation[at]:.3g} are out of range"
        raise InputError(f"trial {rows[at]}: {reason} for products of {8 * plan.dtype.itemsize} bits{other}")
    return evidence


def _refine(
    plan: SearchPlan, rows: IntArray, terms: RowTerms, others: OtherIdentities, rounded: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The sum over the others with its dominant terms in double precision, and the highest score.

    A product in single precision is off by some 1e-7 of itself. Where one identity dominates the sum, that error is
    not averaged away, and a large exponent multiplies it: there its score is computed again.
    """
    moments = plan.moments
    assert moments is not None

    def exchanged(log_sum: FloatArray, old: FloatArray, new: FloatArray, count: IntArray | int) -> FloatArray:
        change: FloatArray = count * (np.exp(new - log_sum) - np.exp(old - log_sum))
        return log_sum + np.log1p(np.maximum(change, -0.5))

    exponent = terms.exponent
    tied = np.flatnonzero(others.equal > 0)
    log_others, best = others.log_sum.copy(), others.best.copy()
    old = terms.slope[tied] * (rounded[tied] - terms.mean[tied])
    log_others[tied] = exchanged(log_others[tied], old, exponent[tied], others.equal[tied])
    reach = terms.slope * (best - terms.mean)
    heavy = np.flatnonzero((best != rounded) & (np.exp(reach - np.logaddexp(exponent, log_others)) * reach > _HEAVY))
    if len(heavy):
        x = plan.trial.take(rows[heavy])
        y = plan.enrol.take(others.best_at[heavy]) - moments.centre
        best[heavy] = np.einsum("ij,ij->i", x, y)
        new = terms.slope[heavy] * (best[heavy] - terms.mean[heavy])
        log_others[heavy] = exchanged(log_others[heavy], reach[heavy], new, 1)
    return log_others, best
