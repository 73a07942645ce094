"""Before anybody is recorded: how wide intervals will be, what will be found, and how many people it takes.

Either recordings are simulated whose truth is known and evaluated as real ones are, or the result of a pilot is
extrapolated to more people.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.finding import chances, findings
from zeroevidence.evaluation.measuring import evaluate
from zeroevidence.evaluation.results import Evaluation, Measured
from zeroevidence.evaluation.simulated import Design, plannable, shift_of, simulated, truth
from zeroevidence.measure.registry import MEASURES, find_measure, headline_measures
from zeroevidence.uncertainty.draws import Progress, run_jobs
from zeroevidence.uncertainty.level import ALPHA, LEAST_PEOPLE
from zeroevidence.uncertainty.null import ROWS_LIMIT
from zeroevidence.uncertainty.planning import PeopleNeeded, needed_from_limits, needed_from_spread, scaled
from zeroevidence.uncertainty.spread import Spread

_SIZES = (12, 24, 48, 96)  # numbers of people that are simulated to find the one that is needed
_SEARCHED = (12, 24, 48, 96, 192)  # where the truth of a search is computed; it changes little beyond
_MOST_SCORES = 2_000_000  # of each of these
_PERMUTATIONS = 99


@dataclass(frozen=True, slots=True)
class Expected:
    """What is to be expected of one measure.

    Parameters
    ----------
    measure, truth
        Its name, and its value in the population; of a pilot, the pilot's value.
    value, low, high, length
        Mean value, mean 95 % interval, and its length.
    limit
        Mean one-sided 95 % limit on the side of the attacker: upper, or lower where the measure falls with what
        attackers learn.
    power
        How often the test at 5 % says that something leaks; None where the measure is not tested.
    bound, shown
        What is to be shown, and how often the limit shows it; None where nothing is.
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
class Wanted:
    """A bound that is to be shown of a measure, and the number of people that it takes."""

    measure: str
    bound: float
    needed: PeopleNeeded


@dataclass(frozen=True, slots=True)
class Simulation:
    """What a plan was simulated from.

    Parameters
    ----------
    design
        The people.
    measure, leak, shift
        What leaks in truth: the value of this measure, and how much higher scores of mated pairs are for that.
    times, seed
        How many recordings were simulated for each number of people.
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
    wanted
        Bounds that are to be shown, and how many people that takes.
    power
        The probability with which they are to be shown.
    basis
        Where the numbers come from.
    found
        How often the finding will be that something leaks; None where that was not simulated.

    Examples
    --------
    >>> eer = Expected("eer", truth=0.4, value=0.4, low=0.35, high=0.45, length=0.1, limit=0.36)
    >>> Plan(30, (eer,), (), 0.8, Pilot(12, 12.0, {}))["eer"].length
    0.1
    """

    people: int
    expected: tuple[Expected, ...]
    wanted: tuple[Wanted, ...]
    power: float
    basis: Simulation | Pilot
    found: float | None = None

    def __getitem__(self, name: str) -> Expected:
        for one in self.expected:
            if one.measure == name:
                return one
        raise KeyError(f"{name!r} is not planned; there is {', '.join(one.measure for one in self.expected)}")


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
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> Plan:
    """What to expect of a recording of so many people, from simulated ones whose truth is known.

    Parameters
    ----------
    people, utterances
        People, and recordings of each; every recording is compared with everybody.
    leak, measure
        What leaks in truth: the value of this measure.
    show
        By measure, what is to be shown: that it is at most so large, or at least where it falls with what attackers
        learn (EER). The number of people that this takes is searched for.
    power
        The probability with which it is to be shown.
    between, uneven
        How people differ, as in `Design`.
    simulations, seed
        How many recordings are simulated for each number of people.
    workers, progress
        Processes, which change nothing; called with the number of simulations done and wanted.

    Examples
    --------
    >>> found = plan(12, 4, leak=0.2, simulations=2)
    >>> found["d_ece"].truth, found["d_ece"].low < found["d_ece"].value < found["d_ece"].high
    (0.2, True)
    """
    _check(people, power, simulations, seed)
    design, show = Design(people, utterances, between, uneven), show or {}
    if design.scores > ROWS_LIMIT:
        raise UsageError(
            f"{people} people with {utterances} utterances each are {design.scores} scores to simulate; expected at "
            f"most {ROWS_LIMIT} (lengths fall with the square root of the number of people)"
        )
    bounds = {plannable(name).name: _bound(name, bound) for name, bound in show.items()}
    sizes = _sizes(design) if bounds else ()
    shift = shift_of(design, measure, leak)
    true = truth(design, shift) | {measure: float(leak)}
    names = [name for name in dict.fromkeys([*headline_measures(), measure, *bounds]) if name in true]
    trial = _Trial(design, shift, seed, tuple(names))
    jobs = [(people, number, _PERMUTATIONS) for number in range(simulations)]
    jobs += [(size, number, 0) for size in sizes for number in range(simulations)]
    outcomes: dict[int, list[_Outcome]] = {}
    for done, ((size, _, _), outcome) in enumerate(zip(jobs, run_jobs(trial, jobs, workers=workers), strict=True), 1):
        outcomes.setdefault(size, []).append(outcome)
        if progress is not None:
            progress(done, len(jobs))
    here = outcomes[people]
    expected = tuple(_expected(name, [one.measures[name] for one in here], true[name], bounds) for name in names)
    limits = {
        name: {size: np.array([one.measures[name].limit for one in some]) for size, some in outcomes.items()}
        for name in bounds
    }
    wanted = tuple(
        Wanted(name, bound, _needed(limits[name], name, bound, power, _truths(name, design, shift, true), seed))
        for name, bound in bounds.items()
    )
    basis = Simulation(design, measure, float(leak), shift, simulations, seed)
    return Plan(people, expected, wanted, power, basis, float(np.mean([one.beaten for one in here])))


