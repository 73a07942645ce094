"""The tables of an HTML report, as plain values for its template; nothing here knows of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan
from typing import TypeAlias

from zeroevidence.evaluation import Evaluation, Finding, MeasureResult
from zeroevidence.evaluation.finding.chance import PEOPLE_LABELS
from zeroevidence.evaluation.people import hubs
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import tag_of
from zeroevidence.report.layout import (
    RowLabels,
    bounds,
    heading,
    meaning,
    row_labels,
    size,
    unit_sign,
    value,
    without_implied,
)
from zeroevidence.report.numbers import measure_title
from zeroevidence.report.utility import (
    MEASURES_SHOWN,
    is_utility,
    label_columns,
    places_held,
    side_results,
    size_text,
    utility_lines,
    with_recordings,
)

MOST_PEOPLE = 200
_ROW = ("row", "Number of the row")
_WORST_CASE = "Strongest evidence in any comparison with this person, for or against, as a power of ten, and its tag"


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: its text, a note below it, and what it is sorted by."""

    text: str
    note: str = ""
    order: str = ""


PersonLine: TypeAlias = tuple[tuple[float, ...], tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class HtmlTable:
    """Headings and rows; the first `n_text` columns are text, the others numbers; `further` rows come on demand."""

    headings: tuple[tuple[str, str], ...]  # what is shown, and its meaning
    body: tuple[tuple[Cell, ...], ...]
    n_text: int
    strong: int | None = None
    further: frozenset[int] = frozenset()


def count_cell(count: int | str) -> Cell:
    """A cell that is sorted by its number."""
    return Cell(str(count), order=str(count))


def number_cell(number: float, text: str) -> Cell:
    """A number at full precision behind a text of few digits; empty where there is none."""
    return Cell("") if isnan(number) else Cell(text, order=repr(number))


def result_cell(result: MeasureResult | None) -> Cell:
    """The value of a measure with its interval below."""
    if result is None:
        return Cell("")
    order = repr(result.value) if isinstance(result.value, (int, float)) and not isnan(result.value) else ""
    return Cell(value(result), bounds(result), order)


def all_rows(
    rows: Sequence[Evaluation],
    strong: int | None,
    measures: Sequence[str],
    further: frozenset[int] = frozenset(),
) -> HtmlTable:
    """Every row with its labels and measures; `further` ones are shown on demand.

    Rows of utility, which have a table of their own, are left out beside others; the others keep their numbers.
    """
    places = listed_places(rows)
    listed = [rows[i] for i in places]
    labels = _labels(listed).columns
    measures = [name for name in measures if any(name in row for row in listed)]
    headings = [_ROW, *((label, "") for label in labels), ("n", "Scores of each class")]
    headings += [(measure_heading(listed, name), _meaning(listed, name)) for name in measures]
    body = []
    for line, (place, row) in enumerate(zip(places, listed, strict=True)):
        scores = sum(row.counts.get(name, 0) for name in ("target", "nontarget"))
        cells = [count_cell(place + 1), *(Cell(texts[line]) for texts in labels.values())]
        cells.append(Cell(size(row), order=str(scores)))
        body.append((*cells, *(result_cell(row.metrics.get(name)) for name in measures)))
    return HtmlTable(
        tuple(headings),
        tuple(body),
        1 + len(labels),
        None if strong is None or strong not in places else places.index(strong),
        frozenset(places.index(i) for i in further if i in places),
    )


def listed_places(rows: Sequence[Evaluation]) -> list[int]:
    """Places of the rows in the table of all rows: those of utility only where there are no others."""
    others = [i for i, row in enumerate(rows) if not is_utility(row)]
    return others or list(range(len(rows)))


def _labels(rows: Sequence[Evaluation]) -> RowLabels:
    return without_implied(row_labels(rows))


def shared_labels(rows: Sequence[Evaluation]) -> str:
    """The text above the table of all rows: labels in common, and a long one that follows from another."""
    listed = [rows[i] for i in listed_places(rows)]
    if len(listed) == 1:
        return ""
    labels = _labels(listed)
    texts = [f"{name}: {text}" for name, text in labels.shared.items()]
    return "; ".join([*texts, labels.implied]) if labels.implied else ", ".join(texts)


def measure_heading(rows: Sequence[Evaluation], name: str) -> str:
    """The title of a measure with the unit that it has in these rows."""
    unit = next(unit_sign(row.metrics[name].unit) for row in rows if name in row.metrics)
    return f"{measure_title(name)} [{unit}]" if unit else measure_title(name)


def _meaning(rows: Sequence[Evaluation], name: str) -> str:
    """The meaning of a measure, that for attributes where all rows that have it are about one."""
    if name not in MEASURES:
        return ""
    identity = any(row.about.question != "attribute" for row in rows if name in row.metrics)
    return (None if identity else MEASURES[name].meaning_of_attribute) or MEASURES[name].meaning


def utility_table(rows: Sequence[Evaluation], measures: Sequence[str] | None) -> HtmlTable | None:
    """What speech is still good for, the original beside the protected; None where that was not measured."""
    lines = utility_lines(rows, measures) or utility_lines(rows)
    if not lines:
        return None
    columns, _ = label_columns(rows, lines)
    sides = side_results(rows, lines)
    headings = [("measure", ""), *((label, "") for label in columns)]
    headings += [
        ("row", "Numbers of the rows"),
        ("recordings", "How many were measured"),
        *((side, "") for side in sides),
    ]
    body = tuple(
        (
            Cell(heading(line.measure), meaning(rows[line.places[-1]], line.measure)),
            *(Cell(texts[i]) for texts in columns.values()),
            Cell(", ".join(str(place + 1) for place in line.places)),
            Cell(size_text(rows, line)),
            *(result_cell(results[i]) for results in sides.values()),
        )
        for i, line in enumerate(lines)
    )
    return HtmlTable(tuple(headings), body, len(columns) + 2)


def people_table(rows: Sequence[Evaluation], finding: Finding) -> tuple[HtmlTable | None, int]:
    """The people most at risk from the strongest attacker on each system, and how many are not shown.

    Where an attribute is to be concealed, speaker recognition is meant to go on working and is no risk.
    """
    chosen = [i for i in finding.by_system if rows[i].people is not None] if finding.question == "identity" else []
    if not chosen and finding.question == "identity":
        chosen = [i for i, row in enumerate(rows) if row.people is not None and row.about.role != "utility"][:1]
    several = len(chosen) > 1
    exposures = [rows[i].people for i in chosen]
    counted = any(people is not None and people.falsely is not None for people in exposures)
    compared = any(people is not None and people.worst_case is not None for people in exposures)
    lines: list[PersonLine] = []
    for i in chosen:
        lines += _person_lines(rows[i], several=several, counted=counted, compared=compared)
    if not lines:
        return None, 0
    lines.sort(key=lambda line: line[0])
    headings = [("person", ""), *([("system", "")] if several else [])]
    headings += [
        ("recordings", "Recordings of this person that the attacker heard"),
        ("named [%]", "Share of them in which this person scored above everybody else"),
        *(
            [("falsely [%]", "Share of other people's recordings that were attributed to this person")]
            if counted
            else []
        ),
        ("mean [bit]", "What one recording discloses on average"),
        ("largest [bit]", "What the most disclosing recording discloses; each bit doubles the attacker's odds"),
        *([("worst case [log10 LR]", _WORST_CASE)] if compared else []),
    ]
    body = tuple(cells for _, cells in lines[:MOST_PEOPLE])
    return HtmlTable(tuple(headings), body, 2 if several else 1), len(lines) - len(body)


def _person_lines(row: Evaluation, *, several: bool, counted: bool, compared: bool) -> list[PersonLine]:
    """A line for each person, with its sort key: exposure beyond the rate at which the name comes up falsely."""
    people = row.people
    lines: list[PersonLine] = []
    assert people is not None
    falsely = people.falsely or (nan,) * len(people.speaker)
    strongest = people.worst_case or (nan,) * len(people.speaker)
    is_hub = hubs(people, row.counts.get("identities", len(people.speaker)))
    for place, speaker in enumerate(people.speaker):
        linked, wrong = people.linked[place], falsely[place]
        alid, worst = people.alid[place], people.lid_max[place]
        cells = [Cell(speaker), *([Cell(_system_name(row))] if several else [])]
        cells += [count_cell(people.trials[place]), number_cell(linked, f"{100 * linked:.0f}")]
        if counted:
            cells.append(
                Cell(
                    "" if isnan(wrong) else f"{100 * wrong:.0f}",
                    "comes up for everybody" if is_hub[place] else "",
                    "" if isnan(wrong) else repr(wrong),
                )
            )
        cells += [number_cell(alid, f"{alid:.2f}"), number_cell(worst, f"{worst:.2f}")]
        if compared:
            cells.append(_worst_case_cell(strongest[place]))
        exposure = linked if isnan(wrong) else linked - wrong
        lines.append(((-exposure, -alid, -worst), tuple(cells)))
    return lines


def _worst_case_cell(strength: float) -> Cell:
    return Cell("") if isnan(strength) else Cell(f"{strength:.2f}", f"tag {tag_of(strength)}", repr(strength))


def _system_name(row: Evaluation) -> str:
    """The system, and the group of people that was searched."""
    return ", ".join(row.labels[name] for name in ("system", *PEOPLE_LABELS) if row.labels.get(name))


def recordings_table(rows: Sequence[Evaluation], finding: Finding) -> HtmlTable | None:
    """Results with several recordings of one person, of the strongest attacker on each system and of the control."""
    chosen = finding.by_system or (finding.strongest,) if finding.question == "identity" else ()
    chosen = tuple(dict.fromkeys((*chosen, *([] if finding.control is None else [finding.control]))))
    several = len(chosen) > 1
    body = []
    for i in chosen:
        row, places = rows[i], places_held(rows[i])
        for k, place in places.items() if len(places) > 1 else ():
            recordings = row.recordings
            assert recordings is not None
            worth = recordings.worth[place]
            cells = [count_cell(i + 1), Cell(_system_name(row))] if several else []
            cells += [count_cell(k), count_cell(recordings.people[place]), number_cell(worth, f"{worth:.1f}")]
            body.append((*cells, *(result_cell(with_recordings(row, name, place)) for name in MEASURES_SHOWN)))
    if not body:
        return None
    headings = [
        *([_ROW, ("system", "")] if several else []),
        ("recordings", "Recordings of one person that the attacker holds"),
        ("people", "People who have as many; of the others all recordings are used"),
        ("worth as", "As many independent recordings would be worth the same"),
        *((measure_heading(rows, name), MEASURES[name].meaning) for name in MEASURES_SHOWN),
    ]
    return HtmlTable(tuple(headings), tuple(body), 2 if several else 0)


def effort_table(rows: Sequence[Evaluation], further: frozenset[int] = frozenset()) -> HtmlTable | None:
    """The training effort of every attacker, and its evidence on development people and on evaluated people.

    `further` rows are shown on demand.
    """
    body: list[tuple[Cell, ...]] = []
    passed_over = set()
    for position, row in enumerate(rows, 1):
        effort = row.about.spent
        if effort is None:
            continue
        if position - 1 in further:
            passed_over.add(len(body))
        threat = "" if row.about.threat is None else row.about.threat.name
        labels = [threat, row.labels.get("encoder", ""), row.labels.get("backend", "")]
        trained = [effort.epochs, effort.recordings] if effort.epochs else ["", ""]
        anonymises = row.about.threat is not None and row.about.threat.enrolment == "anonymised"
        counts = [effort.people, effort.settings, *trained, effort.draws.runs if anonymises else ""]
        development = row.about.development
        body.append(
            (
                count_cell(position),
                *map(Cell, labels),
                *map(count_cell, counts),
                Cell("" if development is None else f"{development:.2f}", order=repr(development)),
                result_cell(row.metrics.get("alid")),
            )
        )
    if not body:
        return None
    headings = (
        _ROW,
        ("attacker", ""),
        ("encoder", "Network that turns speech into embeddings"),
        ("back-end", "How embeddings are compared"),
        ("people", "Training people"),
        ("settings", "Settings tried, of which the best on development people was taken"),
        ("epochs", "Passes of the encoder's training over anonymised recordings"),
        ("recordings", "Recordings in each pass"),
        ("runs", "How often the anonymiser was run on the speech to train on and to enrol"),
        ("development [bit]", "Disclosure by development people; the attacker that counts is chosen by this"),
        (measure_heading(rows, "alid"), MEASURES["alid"].meaning),
    )
    return HtmlTable(headings, tuple(body), 4, further=frozenset(passed_over))
