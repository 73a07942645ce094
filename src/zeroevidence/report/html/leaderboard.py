"""Systems side by side as one self-contained HTML file: what each gives away, with intervals, nulls and signatures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Any, get_args

from zeroevidence._version import __version__
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS
from zeroevidence.evaluation.finding.standings import Lack, Standing, common_measure, lacks, standings
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.bibliography.sentences import references
from zeroevidence.report.html.methods import describe_methods
from zeroevidence.report.html.numbers import Strip, measure_title, report_measures, strip_of
from zeroevidence.report.html.page import environment_versions, markup, policy, template_text, templates
from zeroevidence.report.html.tables import (
    Cell,
    HtmlTable,
    all_rows,
    count_cell,
    measure_heading,
    number_cell,
    result_cell,
    shared_labels,
)
from zeroevidence.report.layout.flags import raised_flags, row_range
from zeroevidence.report.layout.formatting import (
    bounds,
    common_level,
    interval_title,
    null_cell,
    number,
    p_text,
    unit_sign,
)
from zeroevidence.report.layout.formatting import value as value_text
from zeroevidence.report.layout.labels import label_text

_UTILITY = ("wer", "uar")
_CHANCE = {True: "yes", False: "no", None: "not tested"}
_LACKS: Mapping[Lack, str] = {
    "published": "Read from a table without scores: there are no intervals, no comparison with chance, and no measure "
    "that needs scores.",
    "no-search": "Trials were not compared with every enrolled person: there are no measures of a search.",
    "no-speakers": "Who speaks is not known: intervals and nulls treat every score as a person of its own.",
    "no-interval": "No intervals were asked for.",
    "no-null": "No comparison with chance was asked for.",
}


@dataclass(frozen=True, slots=True)
class LeaderboardLine:
    """One system on one group of people.

    Parameters
    ----------
    cells
        System, people where they differ, attacker, and the numbers.
    strip
        Its place on the common scale; None where it has none.
    """

    cells: tuple[Cell, ...]
    strip: Strip | None


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that could not be computed, and for which rows."""

    text: str
    rows: str


def leaderboard_page(
    rows: Sequence[Evaluation],
    *,
    title: str | None = None,
    command: str | None = None,
    unread: Sequence[str] = (),
) -> str:
    """Return the HTML page of several systems.

    Parameters
    ----------
    rows
        The results of all systems, with unprotected speech and utility where there are any.
    title
        Heading of the page.
    command
        The command line that made it.
    unread
        Names of files that were not read.
    """
    lines = standings(rows)
    if not lines:
        raise UsageError("no attacks; expected scores or tables of results of at least one system")
    environment = templates()
    best = [rows[line.row] for line in lines]
    scale = common_measure(best)
    measures = [name for name in report_measures(rows) if name not in _UTILITY]
    script = template_text("report.js")
    systems = list(dict.fromkeys(row.labels.get("system", "") for row in best))
    context = {
        "title": title or "What these systems give away",
        "subtitle": _subtitle(rows, systems),
        "version": __version__,
        "policy": policy(script),
        "css": markup(template_text("report.css") + "\n" + template_text("leaderboard.css")),
        "script": markup(script),
        "scale": None if scale is None else measure_title(scale),
        "meaning": "" if scale is None else MEASURES[scale].meaning,
        "interval_title": interval_title(common_level(rows)),
        "headings": _headings(rows, best, measures),
        "n_text": 2 + len(_differing_labels(best)),
        "lines": _lines(rows, lines, measures, scale),
        "gaps": _gaps(rows),
        "unread": list(unread),
        "rows": all_rows(rows, None, [*measures, *_present(rows, _UTILITY)]),
        "n_rows": len(rows),
        "shared_labels": shared_labels(rows),
        "every_number": _every_number(rows),
        "flags": raised_flags(rows),
        "methods": describe_methods(rows, measures),
        "references": references(measures),
        "command": command,
        "signatures": [row.signature for row in rows],
        "environment": environment_versions(),
    }
    return environment.get_template("leaderboard.html").render(context).lstrip()


def _subtitle(rows: Sequence[Evaluation], systems: Sequence[str]) -> str:
    computed = sum(row.setup.recorded is None for row in rows)
    parts = [f"{len(systems)} system{'s' if len(systems) > 1 else ''}", f"{computed} results computed from data"]
    datasets = list(dict.fromkeys(row.labels["dataset"] for row in rows if row.labels.get("dataset")))
    published = len(rows) - computed
    parts += [f"{published} read from tables"] * (published > 0) + [f"data: {', '.join(datasets)}"] * bool(datasets)
    return " · ".join(parts)


def _present(rows: Sequence[Evaluation], names: Sequence[str]) -> list[str]:
    return [name for name in names if any(name in row for row in rows)]


def _differing_labels(rows: Sequence[Evaluation]) -> list[str]:
    """Return the labels of people that tell these rows apart."""
    return [name for name in PEOPLE_LABELS if len({row.labels.get(name, "") for row in rows}) > 1]


