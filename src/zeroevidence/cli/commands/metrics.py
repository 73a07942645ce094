"""List the measures: unit, range, direction, meaning, reference."""

from __future__ import annotations

import json
from math import isfinite
from typing import TYPE_CHECKING, Any

import click

from zeroevidence.cli.declare import shared_option
from zeroevidence.cli.printing import echo, echo_lines

if TYPE_CHECKING:
    from zeroevidence.measure.measures import Measure

_PLAIN = ("name", "title", "family", "unit", "low", "high", "range", "discloses", "meaning", "references", "categories")
_DIRECTION = {"up": "higher discloses more", "down": "lower discloses more", "none": "no direction"}
_USEFUL = {"up": "higher is more useful", "down": "lower is more useful", "none": "no direction"}


@click.command("metrics")
@click.argument("name", required=False)
@shared_option("--output-format", str, default="text", choices=("text", "json"))
def command(name: str | None, output_format: str) -> None:
    """List every measure with its unit, range, direction, meaning and reference; or one, by NAME."""
    from zeroevidence.measure.measures import MEASURES

    entries = [MEASURES.find(name)] if name else list(MEASURES.values())
    if output_format == "json":
        records = [_record(entry) for entry in entries]
        echo_lines(f"{json.dumps(records, indent=1, ensure_ascii=False, allow_nan=False)}\n")
        return
    for entry in entries:
        echo(f"  ({entry.title}; {entry.family})", heading=entry.name)
        echo(f"    {entry.meaning}")
        echo(f"    {entry.unit}, {entry.range}; {direction(entry)}; {', '.join(entry.references)}")
        for category, description in (entry.categories or {}).items():
            echo(f"    {category}: {description}")


def direction(entry: Measure) -> str:
    """Return which direction of a measure is worse."""
    if entry.family == "utility":
        return _USEFUL[entry.better]
    return "higher is worse" if entry.family == "tandem" else _DIRECTION[entry.discloses]


def _record(entry: Measure) -> dict[str, Any]:
    """Return the fields of a measure for JSON; an infinite end of its range becomes a string, as in results."""
    fields = {name: getattr(entry, name) for name in _PLAIN if getattr(entry, name) is not None}
    return {
        name: str(value) if isinstance(value, float) and not isfinite(value) else value
        for name, value in fields.items()
    }
