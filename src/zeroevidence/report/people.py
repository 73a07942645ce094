"""Results of single trials and speakers as tables, for CSV or Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from zeroevidence.data.csv_cells import escape_table
from zeroevidence.data.writing import write_atomically
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.people import people_differ, speaker_columns
from zeroevidence.evaluation.rows.evaluation import used_labels
from zeroevidence.plot.rows import row_names
from zeroevidence.report.layout import p_text
from zeroevidence.uncertainty.level import alpha

_TRIAL_COLUMNS = ("trial", "speaker", "lid", "rank", "linked")
_TYPES = {
    **dict.fromkeys(("speaker", "tag"), pl.String()),
    **dict.fromkeys(("trials", "targets", "nontargets"), pl.Int64()),
}
_DIFFER = {
    "alid": "what a trial discloses (deviation between people {deviation:.2f} bit)",
    "eer": "how many others pass for them (deviation between people {percent:.1f} %)",
}


def trial_table(rows: Sequence[Evaluation]) -> pl.DataFrame:
    """One line per trial: what it discloses, where its speaker ranks, whether it is linked."""
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
    labels, frames = used_labels(rows), []
    for row in rows:
        columns = speaker_columns(row)
        if columns is not None:
            schema = {name: _TYPES.get(name, pl.Float64()) for name in columns}
            frames.append(_labelled(row, labels, pl.DataFrame(columns, schema=schema)))
    if not frames:
        raise UsageError("there are no per-speaker results: the scores name no speakers")
    return pl.concat(frames)


def write_table(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as Parquet where the name says so, as CSV otherwise; whole or not at all."""
    place = Path(path)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as stream:  # polars takes no name that is not UTF-8
            (frame.write_parquet if place.suffix == ".parquet" else escape_table(frame).write_csv)(stream)

    write_atomically(place, write)


def _labelled(row: Evaluation, labels: Sequence[str], frame: pl.DataFrame) -> pl.DataFrame:
    """A table with the labels of its row before it."""
    columns = (pl.lit(row.labels.get(label, "")).alias(f"row_{label}") for label in labels)
    return frame.select(*columns, pl.all())


def differing_lines(rows: Sequence[Evaluation]) -> list[str]:
    """For each row and measure a sentence on whether people differ more than chance."""
    lines = []
    for row, name in zip(rows, row_names(rows), strict=True):
        for measure, test in people_differ(row).items():
            more = "more than" if test.p_value <= alpha(row.setup.level) else "no more than"
            what = _DIFFER[measure].format(deviation=test.deviation, percent=100.0 * test.deviation)
            lines.append(f"{name}: {test.people} people differ {more} chance in {what}, {p_text(test.p_value)}")
    return lines
