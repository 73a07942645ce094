"""Printing the problems that a check found."""

from __future__ import annotations

import re
import sys
from collections.abc import Hashable, Sequence

from zeroevidence.cli.printing import echo
from zeroevidence.errors import InputError, Problem

_MOST_ALIKE = 10  # complaints that differ in places and values alone, and are printed one by one
_VALUES = re.compile(r"'(?:[^'\\]|\\.)*'|[0-9]+")


def print_problems(problems: Sequence[object], limit: int, path: str | None = None, *, noun: str = "") -> int:
    """Print problems up to a limit, or that a file has none, and return how many there are.

    Of complaints that are alike in all but their lines and values, and more than ten, the first is printed with their
    number.
    """
    groups: dict[Hashable, list[object]] = {}
    for problem in problems:
        groups.setdefault(_kind(problem), []).append(problem)
    lines = list[tuple[str, int]]()  # with the number of problems that each stands for
    for problem in problems:
        alike = groups[_kind(problem)]
        if len(alike) <= _MOST_ALIKE:
            lines.append((str(problem), 1))
        elif problem is alike[0]:
            lines.append((f"{problem} (and {len(alike) - 1} more like it{_last(alike)})", len(alike)))
    for line, _ in lines[:limit]:
        echo(line)
    shown = sum(number for _, number in lines[:limit])
    if len(problems) > shown:
        echo(f"... and {len(problems) - shown} more{noun} (--limit)")
    if not problems and path is not None:
        echo(f"{path}: ok")
    return len(problems)


def _kind(problem: object) -> Hashable:
    """Return what problems have in common that differ in their lines and values alone."""
    if not isinstance(problem, Problem):
        return str(problem)
    return problem.path, _VALUES.sub("", problem.reason)


def _last(problems: Sequence[object]) -> str:
    """Return where the last of some problems is, where it has a line."""
    last = problems[-1]
    return f", up to line {last.line}" if isinstance(last, Problem) and last.line is not None else ""


def exit_if_problems(count: int) -> None:
    """Exit with the code of bad input if there are problems."""
    if count:
        echo(f"{count} problem{'s' if count > 1 else ''} found", err=True)
        sys.exit(InputError.exit_code)
