"""Tables with notes, warnings and signatures as text, Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.report.layout.flags import RaisedFlag
from zeroevidence.report.layout.grid import Grid, grids_to_markdown
from zeroevidence.report.layout.latex import grids_to_latex


def render_grids(
    grids: Sequence[Grid],
    format: str,
    *,
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
        write = grids_to_markdown if format == "md" else grids_to_latex
        return write(grids, [*notes, *map(str, flags)], signatures)
    from zeroevidence.report.text.table import print_grid
    from zeroevidence.report.text.terminal import (
        console_text,
        print_flags,
        print_paragraph,
        print_signatures,
        terminal_console,
    )

    console = terminal_console()
    for grid in grids:
        print_grid(console, grid)
    for note in notes:
        print_paragraph(console, note)
    print_flags(console, flags)
    print_signatures(console, signatures, each=each, joint=joint)
    return console_text(console)
