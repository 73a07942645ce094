"""Before anybody is recorded: how wide intervals will be, what will be found, and how many people it takes.

Either recordings are simulated whose truth is known and evaluated as real ones are, or the result of a pilot is
extrapolated to more people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.planning.needed import Requirement, requirements, sign_of_leak
from zeroevidence.evaluation.planning.simulated import Design, plannable, shift_of, simulated, truth
from zeroevidence.evaluation.rows.limits import one_sided_limit as limit_on_scale
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.uncertainty.level import LEAST_PEOPLE, LEVEL, alpha
from zeroevidence.uncertainty.null import ROWS_LIMIT
from zeroevidence.uncertainty.resampling.draws import Progress, run_jobs
from zeroevidence.uncertainty.spread import Spread

_PERMUTATIONS = 99
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be expected of one measure.

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
        How often the test says that something leaks; None where the measure is not tested.
    bound
        The bound that is to be shown; None where there is none.
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
        Number of people that it is about.
    expected
        What to expect of each measure.
    requirements
        Bounds that are to be shown, and how many people that takes.
    power
        The probability with which they are to be shown.
    basis
        Where the numbers come from.
    detected
        How often the finding will be that something leaks; None where that was not simulated.
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


def plan(
    people: int = 30,
    utterances: int = 10,
    *,
    leak: float,
    measure: str = "d_ece",
    show: Mapping[str, float] | None = None,
    power: float = 0.8,
    between: float = 0.5,
    uneven: bool = False,
    simulations: int = 20,
    level: float = LEVEL,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """What to expect of a recording of so many people, from simulated ones whose truth is known.

    Parameters
    ----------
    people
        Number of people; every recording is compared with everybody.
    utterances
        Recordings of each person.
    leak
        True value of `measure`.
    measure
        The measure that states the leak.
    show
        By measure, what is to be shown: that it is at most so large, or at least where it falls with what attackers
        learn (EER). The number of people that this takes is searched for in several scenarios of what people are like,
        and the largest is quoted.
    power
        The probability with which it is to be shown.
    between
        How much people differ, as in `Design`.
    uneven
        Whether people have different numbers of recordings, as in `Design`.
    simulations
        How many recordings are simulated; up to five times as many for the number of people that a bound takes.
    level
        Confidence level of intervals, limits and tests.
    seed
        Seed of the simulations.
    workers
        Processes; their number changes no result.
    progress
        Called with the number of simulations done and wanted.

    Examples
    --------
    >>> found = plan(12, 4, leak=0.2, simulations=2)
    >>> found["d_ece"].truth, found["d_ece"].low < found["d_ece"].value < found["d_ece"].high
    (0.2, True)
    """
    check_plan(people, power, simulations, seed)
    design, show = Design(people, utterances, between, uneven), show or {}
    check_size(design)
    bounds = {plannable(name).name: checked_bound(name, bound) for name, bound in show.items()}
    shift = shift_of(design, measure, leak)
    true = truth(design, shift) | {measure: float(leak)}
    names = [name for name in dict.fromkeys([*headline_measures(), measure, *bounds]) if name in true]
    trial = _Trial(design, shift, seed, tuple(names), level)
    here = run_simulations(trial, [(people, number) for number in range(simulations)], workers, progress)[people]
    targets = requirements(
        design,
        (measure, leak),
        bounds,
        power=power,
        simulations=simulations,
        level=level,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    return Plan(
        people,
        tuple(
            _expected(name, [outcome.measures[name] for outcome in here], true[name], bounds, level) for name in names
        ),
        targets,
        power,
        Simulation(design, measure, float(leak), shift, simulations, seed),
        float(np.mean([outcome.beaten for outcome in here])),
        level,
    )


def check_plan(people: int, power: float, simulations: int = 2, seed: int = 0) -> None:
    """Raise UsageError for numbers that nothing can be planned with."""
    for name, value, least in (("people", people, LEAST_PEOPLE), ("simulations", simulations, 2), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            why = ", because fewer give no intervals" if name == "people" else ""
            raise UsageError(f"{name}: expected a whole number from {least} on{why}, got {value!r}")
    if not 0.5 <= power < 1.0:
        raise UsageError(f"power: expected a number from 0.5 to below 1, got {power!r}")


def checked_bound(name: str, bound: float) -> float:
    """A bound within the range of its measure."""
    measure = MEASURES.find(name)
    if measure.discloses == "none" or not measure.low <= bound <= measure.high:
        raise UsageError(f"{name}: expected a bound from {measure.range}, got {bound:g}")
    return float(bound)


def check_size(design: Design) -> None:
    """Raise UsageError for people whose scores are too many to simulate."""
    if design.scores > ROWS_LIMIT:
        raise UsageError(
            f"{design.people} people with {design.utterances} utterances each are {design.scores} scores to simulate; "
            f"expected at most {ROWS_LIMIT} (lengths fall with the square root of the number of people)"
        )


def clipped(name: str, value: float, people: int) -> float:
    """A limit within what the measure can be."""
    return float(np.clip(value, MEASURES[name].low, most_of(name, people)))


def most_of(name: str, people: int) -> float:
    """The end of a measure's scale."""
    measure = MEASURES[name]
    return (
        min(measure.high, float(np.log2(people)))
        if measure.family == "search" and measure.unit == "bit"
        else measure.high
    )


