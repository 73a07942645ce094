"""What an HTML report shows, as plain values for its template; nothing here knows of HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, isnan, log2, nan
from typing import TypeAlias

from zeroevidence.evaluation import Evaluation, Finding, Flag, MeasureResult
from zeroevidence.evaluation.finding.finding import PEOPLE_LABELS
from zeroevidence.evaluation.scores.people import hubs
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.report.layout.formatting import (
    bounds,
    chosen_measures,
    guessed,
    labelled,
    meaning,
    null_note,
    size,
    under_null,
    value,
)
from zeroevidence.report.layout.implied_labels import implied
from zeroevidence.report.tables.several_recordings import held_with, with_recordings

# What people ask first, first; measures that are not here follow in the order of the tables.
_FIRST = ("top1", "link_probability", "alid", "lid_max", "singling_out", "d_ece", "worst_case", "tag", "linkability")
_UNITS = {"rate": "%", **{unit: unit for unit in ("bit", "bit per dimension", "log10 LR", "dB")}}
MOST_PEOPLE = 200
_LONG = 30  # letters of a label that leaves too little room for numbers


@dataclass(frozen=True, slots=True)
class Strip:
    """Places on a line from 0 (nothing learned) to 1 (everything), in percent of its length."""

    value: float
    low: float | None
    high: float | None
    null: float | None
    plain: float | None


@dataclass(frozen=True, slots=True)
class Number:
    """One headline number with all that it takes to read it."""

    name: str
    title: str
    value: str
    unit: str
    bounds: str
    null: str
    p_value: str
    plain: str
    noise: str
    meaning: str
    strip: Strip | None


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table: what is shown, what is below it, and what it is sorted by."""

    text: str
    note: str = ""
    order: str = ""


