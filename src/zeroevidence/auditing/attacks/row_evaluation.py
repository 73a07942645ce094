"""Rows of an audit, evaluated while the next attacks are carried out; many of them in processes of their own."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass

from zeroevidence.attack.speech.batches import compute_ahead
from zeroevidence.attack.speech.processes import in_processes
from zeroevidence.data.folded_scores import FoldedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation import About, Evaluation, Options, evaluate

_MANY = 4000  # permutations of all rows together, from which on starting processes pays


@dataclass(frozen=True, slots=True, eq=False)
class RowTask:
    """The scores of an attack, and how they are evaluated; see `evaluate` for each."""

    scores: ScoreMatrix | FoldedScores
    dev: ScoreMatrix | None
    labels: Mapping[str, str]
    about: About
    options: Options


@dataclass(frozen=True, slots=True)
class EvaluatedRow:
    """A row, and the seconds that its evaluation took."""

    row: Evaluation
    seconds: float


def evaluate_task(task: RowTask, workers: int = 1) -> EvaluatedRow:
    """Return the row of a task."""
    started = time.perf_counter()
    row = evaluate(
        task.scores, dev=task.dev, labels=task.labels, about=task.about, options=task.options, workers=workers
    )
    return EvaluatedRow(row, time.perf_counter() - started)


def evaluate_tasks(
    tasks: Iterable[RowTask], number: int, options: Options, *, workers: int, processes: int
) -> Generator[EvaluatedRow, None, None]:
    """Yield the rows of tasks, in order; a task is asked for as soon as it can be begun.

    Parameters
    ----------
    tasks
        The tasks.
    number
        How many there are, or nearly.
    options
        How to measure.
    workers
        Processes for the resampling of a row, where rows are evaluated one after the other.
    processes
        Processes of which each evaluates a row at a time; with one, and of few rows, they are evaluated here.
    """
    if processes == 1 or number * options.null < _MANY:
        yield from (evaluate_task(task, workers) for task in tasks)
        return
    with in_processes(_evaluator) as compute, closing(compute_ahead(compute, tasks, processes)) as rows:
        yield from rows


def _evaluator() -> Callable[[RowTask], EvaluatedRow]:
    """Return the function of a process."""
    return evaluate_task
