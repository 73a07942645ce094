"""Attackers who hold several recordings of one person: results with 3 and 10 recordings beside 1."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, MeasureResult, findings
from zeroevidence.evaluation.scores.recordings import SHOWN
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout.flags import row_numbers
from zeroevidence.report.layout.formatting import cell, heading
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.layout.labels import row_labels

MEASURES_SHOWN = ("top1", "alid")
_TITLE = "Several recordings of one person"
NOTE = (
    "Recordings of one person have much in common, so the scores of several are added with less weight; how much less "
    "was fitted on other people. With more recordings an attacker never learns less, since some can be left out."
)


def places_held(row: Evaluation) -> dict[int, int]:
    """Numbers of recordings that tables show and that could be tried, with their places in the result."""
    held = () if row.recordings is None else row.recordings.held
    return {k: held.index(k) for k in SHOWN if k in held}


def with_recordings(row: Evaluation, name: str, place: int) -> MeasureResult:
    """A measure at one number of recordings."""
    recordings = row.recordings
    assert recordings is not None
    low, high = (getattr(recordings, f"{name}_{end}") for end in ("low", "high"))
    return MeasureResult(
        getattr(recordings, name)[place],
        MEASURES[name].unit,
        low=None if low is None else low[place],
        high=None if high is None else high[place],
    )


def recordings_grid(rows: Sequence[Evaluation]) -> Grid | None:
    """A line for each number of recordings of a single result, else for the strongest attacker on each system.

    The control stands beside them. None where nobody has several recordings.
    """
    tried = [k for k in SHOWN if any(k in places_held(row) for row in rows)]
    if len(tried) < 2:
        return None
    if len(rows) == 1:
        return _single_grid(rows[0])
    columns = row_labels(rows).columns
    headings = (*columns, *(f"{heading(name)} of {k}" for name in MEASURES_SHOWN for k in tried))
    chosen = [place for place in _strongest(rows) if len(places_held(rows[place])) > 1]
    body = tuple((*(texts[place] for texts in columns.values()), *_cells(rows[place], tried)) for place in chosen)
    numbers = row_numbers(rows)
    return Grid(_TITLE, headings, body, len(columns), tuple(numbers[place] for place in chosen) if numbers else ())


def _strongest(rows: Sequence[Evaluation]) -> list[int]:
    """Places of the strongest attackers and of the control."""
    places: set[int] = set()
    for finding in findings(rows):
        places |= {*finding.by_system, finding.strongest}
        places |= set() if finding.control is None else {finding.control}
    return sorted(places)


def _single_grid(row: Evaluation) -> Grid:
    recordings = row.recordings
    assert recordings is not None
    held = places_held(row)
    body = tuple((str(k), f"{recordings.worth[place]:.1f}", *_cells(row, [k])) for k, place in held.items())
    return Grid(_TITLE, ("recordings", "worth as independent", *map(heading, MEASURES_SHOWN)), body, 0)


def _cells(row: Evaluation, tried: Sequence[int]) -> list[str]:
    places = places_held(row)
    pairs = ((name, k) for name in MEASURES_SHOWN for k in tried)
    return [cell(with_recordings(row, name, places[k]), "\n") if k in places else "" for name, k in pairs]


def untried_numbers(rows: Sequence[Evaluation]) -> str:
    """Which numbers of recordings nobody could try, and why; empty where all were."""
    searched = [row for row in rows if row.recordings is not None]
    left = [k for k in SHOWN if not any(k in places_held(row) for row in searched)]
    if not searched or not left:
        return ""
    return (
        f"Attackers who hold {' or '.join(map(str, left))} recordings of one person could not be tried: fewer than "
        "half of the people have as many."
    )
