"""Spread, bias and limits of estimates from few people."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from zeroevidence._typing import FloatArray
from zeroevidence.measure.measures import IntervalRule
from zeroevidence.run import LEVEL

_LEAST_TAIL = 1e-12
_KURTOSIS = 3.0  # of a Gaussian
_MOST_PEOPLE = 1e6
_UNSEEN_TAIL = 0.025
_LARGE = 1e60  # fourth powers of more would not be numbers
_RATES = {"oracle": 3.0 / 4.0, "kernel": 1.0 / 2.0, "entropy": 1.0}


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread of a value, from which its limits follow.

    Three things are combined. The standard error comes from values without one person at a time (both as enrolled and
    as heard), with a t quantile for the number of people. That number is an effective one: a few people who speak most
    of the time count as few. And people of a kind that nobody in the sample is are allowed for, as Clopper and Pearson
    do for rates: if none of n people is of that kind, up to 1 - tail^(1/n) of all people may be. Such people are
    recognised in every recording, or not at all. So where no error was seen, or nobody recognised, the interval is not
    a point.

    Parameters
    ----------
    error
        Standard error.
    people
        Effective number of people.
    freedom
        Degrees of freedom of the standard error.
    below
        How much lower the value may be for people of a kind that is not in the sample.
    above
        How much higher it may be for such people.

    Examples
    --------
    >>> no_error = Spread(error=0.0, people=30.0, freedom=29.0, below=0.0, above=1.0)
    >>> [round(limit, 3) for limit in no_error.limits(0.0)]
    [0.0, 0.116]
    """

    error: float
    people: float
    freedom: float
    below: float
    above: float

    def limits(self, value: float, level: float = LEVEL) -> tuple[float, float]:
        """Return two-sided limits of a value."""
        tail = (1.0 - level) / 2.0
        return value - self._reach(self.below, tail), value + self._reach(self.above, tail)

    def at_least(self, value: float, level: float = LEVEL) -> float:
        """Return the one-sided lower limit of a value."""
        return value - self._reach(self.below, 1.0 - level)

    def at_most(self, value: float, level: float = LEVEL) -> float:
        """Return the one-sided upper limit of a value."""
        return value + self._reach(self.above, 1.0 - level)

    def of_people(self, people: float) -> Spread:
        """Return the spread for another number of people like these, recorded in the same way.

        The standard error falls with the square root, and the quantiles follow the number of people. The
        allowance for unseen kinds of people is kept, which is conservative: it falls a little too.

        Examples
        --------
        >>> more = Spread(error=0.02, people=20.0, freedom=19.0, below=0.1, above=0.1).of_people(80.0)
        >>> more.error, more.people, more.freedom
        (0.01, 80.0, 79.0)
        """
        error = self.error * float(np.sqrt(self.people / people))
        return Spread(error, people, max(self.freedom + people - self.people, 1.0), self.below, self.above)

    def people_for(self, reach: float, level: float = LEVEL) -> int | None:
        """Return how many people bring the upper limit within `reach` of the value; None where a million do not.

        Examples
        --------
        >>> Spread(error=0.0, people=10.0, freedom=9.0, below=0.0, above=1.0).people_for(0.05)
        59
        """
        if reach <= 0.0:
            return None
        few, many = 2.0, _MOST_PEOPLE
        if self.of_people(many).at_most(0.0, level) > reach:
            return None
        while many - few > 1.0:
            middle = np.floor((few + many) / 2.0)
            few, many = (few, middle) if self.of_people(middle).at_most(0.0, level) <= reach else (middle, many)
        return int(many)

    def p_value(self, value: float) -> float:
        """Return the two-sided p-value of the hypothesis that the value is 0: the level at which a limit touches it."""
        unseen = self.below if value > 0.0 else self.above
        if value == 0.0 or not np.isfinite(value):
            return 1.0
        size = abs(value)
        if self._reach(unseen, 0.5) >= size:  # the unseen people alone explain it at any level
            return 1.0
        if self._reach(unseen, _LEAST_TAIL) <= size:
            return 2.0 * _LEAST_TAIL
        from scipy.optimize import brentq  # slow to import, and needed for differences alone

        def gap(quantile: float) -> float:
            return self._combine_reaches(unseen, float(stdtr(self.freedom, -quantile)), quantile) - size

        quantile = brentq(gap, 0.0, -float(stdtrit(self.freedom, _LEAST_TAIL)), xtol=1e-14)
        return 2.0 * float(stdtr(self.freedom, -quantile))

    def combine(self, other: Spread) -> Spread:
        """Return both sources of spread together, by Welch and Satterthwaite."""
        first, second = self.error**2, other.error**2
        both = first + second
        freedom = both**2 / (first**2 / self.freedom + second**2 / other.freedom) if both > 0.0 else self.freedom
        unseen = float(np.hypot(self.below, other.below)), float(np.hypot(self.above, other.above))
        return Spread(float(np.sqrt(both)), min(self.people, other.people), freedom, *unseen)

    def _reach(self, unseen: float, tail: float) -> float:
        return self._combine_reaches(unseen, tail, -float(stdtrit(self.freedom, tail)))

    def _combine_reaches(self, unseen: float, tail: float, quantile: float) -> float:
        """Return how far a limit lies from the value: by the standard error, and by kinds of people not seen."""
        share = 1.0 - tail ** (1.0 / self.people)
        return math.hypot(quantile * self.error, share * unseen)


