"""Printing the problems that a check found."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from zeroevidence.cli.printing import echo
from zeroevidence.errors import InputError


def print_problems(problems: Sequence[object], limit: int, path: str | None = None, *, noun: str = "") -> int:
    """Print problems up to a limit, or that a file has none, and return how many there are."""
    for problem in problems[:limit]:
        echo(problem)
    if len(problems) > limit:
        echo(f"... and {len(problems) - limit} more{noun} (--limit)")
    if not problems and path is not None:
        echo(f"{path}: ok")
    return len(problems)


def exit_if_problems(count: int) -> None:
    """Exit with the code of bad input if there are problems."""
    if count:
        echo(f"{count} problem{'s' if count > 1 else ''} found", err=True)
        sys.exit(InputError.exit_code)
