"""A command line and the files that it reads."""

from __future__ import annotations

import contextlib
import io
from dataclasses import dataclass
from pathlib import Path

from zeroevidence.cli import main

Files = dict[str, bytes]


@dataclass(frozen=True)
class Target:
    """A command line, the files it reads, and those of them that are damaged."""

    command: str
    arguments: tuple[str, ...]
    files: Files
    damaged: tuple[str, ...]
    oracle: tuple[str, str] | None = None  # scores and key, or enrolment and trials, that can be read a second time


def run(*arguments: str) -> tuple[int, str, str]:
    """A command in this process: exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(list(arguments))
        except SystemExit as stop:
            code = stop.code
    return int(code or 0), out.getvalue(), err.getvalue()


def done(*arguments: str) -> None:
    """Run a command that must go well."""
    code, _, err = run(*arguments)
    if code:
        raise RuntimeError(f"{' '.join(arguments)}: {err}")


def read_files(home: Path, *names: str) -> Files:
    """Return the contents of files of a folder, by name."""
    return {name: (home / name).read_bytes() for name in names}
