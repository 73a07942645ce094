"""A checked search: both sides, the true identity of each trial, its calibration, and the moments of the enrolment."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.calibrate.rows import ROW_SCALINGS, RowScaling
from zeroevidence.data.preparing import ALLOW_SAME
from zeroevidence.data.scores import as_array
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.inputs import SCORINGS, ScoreFunction, Scoring, VectorSet, vector_sets
from zeroevidence.optional import one_blas_thread
from zeroevidence.run import setting

EngineName: TypeAlias = str  # of a registered engine, or AUTO
Precision: TypeAlias = Literal[16, 32, 64]
CalibrationMethod: TypeAlias = Literal["logistic", "given"]  # fitted to pairs of other speakers, or given by the caller
AUTO = "auto"
LARGEST_WEIGHT = 1e6  # times the deviation of scaled rows: beyond, the rounding of scores would decide the evidence
_SAMPLE = 1024
_BLOCK_BYTES = 1 << 20  # worked on at once: stays in cache
_RUNS = 16  # fixed, so that the order of additions does not depend on the number of threads
_GRID = 2.0**-6  # of the largest entry
_DOUBTFUL = 1e-7  # of |x|^2 tr(C): below, rounding of x' C x shows in the deviation


@dataclass(frozen=True, slots=True, eq=False)
class EnrolmentMoments:
    """First and second moments of centred enrolment vectors.

    Mean and deviation of a row of dot products need no pass over the pairs: with the mean m and the covariance C of the
    enrolment vectors they are ``x . m`` and ``sqrt(x' C x)``.

    `centre` lies near their mean on a coarse binary grid. Taking it off makes products small, hence exact in short
    number formats; being coarse, it leaves vectors of few digits (counts, signs, one-hot) with few digits, so that
    scores that tie still tie.
    """

    count: int
    centre: FloatArray
    mean: FloatArray  # of the centred vectors
    covariance: FloatArray
    longest: float  # length of the longest centred vector

    def of_products(
        self, mean: FloatArray, variance: FloatArray, square: FloatArray, ddof: int, xp: Any = np
    ) -> tuple[FloatArray, FloatArray, BoolArray]:
        """Mean and deviation of the rows of centred scores, and which of them rounding may have spoilt.

        They follow from ``x . m``, ``x' C x`` and ``x . x``, which are arrays of the module `xp`.
        """
        scale = square * float(np.trace(self.covariance) + self.mean @ self.mean)
        doubtful = ~(variance > _DOUBTFUL * scale)
        deviation = xp.sqrt(variance.clip(min=0.0) * (self.count / (self.count - ddof)))
        return mean, deviation, doubtful


def sampled_centre(enrol: VectorSet) -> FloatArray:
    """Return a point of the grid near the mean of vectors taken at even steps."""
    sample = enrol.take(np.unique(np.linspace(0, enrol.count - 1, _SAMPLE).astype(np.int64)))
    largest = float(np.abs(sample).max())
    step = 2.0 ** np.ceil(np.log2(largest)) * _GRID if largest > 0.0 else 1.0
    return np.asarray(np.round(sample.mean(axis=0) / step) * step)


def enrolment_moments(enrol: VectorSet) -> EnrolmentMoments:
    """Moments by one pass over the enrolment vectors: threads take runs of blocks, added up in their order."""
    centre = sampled_centre(enrol)
    blocks = list(enrol.blocks(max(64, _BLOCK_BYTES // (8 * enrol.dim))))
    runs = [blocks[at::_RUNS] for at in range(min(_RUNS, len(blocks)))]

    def sums(run: Sequence[tuple[int, int]]) -> tuple[FloatArray, FloatArray, float]:
        first, second, longest = np.zeros(enrol.dim), np.zeros((enrol.dim, enrol.dim)), 0.0
        for start, stop in run:
            block = enrol.read(start, stop)
            block -= centre
            first += np.ones(len(block)) @ block
            second += block.T @ block
            longest = max(longest, float(np.einsum("ij,ij->i", block, block).max()))
        return first, second, longest

    with one_blas_thread(), ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        parts = list(pool.map(sums, runs))
    mean = np.sum([part[0] for part in parts], axis=0) / enrol.count
    second = np.sum([part[1] for part in parts], axis=0) / enrol.count
    longest = float(np.sqrt(max(part[2] for part in parts)))
    return EnrolmentMoments(enrol.count, centre, mean, second - np.outer(mean, mean), longest)


@dataclass(frozen=True, slots=True)
class LinkOptions:
    """What the result of a search depends on, beside the embeddings.

    Parameters
    ----------
    scoring
        ``cosine``, ``dot``, or a function of two blocks of vectors.
    weight
        Calibration weight of scaled scores, instead of a fitted one. Times the deviation of a scaled row, which is 1
        for a standardised one, it is at most a million.
    ddof
        The divisor of the row variance is N - `ddof`.
    row_scaling
        What is done to each row: ``standardise`` takes off its mean and divides by its deviation; ``centre`` does not
        divide; ``none`` does neither.
    engine
        Name of the engine; by default the fastest here that keeps the precision.
    precision
        Bits of the products' inputs.
    block
        Trials computed together, and between two checkpoints; the results differ by no more than rounding.
    allow_same
        Take recordings that are trial and enrolment of one person, by name or by an equal vector.

    Examples
    --------
    >>> from zeroevidence import LinkOptions
    >>> LinkOptions(weight=3.0).scoring
    'cosine'
    """

    scoring: Scoring = setting("cosine", "Score of two vectors.", choices=SCORINGS)
    weight: float | None = setting(None, "Calibration weight to use instead of a fitted one.")
    ddof: int = setting(0, "Standard deviation of a row of scores: 0 population, 1 sample.", least=0, most=1)
    row_scaling: RowScaling = setting(
        "standardise", "Scale of each row of a search before calibration; `evaluate` has auto as well."
    )
    engine: EngineName = setting(AUTO, "Engine that computes the search.")
    precision: Precision | None = setting(None, "Bits of the numbers that are multiplied.", parse=int)
    block: int | None = setting(None, "Trials between two checkpoints.", least=1)
    allow_same: bool = setting(False, ALLOW_SAME)

    def __post_init__(self) -> None:
        """Refuse what no engine can do."""
        if not callable(self.scoring) and self.scoring not in SCORINGS:
            expected = f"{' or '.join(SCORINGS)}, or a function of two blocks"
            raise UsageError(f"unknown scoring {self.scoring!r}; expected {expected}")
        choices = {"ddof": (0, 1), "row_scaling": ROW_SCALINGS, "precision": (None, *get_args(Precision))}
        for name, values in choices.items():
            if getattr(self, name) not in values:
                got = repr(getattr(self, name))
                raise UsageError(f"{name}: expected one of {', '.join(map(str, values))}, got {got}")

    @property
    def function(self) -> ScoreFunction | None:
        """The scoring function; None where scores are dot products."""
        return self.scoring if callable(self.scoring) else None


@dataclass(frozen=True, slots=True, eq=False)
class SearchCalibration:
    """Weight, bias and threshold, one for all trials or one per trial, and the method of calibration."""

    weight: float | FloatArray
    bias: float | FloatArray = 0.0
    threshold: float | FloatArray | None = None  # of singling out: identities that score above it are counted
    method: CalibrationMethod = "given"
    cross_fitted: bool = False  # each speaker's trials calibrated on those of the other speakers
    prior_log_odds: float = 0.0  # of the pairs that were fitted to, already taken off the bias


@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """A search as the engines take it."""

    trial: VectorSet
    enrol: VectorSet
    mated: IntArray
    weight: FloatArray  # one per trial
    bias: FloatArray
    threshold: FloatArray | None
    options: LinkOptions
    dtype: Any  # of the products
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
    calibration: SearchCalibration,
    options: LinkOptions,
    *,
    dtype: Any = None,
    moments: Callable[[VectorSet], EnrolmentMoments | None] = enrolment_moments,
) -> SearchPlan:
    """Check everything that can be checked beforehand, and compute the moments of the enrolment by `moments`.

    Products are of `dtype` or, where it is None, of the precision of the options or that of the vectors.

    Raises
    ------
    InputError
        Naming the trial, the enrolment or the number that is wrong.
    """
    trial, enrol = vector_sets(trial_vectors, enrol_vectors, options.scoring)
    if trial.dim != enrol.dim and options.function is None:
        raise InputError(f"trial vectors have {trial.dim} entries, enrolment vectors {enrol.dim}; expected the same")
    if enrol.count < 2:
        raise InputError(f"a search needs at least two enrolled identities, got {enrol.count}")
    if dtype is None:
        single = trial.single and enrol.single and options.function is None
        dtype = f"float{options.precision or (32 if single else 64)}"
    trials, rows = trial.count, as_array(mated, "mated")
    if rows.shape != (trials,) or not np.issubdtype(rows.dtype, np.integer):
        raise InputError(f"mated: expected {trials} whole numbers, one per trial, got {rows.dtype} {rows.shape}")
    outside = np.flatnonzero((rows < 0) | (rows >= enrol.count))
    if len(outside):
        at = int(outside[0])
        raise InputError(f"mated: trial {at} names identity {rows[at]}; expected 0 to {enrol.count - 1}")
    weight = check_weight(_per_trial("weight", calibration.weight, trials), options.row_scaling)
    bias = _per_trial("bias", calibration.bias, trials)
    threshold = None if calibration.threshold is None else _per_trial("threshold", calibration.threshold, trials)
    computed = moments(enrol) if options.function is None else None
    calibrated = rows.astype(np.int64), weight, bias, threshold
    return SearchPlan(trial, enrol, *calibrated, options, np.dtype(dtype), computed)


def check_weight(weight: float | FloatArray, row_scaling: RowScaling) -> Any:
    """Return one or several calibration weights; for standardised rows, those out of range are refused."""
    sizes = np.abs(np.atleast_1d(weight))
    if row_scaling == "standardise" and not (sizes <= LARGEST_WEIGHT).all():
        wrong = np.atleast_1d(weight)[~(sizes <= LARGEST_WEIGHT)][0]
        raise InputError(f"weight: expected numbers from {-LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, got {wrong:g}")
    return weight


def _per_trial(name: str, value: float | FloatArray, trials: int) -> FloatArray:
    array = np.asarray(value, dtype=np.float64)
    if array.shape not in ((), (trials,)):
        raise InputError(f"{name}: expected one number, or {trials}, one per trial; got shape {array.shape}")
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong) and not (name == "threshold" and not np.isnan(array).any()):
        raise InputError(f"{name}: expected finite numbers, got {array.flat[wrong[0]]}")
    return np.broadcast_to(array, (trials,))
