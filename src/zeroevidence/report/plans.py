"""Plans of recordings as text, JSON, Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import asdict

from zeroevidence._version import __version__
from zeroevidence.evaluation.flags import FEW_SPEAKERS
from zeroevidence.evaluation.planning import Expected, Pilot, Plan, Simulation, Wanted
from zeroevidence.measure.registry import MEASURES
from zeroevidence.report import check_format
from zeroevidence.report.cells import heading, number, one_line, title
from zeroevidence.report.grid import Grid, grids_to_latex, grids_to_markdown
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.planning import MOST_PEOPLE

SCHEMA = "zeroevidence/plan/1"


def render_plan(plan: Plan, format: str) -> str:
    """A plan in one of the output formats, ending in a newline."""
    check_format(format)
    if format == "json":
        kind = "pilot" if isinstance(plan.basis, Pilot) else "simulation"
        document = {"schema": SCHEMA, "version": __version__, "kind": kind, **_plain(plan)}
        return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    if format == "csv":
        return _csv(plan)
    grids = [_expected_grid(plan), *([_wanted_grid(plan)] if plan.wanted else [])]
    if format == "text":
        from zeroevidence.report.text import grids_to_text

        return grids_to_text(grids, plan_words(plan), [], [], all_of_them=False)
    return {"md": grids_to_markdown, "latex": grids_to_latex}[format](grids, plan_words(plan), [])


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
    return Grid(f"To expect with {plan.people} people{_under(plan)}", tuple(headings), body, 1)


def _under(plan: Plan) -> str:
    """Under which assumption."""
    basis = plan.basis
    if isinstance(basis, Pilot):
        return ", if the pilot's values are the truth"
    each = f"{basis.design.utterances} utterances" + (" on average" if basis.design.uneven else " each")
    return f" with {each}, if {title(basis.measure)} is {_amount(basis.measure, basis.leak)}"


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


def _wanted_grid(plan: Plan) -> Grid:
    body = tuple(
        (title(one.measure), f"{_side(one.measure, 'at most', 'at least')} {_amount(one.measure, one.bound)}",
         *_people(one))
        for one in plan.wanted
    )  # fmt: skip
    return Grid(
        f"People needed to show it with a probability of {_percent(plan.power)}",
        ("measure", "to show", "people", "range"),
        body,
        2,
    )


def _people(one: Wanted) -> tuple[str, str]:
    needed = one.needed
    if needed.low is None:
        between = ""
    else:
        between = f"{needed.low} to {'no number' if needed.high is None else needed.high}"
    if needed.people is None:
        return ("none" if needed.unreachable == "never" else f"over {MOST_PEOPLE}"), between
    return str(needed.people), between


def plan_words(plan: Plan) -> list[str]:
    """What a reader of the tables should know, a sentence or two each."""
    basis = plan.basis
    words = _pilot_words(basis) if isinstance(basis, Pilot) else _simulation_words(plan, basis)
    return [*words, *(_wanted_words(plan, one) for one in plan.wanted)]


def _simulation_words(plan: Plan, basis: Simulation) -> list[str]:
    found = "" if plan.found is None else _found_words(plan.found, basis)
    return [
        f"Means over {basis.times} simulated recordings (seed {basis.seed}). The limit is one-sided. {found}".strip(),
        "Simulated people are of one kind. Real ones may differ more, which makes intervals longer; a pilot tells.",
    ]


def _found_words(found: float, basis: Simulation) -> str:
    nothing = basis.leak == 0.0 and basis.measure == "d_ece"
    said = "Nothing leaks here, so power is the rate of false alarms. " if nothing else ""
    return f"{said}The finding is a leak in {_percent(found)} of them."


def _pilot_words(basis: Pilot) -> list[str]:
    name = ", ".join(one_line(basis.labels[label]) for label in ("system", "attacker") if label in basis.labels)
    count = "" if round(basis.effective) >= basis.people else f", who count as {basis.effective:.0f}"
    words = [
        f"Extrapolated from a pilot with {basis.people} people{count}{f' ({name})' if name else ''}, to more people who "
        "are recorded as often and in the same way. The limit is one-sided."
    ]
    if basis.effective < FEW_SPEAKERS:
        words.append(f"The pilot has few people: lengths from fewer than {FEW_SPEAKERS} are rough.")
    return words


def _wanted_words(plan: Plan, one: Wanted) -> str:
    side = _side(one.measure, "at most", "at least")
    what = f"{title(one.measure)} is {side} {_amount(one.measure, one.bound)}"
    needed = one.needed
    pilot = isinstance(plan.basis, Pilot)
    if needed.unreachable == "never":
        whose = "the pilot's value is not on that side of it" if pilot else "in truth it is not"
        return f"No number of people will show that {what}: {whose}."
    if needed.people is None:
        return f"To show that {what} takes more than {MOST_PEOPLE} people: the truth is too close to it."
    if pilot:
        why = "if the truth is one standard error below or above the pilot's value"
    else:
        why = "95 % of the answers if simulated again"
    if needed.high is None:
        span = f"from {needed.low} to no number at all, {why}"
    else:
        span = f"{needed.low} to {needed.high}, {why}"
    least = f" Fewer than {LEAST_PEOPLE} give no interval." if needed.people == LEAST_PEOPLE else ""
    return f"To show that {what} takes about {needed.people} people ({span}).{least}"


def _csv(plan: Plan) -> str:
    """One line per measure, at full precision."""
    buffer = io.StringIO()
    wanted = {one.measure: one.needed for one in plan.wanted}
    lines = []
    for one in plan.expected:
        needed = wanted.get(one.measure)
        people = {} if needed is None else {f"needed_{name}": value for name, value in asdict(needed).items()}
        lines.append({"people": plan.people, **asdict(one), **people})
    names = list(dict.fromkeys(name for line in lines for name in line))
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return buffer.getvalue()