PersonLine: TypeAlias = tuple[tuple[float, ...], tuple[Cell, ...]]


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows; the first `n_text` columns are text, the others numbers."""

    headings: tuple[tuple[str, str], ...]  # what is shown, and its meaning
    body: tuple[tuple[Cell, ...], ...]
    n_text: int
    strong: int | None = None


@dataclass(frozen=True, slots=True)
class Caution:
    """One flag and the rows that have it."""

    flag: Flag
    rows: tuple[int, ...]

    @property
    def text(self) -> str:
        """The sentence with a capital."""
        return self.flag.sentence[:1].upper() + self.flag.sentence[1:]


def measure_title(name: str) -> str:
    """What a measure is called; unknown ones by their name."""
    return MEASURES[name].title if name in MEASURES else name.replace("_", " ")


def shown_measures(rows: Sequence[Evaluation], measures: Sequence[str] | None = None) -> list[str]:
    """Measures to show: those asked for, else the usual ones, most asked for first, or all numbers of other results."""
    if measures is not None:
        return [name for name in chosen_measures(rows, measures) if any(name in row.metrics for row in rows)]
    present = {name for row in rows for name in row.metrics}
    usual = [name for name in dict.fromkeys((*_FIRST, *headline_measures())) if name in present]
    if usual:
        return usual
    scalars = [n for row in rows for n, metric in row.metrics.items() if isinstance(metric.value, (str, int, float))]
    return list(dict.fromkeys(scalars))


def numbers(rows: Sequence[Evaluation], finding: Finding, measures: Sequence[str]) -> list[Number]:
    """Numbers of the strongest row beside its bounds."""
    row = rows[finding.strongest]
    plain, noise = (None if i is None else rows[i] for i in (finding.control, finding.floor))
    return [_number(name, row, plain, noise) for name in measures if name in row.metrics]


def _number(name: str, row: Evaluation, plain: Evaluation | None, noise: Evaluation | None) -> Number:
    metric = row.metrics[name]
    return Number(
        name,
        measure_title(name),
        value(metric),
        _UNITS.get(metric.unit, ""),
        bounds(metric),
        under_null(row, name, " "),
        "" if metric.p_value is None else f"p = {metric.p_value:.2g}",
        _shown_value(plain, name),
        _shown_value(noise, name),
        f"{meaning(row, name)} {null_note(row, name)}".strip(),
        _strip(name, row, plain),
    )


def _shown_value(row: Evaluation | None, name: str) -> str:
    return value(row.metrics[name]) if row is not None and name in row.metrics else ""


def _strip(name: str, row: Evaluation, plain: Evaluation | None) -> Strip | None:
    """Where the number lies between nothing and everything; None where that is not a line."""
    metric = row.metrics[name]
    most, found = _most(name, metric, row), row.number(name)
    if most is None or found is None or not isfinite(found):
        return None
    nothing, everything = most

    def place(x: float | None) -> float | None:
        if x is None or not isfinite(x):
            return None
        return round(100.0 * min(1.0, max(0.0, (x - nothing) / (everything - nothing))), 2)

    at = place(found)
    assert at is not None
    other = None if plain is None else plain.number(name)
    ends = sorted(x for x in (place(metric.low), place(metric.high)) if x is not None)
    low, high = ends if len(ends) == 2 else (None, None)
    null = None if metric.null is None else place(metric.null.quantile)
    return Strip(at, low, high, null, place(other))


def _most(name: str, metric: MeasureResult, row: Evaluation) -> tuple[float, float] | None:
    """The values of a measure at nothing learned and at everything; None where its range is not such a line."""
    entry = MEASURES.get(name)
    if entry is None or entry.family == "tandem" or entry.discloses == "none":
        return None
    if entry.high_note == "log2 N":
        people = row.counts.get("identities", 0)
        return (0.0, log2(people)) if people > 1 else None
    if name == "eer":  # half is guessing; beyond it the scores point the wrong way
        return 0.5, 0.0
    chance = guessed(row, name)
    if chance is not None:
        return chance, entry.high
    if not (isfinite(entry.low) and isfinite(entry.high)) or metric.unit == "relative cost":
        return None
    return (entry.low, entry.high) if entry.discloses == "up" else (entry.high, entry.low)


def all_rows(rows: Sequence[Evaluation], strong: int | None, measures: Sequence[str]) -> Table:
    """Every row with its labels and measures."""
    labels = _row_labels(rows)[0]
    headings = [("row", "Number of the row"), *((label, "") for label in labels), ("n", "Scores of each class")]
    headings += [(_heading(rows, name), MEASURES[name].meaning if name in MEASURES else "") for name in measures]
    body = []
    for position, row in enumerate(rows, 1):
        cells = [Cell(str(position), order=str(position)), *(Cell(texts[position - 1]) for texts in labels.values())]
        cells.append(Cell(size(row, " + "), order=str(sum(row.counts.get(k, 0) for k in ("target", "nontarget")))))
        cells += [_cell(row.metrics.get(name)) for name in measures]
        body.append(tuple(cells))
    return Table(tuple(headings), tuple(body), 1 + len(labels), strong)


def _row_labels(rows: Sequence[Evaluation]) -> tuple[dict[str, tuple[str, ...]], str]:
    """What tells rows apart, and what is said once: labels in common, and a long one that follows from another."""
    told = labelled(rows)
    words = [f"{name}: {text}" for name, text in told.shared.items()]
    short = implied(told.columns) if any(len(text) > _LONG for own in told.columns.values() for text in own) else None
    if short is not None:
        return short.columns, "; ".join([*words, short.words])
    return told.columns, ", ".join(words)


def shared_words(rows: Sequence[Evaluation]) -> str:
    """What is said once above the table of all rows."""
    return _row_labels(rows)[1] if len(rows) > 1 else ""


def _heading(rows: Sequence[Evaluation], name: str) -> str:
    unit = next(_UNITS.get(row.metrics[name].unit) for row in rows if name in row.metrics)
    return f"{measure_title(name)} [{unit}]" if unit else measure_title(name)


def _cell(metric: MeasureResult | None) -> Cell:
    if metric is None:
        return Cell("")
    order = repr(metric.value) if isinstance(metric.value, (int, float)) and not isnan(metric.value) else ""
    return Cell(value(metric), bounds(metric), order)


def people_table(rows: Sequence[Evaluation], finding: Finding) -> tuple[Table | None, int]:
    """The people most at risk from the strongest attacker on each system, and how many are not shown.

    Beside an attribute that should be concealed, recognising people is what should go on working, and no risk.
    """
    chosen = [i for i in finding.by_system if rows[i].people is not None] if finding.question == "identity" else []
    if not chosen and finding.question == "identity":
        chosen = [i for i, row in enumerate(rows) if row.people is not None and row.about.role != "utility"][:1]
    several = len(chosen) > 1
    counted = any(one is not None and one.falsely is not None for one in (rows[i].people for i in chosen))
    lines: list[PersonLine] = []
    for i in chosen:
        lines += _person_lines(rows[i], several=several, counted=counted)
    if not lines:
        return None, 0
    lines.sort(key=lambda line: line[0])
    headings = [("person", ""), *([("system", "")] if several else [])]
    headings += [
        ("recordings", "Recordings of this person that the attacker heard"),
        ("named [%]", "Share of them whose speaker scored above everybody else"),
        *([("falsely [%]", "Share of other people's recordings to which this name was put")] if counted else []),
        ("mean [bit]", "What one recording gives away on average"),
        ("largest [bit]", "What the most telling recording gives away; each bit doubles the attacker's chance"),
    ]
    body = tuple(cells for _, cells in lines[:MOST_PEOPLE])
    return Table(tuple(headings), body, 2 if several else 1), len(lines) - len(body)


def _person_lines(row: Evaluation, *, several: bool, counted: bool) -> list[PersonLine]:
    """A line for each person, with what it is sorted by: exposure above what the name gets whoever speaks."""
    people = row.people
    lines: list[PersonLine] = []
    assert people is not None
    falsely = people.falsely or (nan,) * len(people.speaker)
    everywhere = hubs(people, row.counts.get("identities", len(people.speaker)))
    for place, who in enumerate(people.speaker):
        trials, linked, wrong = people.trials[place], people.linked[place], falsely[place]
        alid, worst = people.alid[place], people.lid_max[place]
        cells = [Cell(who), *([Cell(_system_words(row))] if several else [])]
        cells += [Cell(str(trials), order=str(trials)), Cell(f"{100 * linked:.0f}", order=repr(linked))]
        if counted:
            note = "comes up for everybody" if everywhere[place] else ""
            cells.append(Cell("" if isnan(wrong) else f"{100 * wrong:.0f}", note, "" if isnan(wrong) else repr(wrong)))
        cells += [Cell(f"{alid:.2f}", order=repr(alid)), Cell(f"{worst:.2f}", order=repr(worst))]
        above = linked if isnan(wrong) else linked - wrong
        lines.append(((-above, -alid, -worst), tuple(cells)))
    return lines


def _system_words(row: Evaluation) -> str:
    """The system, and the group of people that was searched."""
    return ", ".join(row.labels[name] for name in ("system", *PEOPLE_LABELS) if row.labels.get(name))


def recordings_table(rows: Sequence[Evaluation], finding: Finding) -> Table | None:
    """What several recordings of one person tell the strongest attacker on each system, and without protection."""
    chosen = finding.by_system or (finding.strongest,) if finding.question == "identity" else ()
    chosen = tuple(dict.fromkeys((*chosen, *([] if finding.control is None else [finding.control]))))
    names = ("top1", "alid")
    body = []
    for i in chosen:
        row, places = rows[i], held_with(rows[i])
        for k, place in places.items() if len(places) > 1 else ():
            found = row.recordings
            assert found is not None
            cells = [Cell(f"{i + 1}", order=f"{i + 1}"), Cell(_system_words(row))] if len(chosen) > 1 else []
            cells += [Cell(str(k), order=str(k)), Cell(str(found.people[place]), order=str(found.people[place]))]
            cells.append(Cell(f"{found.worth[place]:.1f}", order=repr(found.worth[place])))
            body.append((*cells, *(_cell(with_recordings(row, name, place)) for name in names)))
    if not body:
        return None
    headings = [("row", "Number of the row"), ("system", "")] if len(chosen) > 1 else []
    headings += [
        ("recordings", "Recordings of one person that the attacker holds"),
        ("people", "People who have as many; of the others all recordings are used"),
        ("worth as", "As many independent recordings would be worth the same"),
        *((_heading(rows, name), MEASURES[name].meaning) for name in names),
    ]
    return Table(tuple(headings), tuple(body), 2 if len(chosen) > 1 else 0)


def ladder_table(rows: Sequence[Evaluation]) -> Table | None:
    """What every attacker spent, what development people disclosed to it, and what evaluated people did."""
    if not any(row.about.spent for row in rows):
        return None
    body = []
    for position, row in enumerate(rows, 1):
        spent = row.about.spent
        if spent is None:
            continue
        threat = "" if row.about.threat is None else row.about.threat.name
        words = [threat, row.labels.get("encoder", ""), row.labels.get("backend", "")]
        numbers = [spent.people, spent.settings, *([spent.epochs, spent.recordings] if spent.epochs else ["", ""])]
        told = row.about.development
        body.append(
            (
                Cell(str(position), order=str(position)),
                *(Cell(one) for one in words),
                *(Cell(str(one), order=str(one)) for one in numbers),
                Cell("" if told is None else f"{told:.2f}", order=repr(told)),
                _cell(row.metrics["alid"]) if "alid" in row.metrics else Cell(""),
            )
        )
    headings = (
        ("row", "Number of the row"),
        ("attacker", ""),
        ("encoder", "What turns speech into embeddings"),
        ("back-end", "How embeddings are compared"),
        ("people", "Training people"),
        ("settings", "Settings tried, among which development people chose"),
        ("epochs", "Passes of the encoder's training over anonymised recordings"),
        ("recordings", "Recordings in each pass"),
        ("development [bit]", "What development people disclosed; the strongest attacker is chosen by this"),
        (_heading(rows, "alid"), MEASURES["alid"].meaning),
    )
    return Table(headings, tuple(body), 4)


def cautions(rows: Sequence[Evaluation]) -> list[Caution]:
    """Each flag once, with the rows that have it."""
    found: dict[Flag, list[int]] = {}
    for position, row in enumerate(rows, 1):
        for flag in row.flags:
            found.setdefault(flag, []).append(position)
    return [Caution(flag, tuple(whose)) for flag, whose in found.items()]
