"""External programs that the user names, run without a shell."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from zeroevidence.errors import UsageError, check_stop, uninterrupted
from zeroevidence.guard import make_mark, marked_environment, tell_guard

_POLL = 0.1  # seconds between checks for an interruption


def split_command(command: str) -> list[str]:
    """Return program and arguments of a command that is quoted as in a shell."""
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be split into arguments: {error}") from None
    if not arguments:
        raise UsageError("the command is empty; expected a program and its arguments")
    return arguments


def fill_in(arguments: list[str], files: Mapping[str, Path | str]) -> list[str]:
    """Return the program and its arguments with files in the places of their names, such as ``{input}``.

    Names are looked for once, so the path of a file may contain them.

    Examples
    --------
    >>> fill_in(["sox", "{input}", "--to={output}"], {"{input}": Path("a {output}.wav"), "{output}": Path("b.wav")})
    ['sox', 'a {output}.wav', '--to=b.wav']
    """
    names = re.compile("|".join(map(re.escape, files)))
    program, *rest = arguments
    return [program, *(names.sub(lambda name: str(files[name[0]]), argument) for argument in rest)]


class Program(subprocess.Popen[bytes]):
    """A program in a session of its own that does not outlive this process, not even where that is killed.

    Parameters
    ----------
    arguments
        The program and its arguments.
    options
        Those of `subprocess.Popen`, such as its streams.
    """

    def __init__(self, arguments: list[str], **options: Any) -> None:
        self._mark = make_mark()
        super().__init__(arguments, start_new_session=True, env=marked_environment(self._mark), **options)
        tell_guard(f"+{self.pid}")

    def forget(self) -> None:
        """Leave alone whatever it has started, since it has ended by itself."""
        tell_guard(f"-{self.pid}\n-{self._mark}")

    def end(self) -> None:
        """End it with its process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.wait()
        self.forget()


def run_program(
    arguments: list[str], errors: IO[bytes], timeout: float, output: IO[bytes] | int = subprocess.DEVNULL
) -> int:
    """Run a program to its end and return its exit status; else end it, and whatever it has started.

    Output goes to files and not to pipes, which a grandchild could keep open.

    Parameters
    ----------
    arguments
        The program and its arguments.
    errors
        Where its standard error goes.
    timeout
        Seconds that it may take.
    output
        Where its standard output goes.

    Raises
    ------
    OSError
        When there is no such program.
    subprocess.TimeoutExpired
        When it did not end in time.
    KeyboardInterrupt
        When this process, or the work of this thread, was asked to end.
    """
    check_stop()
    process, deadline = None, time.monotonic() + timeout
    try:
        with uninterrupted():  # an interruption here would leave a program that is never ended
            process = Program(arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        while True:
            try:
                status = process.wait(min(_POLL, max(deadline - time.monotonic(), 0.0)))
                process.forget()
                return status
            except subprocess.TimeoutExpired:
                if time.monotonic() >= deadline:
                    raise
            check_stop()
    except BaseException:
        if process is not None:
            process.end()
        raise


def run_to_files(
    arguments: list[str], folder: Path, timeout: float, output: IO[bytes] | int = subprocess.DEVNULL
) -> str:
    """Run a program as `run_program` does, and return why it failed; empty where it did not.

    Its standard error goes to a file in a folder, whose last line the reason ends with.
    """
    errors = folder / "stderr"
    try:
        with errors.open("wb") as stream:
            status = run_program(arguments, stream, timeout, output)
    except OSError as error:
        return f"cannot be run: {error.strerror or error}"
    except subprocess.TimeoutExpired:
        return with_last_line(f"did not end within {timeout:g} s", errors)
    return with_last_line(f"ended with status {status}", errors) if status else ""


def with_last_line(reason: str, errors: Path) -> str:
    """Return a reason, followed by the last line that a program wrote to its standard error, if any."""
    lines = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"{reason}: {lines[-1].strip()}" if lines else reason