def _headings(rows: Sequence[Evaluation], best: Sequence[Evaluation], measures: Sequence[str]) -> list[tuple[str, str]]:
    headings = [("system", ""), *((name, "") for name in _differing_labels(best))]
    headings += [("attacker", "The attacker that learns most of this system and these people")]
    headings += [("chance excluded", "Whether this is more than chance, all attacks of this page tested together")]
    for name in _present(best, measures):
        headings.append((measure_heading(best, name), MEASURES[name].meaning if name in MEASURES else ""))
    return [*headings, *((measure_heading(rows, name), MEASURES[name].meaning) for name in _present(rows, _UTILITY))]


def _lines(
    rows: Sequence[Evaluation], lines: Sequence[Standing], measures: Sequence[str], scale: str | None
) -> list[LeaderboardLine]:
    """Return the lines, those that give least away first."""
    best = [rows[line.row] for line in lines]
    shown, people = _present(best, measures), _differing_labels(best)
    made = []
    for line in lines:
        row = rows[line.row]
        control = None if line.control is None else rows[line.control]
        cells = [Cell(row.labels.get(name, "")) for name in ("system", *people)]
        attempts = len(line.attempts)
        cells.append(Cell(label_text(row, "attacker") or "not described", f"of {attempts}" if attempts > 1 else ""))
        p_value = line.chance.p_value
        cells.append(Cell(_CHANCE[line.chance.beaten], "" if p_value is None else p_text(p_value)))
        cells += [result_cell(row.metrics.get(name)) for name in shown]
        cells += [result_cell(_utility(rows, row, name)) for name in _present(rows, _UTILITY)]
        place = None if scale is None else strip_of(scale, row, control)
        made.append((_given_away(row, scale), LeaderboardLine(tuple(cells), place)))
    return [line for _, line in sorted(made, key=lambda entry: entry[0])]


def _given_away(row: Evaluation, scale: str | None) -> float:
    """What lines are sorted by: the value on the common scale, so that more is worse; bits as a share of log2 N."""
    observed = None if scale is None else row.number(scale)
    if scale is None or observed is None:
        return 0.0
    most = log2(row.counts["identities"]) if MEASURES[scale].high_note == "log2 N" else 1.0
    return -observed if MEASURES[scale].discloses == "down" else observed / most


def _utility(rows: Sequence[Evaluation], row: Evaluation, name: str) -> Any:
    """Return the utility of a system's speech in the same data; None where there is none."""
    same = ("system", "dataset", "split")
    return next(
        (
            other.metrics[name]
            for other in rows
            if name in other
            and other.about.speech == "anonymised"
            and all(other.labels.get(label) == row.labels.get(label) for label in same)
        ),
        None,
    )


def _gaps(rows: Sequence[Evaluation]) -> list[Gap]:
    """Return what could not be computed, each once with its rows."""
    numbers: dict[Lack, list[int]] = {}
    for position, row in enumerate(rows, 1):
        for lack in lacks(row) if row.about.role != "utility" else ():
            numbers.setdefault(lack, []).append(position)
    return [Gap(_LACKS[lack], row_range(numbers[lack])) for lack in get_args(Lack) if lack in numbers]


def _every_number(rows: Sequence[Evaluation]) -> HtmlTable:
    """Return every measure of every row with its interval, its bound and its null."""
    level = common_level(rows)
    headings = (
        ("row", "Number of the row"),
        ("system", ""),
        ("attacker", ""),
        ("measure", ""),
        ("value", "The definition of the measure applied to the data"),
        ("unit", ""),
        (interval_title(level), "For people like these"),
        ("bound", "Limit on the side where an attacker learns more"),
        ("if nothing leaked", "Mean of the null, and the value that most permutations stay below"),
        ("p", "Share of permutations that reach the value"),
    )
    body = []
    for position, row in enumerate(rows, 1):
        who = (label_text(row, "system"), label_text(row, "attacker"))
        for name, result in row.metrics.items():
            value = result.number
            bound = "" if result.bound is None else number(result.bound, result.unit)
            low = "" if result.low is None else repr(result.low)
            null = "" if result.null is None else repr(result.null.mean)
            p_value = "" if result.p_value is None else f"{result.p_value:.2g}"
            body.append(
                (
                    count_cell(position),
                    *map(Cell, who),
                    Cell(measure_title(name)),
                    Cell(value_text(result)) if value is None else number_cell(value, value_text(result)),
                    Cell(unit_sign(result.unit) or result.unit),
                    Cell(bounds(result), order=low),
                    Cell(bound, order="" if result.bound is None else repr(result.bound)),
                    Cell(null_cell(row, name, " "), order=null),
                    Cell(p_value, order="" if result.p_value is None else repr(result.p_value)),
                )
            )
    return HtmlTable(headings, tuple(body), 4)
