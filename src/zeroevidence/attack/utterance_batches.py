"""Utterances in batches of similar length, divided among processes or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from time import monotonic
from typing import TypeAlias, TypeVar

from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError, Problem
from zeroevidence.optional import one_blas_thread
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run, Step

Result = TypeVar("Result")
Batch: TypeAlias = list[tuple[int, Utterance]]
_BATCH = 16  # utterances at most
_PARTS = 16  # for each worker, so that all end at nearly the same time
# Seconds of work that stay in this process: workers take 0.6 s to start and as much again to import what they need, and
# hardly any time once they were started, so little work is not held up and long work loses next to nothing.
_HERE = 0.5


def compute_in_batches(
    compute: Callable[[Batch], list[tuple[int, Result | Problem]]],
    utterances: Sequence[Utterance],
    step: Step,
    run: Run = Run(),
) -> tuple[dict[int, Result], list[Problem]]:
    """Return the results of a function for all utterances by their places, and the problems, in order.

    Parameters
    ----------
    compute
        The function, which is given utterances with their places and returns a result or a problem for each place.
    utterances
        The utterances; on a cluster the function gets their absolute paths.
    step
        Called with the number of utterances done and of all.
    run
        Its workers, or those of its scheduler, share the batches, of which those of the longest utterances come first.
    """
    if run.scheduler is not None:
        utterances = [replace(utterance, path=utterance.path.absolute()) for utterance in utterances]
    waiting = sorted(enumerate(utterances), key=lambda each: (_length(each[1]), -each[0]), reverse=True)
    outcomes: dict[int, Result | Problem] = {}
    begun = monotonic()
    while waiting and run.scheduler is None and monotonic() - begun < _HERE:
        with one_blas_thread():
            outcomes.update(compute([waiting.pop()]))
        step(len(outcomes), len(utterances))
    size = max(1, min(_BATCH, len(waiting) // (_PARTS * run.workers)))
    parts = [waiting[first : first + size] for first in range(0, len(waiting), size)]
    with closing(compute_each(compute, parts, run)) as computed:
        for part in computed if parts else ():
            outcomes.update(part)
            step(len(outcomes), len(utterances))
    ordered = sorted(outcomes.items())
    results = {at: outcome for at, outcome in ordered if not isinstance(outcome, Problem)}
    return results, [outcome for _, outcome in ordered if isinstance(outcome, Problem)]


def shortest_first(utterances: Sequence[Utterance], size: int) -> list[Batch]:
    """Return batches of utterances with their places, the shortest first."""
    order = sorted(range(len(utterances)), key=lambda at: (_length(utterances[at]), at))
    return [[(at, utterances[at]) for at in order[first : first + size]] for first in range(0, len(order), size)]


def collect(
    parts: Iterable[list[tuple[int, Result | Problem]]], total: int, step: Step
) -> tuple[dict[int, Result], list[Problem]]:
    """Return the results of batches by place, and the problems; `step` gets the number done and `total`."""
    results: dict[int, Result] = {}
    problems: list[Problem] = []
    for part in parts:
        for at, outcome in part:
            if isinstance(outcome, Problem):
                problems.append(outcome)
            else:
                results[at] = outcome
        step(len(results) + len(problems), total)
    return results, problems


def utterance_problem(utterance: Utterance, error: InputError) -> Problem:
    """Return an error as a problem of an utterance's file; one that names no file is about the utterance."""
    reason = error.reason if error.path == str(utterance.path) else f"utterance {utterance.id!r}: {error.reason}"
    return Problem(str(utterance.path), None, reason)


def _length(utterance: Utterance) -> int:
    """Return the approximate length: exact for parts of files, by the size of the file otherwise."""
    if utterance.end is not None:
        return utterance.end - (utterance.start or 0)
    try:
        return utterance.path.stat().st_size
    except OSError:
        return 0
