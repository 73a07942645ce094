"""Plans from a pilot: its intervals, extrapolated to more people who are recorded as its people were."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from zeroevidence.errors import InputError
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.planning.needed import sign_of_leak
from zeroevidence.evaluation.planning.plan import check_plan, checked_bound
from zeroevidence.evaluation.planning.result import Expected, Pilot, Plan, Requirement
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.limits import measure_range, one_sided_limit
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.planning import needed_from_spread
from zeroevidence.uncertainty.spread import Spread


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
    >>> from zeroevidence import ScoreMatrix, evaluate
    >>> speakers = np.char.add("s", np.arange(12).astype(str))
    >>> scores = rng.normal(size=(48, 12)) + 1.5 * np.eye(12)[mated]
    >>> data = ScoreMatrix(scores, mated, trial_speakers=speakers[mated], enrolment_speakers=speakers)
    >>> found = plan_from_pilot(evaluate(data, null=0), 48)
    >>> found.people, found["d_ece"].length < found["d_ece"].truth
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
        expected.append(
            _extrapolated(
                name, value, spread.of_people(spread.people * people / number), people, bounds.get(name), level
            )
        )
    for name, bound in bounds.items():
        value, spread = measured[name]
        sign = sign_of_leak(name)
        turned = spread if sign > 0 else replace(spread, below=spread.above, above=spread.below)
        needed = needed_from_spread(sign * value, turned, number, sign * bound, power, level)
        requirements.append(Requirement(name, bound, needed))
    effective = min(spread.people for _, spread in measured.values())
    return Plan(
        people, tuple(expected), tuple(requirements), power, Pilot(number, effective, pilot.labels), level=level
    )


def _extrapolated(name: str, value: float, spread: Spread, people: int, bound: float | None, level: float) -> Expected:
    scale = measure_range(name, float(np.log2(people)) if MEASURES[name].family == "search" else np.inf)
    low, high = (float(np.clip(end, *scale)) for end in spread.limits(value, level))
    limit, shown = one_sided_limit(spread, value, level, MEASURES[name].discloses, scale), None
    assert limit is not None  # measures without a direction are not planned for
    if bound is not None:
        room = sign_of_leak(name) * (bound - limit)
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
    return rows[findings(rows)[0].strongest]