def plan_from_pilot(
    pilot: Evaluation, people: int | None = None, *, show: Mapping[str, float] | None = None, power: float = 0.8
) -> Plan:
    """What to expect of more people who are recorded as those of a pilot were.

    Parameters
    ----------
    pilot
        A result with intervals over people.
    people
        How many there will be; as many as in the pilot unless given.
    show, power
        As in `plan`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mated = np.repeat(np.arange(12), 4)
    >>> from zeroevidence import ScoreMatrix, evaluate
    >>> speakers = np.char.add("s", np.arange(12).astype(str))
    >>> scores = rng.normal(size=(48, 12)) + 1.5 * np.eye(12)[mated]
    >>> data = ScoreMatrix(scores, mated, trial_speakers=speakers[mated], enrolment_speakers=speakers)
    >>> found = plan_from_pilot(evaluate(data, null=0), 48)
    >>> found.people, found["d_ece"].length < found["d_ece"].truth
    (48, True)
    """
    measured, number = _spreads(pilot)
    people = number if people is None else people
    _check(people, power)
    bounds = {find_measure(name).name: _bound(name, bound) for name, bound in (show or {}).items()}
    for name in bounds:
        if name not in measured:
            raise UsageError(f"the pilot has no interval of {name}; expected one of {', '.join(measured)}")
    names = [name for name in dict.fromkeys([*headline_measures(), *bounds]) if name in measured]
    expected, wanted = [], []
    for name in names:
        value, spread = measured[name]
        expected.append(_extrapolated(name, value, scaled(spread, people / number), people, bounds.get(name)))
    for name, bound in bounds.items():
        value, spread = measured[name]
        sign = _sign(name)
        turned = spread if sign > 0 else replace(spread, below=spread.above, above=spread.below)
        wanted.append(Wanted(name, bound, needed_from_spread(sign * value, turned, number, sign * bound, power)))
    effective = min(spread.people for _, spread in measured.values())
    return Plan(people, tuple(expected), tuple(wanted), power, Pilot(number, effective, pilot.labels))


