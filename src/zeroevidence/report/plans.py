"""Plans of recordings as tables."""

from __future__ import annotations

import json
from dataclasses import asdict, replace

import numpy as np

from zeroevidence import __version__
from zeroevidence.data.json_values import plain
from zeroevidence.evaluation.needed import Pilot, Plan, Requirement, Simulation
from zeroevidence.evaluation.rows.flags import FEW_SPEAKERS
from zeroevidence.evaluation.rows.measure_result import Column
from zeroevidence.evaluation.simulated import Scenario
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format
from zeroevidence.report.layout import heading, interval, interval_title, number, one_line, title
from zeroevidence.report.table import Cell, Content, Table, Tables, names_column
from zeroevidence.report.writers import to_csv, write_tables
from zeroevidence.uncertainty.level import LEAST_PEOPLE, percent
from zeroevidence.uncertainty.planning import MOST_PEOPLE, PeopleNeeded

SCHEMA = "zeroevidence/plan/4"
_WHERE: dict[Scenario, str] = {
    "alike": "where all people are alike",
    "talkative": "where those who are recorded more often are recognised better",
    "heavy-tailed": "where a few are recognised much better than most",
}


def render_plan(plan: Plan, format: str) -> str:
    """Return a plan in one of the output formats, ending in a newline."""
    check_format(format)
    if format == "json":
        kind = "pilot" if isinstance(plan.basis, Pilot) else "simulation"
        document = {"schema": SCHEMA, "version": __version__, "kind": kind, **plain(asdict(plan))}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "csv":
        return to_csv(Table.of_records(_records(plan)))
    basis = plan.basis
    notes = _pilot_notes(plan, basis) if isinstance(basis, Pilot) else _simulation_notes(plan, basis)
    needed = (_people_needed(plan, target) for target in plan.requirements)
    return write_tables(Tables([_expected_table(plan), *needed, *notes]), format).rstrip("\n") + "\n"


def _expected_table(plan: Plan) -> Table:
    is_pilot = isinstance(plan.basis, Pilot)
    titles = {
        "truth": "pilot" if is_pilot else "truth",
        "interval": interval_title(plan.level),
        "length": "length",
        "limit": f"{percent(plan.level)} limit",
        **({} if is_pilot else {"power": "power"}),
        **({"shown": "shown"} if any(expected.bound is not None for expected in plan.expected) else {}),
    }
    columns = (names_column("measure"), *(Column(name, title) for name, title in titles.items()))
    records: list[dict[str, Content]] = [
        {
            "measure": heading(expected.measure),
            "truth": Cell(expected.truth, unit),
            "interval": interval(expected.low, expected.high, unit),
            "length": Cell(expected.length, unit),
            "limit": f"{_side(expected.measure, '≤', '≥')} {number(expected.limit, unit)}",
            "power": _share(expected.power),
            "shown": _share(expected.shown),
        }
        for expected in plan.expected
        for unit in [MEASURES[expected.measure].unit]
    ]
    return replace(Table.of_records(records, columns), title=f"To expect from {_assumption(plan)}")


def _assumption(plan: Plan) -> str:
    """From whom results are expected, and what is assumed to be true."""
    basis = plan.basis
    if isinstance(basis, Pilot):
        return f"{plan.people} people, if the pilot's estimates are the truth"
    each = "on average" if basis.design.uneven else "each"
    truth = f"{title(basis.measure)} is {_amount(basis.measure, basis.leak)} in truth"
    return f"{plan.people} people with {basis.design.utterances} utterances {each}, if {truth}"


def _amount(name: str, value: float) -> str:
    """A value with its unit, with no more digits than it has."""
    unit = MEASURES[name].unit
    return f"{100 * value:.4g} %" if unit == "rate" else f"{value:.4g}" + (f" {unit}" if unit == "bit" else "")


def _side(name: str, up: str, down: str) -> str:
    return down if MEASURES[name].discloses == "down" else up


