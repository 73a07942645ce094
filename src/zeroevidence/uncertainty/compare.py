"""Differences between systems, and between people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence._scipy import stdtrit
from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.run import LEVEL
from zeroevidence.uncertainty.groups import generator
from zeroevidence.uncertainty.level import alpha
from zeroevidence.uncertainty.spread import Spread, estimate_spread

POWER = 0.8  # with which a detectable difference is seen
_TIMES = 999
_MOST_VALUES = 20_000_000  # drawn values of all permutations together
_FEWEST = 99


@dataclass(frozen=True, slots=True)
class Difference:
    """First system minus second.

    Parameters
    ----------
    value
        The difference.
    low
        Lower end of its interval.
    high
        Upper end of its interval.
    p_value
        Two-sided p-value of the hypothesis that there is none.
    level
        Confidence level of the interval.
    detectable
        The smallest true difference whose interval at this level would exclude 0 with probability `POWER`; None where
        the spread is unknown.
    spread
        Spread of the difference; None where it is unknown.

    Examples
    --------
    >>> spread = Spread(error=0.1, people=30.0, freedom=29.0, below=0.0, above=0.0)
    >>> single = Difference.from_spread(0.25, spread)
    >>> among_ten = single.at_level(0.995)
    >>> single.low > 0.0 > among_ten.low, round(single.detectable, 2), round(among_ten.detectable, 2)
    (True, 0.29, 0.39)
    """

    value: float
    low: float
    high: float
    p_value: float
    level: float = LEVEL
    detectable: float | None = None
    spread: Spread | None = None

    @classmethod
    def from_spread(
        cls, value: float, spread: Spread | None, level: float = LEVEL, *, alike: bool = False
    ) -> Difference:
        """Return a difference with what its spread tells; `alike` says that it is no more than rounding."""
        if spread is None:
            return cls(value, float("nan"), float("nan"), 1.0, level)
        p_value = 1.0 if alike else spread.p_value(value)
        return cls(value, float("nan"), float("nan"), p_value, level, None, spread).at_level(level)

    def at_level(self, level: float) -> Difference:
        """Return the same difference with an interval of another confidence level."""
        if self.spread is None:
            return replace(self, level=level)
        low, high = self.spread.limits(self.value, level)
        return replace(self, low=low, high=high, level=level, detectable=_detectable(self.spread, level))


def _detectable(spread: Spread, level: float) -> float:
    """Return the difference whose interval excludes 0 with probability `POWER`."""
    low, high = spread.limits(0.0, level)
    return max(-low, high) + float(stdtrit(spread.freedom, POWER)) * spread.error


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredSystem:
    """A measure of one system, and what it is without some people.

    Parameters
    ----------
    value
        The value of everybody.
    left_out
        The value without each group of people, as enrolled and as heard.
    developed
        The value without each group of development people; None where these are not left out.
    rivalries
        Of a measure of names: the share of all trials that are of one group (row) and would be right without the single
        rival, who is of another (column); None for other measures.
    """

    value: float
    left_out: FloatArray
    developed: FloatArray | None = None
    rivalries: FloatArray | None = None


def difference(
    first: MeasuredSystem, second: MeasuredSystem, shares: FloatArray, people: float, level: float = LEVEL
) -> Difference:
    """Difference of a measure between two systems on the same trials.

    Both were measured without the same people, so what trials have in common cancels. The interval is for people like
    these; where no person makes a difference there is none.

    Parameters
    ----------
    first
        The first system.
    second
        The second system.
    shares
        The share of the data that each group contributes.
    people
        The effective number of people.
    level
        Confidence level of the interval.
    """
    value = first.value - second.value
    with np.errstate(invalid="ignore"):
        differences = first.left_out - second.left_out
    spread = estimate_spread(value, differences, shares, people)
    if spread is None or spread.error == 0.0:
        return Difference.from_spread(value, None, level)
    spread = replace(spread, below=0.0, above=0.0)  # for people like these, and with the rivalries counted once
    if first.rivalries is not None and second.rivalries is not None:
        spread = _count_pairs_once(spread, first.rivalries - second.rivalries)
    if first.developed is not None and second.developed is not None and len(first.developed) == len(second.developed):
        number = len(first.developed)
        fitted = estimate_spread(value, first.developed - second.developed, np.full(number, 1.0 / number), number)
        spread = spread if fitted is None else spread.combine(fitted)
    is_rounding = abs(value) <= 1e-12 * max(1.0, abs(first.value), abs(second.value))  # must not make equals differ
    return Difference.from_spread(value, spread, level, alike=is_rounding)


def _count_pairs_once(spread: Spread, rivalries: FloatArray) -> Spread:
    """Return a spread in which what a pair of people adds to a difference is counted once.

    A trial that is lost to one rival changes the values without its speaker and without the rival, so a jackknife over
    people on both sides counts it twice, and its share of the variance is taken away once [Aronow, Samii and Assenova
    2015]; at most half of all is. What is left is known no better than the whole was, so its degrees of freedom are
    fewer (Satterthwaite). Where that makes limits longer, the spread stays.

    Examples
    --------
    >>> pairs = np.zeros((30, 30))
    >>> pairs[0, 1:17] = 0.025  # a variance of 0.01 in all
    >>> once = _count_pairs_once(Spread(error=0.15, people=30.0, freedom=29.0, below=0.0, above=0.0), pairs)
    >>> round(once.error, 3), round(once.freedom, 1)
    (0.113, 9.2)
    """
    if spread.error == 0.0:
        return spread
    between = rivalries[~np.eye(len(rivalries), dtype=bool)]
    twice = float(((between - between.mean()) ** 2).sum())
    kept = max(1.0 - twice / spread.error**2, 0.5)
    once = replace(spread, error=float(np.sqrt(kept)) * spread.error, freedom=spread.freedom * kept**2)
    return min(spread, once, key=lambda candidate: candidate.limits(0.0)[1])


def unpaired_difference(
    first: float, second: float, first_spread: Spread, second_spread: Spread, level: float = LEVEL
) -> Difference:
    """Difference of a measure between two systems of which only the spreads are known.

    What their trials have in common does not cancel, so the interval is wider than that of a paired difference.

    Examples
    --------
    >>> spread = Spread(error=0.1, people=30.0, freedom=29.0, below=0.0, above=0.0)
    >>> difference = unpaired_difference(1.0, 0.5, spread, spread)
    >>> difference.value, round(difference.low, 2), round(difference.high, 2), round(difference.p_value, 4)
    (0.5, 0.22, 0.78, 0.0008)
    """
    both = first_spread.combine(second_spread.reverse())
    return Difference.from_spread(first - second, replace(both, hidden=0.0), level)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values corrected for their number, so that one level holds for all conclusions together [Holm 1979]."""
    order = np.argsort(p_values, kind="stable")
    multiplied = np.arange(len(p_values), 0, -1) * np.asarray(p_values)[order]
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, multiplied))
    return adjusted.tolist()


