"""What this process starts is killed once it has died, in whatever way, by a process beside it: the guard."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import threading
from pathlib import Path

_VARIABLE = "ZEROEVIDENCE_MARK"
_guards: dict[int, subprocess.Popen[bytes]] = {}  # by process: a copy of this one is guarded apart
_marks: dict[int, str] = {}  # of what processes start
_starting = threading.Lock()


def make_mark(kind: str = "p") -> str:
    """Return a mark, and let the guard kill whatever has it; of the kind ``w`` what does not end by itself."""
    mark = f"{kind}{os.urandom(16).hex()}"
    tell_guard(f"+{mark}")
    return mark


def marked_environment(mark: str) -> dict[str, str]:
    """Return the environment of this process with a mark, for what it starts."""
    return {**os.environ, _VARIABLE: mark}


def mark_workers() -> None:
    """Let all processes that this one starts from now on end after it, also where they are still importing modules."""
    if os.getpid() not in _marks:
        os.environ[_VARIABLE] = _marks[os.getpid()] = make_mark("w")


def tell_guard(line: str) -> None:
    """Tell the guard that something begins or has ended, as it expects it."""
    with _starting:
        guard = _guards.get(os.getpid())
        if guard is None or guard.poll() is not None:
            guard = _guards[os.getpid()] = subprocess.Popen(
                [sys.executable, "-I", "-S", Path(__file__).with_name("guard_process.py")],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is not for it
                env={name: value for name, value in os.environ.items() if name != _VARIABLE},
            )
    assert guard.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # somebody has just killed it
        guard.stdin.write(f"{line}\n".encode())


@atexit.register
def _end_guard() -> None:
    if os.getpid() in _guards:
        tell_guard(f"-{_marks.get(os.getpid())}")
        _guards[os.getpid()].communicate()
