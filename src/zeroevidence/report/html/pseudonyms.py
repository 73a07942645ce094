"""Rows with numbers in place of people's names, replaced before anything is drawn or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from zeroevidence.evaluation import Evaluation
from zeroevidence.evaluation.rows.curves import Points, Surface


def hidden(rows: Sequence[Evaluation]) -> list[Evaluation]:
    """The same rows with people as numbers, one number for one person in all rows, the most exposed first."""
    numbers: dict[str, str] = {}
    for row in rows:
        names = list(row.people.speaker) if row.people is not None else []
        for surface in row.surfaces.values():
            names += [name for name in (*surface.x, *surface.y) if isinstance(name, str)]
        for name in names:
            numbers.setdefault(name, f"person {len(numbers) + 1}")
    return [_renamed(row, numbers) for row in rows]


def _renamed(row: Evaluation, numbers: dict[str, str]) -> Evaluation:
    people = row.people
    return replace(
        row,
        trials=None,
        people=None if people is None else replace(people, speaker=tuple(numbers[name] for name in people.speaker)),
        surfaces={name: _surface(surface, numbers) for name, surface in row.surfaces.items()},
        maps={name: _map(points, numbers) for name, points in row.maps.items()},
    )


def _surface(surface: Surface, numbers: dict[str, str]) -> Surface:
    x, y = (
        tuple(numbers[value] if isinstance(value, str) else value for value in axis) for axis in (surface.x, surface.y)
    )
    return Surface(x, y, surface.z)


def _map(points: Points, numbers: dict[str, str]) -> Points:
    return replace(points, label=tuple(numbers.get(label, label) for label in points.label))
