"""Before a challenge: how often two systems that differ by so much will be told apart, and how many people it takes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from zeroevidence.errors import UsageError
from zeroevidence.evaluation.comparing.comparison import compare
from zeroevidence.evaluation.planning.needed import sign_of_leak, sizes_to_simulate, true_by_people
from zeroevidence.evaluation.planning.one_system import check_plan, check_size, run_simulations
from zeroevidence.evaluation.planning.simulated import Design, plannable, shift_of, simulated_systems
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.uncertainty.compare import Difference
from zeroevidence.uncertainty.level import LEVEL, alpha
from zeroevidence.uncertainty.planning import PeopleNeeded, needed_from_limits
from zeroevidence.uncertainty.resampling.draws import Progress

_LARGEST = 48  # people beside those asked for: two systems take twice as long


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """What to expect of a comparison of two systems on the same recordings.

    Parameters
    ----------
    design
        The people.
    shared
        Share of the variance of scores that the systems have in common.
    measure
        The measure that is compared.
    leak
        Its value for the system that leaks less.
    difference
        How much more the other system leaks: below 0 for a measure that falls with what attackers learn.
    low
        Mean lower end of the interval of the difference.
    high
        Mean upper end of the interval of the difference.
    length
        Mean length of that interval.
    told_apart
        How often the two are told apart.
    power
        The probability with which they are to be told apart.
    needed
        The number of people that this takes.
    times
        Number of comparisons that were simulated for each number of people.
    seed
        Seed of the simulations.

    Examples
    --------
    >>> needed = PeopleNeeded(40, 30, 50)
    >>> found = PlannedComparison(Design(30), 0.5, "d_ece", 0.1, 0.05, 0.0, 0.1, 0.1, 0.6, 0.8, needed, 20, 0)
    >>> found.told_apart, found.needed.people
    (0.6, 40)
    """

    design: Design
    shared: float
    measure: str
    leak: float
    difference: float
    low: float
    high: float
    length: float
    told_apart: float
    power: float
    needed: PeopleNeeded
    times: int
    seed: int
    level: float = LEVEL


def plan_comparison(
    people: int = 30,
    utterances: int = 10,
    *,
    leak: float,
    difference: float,
    measure: str = "d_ece",
    shared: float = 0.5,
    power: float = 0.8,
    between: float = 0.5,
    uneven: bool = False,
    simulations: int = 20,
    level: float = LEVEL,
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> PlannedComparison:
    """What to expect of `compare` for two systems, one of which leaks more than the other by a stated difference.

    Parameters
    ----------
    leak
        The value of the measure for the system that leaks less.
    difference
        By how much the value of the other system differs, without a sign.
    measure
        The measure that is compared.
    shared
        Share of the variance of scores that both systems have in common: more makes a difference easier to see.
    people
        As in `plan`.
    utterances
        As in `plan`.
    power
        As in `plan`.
    between
        As in `plan`.
    uneven
        As in `plan`.
    simulations
        As in `plan`.
    level
        As in `plan`.
    seed
        As in `plan`.
    workers
        As in `plan`.
    progress
        As in `plan`.

    Examples
    --------
    >>> found = plan_comparison(12, 4, leak=0.1, difference=0.3, simulations=2)
    >>> found.difference, found.low < found.high
    (0.3, True)
    """
    check_plan(people, power, simulations, seed)
    design = Design(people, utterances, between, uneven)
    check_size(design)
    if not 0.0 <= shared < 1.0:
        raise UsageError(f"shared: expected a number from 0 to below 1, got {shared!r}")
    if not difference > 0.0:
        raise UsageError(f"difference: expected a number above 0, got {difference!r}")
    sign = sign_of_leak(plannable(measure).name)
    shifts = shift_of(design, measure, leak), shift_of(design, measure, leak + sign * difference)
    trial = _Pair(design, shifts, shared, seed, measure, level)
    sizes = people, *(size for size in sizes_to_simulate(design) if size <= _LARGEST and size != people)
    jobs = [(size, number) for size in sizes for number in range(simulations)]
    outcomes = run_simulations(trial, jobs, workers, progress)
    less, more = (true_by_people(design, shift, measure) for shift in shifts)
    # Two systems are told apart where the limit on the near side of the difference is beyond 0.
    limits = {size: -np.array([difference.low for difference in some]) for size, some in outcomes.items()}
    needed = needed_from_limits(limits, lambda n: sign * (less(n) - more(n)), 0.0, power, seed, level)
    here = outcomes[people]
    low, high = sorted(
        sign * float(np.mean([getattr(difference, end) for difference in here])) for end in ("low", "high")
    )
    told_apart = float(np.mean([difference.p_value <= alpha(level) for difference in here]))
    return PlannedComparison(
        design, shared, measure, float(leak), sign * float(difference), low, high, high - low, told_apart, power,
        needed, simulations, seed, level,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Pair:
    """Simulates two systems on so many people, and compares them; differences are above 0 if the second leaks more."""

    design: Design
    shifts: tuple[float, float]
    shared: float
    seed: int
    name: str
    level: float

    def __call__(self, people: int, number: int) -> Difference:
        design = replace(self.design, people=people)
        rows = [
            evaluate(data, null=0, labels={"system": name}, level=self.level)
            for name, data in zip(
                ("less", "more"), simulated_systems(design, self.shifts, self.shared, self.seed, number), strict=True
            )
        ]
        (comparison,) = compare(rows[::-1], [self.name])
        difference = comparison.pairs[0].difference
        if sign_of_leak(self.name) > 0:
            return difference
        return replace(difference, value=-difference.value, low=-difference.high, high=-difference.low)
