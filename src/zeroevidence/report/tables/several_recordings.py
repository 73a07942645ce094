"""What attackers learn who hold several recordings of one person, as tables show it: 3 and 10 beside 1."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.evaluation import Evaluation, MeasureResult, findings
from zeroevidence.evaluation.scores.recordings import SHOWN
from zeroevidence.measure.measures import MEASURES
from zeroevidence.report.layout.formatting import cell, heading, labelled, row_numbers
from zeroevidence.report.layout.grid import Grid

_MEASURES = ("top1", "alid")
TITLE = "Several recordings of one person"
NOTE = (
    "Recordings of one person have much in common, so the scores of several are added with less weight; how much less "
    "was fitted on other people. Nobody who holds more knows less: an attacker may use fewer."
)


def held_with(row: Evaluation) -> dict[int, int]:
    """Numbers of recordings that tables show and that could be tried, with their places in the result."""
    held = () if row.recordings is None else row.recordings.held
    return {k: held.index(k) for k in SHOWN if k in held}


def with_recordings(row: Evaluation, name: str, place: int) -> MeasureResult:
    """A measure at one number of recordings."""
    found = row.recordings
    assert found is not None
    low, high = (getattr(found, f"{name}_{end}") for end in ("low", "high"))
    at = None if low is None else low[place], None if high is None else high[place]
    return MeasureResult(getattr(found, name)[place], MEASURES[name].unit, None, *at)


def recordings_grid(rows: Sequence[Evaluation]) -> Grid | None:
    """A line for each number of recordings of a single result, else for the strongest attacker on each system.

    The control stands beside them. None where nobody has several recordings.
    """
    tried = [k for k in SHOWN if any(k in held_with(row) for row in rows)]
    if len(tried) < 2:
        return None
    if len(rows) == 1:
        return _of_one(rows[0])
    columns = labelled(rows).columns
    headings = (*columns, *(f"{heading(name)} of {k}" for name in _MEASURES for k in tried))
    chosen = [place for place in _told(rows) if len(held_with(rows[place])) > 1]
    body = tuple((*(texts[place] for texts in columns.values()), *_cells(rows[place], tried)) for place in chosen)
    own = row_numbers(rows)
    return Grid(TITLE, headings, body, len(columns), tuple(own[place] for place in chosen) if own else ())


def _told(rows: Sequence[Evaluation]) -> list[int]:
    """Places of the rows that speak for the others."""
    places: set[int] = set()
    for finding in findings(rows):
        places |= {*finding.by_system, finding.strongest}
        places |= set() if finding.control is None else {finding.control}
    return sorted(places)


def _of_one(row: Evaluation) -> Grid:
    found = row.recordings
    assert found is not None
    body = tuple(
        (str(k), f"{found.worth[place]:.1f}", *(cell(with_recordings(row, name, place), "\n") for name in _MEASURES))
        for k, place in held_with(row).items()
    )
    return Grid(TITLE, ("recordings", "worth as independent", *map(heading, _MEASURES)), body, 0)


def _cells(row: Evaluation, tried: Sequence[int]) -> list[str]:
    places = held_with(row)
    return [
        cell(with_recordings(row, name, places[k]), "\n") if k in places else "" for name in _MEASURES for k in tried
    ]


def untried_words(rows: Sequence[Evaluation]) -> str:
    """Which numbers of recordings nobody could try, and why; empty where all were."""
    searched = [row for row in rows if row.recordings is not None]
    left = [k for k in SHOWN if not any(k in held_with(row) for row in searched)]
    if not searched or not left:
        return ""
    return (
        f"Attackers who hold {' or '.join(map(str, left))} recordings of one person could not be tried: fewer than "
        "half of the people have as many."
    )