def effective_number(sizes: FloatArray) -> float:
    """Return how many people of equal size would count as much as these [Kish 1965].

    Examples
    --------
    >>> round(effective_number(np.array([10.0, 10.0, 10.0])), 6)
    3.0
    >>> round(effective_number(np.array([98.0, 1.0, 1.0])), 2)
    1.04
    """
    total = float(sizes.sum())
    return total**2 / float((sizes**2).sum()) if total > 0.0 else 0.0


def unseen_share(people: float) -> float:
    """Return the largest share of people of one kind that a sample of so many may lack (Clopper and Pearson)."""
    return float(1.0 - _UNSEEN_TAIL ** (1.0 / max(people, 1.0)))


def estimate_spread(
    value: float,
    left_out: FloatArray,
    shares: FloatArray,
    people: float,
    unseen: Sequence[float] = (),
    *,
    model_error: float = 0.0,
) -> Spread | None:
    """Return the spread of a value from its values without each person or group; None where these are too few.

    Parameters
    ----------
    value
        The value of everybody.
    left_out
        The value without each group.
    shares
        The share of the data that each group contributes.
    people
        Effective number of people.
    unseen
        Changes of the value, per share of people, if there were people of kinds that may not be in the sample.
    model_error
        Standard error of a model that is not fitted again when people are left out.
    """
    finite = np.isfinite(left_out)
    groups = int(finite.sum())
    if groups < 2 or people < 2.0 or not np.isfinite(value):
        return None
    values, shares = left_out[finite], shares[finite]
    with np.errstate(over="ignore"):
        jackknife = np.sqrt((groups - 1.0) / groups * ((values - values.mean()) ** 2).sum())
    error = float(np.hypot(jackknife, model_error))
    if not np.isfinite(error):
        return None  # values so large that their squares are not numbers
    # The value of each group by itself, less that of all, as a group of usual size would show it.
    deviations = (values.mean() - values) / np.maximum(shares, 1.0 / people)
    kinds = [float(deviations.min()), float(deviations.max()), *unseen]
    few = _concentration(values)
    changes = [max(0.0, -min(kinds)), max(0.0, max(kinds))]
    # One more person of a kind that moves the value by more than the standard error is a kind that was not seen.
    weights = [max(few, min(1.0, change / people / error)) if error > 0.0 else 1.0 for change in changes]
    below, above = (weight * change for weight, change in zip(weights, changes, strict=True))
    return Spread(error, people, min(people, groups) - 1.0, below, above)


def estimate_spreads(
    values: Mapping[str, float], without: Sequence[Mapping[str, float]], shares: FloatArray, people: float
) -> dict[str, Spread]:
    """Return the spread of each value by name, from the values without each person or group; see `estimate_spread`."""
    spreads = {
        name: estimate_spread(value, np.array([fewer.get(name, np.nan) for fewer in without]), shares, people)
        for name, value in values.items()
    }
    return {name: spread for name, spread in spreads.items() if spread is not None}


def _concentration(values: FloatArray) -> float:
    """Return how far a standard error rests on few people: 1 where one or two decide, near 0 for many alike.

    Where many people differ a little, the standard error predicts how much others will; where one makes up all of it,
    or nobody differs, it does not.
    """
    largest = float(np.abs(values).max())
    if largest > _LARGE:
        values = values / largest
    squares = (values - values.mean()) ** 2
    total = float(squares.sum())
    if total <= 1e-20 * max(1.0, float(np.abs(values).max()) ** 2):
        return 1.0
    return float(np.sqrt(min(1.0, _KURTOSIS * float((squares**2).sum()) / total**2)))


def is_biased(rule: IntervalRule) -> bool:
    """Whether values of measures with this rule are corrected."""
    return rule in _RATES


def estimate_bias(value: float, halves: FloatArray, rule: IntervalRule) -> float:
    """Return by how much a value is too large, from its values on halves of the people; 0 for rules without a bias.

    Measures after oracle calibration (D_ECE, min Cllr, linkability, ...) flatter the attacker, because they fit the
    scores they are judged on. With PAV the bias falls with the number n of people faster than the n^(-2/3) of isotonic
    regression, because scores of one person are alike, and slower than 1 / n; n^(-3/4) fits simulations best. With the
    kernel of linkability, whose width is chosen, it is n^(-1/2). A histogram of ranks has the bias of an entropy, 1 /
    n. Either way the bias at n follows from the value at n / 2. Halves come with their complements, in which what
    single people add cancels.

    Examples
    --------
    >>> round(estimate_bias(1.0, np.array([1.2, 1.4]), "entropy"), 6)
    0.3
    """
    finite = halves[np.isfinite(halves)]
    if rule not in _RATES or len(finite) == 0 or not np.isfinite(value):
        return 0.0
    growth: float = 2.0 ** _RATES[rule] - 1.0
    return float(finite.mean() - value) / growth
