"""Plans of recordings as text, JSON, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from zeroevidence._version import __version__
from zeroevidence.evaluation.planning.one_system import Expected, Pilot, Plan, Simulation, Wanted
from zeroevidence.evaluation.planning.simulated import Design
from zeroevidence.evaluation.planning.two_systems import PlannedComparison
from zeroevidence.evaluation.rows.flags import FEW_SPEAKERS
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report import check_format
from zeroevidence.report.layout.formatting import heading, number, one_line, title
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import grids_to_latex
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.planning import MOST_PEOPLE

SCHEMA = "zeroevidence/plan/1"


def render_plan(plan: Plan, format: str) -> str:
    """A plan in one of the output formats, ending in a newline."""
    check_format(format)
    if format == "json":
        return _json({"kind": "pilot" if isinstance(plan.basis, Pilot) else "simulation", **_plain(plan)})
    if format == "csv":
        return _csv(_lines(plan))
    return _tables(_expected_grid(plan), plan_words(plan), format)


def render_planned_comparison(plan: PlannedComparison, format: str) -> str:
    """The plan of a comparison in one of the output formats, ending in a newline."""
    check_format(format)
    if format == "json":
        return _json({"kind": "comparison", **asdict(plan)})
    if format == "csv":
        needed = {f"needed_{name}": value for name, value in asdict(plan.needed).items()}
        own = {name: value for name, value in asdict(plan).items() if name not in ("design", "needed")}
        return _csv([{**asdict(plan.design), **own, **needed}])
    return _tables(_comparison_grid(plan), _comparison_words(plan), format)


def _json(document: Mapping[str, object]) -> str:
    whole = {"schema": SCHEMA, "version": __version__, **document}
    return json.dumps(whole, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _tables(grid: Grid, words: Sequence[str], format: str) -> str:
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text([grid], words, [], [], all_of_them=False)
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format]([grid], words, []).rstrip("\n") + "\n"


def _comparison_grid(plan: PlannedComparison) -> Grid:
    unit = MEASURES[plan.measure].unit
    interval = f"[{number(plan.low, unit)}, {number(plan.high, unit)}]"
    cells = heading(plan.measure), number(plan.difference, unit), interval, number(plan.length, unit)
    one, other = (_amount(plan.measure, value) for value in (plan.leak, plan.leak + plan.difference))
    return Grid(
        f"To expect from {_who(plan.design)}, if {title(plan.measure)} is {one} for one system and {other} for another",
        ("measure", "difference", "95 % interval", "length", "told apart"),
        ((*cells, _percent(plan.told)),),
        1,
    )


def _comparison_words(plan: PlannedComparison) -> list[str]:
    needed = plan.needed
    if needed.people is None:
        first = f"To tell them apart with a probability of {_percent(plan.power)} takes more than {MOST_PEOPLE} people."
    else:
        high = "no number at all" if needed.high is None else needed.high
        first = (
            f"To tell them apart with a probability of {_percent(plan.power)} takes about {needed.people} people "
            f"({needed.low} to {high} in 95 % of repeated simulations)."
        )
    return [
        first,
        f"Means over {plan.times} simulated comparisons (seed {plan.seed}) of systems that share "
        f"{_percent(plan.shared)} of the variance of their scores. A single pair is tested; among many systems it "
        "takes more.",
    ]


def _plain(plan: Plan) -> dict[str, object]:
    basis = asdict(plan.basis)
    if isinstance(plan.basis, Pilot):
        basis["labels"] = dict(plan.basis.labels)
    return {
        "people": plan.people,
        "power": plan.power,
        "found": plan.found,
        "expected": [asdict(one) for one in plan.expected],
        "wanted": [asdict(one) for one in plan.wanted],
        "basis": basis,
    }


def _expected_grid(plan: Plan) -> Grid:
    simulated = isinstance(plan.basis, Simulation)
    headings = ["measure", "truth" if simulated else "pilot", "95 % interval", "length", "95 % limit"]
    columns = [simulated, any(one.bound is not None for one in plan.expected)]
    headings += [name for name, there in zip(("power", "shown"), columns, strict=True) if there]
    body = tuple(_line(one, columns) for one in plan.expected)
    return Grid(f"To expect from {_whose(plan)}", tuple(headings), body, 1)


def _whose(plan: Plan) -> str:
    """From whom, and under which assumption."""
    basis = plan.basis
    if isinstance(basis, Pilot):
        return f"{plan.people} people, if the pilot's values are the truth"
    return f"{_who(basis.design)}, if {title(basis.measure)} is {_amount(basis.measure, basis.leak)} in truth"


def _who(design: Design) -> str:
    each = "on average" if design.uneven else "each"
    return f"{design.people} people with {design.utterances} utterances {each}"


def _amount(name: str, value: float) -> str:
    """A value with its unit, with no more digits than it has."""
    unit = MEASURES[name].unit
    return f"{100 * value:.4g} %" if unit == "rate" else f"{value:.4g}" + (f" {unit}" if unit == "bit" else "")


def _line(one: Expected, columns: list[bool]) -> tuple[str, ...]:
    unit = MEASURES[one.measure].unit
    more = [_percent(share) for share, there in zip((one.power, one.shown), columns, strict=True) if there]
    interval = f"[{number(one.low, unit)}, {number(one.high, unit)}]"
    limit = f"{_side(one.measure, '≤', '≥')} {number(one.limit, unit)}"
    return (heading(one.measure), number(one.truth, unit), interval, number(one.length, unit), limit, *more)


def _side(name: str, up: str, down: str) -> str:
    return down if MEASURES[name].discloses == "down" else up


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f} %"


def plan_words(plan: Plan) -> list[str]:
    """How many people are needed, and what a reader of the table should know."""
    basis = plan.basis
    words = _pilot_words(plan, basis) if isinstance(basis, Pilot) else _simulation_words(plan, basis)
    return [*(_wanted_words(plan, one) for one in plan.wanted), *words]


def _wanted_words(plan: Plan, one: Wanted) -> str:
    side = _side(one.measure, "at most", "at least")
    what = f"{title(one.measure)} is {side} {_amount(one.measure, one.bound)}"
    needed, pilot = one.needed, isinstance(plan.basis, Pilot)
    if needed.unreachable == "never":
        unless = (
            ""
            if needed.low is None
            else f", unless the truth is better (about {needed.low} people if by one standard error)"
        )
        return (
            f"No number of people will show that {what}: {'in the pilot' if pilot else 'in truth'} it is not{unless}."
        )
    if needed.people is None:
        whose = "pilot's value" if pilot else "truth"
        return f"To show that {what} takes more than {MOST_PEOPLE} people: the {whose} is too close to it."
    why = ", if the truth is one standard error off" if pilot else " in 95 % of repeated simulations"
    span = f"{needed.low} to {'no number at all' if needed.high is None else needed.high}{why}"
    least = f" Fewer than {LEAST_PEOPLE} give no interval." if needed.people == LEAST_PEOPLE else ""
    return (
        f"To show that {what} with a probability of {_percent(plan.power)} takes about {needed.people} people "
        f"({span}).{least}"
    )


def _simulation_words(plan: Plan, basis: Simulation) -> list[str]:
    nothing = " Nothing leaks here, so that is the rate of false alarms." if basis.shift == 0.0 else ""
    errors = [one.length_error / one.length for one in plan.expected if one.length_error is not None and one.length]
    known = f", with lengths known to about {_percent(float(np.median(errors)))}" if errors else ""
    return [
        f"Means over {basis.times} simulated recordings (seed {basis.seed}){known}; the limit is one-sided. "
        f"In {_percent(plan.found)} of them the finding is a leak.{nothing}",
        "Simulated people are of one kind. Real ones may differ more, which makes intervals longer; a pilot tells.",
    ]


def _pilot_words(plan: Plan, basis: Pilot) -> list[str]:
    name = ", ".join(one_line(basis.labels[label]) for label in ("system", "attacker") if label in basis.labels)
    count = "" if round(basis.effective) >= basis.people else f", who count as {basis.effective:.0f}"
    whose = f"{count} ({name})" if name else count
    words = [
        f"Extrapolated from a pilot with {basis.people} people{whose}, to people who are recorded as often and in the "
        "same way; the limit is one-sided."
    ]
    if plan.people != basis.people and any(MEASURES[one.measure].family == "search" for one in plan.expected):
        words.append("Values of a search change with the number of people searched; only their spread is extrapolated.")
    if basis.effective < FEW_SPEAKERS:
        words.append(f"The pilot is small: lengths from fewer than {FEW_SPEAKERS} people are rough.")
    return words


def _lines(plan: Plan) -> list[dict[str, object]]:
    """One record per measure."""
    wanted = {one.measure: one.needed for one in plan.wanted}
    lines = []
    for one in plan.expected:
        needed = wanted.get(one.measure)
        people = {} if needed is None else {f"needed_{name}": value for name, value in asdict(needed).items()}
        lines.append({"people": plan.people, **asdict(one), **people})
    return lines


def _csv(lines: Sequence[Mapping[str, object]]) -> str:
    """Records at full precision."""
    buffer = io.StringIO()
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()
