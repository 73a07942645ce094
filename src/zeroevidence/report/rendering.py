"""Tables with notes, warnings and signatures as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.report.layout import RaisedFlag
from zeroevidence.report.table import Grid, grids_to_latex, grids_to_markdown


def render_grids(
    grids: Sequence[Grid],
    format: str,
    *,
    lead: Sequence[str] = (),
    notes: Sequence[str] = (),
    flags: Sequence[RaisedFlag] = (),
    signatures: Sequence[str] = (),
    each: bool = False,
    joint: str = "",
) -> str:
    """Return tables in one of the formats text, md and latex.

    Parameters
    ----------
    grids
        The tables.
    format
        ``text``, ``md`` or ``latex``.
    lead
        Paragraphs above the tables; comments in LaTeX.
    notes
        Sentences below the tables.
    flags
        Warnings below the notes.
    signatures
        One for each result.
    each
        Whether text holds each of several signatures; Markdown and LaTeX always do.
    joint
        What stands in text for several signatures.
    """
    if format != "text":
        below = [*notes, *map(str, flags)]
        if format == "latex":
            return grids_to_latex(grids, [*lead, *below], signatures)
        return grids_to_markdown(grids, below, signatures, lead=lead)
    from zeroevidence.report.text import (
        console_text,
        print_flags,
        print_grid,
        print_paragraph,
        print_signatures,
        terminal_console,
    )

    console = terminal_console()
    for paragraph in lead:
        print_paragraph(console, paragraph)
    if lead:
        print_paragraph(console, " ")
    for grid in grids:
        print_grid(console, grid)
    for note in notes:
        print_paragraph(console, note)
    print_flags(console, flags)
    print_signatures(console, signatures, each=each, joint=joint)
    return console_text(console)
