"""Tables of single people: most at risk, with several recordings of them, and each speaker and trial for files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import isnan, nan
from pathlib import Path
from typing import TYPE_CHECKING

from zeroevidence.data.formats.attack_scores import escape_table
from zeroevidence.data.writing import write_atomically
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Finding
from zeroevidence.evaluation.finding.chance import PEOPLE_LABELS
from zeroevidence.evaluation.people import hubs, people_differ, speaker_columns
from zeroevidence.evaluation.resampling import SHOWN
from zeroevidence.evaluation.rows.curves import Recordings
from zeroevidence.evaluation.rows.evaluation import used_labels
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.zebra import tag_of
from zeroevidence.measure.search.rank import LISTED_RECORDINGS
from zeroevidence.plot.rows import row_names
from zeroevidence.report.layout import p_text
from zeroevidence.report.table import Cell, Content, Table, measure_column, names_column, numbers_column
from zeroevidence.uncertainty.level import alpha

if TYPE_CHECKING:
    import polars as pl

MOST_PEOPLE = 200
_TRIAL_COLUMNS = ("trial", "speaker", "lid", "rank", "linked")
_DIFFER = {
    "alid": "what a trial discloses (deviation between people {deviation:.2f} bit)",
    "eer": "how many others pass for them (deviation between people {percent:.1f} %)",
}
_PERSON = (
    names_column("person"),
    names_column("system"),
    numbers_column("recordings", "Recordings of this person that the attacker heard"),
    numbers_column("length", "Mean length of these recordings", unit="s"),
    numbers_column("named", "Share of them in which this person scored above everybody else", unit="%"),
    numbers_column("falsely", "Share of other people's recordings that were attributed to this person", unit="%"),
    numbers_column("mean", "What one recording discloses on average", unit="bit"),
    numbers_column(
        "largest", "What the most disclosing recording discloses; each bit doubles the attacker's odds", unit="bit"
    ),
    numbers_column(
        "worst case",
        "Strongest evidence in any comparison with this person, for or against, as a power of ten, and its tag",
        unit="log10 LR",
    ),
)
_RECORDINGS = ("top1", "alid")  # measures of attackers who hold several recordings
_RECORDING_COLUMNS = (
    names_column("system"),
    numbers_column("recordings", "Recordings of one person that the attacker holds"),
    numbers_column("people", "People who have as many; of the others all recordings are used"),
)
_RECORDINGS_TITLE = "Several recordings of one person"
RECORDINGS_NOTE = (
    "Recordings of one person have much in common, so the scores of several are added with less weight; how much less "
    "was fitted on other people, and so was how many of them are used. By chance a value may be below the one before."
)


def trial_table(rows: Sequence[Evaluation]) -> pl.DataFrame:
    """One line per trial: what it discloses, where its speaker ranks, whether it is linked."""
    import polars as pl

    labels = used_labels(rows)
    frames = [
        _labelled(row, labels, pl.DataFrame({name: getattr(row.trials, name) for name in _TRIAL_COLUMNS}))
        for row in rows
        if row.trials is not None
    ]
    if not frames:
        raise UsageError("there are no per-trial results: the scores do not form rows of a search")
    return pl.concat(frames)


def speaker_table(rows: Sequence[Evaluation]) -> pl.DataFrame:
    """One line per speaker, the most exposed first: disclosure and EER, with intervals, and the worst case."""
    import polars as pl

    types = {
        **dict.fromkeys(("speaker", "tag"), pl.String()),
        **dict.fromkeys(("trials", "targets", "nontargets"), pl.Int64()),
    }
    labels, frames = used_labels(rows), []
    for row in rows:
        columns = speaker_columns(row)
        if columns is not None:
            schema = {name: types.get(name, pl.Float64()) for name in columns}
            frames.append(_labelled(row, labels, pl.DataFrame(columns, schema=schema)))
    if not frames:
        raise UsageError("there are no per-speaker results: the scores name no speakers")
    return pl.concat(frames)


def _labelled(row: Evaluation, labels: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    """A table with the labels of its row before it."""
    import polars as pl

    columns = (pl.lit(row.labels.get(label, "")).alias(f"row_{label}") for label in labels)
    return frame.select(*columns, pl.all())


def write_table(frame: pl.DataFrame, path: str | Path, *, overwrite: bool = True) -> None:
    """Write a table as Parquet where the name says so, as CSV otherwise; whole or not at all."""
    import polars as pl

    place = Path(path)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:  # polars takes no name that is not UTF-8
            try:
                (frame.write_parquet if place.suffix == ".parquet" else escape_table(frame).write_csv)(stream)
            except pl.exceptions.PolarsError:
                stream.write(bytes(1 << 20))  # where the disk is full this says so, as polars does not
                raise

    write_atomically(place, write, overwrite=overwrite)


def differing_lines(rows: Sequence[Evaluation]) -> list[str]:
    """For each row and measure a sentence on whether people differ more than chance."""
    lines = []
    for row, name in zip(rows, row_names(rows), strict=True):
        for measure, test in people_differ(row).items():
            more = "more than" if test.p_value <= alpha(row.setup.level) else "no more than"
            what = _DIFFER[measure].format(deviation=test.deviation, percent=100.0 * test.deviation)
            lines.append(f"{name}: {test.people} people differ {more} chance in {what}, {p_text(test.p_value)}")
    return lines


def people_table(finding: Finding) -> tuple[Table | None, int]:
    """The people most at risk from the strongest attacker on each system, and how many are not shown.

    People with few recordings, of whom these tell too little, are neither.
    Where an attribute is to be concealed, speaker recognition is meant to go on working and is no risk.
    """
    rows = finding.rows
    chosen = [i for i in finding.by_system if rows[i].people is not None] if finding.question == "identity" else []
    if not chosen and finding.question == "identity":
        chosen = [i for i, row in enumerate(rows) if row.people is not None and row.about.role != "utility"][:1]
    lines = [line for i in chosen for line in _person_records(rows[i], named=len(chosen) > 1)]
    if not lines:
        return None, 0
    lines.sort(key=lambda line: line[0])
    shown = [record for _, record in lines[:MOST_PEOPLE]]
    return Table.of_records(shown, _PERSON), len(lines) - len(shown)


def _person_records(row: Evaluation, *, named: bool) -> Iterator[tuple[tuple[float, ...], dict[str, Content]]]:
    """A record of each person, with the system where it is `named`.

    Its sort key is the exposure beyond the rate at which the name comes up falsely.
    """
    people = row.people
    assert people is not None
    is_hub = hubs(people, row.counts.get("identities", len(people.speaker)))
    for place, speaker in enumerate(people.speaker):
        if people.trials[place] < LISTED_RECORDINGS:
            continue
        linked, mean, largest = people.linked[place], people.alid[place], people.lid_max[place]
        falsely = nan if people.falsely is None else people.falsely[place]
        record: dict[str, Content] = {"person": speaker, "recordings": people.trials[place]}
        record |= {"system": _system_name(row)} if named else {}
        record |= {"named": _cell(linked, "rate", ".0f"), "mean": _cell(mean), "largest": _cell(largest)}
        if people.seconds is not None:
            record["length"] = _cell(people.seconds[place], format=".1f")
        if people.falsely is not None:
            record["falsely"] = _cell(falsely, "rate", ".0f", "comes up for everybody" if is_hub[place] else "")
        if people.worst_case is not None:
            strength = people.worst_case[place]
            record["worst case"] = Cell() if isnan(strength) else _cell(strength, note=f"tag {tag_of(strength)}")
        exposure = linked if isnan(falsely) else linked - falsely
        yield (-exposure, -mean, -largest), record


def _cell(value: float, unit: str = "", format: str = ".2f", note: str = "") -> Cell:
    return Cell(None if isnan(value) else value, unit, format=format, note=note)


def _system_name(row: Evaluation) -> str:
    """The system, and the group of people that was searched."""
    return ", ".join(row.labels[name] for name in ("system", *PEOPLE_LABELS) if row.labels.get(name))


def _places_held(row: Evaluation) -> dict[int, int]:
    """Numbers of recordings that tables show and that could be tried, with their places in the result."""
    held = () if row.recordings is None else row.recordings.held
    return {k: held.index(k) for k in SHOWN if k in held}


def _with_recordings(recordings: Recordings, name: str, place: int) -> Cell:
    """A measure of an attacker who holds several recordings of one person, with its limits where there are some."""
    columns = (getattr(recordings, field) for field in (name, f"{name}_low", f"{name}_high"))
    value, low, high = (None if column is None else column[place] for column in columns)
    return Cell(value, MEASURES[name].unit, low, high)


def recordings_table(finding: Finding) -> Table | None:
    """A line for each number of recordings, of the strongest attacker on each system and of the control.

    None where nobody has several recordings.
    """
    chosen = finding.by_system or (finding.strongest,) if finding.question == "identity" else ()
    chosen = tuple(dict.fromkeys((*chosen, *([] if finding.control is None else [finding.control]))))
    named, records, numbers = len(chosen) > 1, [], []
    for i in chosen:
        row, held = finding.rows[i], _places_held(finding.rows[i])
        if row.recordings is None or len(held) < 2:
            continue
        for k, place in held.items():
            record: dict[str, Content] = {"recordings": k, "people": row.recordings.people[place]}
            record |= {name: _with_recordings(row.recordings, name, place) for name in _RECORDINGS}
            records.append(record | ({"system": _system_name(row)} if named else {}))
            numbers.append(i + 1)
    if not records:
        return None
    measures = (measure_column(name, description=MEASURES[name].meaning) for name in _RECORDINGS)
    table = Table.of_records(records, (*_RECORDING_COLUMNS, *measures))
    return replace(table, title=_RECORDINGS_TITLE, numbers=tuple(numbers) if named else ())


def untried_numbers(rows: Sequence[Evaluation]) -> str:
    """Which numbers of recordings nobody could try, and why; empty where all were."""
    searched = [row for row in rows if row.recordings is not None]
    left = [k for k in SHOWN if not any(k in _places_held(row) for row in searched)]
    if not searched or not left:
        return ""
    return (
        f"Attackers who hold {' or '.join(map(str, left))} recordings of one person could not be tried: fewer than "
        "half of the people have as many."
    )
