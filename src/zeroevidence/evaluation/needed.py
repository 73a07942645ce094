"""What a plan of a recording says: expected intervals, and how many people a bound needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TypeVar

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.evaluation.resampling import replicate, with_intervals
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.evaluation.simulated import Design, Scenario, shift_of, simulated, truth
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.parallel import compute_each
from zeroevidence.run import LEVEL, Run
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.planning import PeopleNeeded, confirmed_people, guessed_people

_SEARCH_SIZES = (12, 24, 48, 96, 192)  # where the truth of a search is computed; it changes little beyond
_MOST_SIMULATED = 500_000  # scores up to which a number of people is simulated
_CONFIRM_FACTOR = 5  # as many simulations to confirm a number as to guess it
_LEAST_FACTOR = 2  # the same where people are many
_CONFIRM_SCORES = 20_000_000  # of all simulations that confirm one number
_TRUTH_ERROR = 1e-4  # relative
_NEAR_LARGEST = 0.8  # of the largest guess: scenarios from there on are confirmed


@dataclass(frozen=True, slots=True)
class Expected:
    """What to expect of one measure.

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
        attackers learn.
    power
        How often the test finds a leak; None where the measure is not tested.
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
        The bound.
    needed
        The number of people; of several scenarios the one that takes most.
    scenarios
        By scenario of what people are like, the number of people; empty for a pilot.
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
        Its true value.
    shift
        By how much scores of mated pairs are higher.
    times
        Number of recordings that were simulated for each number of people.
    seed
        Seed of the simulations.
    """

    design: Design
    measure: str
    leak: float
    shift: float
    times: int
    seed: int


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
        What to expect of each measure.
    requirements
        Bounds to be shown, and how many people that takes.
    power
        The probability with which they are to be shown.
    basis
        Where the numbers come from.
    detected
        How often the finding will be a leak; None where that was not simulated.
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


T = TypeVar("T")


def sign_of_leak(name: str) -> float:
    """Return 1 for a measure that rises with what attackers learn, -1 for one that falls."""
    return -1.0 if MEASURES[name].discloses == "down" else 1.0


def true_by_people(design: Design, shift: float, name: str) -> Callable[[FloatArray], FloatArray]:
    """Return the truth of a measure by number of people: that of a search depends on how many are searched."""
    sizes = _SEARCH_SIZES if MEASURES[name].family == "search" else _SEARCH_SIZES[:1]
    truths = [truth(replace(design, people=n), shift)[name] for n in sizes]
    return lambda people: np.interp(np.log(people), np.log(sizes), truths)


class SimulationRunner:
    """Runs simulations in one process or several, and reports how many are done and begun."""

    def __init__(self, run: Run) -> None:
        self.run, self.step, self.done, self.begun = run, run.progress("plan", "simulations"), 0, 0

    def outcomes(self, trial: Callable[..., T], jobs: Sequence[tuple[int, ...]]) -> list[T]:
        """Return the outcomes of `trial(*job)` in the order of the jobs."""
        self.begun += len(jobs)
        outcomes = []
        for outcome in compute_each(lambda job: trial(*job), jobs, self.run, little=True):
            outcomes.append(outcome)
            self.done += 1
            self.step(self.done, self.begun)
        return outcomes


def find_requirements(
    basis: Simulation, bounds: Mapping[str, float], power: float, level: float, runner: SimulationRunner
) -> tuple[Requirement, ...]:
    """Return how many people each bound takes: of all scenarios, the largest number.

    Simulated people get the limits that `evaluate` gives. A few simulations of two numbers of people yield a guess for
    each scenario. Guesses near the largest are confirmed: that many people are simulated often enough to know how often
    they show the bound.

    Parameters
    ----------
    basis
        The people but for their number and what they are like, the leak, and how many recordings are simulated for each
        number of people of a guess; up to five times as many are for the number that is quoted.
    bounds
        By measure, what is to be shown.
    power
        The probability with which it is to be shown.
    level
        Confidence level of limits.
    runner
        Runs the simulations.
    """
    searches: dict[Scenario, _Search] = {}
    for scenario in basis.design.scenarios if bounds else ():
        design = replace(basis.design, scenario=scenario)
        shift = shift_of(design, basis.measure, basis.leak)
        searches[scenario] = _Search(replace(basis, design=design, shift=shift), tuple(bounds), level, runner)
    return tuple(_requirement(name, bound, searches, power) for name, bound in bounds.items())


def _requirement(name: str, bound: float, searches: Mapping[Scenario, _Search], power: float) -> Requirement:
    """Return the number of people for each scenario, confirmed where it is near the largest."""
    guesses = {scenario: search.guess(name, bound, power) for scenario, search in searches.items()}
    largest = max(guess.people or 0 for guess in guesses.values())
    numbers = {
        scenario: guess
        if guess.people is None or guess.people < _NEAR_LARGEST * largest
        else searches[scenario].confirm(name, bound, power, guess.people)
        for scenario, guess in guesses.items()
    }
    return Requirement(name, bound, max(numbers.values(), key=_order), numbers)


def _order(needed: PeopleNeeded) -> tuple[bool, bool, int]:
    """Return the sort key of numbers of people: bounds that are never shown come last, before them too many people."""
    return needed.unreachable == "never", needed.people is None, needed.people or 0


def simulated_limits(
    basis: Simulation, names: Sequence[str], level: float, people: int, number: int
) -> dict[str, float]:
    """Return the limits of `one_sided_limits` of one simulated recording of so many people.

    Parameters
    ----------
    basis
        The people, but for their number, the leak and the seed.
    names
        The measures.
    level
        Confidence level of the limits.
    people
        Number of people.
    number
        Tells the simulations of a seed apart.

    Examples
    --------
    >>> basis = Simulation(Design(30), "d_ece", 0.1, shift=1.0, times=1, seed=0)
    >>> 0.1 < simulated_limits(basis, ["d_ece"], 0.95, 12, 0)["d_ece"] < 0.7
    True
    """
    data = simulated(replace(basis.design, people=people), basis.shift, basis.seed, number)
    return one_sided_limits(data, names, level)


def one_sided_limits(data: ScoreMatrix, names: Sequence[str], level: float) -> dict[str, float]:
    """Return the limits on the side of the attacker as `evaluate` does, without what else it computes."""
    options, run = Options(null=0, linkability="density" if "linkability" in names else "pav"), Run(level=level)
    metrics: Mapping[str, MeasureResult]
    if any(MEASURES[name].family == "search" for name in names):
        metrics = evaluate(data, options=options, run=run).metrics
    else:
        scores = sort_by_name(data).to_scores()
        view = ScoreView(rank(scores.target, scores.nontarget), options.pairs(run.seed))
        prepared = PreparedScores(scores, view.ranked)
        values = {name: MeasureResult.of(name, float(MEASURES[name].compute(view))) for name in names}
        metrics = with_intervals(values, replicate(prepared, view, None, None, options), level)
    limits = {name: metrics[name].bound for name in names}
    return {name: limit for name, limit in limits.items() if limit is not None}


class _Search:
    """Searches for numbers of people in one scenario; what was simulated for one bound serves the others."""

    def __init__(self, basis: Simulation, names: Sequence[str], level: float, runner: SimulationRunner) -> None:
        self.design, self.simulations, self.runner = basis.design, basis.times, runner
        self._draw = partial(simulated_limits, basis, names, level)
        self._truth = cache(partial(true_by_people, basis.design, basis.shift))
        self._simulated: dict[tuple[int, bool], list[dict[str, float]]] = {}
        self._most = int(np.sqrt(_MOST_SIMULATED / basis.design.utterances))

    def guess(self, name: str, bound: float, power: float) -> PeopleNeeded:
        """About how many people a bound takes."""
        true = sign_of_leak(name) * self._truth(name)(np.array(_SEARCH_SIZES, dtype=np.float64))
        above = sign_of_leak(name) * bound - true
        if (above <= _TRUTH_ERROR * np.abs(true)).all():  # a truth that was solved for is never quite exact
            return PeopleNeeded(None, None, None, "never")
        return guessed_people(lambda people: self._excess(name, bound, people), power, self._most)

    def confirm(self, name: str, bound: float, power: float, guess: int) -> PeopleNeeded:
        """How many people a bound takes, from many simulations of numbers near a guess."""
        return confirmed_people(
            guess, lambda people: self._excess(name, bound, people, confirming=True), power, self._most
        )

    def _excess(self, name: str, bound: float, people: int, *, confirming: bool = False) -> FloatArray:
        """How far limits lie beyond the truth, as a share of how far the bound does."""
        limits, sign = self._limits(name, people, confirming=confirming), sign_of_leak(name)
        true = sign * self._truth(name)(np.array([people], dtype=np.float64))
        room = float(sign * bound - true[0])
        return (sign * limits - true) / room if room > 0.0 else np.full(len(limits), np.inf)

    def _limits(self, name: str, people: int, *, confirming: bool = False) -> FloatArray:
        """Limits of simulated recordings; those that confirm a number are others than those of a guess."""
        if (people, confirming) not in self._simulated:
            times = self._times(people) if confirming else self.simulations
            jobs = [(people, self.simulations * confirming + number) for number in range(times)]
            self._simulated[people, confirming] = self.runner.outcomes(self._draw, jobs)
        return np.array([outcome[name] for outcome in self._simulated[people, confirming]])

    def _times(self, people: int) -> int:
        """Return how often a number of people is simulated to confirm it."""
        affordable = _CONFIRM_SCORES // replace(self.design, people=people).scores
        return int(np.clip(affordable, _LEAST_FACTOR * self.simulations, _CONFIRM_FACTOR * self.simulations))
