"""Errors, each with the message that a user reads and the exit code that a script reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

LISTER = "zeroevidence doctor"  # the command that lists all problems of files


class ZeroEvidenceError(Exception):
    """Base class of every error that this package raises on purpose."""

    exit_code = 3


class UsageError(ZeroEvidenceError):
    """A request that cannot be met: options that exclude each other, an output that exists."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file: where, and what was found instead of what was expected."""

    path: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"


class InputError(ZeroEvidenceError, ValueError):
    """Data that cannot be used. The message is ``file:line: reason``, or the reason alone for arrays."""

    exit_code = 3

    def __init__(
        self,
        reason: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        more: int = 0,
        lister: str = LISTER,
    ) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        self.reason = reason
        self.more = more
        message = reason if self.path is None else str(Problem(self.path, line, reason))
        if more:
            message += f" (and {more} more; `{lister}` lists them)" if lister else f" (and {more} more)"
        super().__init__(message)

    @classmethod
    def of(cls, problems: list[Problem], lister: str = LISTER) -> InputError:
        """The first of several problems, with the number of the others and the command that lists them."""
        first = problems[0]
        return cls(first.reason, path=first.path, line=first.line, more=len(problems) - 1, lister=lister)

    @property
    def problem(self) -> Problem:
        """The same as a value."""
        return Problem(self.path or "<array>", self.line, self.reason)


class OutOfMemory(ZeroEvidenceError):
    """The machine does not have the memory that the data need."""

    exit_code = 5

    def __init__(self, reason: str = "evaluate fewer trials at a time, or on a larger machine") -> None:
        super().__init__(f"out of memory; {reason}")


class OutputError(ZeroEvidenceError):
    """A result could not be written: a full disk, a folder without permission."""

    exit_code = 6

    def __init__(self, error: OSError, path: str | Path = "standard output") -> None:
        super().__init__(f"{path}: cannot be written: {error.strerror or error}")


class MissingExtra(ZeroEvidenceError, ImportError):
    """An optional part is not installed; the message holds the line that installs it."""

    exit_code = 4

    def __init__(self, extra: str, needed_for: str, *, without: str = "") -> None:
        self.extra = extra
        lost = f" (without it, {without})" if without else ""
        super().__init__(f"{needed_for} needs an optional part: pip install 'zeroevidence[{extra}]'{lost}")
