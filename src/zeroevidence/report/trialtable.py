"""Per-trial and per-speaker results as tables, for CSV or Parquet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from zeroevidence.data.cells import safe_table
from zeroevidence.data.writing import write_whole
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.frames import used_labels
from zeroevidence.measure.disclosure import by_speaker


def trial_table(rows: Sequence[Evaluation]) -> pl.DataFrame:
    """One line per trial: what it discloses, where its speaker ranks, whether it is linked."""
    return _stacked(
        rows,
        [
            {
                "trial": row.trials.trial,
                "speaker": row.trials.speaker,
                "lid": row.trials.lid,
                "rank": row.trials.rank,
                "linked": row.trials.linked,
            }
            for row in rows
            if row.trials is not None
        ],
    )


def speaker_table(rows: Sequence[Evaluation]) -> pl.DataFrame:
    """One line per speaker, the most exposed first."""
    parts = []
    for row in rows:
        if row.trials is None:
            continue
        risk = by_speaker(row.trials.lid, row.trials.speaker)
        parts.append(
            {
                "speaker": risk.speaker,
                "trials": risk.trials,
                "lid_mean": risk.mean,
                "lid_max": risk.max,
                "share_positive": risk.share_positive,
            }
        )
    return _stacked(rows, parts)


def write_table(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as Parquet where the name says so, as CSV otherwise; whole or not at all."""
    place = Path(path)
    write_whole(place, frame.write_parquet if place.suffix == ".parquet" else safe_table(frame).write_csv)


def _stacked(rows: Sequence[Evaluation], parts: Sequence[Mapping[str, object]]) -> pl.DataFrame:
    if not parts:
        raise UsageError("there are no per-trial results: the scores do not form rows of a search")
    labels = used_labels(rows)
    with_trials = [row for row in rows if row.trials is not None]
    frames = [
        pl.DataFrame(part).select(
            *(pl.lit(row.labels.get(label, "")).alias(f"row_{label}") for label in labels), pl.all()
        )
        for row, part in zip(with_trials, parts, strict=True)
    ]
    return pl.concat(frames)
