"""``zeroevidence cite``: BibTeX for the toolkit and for what it computes."""

from __future__ import annotations

import click


@click.command("cite")
@click.argument("names", nargs=-1, metavar="[MEASURE]...")
def command(names: tuple[str, ...]) -> None:
    """Print BibTeX: for this toolkit and every measure, or for the toolkit and the named measures."""
    from zeroevidence.measure.catalogue import CATALOGUE, measure
    from zeroevidence.report.citations import BIBTEX, software

    entries = [measure(name) for name in names] if names else list(CATALOGUE.values())
    keys = dict.fromkeys(key for entry in entries for key in entry.references)
    click.echo("\n".join([software(), *(BIBTEX[key] for key in keys)]), nl=False)
