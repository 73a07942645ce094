"""``zeroevidence metrics``: every measure and what it means."""

from __future__ import annotations

import json
from dataclasses import asdict

import click


@click.command("metrics")
@click.argument("name", required=False)
@click.option("-f", "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(name: str | None, output_format: str) -> None:
    """List every measure with its unit, range, direction, meaning and reference; or one, by NAME."""
    from zeroevidence.measure.catalogue import CATALOGUE, measure

    entries = [measure(name)] if name else list(CATALOGUE.values())
    if output_format == "json":
        click.echo(json.dumps([asdict(entry) for entry in entries], indent=1))
        return
    direction = {"up": "higher discloses more", "down": "lower discloses more", "none": "no direction"}
    for entry in entries:
        way = "higher is worse" if entry.scope == "tandem" else direction[entry.discloses]
        click.echo(f"{click.style(entry.name, bold=True)}  ({entry.title}; {entry.scope})")
        click.echo(f"    {entry.meaning}")
        click.echo(f"    {entry.unit}, {entry.range}; {way}; {', '.join(entry.references)}")
