"""``zeroevidence cite``: BibTeX for the toolkit and for what it computes."""

from __future__ import annotations

import click


@click.command("cite")
@click.argument("names", nargs=-1, metavar="[MEASURE]...")
def command(names: tuple[str, ...]) -> None:
    """Print BibTeX: for this toolkit and every measure, or for the toolkit and the named measures."""
    from zeroevidence.report.bibliography.bibtex import bibtex

    click.echo(bibtex(names), nl=False)