def _share(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def _people_needed(plan: Plan, target: Requirement) -> str:
    side = _side(target.measure, "at most", "at least")
    claim = f"{title(target.measure)} is {side} {_amount(target.measure, target.bound)}"
    needed = target.needed
    if target.worst is None:
        return _needed_by_pilot(plan, claim, needed)
    where = "" if all(other == needed for other in target.scenarios.values()) else f" {_WHERE[target.worst]}"
    others = _other_scenarios(target)
    if needed.unreachable == "never":
        return f"No number of people will show that {claim}{where}: in truth it is not.{others}"
    begin = f"To show that {claim} with a probability of {_share(plan.power)} takes"
    if needed.unreachable == "beyond":
        return f"{begin} more than {MOST_PEOPLE} people{where}: the truth is too close to it.{others}"
    if needed.shown is None:
        many = f"about {needed.people} people{where}, which is extrapolated from simulations of fewer"
        return f"{begin} {many}.{others}"
    shown = f"{_share(needed.shown)} ± {_share(needed.shown_error)} of {needed.times} simulated recordings"
    least = f" Fewer than {LEAST_PEOPLE} give no interval." if needed.people == LEAST_PEOPLE else ""
    return f"{begin} about {needed.people} people: so many show it in {shown}{where}.{others}{least}"


def _other_scenarios(target: Requirement) -> str:
    """What it takes in the scenarios that take fewer people."""
    others = [
        f"{'too many' if needed.people is None else needed.people} {_WHERE[name]}"
        for name, needed in target.scenarios.items()
        if name != target.worst and needed != target.needed
    ]
    return f" It takes {', '.join(others)}." if others else ""


def _needed_by_pilot(plan: Plan, claim: str, needed: PeopleNeeded) -> str:
    if needed.unreachable == "never":
        better = f", unless the truth is better (about {needed.low} people if by one standard error)"
        return (
            f"No number of people will show that {claim}: in the pilot it is not{'' if needed.low is None else better}."
        )
    if needed.people is None:
        return f"To show that {claim} takes more than {MOST_PEOPLE} people: the pilot's estimate is too close to it."
    high = "no number at all" if needed.high is None else needed.high
    least = f" Fewer than {LEAST_PEOPLE} give no interval." if needed.people == LEAST_PEOPLE else ""
    return (
        f"To show that {claim} with a probability of {_share(plan.power)} takes about {needed.people} people "
        f"({needed.low} to {high}, if the truth is one standard error off).{least}"
    )


def _simulation_notes(plan: Plan, basis: Simulation) -> list[str]:
    nothing = " Nothing leaks here, so that is the rate of false alarms." if basis.shift == 0.0 else ""
    errors = [
        expected.length_error / expected.length
        for expected in plan.expected
        if expected.length_error is not None and expected.length
    ]
    error = f", with lengths known to about {_share(float(np.median(errors)))}" if errors else ""
    return [
        f"Means over {basis.times} simulated recordings (seed {basis.seed}){error}; the limit is one-sided. "
        f"In {_share(plan.detected)} of them the finding is a leak.{nothing}",
        "The people of the table are all alike. Real ones may differ more, which makes intervals longer; a pilot shows "
        "by how much.",
    ]


def _pilot_notes(plan: Plan, basis: Pilot) -> list[str]:
    name = ", ".join(one_line(basis.labels[label]) for label in ("system", "attacker") if label in basis.labels)
    count = "" if round(basis.effective) >= basis.people else f", who count as {basis.effective:.0f}"
    pilot = f"{count} ({name})" if name else count
    notes = [
        f"Extrapolated from a pilot with {basis.people} people{pilot}, to people who are recorded as often and in the "
        "same way; the limit is one-sided."
    ]
    searches = any(MEASURES[expected.measure].family == "search" for expected in plan.expected)
    if plan.people != basis.people and searches:
        notes.append("Values of a search change with the number of people searched; only their spread is extrapolated.")
    if basis.effective < FEW_SPEAKERS:
        notes.append(f"The pilot is small: lengths from fewer than {FEW_SPEAKERS} people are rough.")
    return notes


def _records(plan: Plan) -> list[dict[str, Content]]:
    """One record per measure."""
    targets = {target.measure: target for target in plan.requirements}
    records = []
    for expected in plan.expected:
        people: dict[str, Content] = {}
        if target := targets.get(expected.measure):
            people = {f"needed_{name}": value for name, value in asdict(target.needed).items()}
            people |= {f"needed_{name}": needed.people for name, needed in target.scenarios.items()}
        records.append({"people": plan.people, **asdict(expected), **people})
    return records
