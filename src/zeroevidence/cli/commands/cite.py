"""Print BibTeX entries of this toolkit and of the measures."""

from __future__ import annotations

import click

from zeroevidence.cli.printing import echo_lines


@click.command("cite")
@click.argument("names", nargs=-1, metavar="[MEASURE]...")
def command(names: tuple[str, ...]) -> None:
    """Print BibTeX entries of this toolkit and of each MEASURE, or of all measures."""
    from zeroevidence.report.bibliography import bibtex

    echo_lines(bibtex(names))
