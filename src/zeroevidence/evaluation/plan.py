"""Plans of recordings: by simulation, or from a pilot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from zeroevidence._scipy import ndtr
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import needed
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.needed import Expected, Pilot, Plan, Requirement, Simulation, SimulationRunner
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult, measure_range, one_sided_limit, two_sided_limits
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.scores import evaluate
from zeroevidence.evaluation.simulated import Design, plannable, shift_of, simulated, truth
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.run import Run, check_whole, setting
from zeroevidence.uncertainty.level import LEAST_PEOPLE, alpha
from zeroevidence.uncertainty.null import ROWS_LIMIT
from zeroevidence.uncertainty.planning import needed_from_spread
from zeroevidence.uncertainty.spread import Spread

_PERMUTATIONS = 99


@dataclass(frozen=True, slots=True)
class PlanOptions:
    """What is simulated.

    Parameters
    ----------
    utterances
        Recordings of each person.
    between
        How much people differ, as in `Design`.
    uneven
        Whether people have different numbers of recordings, as in `Design`.
    simulations
        How many recordings are simulated; up to five times as many for the number of people that a bound takes.

    Examples
    --------
    >>> from zeroevidence import PlanOptions
    >>> PlanOptions(utterances=5).simulations
    20
    """

    utterances: int = setting(10, "Recordings of each person.")
    between: float = setting(0.5, "Share of the variance of scores that is between people.")
    uneven: bool = setting(False, "Most recordings are of a few people (a Pareto law).")
    simulations: int = setting(20, "Simulated data sets for each number of people.")

    def __post_init__(self) -> None:
        check_whole("simulations", self.simulations, 2)


def plan(
    people: int = 30,
    *,
    leak: float,
    measure: str = "d_ece",
    show: Mapping[str, float] | None = None,
    power: float = 0.8,
    options: PlanOptions = PlanOptions(),
    run: Run = Run(),
) -> Plan:
    """What to expect of a recording of so many people, from simulated ones whose truth is known.

    Parameters
    ----------
    people
        Number of people; every recording is compared with everybody.
    leak
        True value of `measure`.
    measure
        The measure that states the leak.
    show
        By measure, what is to be shown: that it is at most so large, or at least where it falls with what attackers
        learn (EER). The number of people that this takes is searched for in several scenarios of what people are like,
        and the largest is quoted.
    power
        The probability with which a bound is to be shown.
    options
        What is simulated.
    run
        Level of intervals, limits and tests, seed of the simulations, cores and progress.

    Examples
    --------
    >>> planned = plan(12, leak=0.2, options=PlanOptions(utterances=4, simulations=2))
    >>> planned["d_ece"].truth, planned["d_ece"].low < planned["d_ece"].value < planned["d_ece"].high
    (0.2, True)
    """
    check_plan(people, power)
    design = Design(people, options.utterances, options.between, options.uneven)
    if design.scores > ROWS_LIMIT:
        raise UsageError(
            f"{design.people} people with {design.utterances} utterances each are {design.scores} scores to simulate; "
            f"expected at most {ROWS_LIMIT} (lengths fall with the square root of the number of people)"
        )
    bounds = {plannable(name).name: checked_bound(name, bound) for name, bound in (show or {}).items()}
    runner = SimulationRunner(run)
    shift = shift_of(design, measure, leak)
    basis = Simulation(design, measure, float(leak), shift, options.simulations, run.seed)
    true = truth(design, shift) | {measure: float(leak)}
    names = tuple(name for name in dict.fromkeys([*headline_measures(), measure, *bounds]) if name in true)
    measured = runner.outcomes(partial(_outcome, basis, names, run.level), [(n,) for n in range(basis.times)])
    requirements = needed.find_requirements(basis, bounds, power, run.level, runner)
    expected = tuple(
        _expected(name, [measures[name] for measures, _ in measured], true[name], bounds, run.level) for name in names
    )
    detected = float(np.mean([detected for _, detected in measured]))
    return Plan(people, expected, requirements, power, basis, detected, run.level)


def check_plan(people: int, power: float) -> None:
    """Raise UsageError for numbers that nothing can be planned with."""
    check_whole("people", people, LEAST_PEOPLE, ", because fewer give no intervals")
    if not 0.5 <= power < 1.0:
        raise UsageError(f"power: expected a number from 0.5 to below 1, got {power!r}")


def checked_bound(name: str, bound: float) -> float:
    """Return a bound within the range of its measure."""
    measure = MEASURES.find(name)
    if measure.discloses == "none" or not measure.low <= bound <= measure.high:
        raise UsageError(f"{name}: expected a bound from {measure.range}, got {bound:g}")
    return float(bound)


def _outcome(
    basis: Simulation, names: Sequence[str], level: float, number: int
) -> tuple[dict[str, MeasureResult], bool]:
    """Simulate a recording and evaluate it: its measures, and whether a leak was found."""
    data = simulated(basis.design, basis.shift, basis.seed, number)
    row = evaluate(data, options=Options(null=_PERMUTATIONS), run=Run(seed=number, level=level))
    return {name: replace(row.metrics[name], null=None) for name in names}, chances([row])[0].beaten is True


def _expected(
    name: str, results: Sequence[MeasureResult], true: float, bounds: Mapping[str, float], level: float
) -> Expected:
    numbers = np.array([(result.value, result.low, result.high, result.bound) for result in results], dtype=np.float64)
    value, low, high, limit = (float(np.mean(column)) for column in numbers.T)
    p_values = [result.p_value for result in results if result.p_value is not None]
    power = float(np.mean([p <= alpha(level) for p in p_values])) if p_values else None
    bound, shown = bounds.get(name), None
    if bound is not None:
        shown = float(np.mean(needed.sign_of_leak(name) * numbers[:, 3] <= needed.sign_of_leak(name) * bound))
    error = float(np.std(numbers[:, 2] - numbers[:, 1], ddof=1) / np.sqrt(len(results)))
    return Expected(name, true, value, low, high, high - low, limit, power, bound, shown, error)


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
    show
        As in `plan`.
    power
        As in `plan`.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> mated = np.repeat(np.arange(12), 4)
    >>> from zeroevidence import Options, ScoreMatrix, evaluate
    >>> speakers = np.char.add("s", np.arange(12).astype(str))
    >>> scores = rng.normal(size=(48, 12)) + 1.5 * np.eye(12)[mated]
    >>> data = ScoreMatrix(scores, mated, trial_speakers=speakers[mated], enrolment_speakers=speakers)
    >>> planned = plan_from_pilot(evaluate(data, options=Options(null=0)), 48)
    >>> planned.people, planned["d_ece"].length < planned["d_ece"].truth
    (48, True)
    """
    measured, number = _spreads(pilot)
    level = pilot.setup.level
    people = number if people is None else people
    check_plan(people, power)
    bounds = {MEASURES.find(name).name: checked_bound(name, bound) for name, bound in (show or {}).items()}
    for name in bounds:
        if name not in measured:
            raise InputError(f"the pilot has no interval of {name}; expected one of {', '.join(measured)}")
    names = [name for name in dict.fromkeys([*headline_measures(), *bounds]) if name in measured]
    expected, requirements = [], []
    for name in names:
        value, spread = measured[name]
        planned = spread.of_people(spread.people * people / number)
        expected.append(_extrapolated(name, value, planned, people, bounds.get(name), level))
    for name, bound in bounds.items():
        value, spread = measured[name]
        sign = needed.sign_of_leak(name)
        turned = spread if sign > 0 else spread.reverse()
        people_needed = needed_from_spread(sign * value, turned, number, sign * bound, power, level)
        requirements.append(Requirement(name, bound, people_needed))
    effective = min(spread.people for _, spread in measured.values())
    return Plan(
        people, tuple(expected), tuple(requirements), power, Pilot(number, effective, pilot.labels), level=level
    )


def _extrapolated(name: str, value: float, spread: Spread, people: int, bound: float | None, level: float) -> Expected:
    scale = measure_range(name, float(np.log2(people)) if MEASURES[name].family == "search" else np.inf)
    low, high = two_sided_limits(name, spread, value, level, scale)
    limit, shown = one_sided_limit(spread, value, level, MEASURES[name].discloses, scale), None
    assert limit is not None  # measures without a direction are not planned for
    if bound is not None:
        room = needed.sign_of_leak(name) * (bound - limit)
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
    spreads = {
        name: (result.corrected, result.spread)
        for name, result in pilot.metrics.items()
        if name in MEASURES and MEASURES[name].discloses != "none" and result.spread is not None
    }
    if not spreads:
        raise InputError("the pilot has no intervals to plan from; evaluate its scores again, with intervals")
    return spreads, number


def strongest_attack(rows: Sequence[Evaluation]) -> Evaluation:
    """The row of a pilot to plan from: the one that its finding is about."""
    return findings(rows)[0].row
