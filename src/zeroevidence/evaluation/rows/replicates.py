"""Values of an evaluation on fewer people, which its intervals and comparisons are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.rows.limits import measure_range, with_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import IntervalRule
from zeroevidence.uncertainty.bias import estimate_bias, is_biased
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import estimate_spread


@dataclass(frozen=True, slots=True, eq=False)
class SampledPeople:
    """The people that a family of measures is computed from.

    Parameters
    ----------
    clusters
        Number of people who have targets, or trials of a search.
    effective
        Number of people of equal size who would count as much.
    shares
        The share of the data that each group of people brings.
    most_bits
        What a search can tell at most.
    """

    clusters: int
    effective: float
    shares: FloatArray
    most_bits: float = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class SearchedTrials:
    """The trials of a search that started from embeddings, whose they are, and how many identities were searched."""

    trials: StrArray
    speakers: IntArray | StrArray
    identities: int


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Values of every scalar measure on fewer people.

    Parameters
    ----------
    unit
        What was left out: speakers, identifiers, scores.
    rules
        By measure: how its interval is made.
    people
        By measure: the people of its family.
    left_out
        By measure: values without each group of people.
    halves
        By measure: values on halves of the people.
    unseen
        By measure: its changes, per share of people, if some people are not recognised at all or in every recording.
    scores
        What was measured: two systems are paired only where it was the same trials.
    search
        The same for a search that started from embeddings.
    """

    unit: str
    rules: Mapping[str, IntervalRule]
    people: Mapping[str, SampledPeople]
    left_out: Mapping[str, FloatArray]
    halves: Mapping[str, FloatArray]
    unseen: Mapping[str, tuple[float, ...]]
    scores: Scores | None = None
    search: SearchedTrials | None = None

    @property
    def speakers(self) -> tuple[str | int, ...] | None:
        """The people of the data, in the order of their names; None where nobody is named."""
        if self.search is not None:
            return tuple(np.unique(np.asarray(self.search.speakers)).tolist())
        speakers = None if self.scores is None else self.scores.speakers
        return None if speakers is None else tuple(speakers.tolist())

    @property
    def groups(self) -> int:
        """Number of groups that were left out in turn."""
        return max(len(values) for values in self.left_out.values())

    @property
    def fewest(self) -> SampledPeople:
        """The people of the family of measures with the fewest people."""
        return min(self.people.values(), key=lambda people: people.effective)

    def corrected(self, name: str, value: float) -> float | None:
        """The value less its bias on few people, within the range of the measure; None where it is not corrected."""
        if name not in self.halves or not is_biased(self.rules[name]):
            return None
        bias = estimate_bias(value, self.halves[name], self.rules[name])
        return float(np.clip(value - bias, *measure_range(name, self.people[name].most_bits)))

    def _refitted(self, name: str) -> float:
        """Return the standard deviation over halves, whose model was fitted again; it is about the standard error."""
        values = self.halves[name][~np.isnan(self.halves[name])] if name in self.halves else np.empty(0)
        return float(values.std()) if len(values) else 0.0

    def with_interval(self, result: MeasureResult, name: str, level: float) -> MeasureResult:
        """Return the result of a measure with its estimate, interval and bound, where people are enough for them."""
        people, rule = self.people[name], self.rules[name]
        if people.clusters < LEAST_PEOPLE:
            return result
        if rule == "extreme":
            return _with_extreme_interval(result, self.halves.get(name), level)
        value = float(result)
        centre = self.corrected(name, value)
        spread = estimate_spread(
            value,
            self.left_out[name],
            people.shares,
            people.effective,
            self.unseen.get(name, ()),
            # What is left of the bias of a density is of the order of the correction.
            model_error=float(np.hypot(self._refitted(name), value - centre))
            if centre is not None and rule == "kernel"
            else 0.0,
        )
        return with_limits(result, name, spread, level, centre=centre, most_bits=people.most_bits)


def _with_extreme_interval(result: MeasureResult, halves: FloatArray | None, level: float) -> MeasureResult:
    """Return the interval of a maximum: from what halves of the people show to what was seen."""
    finite = np.empty(0) if halves is None else halves[~np.isnan(halves)]
    if len(finite) == 0:
        return result
    low = float(np.quantile(finite, (1.0 - level) / 2.0, method="inverted_cdf"))
    return replace(result, low=min(low, float(result)), high=float(result), level=level)