def one_sided_limit(name: str, value: float, spread: Spread, people: int, level: float) -> float:
    """The one-sided limit on the side of the attacker."""
    measure = MEASURES[name]
    limit = limit_on_scale(spread, value, level, measure.discloses, (measure.low, most_of(name, people)))
    return value if limit is None else limit


@dataclass(frozen=True, slots=True)
class _SimulatedResult:
    """A measure in one simulation."""

    value: float
    low: float
    high: float
    limit: float
    p_value: float | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One simulation: its measures, and whether a leak was found."""

    measures: Mapping[str, _SimulatedResult]
    beaten: bool


@dataclass(frozen=True, slots=True)
class _Trial:
    """Simulates a recording, and evaluates it."""

    design: Design
    shift: float
    seed: int
    names: tuple[str, ...]
    level: float

    def __call__(self, people: int, number: int) -> _Outcome:
        data = simulated(replace(self.design, people=people), self.shift, self.seed, number)
        row = evaluate(data, null=_PERMUTATIONS, seed=number, level=self.level)
        results = {name: _simulated_result(row.metrics[name]) for name in self.names}
        return _Outcome(results, chances([row])[0].beaten is True)


def _simulated_result(result: MeasureResult) -> _SimulatedResult:
    assert result.low is not None
    assert result.high is not None
    assert result.bound is not None
    return _SimulatedResult(float(result), result.low, result.high, result.bound, result.p_value)


def _expected(
    name: str, results: Sequence[_SimulatedResult], true: float, bounds: Mapping[str, float], level: float
) -> Expected:
    value, low, high, limit = (
        float(np.mean([getattr(result, field) for result in results])) for field in ("value", "low", "high", "limit")
    )
    p_values = [result.p_value for result in results if result.p_value is not None]
    power = float(np.mean([p <= alpha(level) for p in p_values])) if p_values else None
    bound, shown = bounds.get(name), None
    if bound is not None:
        shown = float(np.mean([sign_of_leak(name) * result.limit <= sign_of_leak(name) * bound for result in results]))
    error = float(np.std([result.high - result.low for result in results], ddof=1) / np.sqrt(len(results)))
    return Expected(name, true, value, low, high, high - low, limit, power, bound, shown, error)


def run_simulations(
    trial: Callable[..., T], jobs: Sequence[tuple[int, ...]], workers: int, progress: Progress | None
) -> dict[int, list[T]]:
    """Outcomes of all simulations by number of people, with which each job begins."""
    outcomes: dict[int, list[T]] = {}
    for done, (job, outcome) in enumerate(zip(jobs, run_jobs(trial, jobs, workers=workers), strict=True), 1):
        outcomes.setdefault(job[0], []).append(outcome)
        if progress is not None:
            progress(done, len(jobs))
    return outcomes
