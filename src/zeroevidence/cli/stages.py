"""Where the time of a command went: seconds of its stages, and cores and GPU that they kept busy."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.cli.printing import echo, terminal_progress
from zeroevidence.run import Step

BETWEEN = "between stages"
_LONG = 10.0  # seconds of a command that says where they went
_GLANCE = 0.5  # seconds between two looks at a GPU


class StageTimer:
    """Adds up what each stage of a command spent; a stage is what progress has a title for.

    What a stage spent are the seconds that passed, that cores worked for the command, and that a GPU worked; those that
    are not known are NaN.

    Parameters
    ----------
    gpu_seconds
        Returns the seconds that a GPU has worked so far, NaN where there is none.
    """

    def __init__(self, gpu_seconds: Callable[[], float] = lambda: np.nan) -> None:
        self._gpu_seconds, self._lock = gpu_seconds, threading.Lock()
        self._since, self._title = self._look(), BETWEEN
        self._stages: dict[str, FloatArray] = {}

    def _look(self) -> FloatArray:
        return np.array([time.monotonic(), tree_seconds(os.getpid()), self._gpu_seconds()])

    def enter(self, title: str) -> None:
        """Count what is spent from now on for a stage."""
        with self._lock:
            if title != self._title:
                now = self._look()
                passed = np.maximum(now - self._since, 0.0)  # the time of processes that end is counted a little later
                self._stages[self._title] = self._stages.get(self._title, 0.0) + passed
                self._since, self._title = now, title

    def progress(self, shown: Callable[[str, str], Step]) -> Callable[[str, str], Step]:
        """Return a function that shows progress and counts its stages; what two threads do at once is one stage."""
        running: dict[int, str] = {}  # by thread

        def begin(title: str, units: str) -> Step:
            step, name = shown(title, units), f"{title}, {units}"

            def count(done: int, total: int) -> None:
                step(done, total)
                mark(name, is_over=done >= total)

            mark(name, is_over=False)
            return count

        def mark(name: str, *, is_over: bool) -> None:
            if is_over:
                running.pop(threading.get_ident(), None)
            else:
                running[threading.get_ident()] = name
            self.enter(" + ".join(dict.fromkeys(running.values())) or BETWEEN)

        return begin

    def stages(self) -> dict[str, FloatArray]:
        """Return what was spent so far by stage, in their order; the time between them last."""
        title = self._title
        self.enter("")
        self.enter(title)
        between = self._stages.get(BETWEEN, np.zeros(3))
        return {name: spent for name, spent in self._stages.items() if name not in (BETWEEN, "")} | {BETWEEN: between}


def tree_seconds(root: int) -> float:
    """Return the processor time of a process and all below it, ended ones included; NaN where nothing tells."""
    parents, used = dict[int, int](), dict[int, float]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(fields[1])
        used[int(folder.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    if root not in used:
        return np.nan
    tree, waiting = set[int](), [root]
    while waiting:
        tree.add(parent := waiting.pop())
        waiting += [process for process, above in parents.items() if above == parent and process not in tree]
    return sum(used.get(process, 0.0) for process in tree)


@contextmanager
def watched_gpu() -> Iterator[Callable[[], float]]:
    """Provide a function that returns the seconds that a GPU has worked, by `nvidia-smi`; NaN where there is none."""
    query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    if shutil.which(query[0]) is None:
        yield lambda: np.nan
        return
    process = subprocess.Popen(
        [*query, "-lms", str(round(1000 * _GLANCE))], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    shares = list[float]()

    def read() -> None:
        assert process.stdout is not None
        shares.extend(int(line) / 100 for line in process.stdout if line.strip().isdecimal())

    threading.Thread(target=read, daemon=True).start()
    try:
        yield lambda: _GLANCE * sum(shares)
    finally:
        process.kill()
        process.wait()


def timed_progress() -> Callable[[str, str], Step]:
    """Return the progress of a terminal; when the command ends it says where its time went, if it took long."""
    context = click.get_current_context()
    timer = StageTimer(context.with_resource(watched_gpu()))
    context.call_on_close(lambda: _print_stages(timer.stages()))
    return timer.progress(terminal_progress)


def _print_stages(stages: Mapping[str, FloatArray]) -> None:
    """Print what was spent by stage to standard error, where the whole took long."""
    from zeroevidence.report.table import Cell, Table, Tables, names_column, numbers_column
    from zeroevidence.report.writers import write_tables

    spent = np.array([*stages.values(), sum(stages.values())])
    seconds = spent[:, 0]
    if seconds[-1] < _LONG:
        return
    columns: list[Any] = [
        (names_column("where the time went"), [*stages, "all"]),
        (numbers_column("time", unit="s"), [Cell(each, format=".1f") for each in seconds.tolist()]),
    ]
    for title, busy in zip(("cores busy", "GPU busy"), spent.T[1:], strict=True):
        if not np.isnan(busy[-1]):
            means = busy / np.maximum(seconds, 1e-9)
            columns.append((numbers_column(title), [Cell(mean, format=".2f") for mean in means.tolist()]))
    for line in write_tables(Tables([Table.of(*columns)]), "text").rstrip().splitlines():
        echo(line, err=True)
