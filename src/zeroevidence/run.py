"""The run: what every computation is given beside its data and options."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from zeroevidence.errors import UsageError

LEVEL = 0.95  # unless the user says another
Step = Callable[[int, int], None]
Each = Callable[..., Iterable[Any]]  # such as `map`


def available_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def setting(default: Any, help: str, **details: Any) -> Any:
    """Return a field of an options object, with what the command line says and checks about it.

    Parameters
    ----------
    default
        Its default; `dataclasses.MISSING` where it must be given.
    help
        What it means; the part before the first semicolon is the same in all commands.
    details
        Of its range ``least``, ``above``, ``most`` and ``below``; ``choices``, where its type lists none; ``metavar``;
        ``default_text`` in place of the default; the ``spelling`` of the option; ``parse``, which makes its value from
        that of the option; ``optional``, its value where it stands alone; and ``argument``, where it is no option.
    """
    return field(default=default, metadata={"help": help, **details})


def check_whole(name: str, value: object, least: int, why: str = "") -> None:
    """Refuse a value that is no whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UsageError(f"{name}: expected a whole number from {least} on{why}, got {value!r}")


class StepCounter:
    """Counts steps, a few at a time, for a function that shows how many of all are done."""

    def __init__(self, step: Step, total: int) -> None:
        self.step, self.total, self.count = step, total, 0

    def add(self, count: int = 1) -> None:
        """Count further steps."""
        self.count += count
        if count:
            self.step(self.count, self.total)


def no_step(done: int, total: int) -> None:
    """Show nothing of the steps that are done."""


def no_progress(title: str, units: str) -> Step:  # noqa: ARG001
    """Return what is called with the steps done and of all, and shows nothing."""
    return no_step


def silent(message: str) -> None:
    """Say nothing."""


def never() -> bool:
    """Return that nothing asks to stop."""
    return False


@dataclass(frozen=True, slots=True)
class Run:
    """How a computation is carried out; nothing here but seed and level changes a value.

    Parameters
    ----------
    seed
        Of all random choices.
    level
        Confidence level of intervals, bounds and tests, and of the quantile of the null.
    cores
        Processes or threads that share the work; results do not depend on their number. Unless given, long work takes
        all cores, and the evaluation of one set of scores takes one.
    cache
        Folder of what is kept between runs, such as embeddings.
    progress
        Called with a title and a unit, returns what is called with the numbers done and of all.
    say
        Called with messages.
    stop
        Asked between steps whether to end.
    device
        Device of torch, such as ``cuda:1``; a GPU where there is one unless given.
    scheduler
        Address of a Dask scheduler, or a client of it.
    meanwhile
        What is left to do while a copy of this process reads the scores. Given where parts of one evaluation may be
        computed by copies: a command may be copied, which has no threads but its own, and no other program.

    Examples
    --------
    >>> Run(level=2.0)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: level: expected a number between 0 and 1, got 2.0
    """

    seed: int = setting(0, "Seed of all random choices.", least=0)
    level: float = setting(LEVEL, "Confidence level of intervals, bounds and tests.", above=0, below=1)
    cores: int | None = setting(
        None,
        "Processes that share the work; results do not depend on their number [default: one for each core].",
        spelling="--workers",
        least=1,
    )
    cache: Path | None = setting(None, "Where to keep embeddings between runs.", metavar="DIR", parse=Path)
    progress: Callable[[str, str], Step] = no_progress
    say: Callable[[str], None] = silent
    stop: Callable[[], bool] = never
    device: str | None = setting(None, "Device of torch, such as cuda:1 or cpu.", metavar="NAME")
    scheduler: object = setting(None, "Address of a Dask scheduler.", metavar="ADDRESS")
    meanwhile: Callable[[], object] | None = None

    @property
    def workers(self) -> int:
        """Processes or threads that share long work."""
        return self.cores or available_cores()

    def titled(self, title: str) -> Run:
        """The same run, whose progress has this title whatever is done."""
        return replace(self, progress=lambda _, units: self.progress(title, units))

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0)
        if not isinstance(self.level, (int, float)) or not 0.0 < self.level < 1.0:
            raise UsageError(f"level: expected a number between 0 and 1, got {self.level!r}")
