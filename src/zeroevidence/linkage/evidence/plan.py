"""A checked search: both sides, the true identity of each trial and its calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import ROW_SCALINGS, RowScaling
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage.evidence.moments import EnrolmentMoments, enrolment_moments
from zeroevidence.linkage.inputs.scoring import SCORINGS, ScoreFunction, Scoring
from zeroevidence.linkage.inputs.vectors import VectorSet, vector_sets

LARGEST_WEIGHT = 1e6  # times the deviation of scaled rows: beyond, the rounding of scores would decide the evidence


@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """A search as the engines take it."""

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
    row_scaling: RowScaling = "standardise"

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
    row_scaling: RowScaling = "standardise",
    threshold: float | FloatArray | None = None,
    dtype: Any = None,
    moments: Callable[[VectorSet], EnrolmentMoments | None] = enrolment_moments,
) -> SearchPlan:
    """Check everything that can be checked beforehand, and compute the moments of the enrolment by `moments`.

    Raises
    ------
    InputError
        Naming the trial, the enrolment or the option that is wrong.
    """
    if not callable(scoring) and scoring not in SCORINGS:
        raise UsageError(f"unknown scoring {scoring!r}; expected {' or '.join(SCORINGS)}, or a function of two blocks")
    trial, enrol = vector_sets(trial_vectors, enrol_vectors, scoring)
    if trial.dim != enrol.dim and not callable(scoring):
        raise InputError(f"trial vectors have {trial.dim} entries, enrolment vectors {enrol.dim}; expected the same")
    if enrol.count < 2:
        raise InputError(f"a search needs at least two enrolled identities, got {enrol.count}")
    if ddof not in (0, 1):
        raise UsageError(f"expected ddof 0 or 1, got {ddof}")
    if row_scaling not in ROW_SCALINGS:
        raise UsageError(f"row_scaling: expected one of {', '.join(ROW_SCALINGS)}, got {row_scaling!r}")
    if dtype is None:
        dtype = np.float32 if trial.single and enrol.single and not callable(scoring) else np.float64
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise UsageError(f"expected products in float32 or float64, got {np.dtype(dtype)}")
    return SearchPlan(
        trial,
        enrol,
        _check_mated(mated, trial.count, enrol.count),
        check_weight(_per_trial("weight", weight, trial.count), row_scaling),
        _per_trial("bias", bias, trial.count),
        None if threshold is None else _per_trial("threshold", threshold, trial.count),
        ddof,
        np.dtype(dtype),
        scoring if callable(scoring) else None,
        None if callable(scoring) else moments(enrol),
        row_scaling,
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
