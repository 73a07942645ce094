"""Panics of polars: its panic hook prints a backtrace to standard error before the panic becomes an exception.

No setting of polars or of Rust's runtime keeps it from printing, so standard error is redirected while a file is read.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import IO

_STANDARD_ERROR = 2
_PANIC = b"\nthread '"  # how the report of a panic begins
_REDIRECTING = threading.Lock()


@contextmanager
def silent_panics() -> Iterator[None]:
    """Context in which panics print nothing.

    Whatever the process writes to standard error within is held back and written afterwards, but not the report of a
    panic that became an exception. Nothing but the call of such a library belongs within.
    """
    with _REDIRECTING, ExitStack() as stack:
        try:
            held, terminal = stack.enter_context(tempfile.TemporaryFile()), os.dup(_STANDARD_ERROR)
        except OSError:  # nowhere to hold it, or standard error is closed: the file is read all the same
            terminal = None
        if terminal is None:
            yield
            return
        os.dup2(held.fileno(), _STANDARD_ERROR)
        ended = False
        try:
            yield
            ended = True
        finally:
            os.dup2(terminal, _STANDARD_ERROR)
            os.close(terminal)
            _write_again(held, whole=ended)


def _write_again(held: IO[bytes], *, whole: bool) -> None:
    """Write to standard error what was held back; up to the report of a panic unless all of it is wanted."""
    held.seek(0)
    text = held.read()
    rest = text if whole else text.partition(_PANIC)[0]
    while rest:
        rest = rest[os.write(_STANDARD_ERROR, rest) :]
