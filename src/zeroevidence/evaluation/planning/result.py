"""The plan of a recording: expected intervals, people needed, and what both rest on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zeroevidence.evaluation.planning.simulated import Design, Scenario
from zeroevidence.uncertainty.level import LEVEL
from zeroevidence.uncertainty.planning import PeopleNeeded


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of one measure, or of the difference of two systems in it.

    Parameters
    ----------
    measure
        Name of the measure.
    truth
        Its value in the population; of a pilot, the pilot's estimate.
    value
        Mean value.
    low
        Mean lower end of the interval.
    high
        Mean upper end of the interval.
    length
        Mean length of the interval.
    limit
        Mean one-sided limit on the side of the attacker: upper, or lower where the measure falls with what
        attackers learn. Of a difference, the mean end of its interval that is nearer to 0.
    power
        How often the test finds a leak, or a difference; None where the measure is not tested.
    bound
        The bound to be shown; None where there is none.
    shown
        How often the limit shows it.
    length_error
        Standard error of the mean length over simulations.
    """

    measure: str
    truth: float
    value: float
    low: float
    high: float
    length: float
    limit: float
    power: float | None = None
    bound: float | None = None
    shown: float | None = None
    length_error: float | None = None


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound to be shown of a measure, and the number of people that it takes.

    Parameters
    ----------
    measure
        Name of the measure.
    bound
        The bound; of a comparison 0, which the interval of the difference must exclude.
    needed
        The number of people; of several scenarios the one that takes most.
    scenarios
        By scenario of what people are like, the number of people; empty for a pilot and for a comparison.
    """

    measure: str
    bound: float
    needed: PeopleNeeded
    scenarios: Mapping[Scenario, PeopleNeeded] = field(default_factory=dict)

    @property
    def worst(self) -> Scenario | None:
        """The scenario that takes most people; None where there are no scenarios."""
        return next((name for name, needed in self.scenarios.items() if needed == self.needed), None)


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a plan was simulated from.

    Parameters
    ----------
    design
        The people.
    measure
        The measure that states the leak.
    leak
        Its true value; of two systems, that of the one that leaks less.
    shift
        By how much scores of mated pairs are higher.
    times
        Number of recordings that were simulated for each number of people.
    seed
        Seed of the simulations.
    difference
        True value of the other system less `leak`; None where one system is planned for.
    shared
        Share of the variance of scores that two systems have in common.
    """

    design: Design
    measure: str
    leak: float
    shift: float
    times: int
    seed: int
    difference: float | None = None
    shared: float | None = None


@dataclass(frozen=True, slots=True)
class Pilot:
    """What a plan was extrapolated from: people of the pilot, how many they count as, and what it was of."""

    people: int
    effective: float
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to expect of a recording before it is made.

    Parameters
    ----------
    people
        Number of people in the recording.
    expected
        What to expect of each measure; of a comparison, of the difference.
    requirements
        Bounds to be shown, and how many people that takes.
    power
        The probability with which they are to be shown.
    basis
        Where the numbers come from.
    detected
        How often the finding will be a leak, or two systems are told apart; None where that was not simulated.
    level
        Confidence level of intervals, limits and tests.

    Examples
    --------
    >>> eer = Expected("eer", truth=0.4, value=0.4, low=0.35, high=0.45, length=0.1, limit=0.36)
    >>> Plan(30, (eer,), (), 0.8, Pilot(12, 12.0, {}))["eer"].length
    0.1
    """

    people: int
    expected: tuple[Expected, ...]
    requirements: tuple[Requirement, ...]
    power: float
    basis: Simulation | Pilot
    detected: float | None = None
    level: float = LEVEL

    def __getitem__(self, name: str) -> Expected:
        for expected in self.expected:
            if expected.measure == name:
                return expected
        raise KeyError(f"{name!r} is not planned; there is {', '.join(expected.measure for expected in self.expected)}")
