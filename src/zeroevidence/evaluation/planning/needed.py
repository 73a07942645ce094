"""How many people a bound takes, for several scenarios of what people are like.

Limits of simulated people are those of `evaluate`. Few simulations of two numbers of people give a guess for each
scenario. Where it is near the largest, as many people are simulated often enough to know how often they show the bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.evaluation.planning.simulated import SCENARIOS, Design, Scenario, shift_of, simulated, truth
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.evaluation.scores.resampling import IN_PROCESS, PreparedScores, replicate, with_intervals
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.uncertainty.planning import PeopleNeeded, confirmed_people, guessed_people
from zeroevidence.uncertainty.resampling.draws import Progress, run_jobs

_SIZES = (12, 24, 48, 96)  # numbers of people that two systems are simulated for
_SEARCHED = (12, 24, 48, 96, 192)  # where the truth of a search is computed; it changes little beyond
_MOST_SCORES = 2_000_000  # of each of these
_MOST_CONFIRMED = 500_000  # scores up to which people are simulated often enough to know a probability
_TIMES = 5  # as many simulations for that as for a guess
_LEAST_TIMES = 2  # where people are many
_SCORES_IN_ALL = 20_000_000  # of these simulations
_CLOSE = 1e-4
_NEAR = 0.8  # of the largest guess: scenarios whose numbers are confirmed


@dataclass(frozen=True, slots=True)
class Requirement:
    """A bound that is to be shown of a measure, and the number of people that it takes.

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


def sizes_to_simulate(design: Design) -> tuple[int, ...]:
    """Numbers of people to simulate, to find the one that is needed."""
    return tuple(n for n in _SIZES if replace(design, people=n).scores <= _MOST_SCORES)


def sign_of_leak(name: str) -> float:
    """1 for a measure that rises with what attackers learn, -1 for one that falls."""
    return -1.0 if MEASURES[name].discloses == "down" else 1.0


def true_by_people(design: Design, shift: float, name: str) -> Callable[[FloatArray], FloatArray]:
    """The truth of a measure for numbers of people: that of a search depends on how many are searched."""
    sizes = _SEARCHED if MEASURES[name].family == "search" else _SEARCHED[:1]
    truths = [truth(replace(design, people=n), shift)[name] for n in sizes]
    return lambda people: np.interp(np.log(people), np.log(sizes), truths)


def requirements(
    design: Design,
    leak: tuple[str, float],
    bounds: Mapping[str, float],
    *,
    power: float,
    simulations: int,
    level: float,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Requirement, ...]:
    """How many people each bound takes: of all scenarios, the largest number.

    Parameters
    ----------
    design
        The people, but for their number and what they are like.
    leak
        The measure that states the leak, and its true value in every scenario.
    bounds
        By measure, what is to be shown.
    power
        The probability with which it is to be shown.
    simulations
        How many recordings are simulated for each number of people of a guess; up to five times as many for the number
        that is quoted.
    level
        Confidence level of limits.
    seed
        Seed of the simulations.
    workers
        Processes.
    progress
        Called with the number of simulations done and begun.
    """
    # The user's numbers of recordings stay where these are known to be uneven.
    scenarios = [name for name in SCENARIOS if not (design.uneven and name == "unequal")] if bounds else []
    count = _Count(progress)
    searches: dict[Scenario, _Search] = {}
    for scenario in scenarios:
        assumed = replace(design, scenario=scenario)
        draw = SimulatedLimits(assumed, shift_of(assumed, *leak), seed, tuple(bounds), level)
        searches[scenario] = _Search(draw, simulations, workers, count)
    return tuple(_requirement(name, bound, searches, power) for name, bound in bounds.items())


def _requirement(name: str, bound: float, searches: Mapping[Scenario, _Search], power: float) -> Requirement:
    """The number of people for each scenario, confirmed where it is near the largest."""
    guesses = {scenario: search.guess(name, bound, power) for scenario, search in searches.items()}
    largest = max(guess.people or 0 for guess in guesses.values())
    found = {
        scenario: guess
        if guess.people is None or guess.people < _NEAR * largest
        else searches[scenario].confirm(name, bound, power, guess.people)
        for scenario, guess in guesses.items()
    }
    return Requirement(name, bound, max(found.values(), key=_size), found)


def _size(needed: PeopleNeeded) -> tuple[bool, bool, int]:
    """What puts numbers of people in order: what is never shown last, before it what takes too many."""
    return needed.unreachable == "never", needed.people is None, needed.people or 0