def _check(people: int, power: float, simulations: int = 2, seed: int = 0) -> None:
    for name, value, least in (("people", people, LEAST_PEOPLE), ("simulations", simulations, 2), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            why = ", because fewer give no intervals" if name == "people" else ""
            raise UsageError(f"{name}: expected a whole number from {least} on{why}, got {value!r}")
    if not 0.5 <= power < 1.0:
        raise UsageError(f"power: expected a number from 0.5 to below 1, got {power!r}")


def _bound(name: str, bound: float) -> float:
    """A bound within the range of its measure."""
    one = find_measure(name)
    if one.discloses == "none" or not one.low <= bound <= one.high:
        raise UsageError(f"{name}: expected a bound from {one.range}, got {bound:g}")
    return float(bound)


def _sizes(design: Design) -> tuple[int, ...]:
    """Numbers of people to simulate beside the one asked for, to find the one that is needed."""
    found = [n for n in _SIZES if replace(design, people=n).scores <= _MOST_SCORES]
    return tuple(n for n in found if n != design.people)


def _sign(name: str) -> float:
    return -1.0 if MEASURES[name].discloses == "down" else 1.0


def _clipped(name: str, value: float, people: int) -> float:
    """A limit within what the measure can be."""
    one = MEASURES[name]
    most = min(one.high, float(np.log2(people))) if one.family == "search" and one.unit == "bit" else one.high
    return float(np.clip(value, one.low, most))


def _limit(name: str, value: float, spread: Spread, people: int) -> float:
    """The one-sided limit on the side of the attacker."""
    return _clipped(name, spread.at_most(value) if _sign(name) > 0 else spread.at_least(value), people)


@dataclass(frozen=True, slots=True)
class _One:
    """A measure in one simulation."""

    value: float
    low: float
    high: float
    limit: float
    p_value: float | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """One simulation: its measures, and whether a leak was found."""

    measures: Mapping[str, _One]
    beaten: bool


@dataclass(frozen=True, slots=True)
class _Trial:
    """Simulates a recording of so many people, and evaluates it."""

    design: Design
    shift: float
    seed: int
    names: tuple[str, ...]

    def __call__(self, people: int, number: int, permutations: int) -> _Outcome:
        data = simulated(replace(self.design, people=people), self.shift, self.seed, number)
        row = evaluate(data, null=permutations, seed=number)
        found = {name: _one(name, row.metrics[name], people) for name in self.names}
        return _Outcome(found, chances([row])[0].beaten is True)


def _one(name: str, found: Measured, people: int) -> _One:
    assert found.low is not None
    assert found.high is not None
    assert found.spread is not None
    value = float(found)
    return _One(value, found.low, found.high, _limit(name, value, found.spread, people), found.p_value)


def _expected(name: str, found: Sequence[_One], true: float, bounds: Mapping[str, float]) -> Expected:
    value, low, high, limit = (
        float(np.mean([getattr(one, field) for one in found])) for field in ("value", "low", "high", "limit")
    )
    p_values = [one.p_value for one in found if one.p_value is not None]
    power = float(np.mean([p <= ALPHA for p in p_values])) if p_values else None
    bound, shown = bounds.get(name), None
    if bound is not None:
        shown = float(np.mean([_sign(name) * one.limit <= _sign(name) * bound for one in found]))
    error = float(np.std([one.high - one.low for one in found], ddof=1) / np.sqrt(len(found)))
    return Expected(name, true, value, low, high, high - low, limit, power, bound, shown, error)


def _truths(name: str, design: Design, shift: float, true: Mapping[str, float]) -> Callable[[FloatArray], FloatArray]:
    """The truth of a measure for numbers of people; of a search, between those that are computed."""
    if MEASURES[name].family != "search":
        return lambda people: np.full(len(people), true[name])
    known = [truth(replace(design, people=n), shift)[name] for n in _SEARCHED]
    return lambda people: np.interp(np.log(people), np.log(_SEARCHED), known)


def _needed(
    limits: Mapping[int, FloatArray],
    name: str,
    bound: float,
    power: float,
    true: Callable[[FloatArray], FloatArray],
    seed: int,
) -> PeopleNeeded:
    sign = _sign(name)
    turned = {size: sign * some for size, some in limits.items()}
    return needed_from_limits(turned, lambda people: sign * true(people), sign * bound, power, seed)


def _extrapolated(name: str, value: float, spread: Spread, people: int, bound: float | None) -> Expected:
    low, high = (_clipped(name, limit, people) for limit in spread.limits(value))
    limit, shown = _limit(name, value, spread, people), None
    if bound is not None:
        room = _sign(name) * (bound - limit)
        shown = float(ndtr(room / spread.error)) if spread.error > 0.0 else float(room >= 0.0)
    return Expected(name, value, value, low, high, high - low, limit, None, bound, shown)


def _spreads(pilot: Evaluation) -> tuple[dict[str, tuple[float, Spread]], int]:
    """Value and spread of each measure of a pilot, and its number of people; refuses pilots that tell nothing."""
    number = pilot.counts.get("speakers")
    if number is None or (pilot.setup.intervals is not None and pilot.setup.intervals.unit != "speaker"):
        raise InputError("the pilot does not say whose the recordings are; evaluate it with speakers")
    if number < LEAST_PEOPLE:
        raise InputError(
            f"the pilot has {number} people, too few to plan from; expected at least {LEAST_PEOPLE}, or a simulation"
        )
    if pilot.setup.tandem is not None:
        raise InputError("the pilot is a tandem, whose intervals rest on attacks too; expected scores of people")
    found = {
        name: (float(one), one.spread)
        for name, one in pilot.metrics.items()
        if name in MEASURES and MEASURES[name].discloses != "none" and one.spread is not None
    }
    if not found:
        raise InputError("the pilot has no intervals to plan from; evaluate its scores again, with intervals")
    return found, number


def strongest_attack(rows: Sequence[Evaluation]) -> Evaluation:
    """The row of a pilot to plan from: the one that its finding is about."""
    return rows[findings(rows)[0].strongest]
