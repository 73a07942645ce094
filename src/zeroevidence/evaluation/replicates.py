"""Bootstrap values of an evaluation, which its intervals and comparisons are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.options import Options
from zeroevidence.measure.registry import MEASURES, IntervalRule
from zeroevidence.uncertainty.intervals import IntervalMethod, interval, isotonic_bias

_METHODS: Mapping[IntervalRule, IntervalMethod] = {
    "smooth": "bca",
    "oracle": "centred",
    "extreme": "percentile",
    "percentile": "percentile",
}


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Bootstrap values of every scalar measure, and what an interval needs beside them.

    Parameters
    ----------
    unit, clusters
        What was drawn (speakers, identifiers, scores), and how many of these have targets.
    values, jackknife, halves
        By measure: bootstrap values, values without each cluster, values on random halves of them.
    scores
        What was resampled: replicates of two systems are paired only where it was the same trials.
    trials
        Identifiers of the trials of a search that started from embeddings, and how many identities it searched.
    """

    unit: str
    clusters: int
    values: Mapping[str, FloatArray]
    jackknife: Mapping[str, FloatArray]
    halves: Mapping[str, FloatArray]
    scores: Scores | None = None
    trials: tuple[StrArray, int] | None = None

    def bounds(self, name: str, value: float, rule: IntervalRule, options: Options) -> tuple[float, float]:
        """Interval of one measure."""
        entry = MEASURES[name]
        limits = entry.low, entry.high
        method: IntervalMethod = _METHODS[rule] if options.interval_method == "auto" else options.interval_method
        bias = isotonic_bias(value, self.halves[name]) if method == "centred" and name in self.halves else 0.0
        drawn = self.values[name]
        if self.clusters > 1 and rule != "extreme":
            # Means of n draws out of n spread a little less than means of n new speakers.
            with np.errstate(invalid="ignore"):
                centre = np.nanmean(drawn) if np.isfinite(drawn).any() else 0.0
                drawn = centre + (drawn - centre) * np.sqrt(self.clusters / (self.clusters - 1.0))
            drawn = np.clip(drawn, *limits)
        low, high = interval(value, drawn, self.jackknife.get(name), method=method, bias=bias, limits=limits)
        if rule == "extreme":  # what was seen was possible, whatever resampling left out
            low, high = min(low, value), max(high, value)
        return low, high
