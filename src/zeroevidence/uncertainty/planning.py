"""Number of people for which an upper limit lies below a bound.

Measures rise with what attackers learn, and limits are one-sided upper ones; of a measure that falls, callers pass the
negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence._scipy import ndtri
from zeroevidence._typing import FloatArray
from zeroevidence.run import LEVEL
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import Spread

MOST_PEOPLE = 10_000  # more would rest on the assumed form of the curve alone
_SIZES = np.unique(np.geomspace(LEAST_PEOPLE, MOST_PEOPLE, 700).round())
_FIRST_SIZE = 24  # people simulated first, to guess how many are needed
_EXPONENT = 0.7  # with which limits are assumed to fall with the number of people, before two sizes show it
_LEAST_EXPONENT = 1.0 / 3.0  # of limits of a mean where numbers of recordings follow a Pareto law with exponent 1.5
_LEAST_REACH = 0.01
_FAR = 1.5  # guesses beyond this multiple of what can be simulated are not confirmed
_STEP = 1.1  # least ratio of two numbers of people that are simulated to confirm one

# never: the truth itself is not below the bound; beyond: more than MOST_PEOPLE
Unreachable: TypeAlias = Literal["never", "beyond"]


@dataclass(frozen=True, slots=True)
class PeopleNeeded:
    """How many people bring a limit below a bound: about so many, from `low` to `high`.

    Parameters
    ----------
    people
        The number; None where no number up to `MOST_PEOPLE` does.
    low
        The low end of its range.
    high
        The high end of its range.
    unreachable
        Why there is no number; None where there is one.
    shown
        How often the limit lay below the bound in simulations of that number of people; None where it was not
        simulated.
    shown_error
        Standard error of `shown`.
    times
        Number of these simulations.
    """

    people: int | None
    low: int | None
    high: int | None
    unreachable: Unreachable | None = None
    shown: float | None = None
    shown_error: float | None = None
    times: int = 0


def needed_from_spread(
    value: float, spread: Spread, people: int, bound: float, power: float, level: float = LEVEL
) -> PeopleNeeded:
    """Return how many people show a bound with probability `power`, if a pilot's estimate is the truth.

    The range is that of a truth one standard error lower or higher, with the standard error itself as uncertain as so
    many degrees of freedom make it.

    Parameters
    ----------
    value
        Value of the pilot.
    spread
        Spread of the pilot.
    people
        Number of people of the pilot.
    bound
        The upper limit to reach.
    power
        Probability of reaching it.
    level
        Confidence level of the limit.
    """
    relative_error = 1.0 / np.sqrt(2.0 * spread.freedom)

    def fewest(truth: float, error: float) -> int | None:
        assumed = replace(spread, error=error)
        for n in _SIZES:
            planned = assumed.of_people(assumed.people * float(n) / people)
            reach = planned.at_most(truth, level) + float(ndtri(power)) * planned.error
            if planned.people >= 2.0 and reach <= bound:
                return int(n)
        return None

    expected = fewest(value, spread.error)
    low = fewest(value - spread.error, spread.error * (1.0 - relative_error))
    high = fewest(value + spread.error, spread.error * (1.0 + relative_error))
    return PeopleNeeded(expected, low, high, None if expected is not None else "never" if value >= bound else "beyond")


def guessed_people(excess: Callable[[int], FloatArray], power: float, most: int = MOST_PEOPLE) -> PeopleNeeded:
    """Return about how many people show a bound with probability `power`, from simulations of two sizes.

    Parameters
    ----------
    excess
        For a number of people, how far each of some simulated limits lies above the truth, as a share of how far the
        bound does; infinite where the truth is not below the bound.
    power
        The probability that is wanted.
    most
        The largest number that can be simulated.

    Examples
    --------
    >>> guessed_people(lambda people: 60.0 / people * np.array([0.9, 1.0, 1.1]), 0.8).people
    67
    """
    first = _Tried.of(_FIRST_SIZE, excess(_FIRST_SIZE), power)
    people = min(first.next_after(None), most)
    if people == _FIRST_SIZE:
        return _extrapolated(people)
    return _extrapolated(_Tried.of(people, excess(people), power).next_after(first))


def _extrapolated(people: int) -> PeopleNeeded:
    """A number of people that was not simulated."""
    return PeopleNeeded(people, people, people) if people <= MOST_PEOPLE else PeopleNeeded(None, None, None, "beyond")


def confirmed_people(
    guess: int, excess: Callable[[int], FloatArray], power: float, most: int = MOST_PEOPLE
) -> PeopleNeeded:
    """Return the number of people near a guess that shows a bound with probability `power` in simulations.

    The share of simulations that do must be above `power` by its standard error. If that of the guess is not, more
    people are simulated; if it is above by twice that error, fewer are.

    Parameters
    ----------
    guess
        A number of people.
    excess
        As in `guessed_people`, of many simulations.
    power
        The probability that is wanted.
    most
        The largest number that can be simulated. A guess far beyond it is returned as it is; where so many do not show
        the bound, the number is extrapolated.

    Examples
    --------
    >>> needed = confirmed_people(20, lambda people: 80.0 / people * np.linspace(0.5, 1.1, 100), 0.8)
    >>> needed.people, needed.shown, round(needed.shown_error, 2)
    (85, 0.93, 0.03)
    """
    if guess > _FAR * most:
        return _extrapolated(guess)
    failed, passed, last, people = 0, None, None, min(guess, most)
    while True:
        tried = _Tried.of(people, excess(people), power)
        following, last = tried.next_after(last), tried
        if tried.is_enough(power):
            passed = tried
        elif people == most:
            return _extrapolated(max(following, int(np.ceil(_STEP * most))))
        else:
            failed = people
        least = max(LEAST_PEOPLE, int(np.ceil(_STEP * failed)))
        beyond = most if passed is None else int(passed.people / _STEP)
        if passed is not None and (beyond < least or not passed.is_by_far(power)):
            return passed.needed
        people = min(max(following, least), beyond)


@dataclass(frozen=True, slots=True)
class _Tried:
    """A number of people that was simulated.

    Parameters
    ----------
    people
        The number.
    reach
        How far above the truth a share `power` of the limits stays, as a share of how far the bound lies above it.
    shown
        Share of the simulations whose limits are below the bound.
    error
        Standard error of that share.
    times
        Number of simulations.
    """

    people: int
    reach: float
    shown: float
    error: float
    times: int

    @classmethod
    def of(cls, people: int, excess: FloatArray, power: float) -> _Tried:
        """From the simulations of a number of people."""
        times, below = len(excess), excess <= 1.0
        # One more of either kind: a share of all or none is not known without error.
        likely = (below.sum() + 1.0) / (times + 2.0)
        error = float(np.sqrt(likely * (1.0 - likely) / times))
        aim = min(power + error, 0.5 + power / 2.0)
        reach = float(excess.mean() + ndtri(aim) * excess.std()) if np.isfinite(excess).all() else np.inf
        return cls(people, max(reach, _LEAST_REACH), float(below.mean()), error, times)

    @property
    def needed(self) -> PeopleNeeded:
        """The number with the share of simulations whose limits are below the bound."""
        return PeopleNeeded(self.people, self.people, self.people, None, self.shown, self.error, self.times)

    def next_after(self, other: _Tried | None) -> int:
        """The number of people for which the limits would just reach the bound, as a power of their number."""
        exponent = _EXPONENT
        if other is not None and other.people != self.people and np.isfinite([self.reach, other.reach]).all():
            slope = np.log(other.reach / self.reach) / np.log(self.people / other.people)
            exponent = float(np.clip(slope, _LEAST_EXPONENT, 1.0))
        people = np.ceil(self.people * min(self.reach ** (1.0 / exponent), 2.0 * MOST_PEOPLE))
        return max(LEAST_PEOPLE, int(people))

    def is_enough(self, power: float) -> bool:
        """Whether it is shown often enough, as far as so many simulations can tell."""
        return self.shown == 1.0 or self.shown - self.error >= power

    def is_by_far(self, power: float) -> bool:
        """Whether it is shown so often that fewer people may do."""
        return self.shown - 2.0 * self.error > power
