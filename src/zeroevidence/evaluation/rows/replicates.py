"""Values of an evaluation on fewer people, which its intervals and comparisons are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Scores
from zeroevidence.measure.measures import MEASURES, Direction, IntervalRule
from zeroevidence.uncertainty.bias import estimate_bias
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import LEVEL, Spread, spread_of


@dataclass(frozen=True, slots=True, eq=False)
class Sampled:
    """Whom a family of measures rests on.

    Parameters
    ----------
    clusters, effective
        How many people have targets (or trials), and how many of equal size would count as much.
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


@dataclass(frozen=True, slots=True)
class Bounds:
    """A value as it is shown, its limits, and what these are made of; no limits where nothing tells."""

    value: float
    low: float | None = None
    high: float | None = None
    spread: Spread | None = None
    bound: float | None = None  # one-sided, where the attacker learns more


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Values of every scalar measure on fewer people.

    Parameters
    ----------
    unit
        What was left out: speakers, identifiers, scores.
    people
        By measure: the people of its family.
    left_out, halves
        By measure: values without each group of people, values on halves of them.
    unrecognised
        By measure: its change, per share of people, if some people are not recognised at all.
    scores
        What was measured: two systems are paired only where it was the same trials.
    search
        The same for a search that started from embeddings.
    """

    unit: str
    people: Mapping[str, Sampled]
    left_out: Mapping[str, FloatArray]
    halves: Mapping[str, FloatArray]
    unrecognised: Mapping[str, float]
    scores: Scores | None = None
    search: SearchedTrials | None = None

    @property
    def groups(self) -> int:
        """How many groups were left out in turn."""
        return max(len(values) for values in self.left_out.values())

    @property
    def fewest(self) -> Sampled:
        """The people of the family of measures that rests on fewest."""
        return min(self.people.values(), key=lambda one: one.effective)

    def bias(self, name: str, value: float, rule: IntervalRule) -> float:
        """By how much a value is too large."""
        return estimate_bias(value, self.halves[name], rule) if name in self.halves else 0.0

    def _refitted(self, name: str) -> float:
        """Deviation over halves, whose model was fitted again; it is as large as a standard error of the whole."""
        known = self.halves[name][~np.isnan(self.halves[name])] if name in self.halves else np.empty(0)
        return float(known.std()) if len(known) else 0.0

    def bounds(self, name: str, value: float, rule: IntervalRule) -> Bounds:
        """The corrected value of one measure and its limits."""
        entry = MEASURES[name]
        people = self.people[name]
        limits = entry.low, min(entry.high, people.most_bits) if entry.unit == "bit" else entry.high
        if people.clusters < LEAST_PEOPLE:
            return Bounds(value)
        corrected = float(np.clip(value - self.bias(name, value, rule), *limits))
        if rule == "extreme":
            return _of_extreme(value, self.halves.get(name))
        found = spread_of(
            value,
            self.left_out[name],
            people.shares,
            people.effective,
            self.unrecognised.get(name),
            # What is left of the bias of a density is of the order of the correction.
            more_error=float(np.hypot(self._refitted(name), value - corrected)) if rule == "kernel" else 0.0,
        )
        if found is None:
            return Bounds(corrected)
        low, high = np.clip(found.limits(corrected), *limits)
        return Bounds(corrected, float(low), float(high), found, one_sided(found, corrected, entry.discloses, limits))


def one_sided(spread: Spread, value: float, discloses: Direction, limits: tuple[float, float]) -> float | None:
    """One-sided limit where the attacker learns more, within the scale; None for measures without a direction."""
    if discloses == "none":
        return None
    bound = spread.at_most(value) if discloses == "up" else spread.at_least(value)
    return float(np.clip(bound, *limits))


def _of_extreme(value: float, halves: FloatArray | None) -> Bounds:
    """A maximum: half of the people show how low it might have been, and what was seen was possible."""
    known = np.empty(0) if halves is None else halves[~np.isnan(halves)]
    if len(known) == 0:
        return Bounds(value)
    low = float(np.quantile(known, (1.0 - LEVEL) / 2.0, method="inverted_cdf"))
    return Bounds(value, min(low, value), value)
