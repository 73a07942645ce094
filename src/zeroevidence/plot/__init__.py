"""Figures of results, for papers and reports: an `Evaluation` in, matplotlib Axes out.

Each kind of figure is a function of this package, ``ece``, ``det`` and so on; `KINDS` is the table of all of them.
Importing the package does not import matplotlib.
"""

from __future__ import annotations

from zeroevidence.plot.canvas import style
from zeroevidence.plot.figures import draw, to_bytes, to_svg
from zeroevidence.plot.kind import KINDS, FigureFunction, FigureKind, available
from zeroevidence.plot.rows import choose_rows

__all__ = ["KINDS", "FigureKind", "available", "choose_rows", "draw", "style", "to_bytes", "to_svg"]


def __getattr__(name: str) -> FigureFunction:
    for kind in KINDS.values():
        if kind.function.__name__ == name:
            return kind.function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *(kind.function.__name__ for kind in KINDS.values())])
