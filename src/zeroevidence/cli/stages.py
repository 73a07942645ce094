"""Where the time of a command went: seconds of its stages, and cores and GPU that they kept busy."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from zeroevidence.cli.printing import echo, terminal_progress
from zeroevidence.run import Step

BETWEEN = "between stages"
_LONG = 10.0  # seconds of a command that says where they went
_GLANCE = 0.5  # seconds between two looks at a GPU


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds that passed, that cores worked for the command, and that a GPU worked; what is not known is None."""

    seconds: float = 0.0
    cores: float | None = 0.0
    gpu: float | None = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.seconds + other.seconds, _sum(self.cores, other.cores), _sum(self.gpu, other.gpu))

    def __sub__(self, other: Spent) -> Spent:
        return Spent(
            self.seconds - other.seconds,
            None if self.cores is None or other.cores is None else max(self.cores - other.cores, 0.0),
            None if self.gpu is None or other.gpu is None else self.gpu - other.gpu,
        )


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


class StageTimer:
    """Adds up what each stage of a command spent; a stage is what progress has a title for.

    Parameters
    ----------
    gpu_seconds
        Returns the seconds that a GPU has worked so far, None where there is none.
    """

    def __init__(self, gpu_seconds: Callable[[], float | None] = lambda: None) -> None:
        self._gpu_seconds, self._lock = gpu_seconds, threading.Lock()
        self._since, self._title = self._look(), BETWEEN
        self._stages: dict[str, Spent] = {}

    def _look(self) -> Spent:
        return Spent(time.monotonic(), tree_seconds(os.getpid()), self._gpu_seconds())

    def enter(self, title: str) -> None:
        """Count what is spent from now on for a stage."""
        with self._lock:
            if title != self._title:
                now = self._look()
                before = self._stages.get(self._title)
                passed = now - self._since
                self._stages[self._title] = passed if before is None else before + passed
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

    def stages(self) -> dict[str, Spent]:
        """Return what was spent so far by stage, in their order; the time between them last."""
        title = self._title
        self.enter("")
        self.enter(title)
        between = self._stages.get(BETWEEN, Spent())
        return {name: spent for name, spent in self._stages.items() if name not in (BETWEEN, "")} | {BETWEEN: between}


def tree_seconds(root: int) -> float | None:
    """Return the processor time of a process and all below it, ended ones included; None where nothing tells."""
    parents, used = dict[int, int](), dict[int, float]()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(folder.name)] = int(fields[1])
        used[int(folder.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    if root not in used:
        return None
    tree, waiting = set[int](), [root]
    while waiting:
        tree.add(parent := waiting.pop())
        waiting += [process for process, above in parents.items() if above == parent and process not in tree]
    return sum(used.get(process, 0.0) for process in tree)


@contextmanager
def watched_gpu() -> Iterator[Callable[[], float | None]]:
    """Provide a function that returns the seconds that a GPU has worked, by `nvidia-smi`; None where there is none."""
    query = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
    if shutil.which(query[0]) is None:
        yield lambda: None
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


def _print_stages(stages: Mapping[str, Spent]) -> None:
    """Print what was spent by stage to standard error, where the whole took long."""
    from zeroevidence.evaluation.rows.measure_result import Column
    from zeroevidence.report.table import Cell, Table, Tables, names_column, numbers_column
    from zeroevidence.report.writers import write_tables

    rows = {**stages, "all": sum(stages.values(), Spent())}
    if rows["all"].seconds < _LONG:
        return
    columns: list[tuple[Column, Sequence[Cell | str]]] = [
        (names_column("where the time went"), list(rows)),
        (numbers_column("time", unit="s"), [Cell(spent.seconds, format=".1f") for spent in rows.values()]),
    ]
    for title, name in (("cores busy", "cores"), ("GPU busy", "gpu")):
        if getattr(rows["all"], name) is not None:
            means = [getattr(spent, name) / max(spent.seconds, 1e-9) for spent in rows.values()]
            columns.append((numbers_column(title), [Cell(mean, format=".2f") for mean in means]))
    for line in write_tables(Tables([Table.of(*columns)]), "text").rstrip().splitlines():
        echo(line, err=True)
