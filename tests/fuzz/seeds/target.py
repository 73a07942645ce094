"""A command line and the files that it reads."""

import contextlib
import io
from collections.abc import Sequence
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
    oracle: tuple[str, str] | None = None  # scores and key that can be read a second time


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


def target_of(
    home: Path,
    command: str,
    arguments: tuple[str, ...],
    names: Sequence[str],
    damaged: Sequence[str] | None = None,
    oracle: tuple[str, str] | None = None,
) -> Target:
    """Return a command on files of a folder, all of which are damaged unless some are named."""
    return Target(command, arguments, read_files(home, *names), tuple(damaged or names), oracle)


def read_files(home: Path, *names: str) -> Files:
    """Return the contents of files of a folder, by name."""
    return {name: (home / name).read_bytes() for name in names}
