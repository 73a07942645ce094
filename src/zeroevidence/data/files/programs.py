"""External programs that the user names, run without a shell."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
from typing import IO

from zeroevidence.errors import UsageError


def split_command(command: str) -> list[str]:
    """Return program and arguments of a command that is quoted as in a shell."""
    try:
        arguments = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command {command!r} cannot be split into arguments: {error}") from None
    if not arguments:
        raise UsageError("the command is empty; expected a program and its arguments")
    return arguments


def run_program(
    arguments: list[str], errors: IO[bytes], timeout: float, output: IO[bytes] | int = subprocess.DEVNULL
) -> int:
    """Run a program to its end and return its exit status; on time-out stop it and whatever it has started.

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
    """
    process = subprocess.Popen(
        arguments, stdin=subprocess.DEVNULL, stdout=output, stderr=errors, start_new_session=True
    )
    try:
        return process.wait(timeout)
    except BaseException:
        if sys.platform == "win32":
            process.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