class _Count:
    """Counts simulations done and begun."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress, self.done, self.begun = progress, 0, 0

    def begin(self, number: int) -> None:
        """So many more are wanted."""
        self.begun += number

    def finish(self) -> None:
        """One more is done."""
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.begun)


@dataclass(frozen=True, slots=True)
class SimulatedLimits:
    """Simulates recordings of so many people, and measures the one-sided limits that `evaluate` gives them.

    Parameters
    ----------
    design
        The people, but for their number.
    shift
        By how much scores of mated pairs are higher.
    seed
        Seed of the simulations.
    names
        The measures.
    level
        Confidence level of the limits.

    Examples
    --------
    >>> draw = SimulatedLimits(Design(30), 1.0, 0, ("d_ece",), 0.95)
    >>> 0.1 < draw(12, 0)["d_ece"] < 0.7
    True
    """

    design: Design
    shift: float
    seed: int
    names: tuple[str, ...]
    level: float

    def __call__(self, people: int, number: int) -> dict[str, float]:
        """Limits by measure of one recording; `number` tells the simulations of a seed apart."""
        data = simulated(replace(self.design, people=people), self.shift, self.seed, number)
        return one_sided_limits(data, self.names, self.level)


def one_sided_limits(data: ScoreMatrix, names: Sequence[str], level: float) -> dict[str, float]:
    """The limits on the side of the attacker that `evaluate` gives, without what else it computes."""
    options = Options(level=level, null=0, linkability="density" if "linkability" in names else "pav")
    metrics: Mapping[str, MeasureResult]
    if any(MEASURES[name].family == "search" for name in names):
        metrics = evaluate(data, options=options).metrics
    else:
        scores = sort_by_name(data).to_scores()
        view = ScoreView(rank(scores.target, scores.nontarget), options.pairs)
        prepared = PreparedScores(scores, view.ranked)
        values = {name: MeasureResult.of(name, float(MEASURES[name].compute(view))) for name in names}
        metrics = with_intervals(values, replicate(prepared, view, None, None, options, IN_PROCESS), level)
    limits = {name: metrics[name].bound for name in names}
    return {name: limit for name, limit in limits.items() if limit is not None}


class _Search:
    """Searches for numbers of people in one scenario; what was simulated for one bound serves the others."""

    def __init__(self, draw: SimulatedLimits, simulations: int, workers: int, count: _Count) -> None:
        self.draw, self.simulations, self.workers, self.count = draw, simulations, workers, count
        self._simulated: dict[tuple[int, bool], list[dict[str, float]]] = {}
        self._truths: dict[str, Callable[[FloatArray], FloatArray]] = {}

    def guess(self, name: str, bound: float, power: float) -> PeopleNeeded:
        """About how many people a bound takes."""
        true = sign_of_leak(name) * self._truth(name)(np.array(_SEARCHED, dtype=np.float64))
        above = sign_of_leak(name) * bound - true
        if (above <= _CLOSE * np.abs(true)).all():  # a truth that was solved for is never quite exact
            return PeopleNeeded(None, None, None, "never")
        return guessed_people(lambda people: self._excess(name, bound, people), power)

    def confirm(self, name: str, bound: float, power: float, guess: int) -> PeopleNeeded:
        """How many people a bound takes, from many simulations of numbers near a guess."""
        most = int(np.sqrt(_MOST_CONFIRMED / self.draw.design.utterances))
        return confirmed_people(guess, lambda people: self._excess(name, bound, people, often=True), power, most)

    def _truth(self, name: str) -> Callable[[FloatArray], FloatArray]:
        if name not in self._truths:
            self._truths[name] = true_by_people(self.draw.design, self.draw.shift, name)
        return self._truths[name]

    def _excess(self, name: str, bound: float, people: int, *, often: bool = False) -> FloatArray:
        """How far limits lie beyond the truth, as a share of how far the bound does."""
        limits, sign = self._limits(name, people, often=often), sign_of_leak(name)
        true = sign * self._truth(name)(np.array([people], dtype=np.float64))
        room = float(sign * bound - true[0])
        return (sign * limits - true) / room if room > 0.0 else np.full(len(limits), np.inf)

    def _limits(self, name: str, people: int, *, often: bool = False) -> FloatArray:
        """Limits of simulated recordings; those that confirm a number are others than those of a guess."""
        if (people, often) not in self._simulated:
            times = self._times(people) if often else self.simulations
            jobs = [(people, self.simulations * often + number) for number in range(times)]
            self.count.begin(len(jobs))
            outcomes = self._simulated[people, often] = []
            for outcome in run_jobs(self.draw, jobs, workers=self.workers):
                outcomes.append(outcome)
                self.count.finish()
        return np.array([outcome[name] for outcome in self._simulated[people, often]])

    def _times(self, people: int) -> int:
        """How often a number of people is simulated to confirm it."""
        affordable = _SCORES_IN_ALL // replace(self.draw.design, people=people).scores
        return int(np.clip(affordable, _LEAST_TIMES * self.simulations, _TIMES * self.simulations))
