"""Errors and interruptions, each with the message that a user reads and the exit code that a script reads."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path  # slow to import, which `--help` would notice

LISTER = "zeroevidence doctor"  # the command that lists all problems of files


class ZeroEvidenceError(Exception):
    """Base class of every error that this package raises on purpose."""

    exit_code = 3

    def __reduce__(self) -> tuple[object, ...]:
        """Send it whole to another process, whatever its class is made from."""
        return BaseException.__new__, (type(self), *self.args), self.__dict__


class UsageError(ZeroEvidenceError, ValueError):
    """A request that cannot be met: options that exclude each other, an output that exists."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file: where, what was found instead of what was expected, and what helps.

    It also holds what was heard in speech that was not understood; that is no part of the reason, which is released.
    """

    path: str
    line: int | None
    reason: str
    remedy: str = ""
    heard: str = ""

    def __str__(self) -> str:
        where = self.path if self.line is None else f"{self.path}:{self.line}"
        return f"{where}: {self.reason}"

    @property
    def with_heard(self) -> str:
        """The problem, and what was heard, for whoever can correct it."""
        return f"{self}; heard: {self.heard}" if self.heard else str(self)


class InputError(ZeroEvidenceError, ValueError):
    """Data that cannot be used. The message is ``file:line: reason``, or the reason alone for arrays."""

    def __init__(
        self,
        reason: str,
        *,
        path: str | Path | None = None,
        line: int | None = None,
        more: int = 0,
        lister: str = LISTER,
        remedy: str = "",
        heard: str = "",
    ) -> None:
        self.path = None if path is None else str(path)
        self.line = line
        self.reason = reason
        self.remedy = remedy
        self.heard = heard
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
        return Problem(self.path or "<array>", self.line, self.reason, self.remedy)


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


_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_REPEATED = 1.0  # seconds within which the same request may come twice, as from `timeout`
_of_thread = threading.local()


class Interrupted(KeyboardInterrupt):
    """A signal asked this process to end; notes say what was kept."""

    def __init__(self, number: int = signal.SIGINT) -> None:
        super().__init__()
        self.number = number

    @property
    def exit_code(self) -> int:
        """That of a process that the signal ended, as a shell shows it."""
        return 128 + self.number

    def __str__(self) -> str:
        cause = "" if self.number == signal.SIGINT else f" by {signal.Signals(self.number).name}"
        return "; ".join([f"interrupted{cause}", *getattr(self, "__notes__", ())])


class _Requests:
    """Signals that this process has received."""

    def __init__(self) -> None:
        self.number: int | None = None
        self.received_at = -_REPEATED
        self.held = 0
        self.pending = False

    def receive(self, number: int, _frame: object = None) -> None:
        """Handle a signal: raise, or remember to raise."""
        now = time.monotonic()
        if self.number is not None and now - self.received_at < _REPEATED:
            return
        self.number, self.received_at = number, now
        if self.held:
            self.pending = True
        else:
            raise Interrupted(number)


_requests = _Requests()


@contextmanager
def interruptible() -> Iterator[None]:
    """Context in which these signals raise `Interrupted`, also where a library turns it into another exception.

    Signals that the process was started to ignore (`nohup`) stay ignored. In threads nothing changes.

    Raises
    ------
    Interrupted
        When such a signal came and anything was raised after it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    _requests.number, _requests.pending = None, False
    for number, handler in before.items():
        if handler not in (signal.SIG_IGN, None):
            signal.signal(number, _requests.receive)
    try:
        yield
    except BaseException as error:
        if _requests.number is None:
            raise
        import traceback

        # Generators that were left in the middle end now, with the threads and processes that they started.
        traceback.clear_frames(error.__traceback__)
        interruption = Interrupted(_requests.number)
        for note in _notes(error):
            interruption.add_note(note)
        raise interruption from None
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)


def _notes(error: BaseException | None) -> list[str]:
    """Return the notes of an error, and of the errors that caused it."""
    notes: list[str] = []
    while error is not None:
        notes = [*getattr(error, "__notes__", ()), *notes]
        error = error.__cause__ or error.__context__
    return list(dict.fromkeys(notes))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Context that delays signals to its end, for steps that must not be left half done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _requests.held += 1
    try:
        yield
    finally:
        _requests.held -= 1
        if _requests.pending and not _requests.held:
            _requests.pending = False
            raise Interrupted(_requests.number or signal.SIGINT)


def obey(stop: threading.Event) -> None:
    """Let `check_stop` raise in this thread once an event is set."""
    _of_thread.stop = stop


def check_stop() -> None:
    """Raise `KeyboardInterrupt` if the event of this thread is set."""
    stop: threading.Event | None = getattr(_of_thread, "stop", None)
    if stop is not None and stop.is_set():
        raise KeyboardInterrupt
