"""Calibration of a search: a fixed weight, fitted on other people, or cross-fitted over the speakers of the trials."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.rows import RowScaling, speaker_folds
from zeroevidence.data.preparing.name_order import name_ranks
from zeroevidence.linkage.calibration.statistics import PairStatistics, pair_statistics
from zeroevidence.linkage.inputs.pairing import Pairing, check_other_people
from zeroevidence.linkage.inputs.scoring import Scoring
from zeroevidence.linkage.result import CalibrationFacts

_Statistics: TypeAlias = Callable[..., list[PairStatistics]]


@dataclass(frozen=True, slots=True, eq=False)
class SearchCalibration:
    """Weight, bias and threshold of each trial, and the method of calibration."""

    weight: FloatArray
    bias: FloatArray
    threshold: FloatArray | None  # of singling out; None where it cannot be fitted
    facts: CalibrationFacts

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all fields as arrays, as checkpoints take them."""
        arrays: dict[str, NDArray[Any]] = {"weight": self.weight, "bias": self.bias}
        if self.threshold is not None:
            arrays["threshold"] = self.threshold
        facts = {"method": np.array(self.facts.method), "cross_fitted": np.array(self.facts.cross_fitted)}
        return arrays | facts

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> SearchCalibration:
        """Return the calibration that `to_arrays` wrote."""
        facts = CalibrationFacts(arrays["method"].item(), arrays["cross_fitted"].item())
        return cls(arrays["weight"], arrays["bias"], arrays.get("threshold"), facts)


def calibrate_search(
    search: Pairing,
    development: Pairing | None = None,
    *,
    weight: float | None = None,
    scoring: Scoring = "cosine",
    ddof: int = 0,
    row_scaling: RowScaling = "standardise",
    seed: int = 0,
) -> SearchCalibration:
    """Return weight, bias and threshold of each trial.

    Parameters
    ----------
    search
        The trials to be calibrated.
    development
        A search among other people to fit on; without one, each speaker's trials are calibrated on those of the other
        speakers, which is a second pass over all pairs.
    weight
        Use this weight and fit nothing; there is no threshold then.
    scoring
        Scoring of the search, as in `link`.
    ddof
        The divisor of the row variance is N - `ddof`.
    row_scaling
        Scaling of each row, as in `link`.
    seed
        Seed of the folds of speakers.
    """
    if weight is not None:
        trials = len(search.trial)
        return SearchCalibration(np.full(trials, weight), np.zeros(trials), None, CalibrationFacts("given"))
    statistics = partial(pair_statistics, scoring=scoring, ddof=ddof, row_scaling=row_scaling)
    if development is None:
        return _cross_fit(search, statistics, seed)
    check_other_people(search, development)
    return _fit_development(search, development, statistics)


def _fit_development(search: Pairing, development: Pairing, statistics: _Statistics) -> SearchCalibration:
    """Return one fit for all; one pair in N exceeds the threshold, N being the identities of the search."""
    trials, identities = len(search.trial), len(search.enrol)
    above = len(development.trial) * len(development.enrol) // identities  # pairs above the threshold
    (part,) = statistics(development.trial, development.enrol, development.mated, top=above + 1)
    fit = part.fit()
    return SearchCalibration(
        np.full(trials, fit.weight),
        np.full(trials, fit.bias - fit.prior_log_odds),
        np.full(trials, part.threshold(above)) if above else None,
        CalibrationFacts("logistic"),
    )


def _cross_fit(search: Pairing, statistics: _Statistics, seed: int) -> SearchCalibration:
    """Return, for each fold of speakers, the fit and the threshold of the other folds."""
    trials = len(search.trial)
    weight, bias, threshold = (np.empty(trials) for _ in range(3))
    folds = speaker_folds(name_ranks(search.people)[search.mated], seed=seed)
    parts = statistics(search.trial, search.enrol, search.mated, folds=folds, top=trials + 1)
    for index, rows in enumerate(folds):
        above = trials - len(rows)
        rest = PairStatistics.merge(parts[:index] + parts[index + 1 :], top=above + 1)
        fit = rest.fit()
        weight[rows], bias[rows] = fit.weight, fit.bias - fit.prior_log_odds
        threshold[rows] = rest.threshold(above)
    return SearchCalibration(weight, bias, threshold, CalibrationFacts("logistic", cross_fitted=True))