def holm_levels(p_values: Sequence[float], level: float = LEVEL) -> list[float]:
    """Return the confidence level at which Holm's procedure tests each hypothesis.

    The smallest p-value is tested with an error divided by the number of hypotheses, the next by one less, and so on;
    from the first that is not rejected on, none is, and all of these have its level. An interval of that level excludes
    0 exactly where the corrected p-value is below the error of `level`.

    Examples
    --------
    >>> [round(level, 4) for level in holm_levels([0.001, 0.3, 0.02], 0.95)]
    [0.9833, 0.95, 0.975]
    >>> [round(level, 4) for level in holm_levels([0.3, 0.4], 0.95)]
    [0.975, 0.975]
    """
    number, error = len(p_values), alpha(level)
    order, tests = np.argsort(p_values, kind="stable"), np.arange(number, 0, -1)
    kept = np.flatnonzero(tests * np.asarray(p_values)[order] >= error)
    divisors = np.empty(number)
    divisors[order] = np.maximum(tests, tests[kept[0]] if len(kept) else 0)
    levels: list[float] = (1.0 - error / np.maximum(divisors, 1.0)).tolist()
    return levels


def tie_groups(order: Sequence[str], significant: set[frozenset[str]]) -> list[int]:
    """Group number of each system in a ranking, from 1: a group ends where a system differs from the group's first."""
    groups: list[int] = []
    first = 0
    number = 0
    for position, system in enumerate(order):
        if position == 0 or frozenset((order[first], system)) in significant:
            first = position
            number += 1
        groups.append(number)
    return groups


@dataclass(frozen=True, slots=True)
class VariationBetweenPeople:
    """Variation of a measure between people.

    Parameters
    ----------
    deviation
        Standard deviation between people, less what their few recordings explain; 0 where these explain all.
    p_value
        How often people differ as much when recordings are dealt to them at random.
    people
        Number of people.
    recordings
        Number of their recordings.
    """

    deviation: float
    p_value: float
    people: int
    recordings: int


def variation_between_people(values: FloatArray, whose: IntArray, *, seed: int = 0) -> VariationBetweenPeople | None:
    """Test the sum of squares between people of values of recordings by permutation.

    Parameters
    ----------
    values
        A value of each recording.
    whose
        The person of each recording.
    seed
        Seed of the permutations.

    Returns
    -------
    VariationBetweenPeople or None
        None where fewer than two people have values, or everybody has one only.

    Examples
    --------
    >>> variation = variation_between_people(np.array([0.0, 0.1, 5.0, 5.1, 9.0, 9.2]), np.array([0, 0, 1, 1, 2, 2]))
    >>> round(variation.deviation, 1), variation.p_value < 0.1
    (4.5, True)
    """
    names, person = np.unique(whose, return_inverse=True)
    counts = np.bincount(person)
    people, recordings = len(names), len(values)
    if people < 2 or recordings <= people:
        return None
    # On a scale of their own, so that no sum of squares is too large or too small for a number.
    spread = float(np.abs(values - values.mean()).max())
    scaled = np.zeros(recordings) if spread == 0.0 else (values - values.mean()) / spread
    between = _between(scaled, person, counts)
    within = float((scaled**2).sum()) - between
    usual = (recordings - float((counts**2).sum()) / recordings) / (people - 1)
    variance = (between / (people - 1) - within / (recordings - people)) / usual
    times = int(np.clip(_MOST_VALUES // recordings, _FEWEST, _TIMES))
    rng = generator(seed, 5, 0)
    drawn = np.array([_between(rng.permutation(scaled), person, counts) for _ in range(times)])
    as_large = int(np.count_nonzero(drawn >= between * (1.0 - 1e-12)))
    deviation = spread * float(np.sqrt(max(0.0, variance)))
    return VariationBetweenPeople(deviation, (1.0 + as_large) / (1.0 + times), people, recordings)


def _between(values: FloatArray, person: IntArray, counts: IntArray) -> float:
    """Sum of squares between people of values whose mean is 0."""
    return float((np.bincount(person, weights=values) ** 2 / counts).sum())
