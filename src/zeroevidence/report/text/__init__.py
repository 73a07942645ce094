"""Results on a terminal: one in full with a sentence for each number, several as a table.

Nothing is wider than the terminal but signatures, which must stay whole to be of use.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from zeroevidence.evaluation import Evaluation, joint_signature
from zeroevidence.evaluation.rows.flags import Severity
from zeroevidence.report.layout.formatting import Flagged, flagged
from zeroevidence.report.layout.grid import Grid
from zeroevidence.report.layout.sections import sections
from zeroevidence.report.tables.several_recordings import NOTE, recordings_grid, untried_words
from zeroevidence.report.text.console import say, say_signatures, terminal_console, written
from zeroevidence.report.text.grids import say_grid
from zeroevidence.report.text.rows import say_rows
from zeroevidence.report.text.single import say_row

_STYLES: dict[Severity, str] = {"fault": "red", "warning": "yellow", "note": "dim"}


def to_text(rows: Sequence[Evaluation], *, signatures: bool = False, measures: Sequence[str] | None = None) -> str:
    """The rows as they are shown on a terminal; plain characters when the output is not one."""
    console = terminal_console()
    own = [row.signature for row in rows]
    for place, section in enumerate(sections(rows, measures)):
        shown = section.rows
        if place:
            console.print()
        if len(shown) == 1:
            say_row(console, shown[0], section.measures)
        else:
            say_rows(console, shown, section.measures)
        if measures is None:
            _say_recordings(console, shown)
        _say_flags(console, flagged(shown))
    say_signatures(console, own, all_of_them=signatures, joint=joint_signature(own))
    return written(console)


def _say_recordings(console: Console, rows: Sequence[Evaluation]) -> None:
    """Print what several recordings of one person tell together."""
    grid = recordings_grid(rows)
    if grid is not None:
        if len(rows) > 1:
            console.print()
        say_grid(console, grid)
        say(console, NOTE)
    untried = untried_words(rows)
    if untried:
        say(console, untried)


def grids_to_text(
    grids: Sequence[Grid],
    notes: Sequence[str],
    flags: Sequence[Flagged],
    signatures: Sequence[str],
    *,
    all_of_them: bool,
    joint: str = "",
) -> str:
    """Tables for a terminal, with notes, warnings and signatures below."""
    console = terminal_console()
    for grid in grids:
        say_grid(console, grid)
    for note in notes:
        say(console, note)
    _say_flags(console, flags)
    say_signatures(console, signatures, all_of_them=all_of_them, joint=joint)
    return written(console)


def _say_flags(console: Console, flags: Sequence[Flagged]) -> None:
    """Print warnings."""
    for one in flags:
        text = f"{one.name}: {one.flag.sentence}"
        say(console, text, style=_STYLES[one.flag.severity], first=one.flag.severity, indent=len("warning") + 2)
