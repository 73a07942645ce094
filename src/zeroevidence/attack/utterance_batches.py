"""Utterances in batches of similar length, divided among processes or the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TypeAlias, TypeVar

from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError, Problem
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run, Step

Result = TypeVar("Result")
Batch: TypeAlias = list[tuple[int, Utterance]]
_BATCH = 16  # utterances at most
_PARTS = 16  # for each worker, so that all end at nearly the same time
_SINGLE = 8  # utterances that are no batch: the first, from which it is seen whether there is little work


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
    order = sorted(enumerate(utterances), key=lambda each: (-_length(each[1]), each[0]))
    longest, shortest = order[:-_SINGLE], order[-_SINGLE:]
    size = max(1, min(_BATCH, len(longest) // (_PARTS * run.workers)))
    parts = [[each] for each in shortest]
    parts += [longest[first : first + size] for first in range(0, len(longest), size)]
    outcomes: dict[int, Result | Problem] = {}
    with closing(compute_each(compute, parts, run, little=True)) as computed:
        for part in computed:
            outcomes.update(part)
            step(len(outcomes), len(utterances))
    ordered = sorted(outcomes.items())
    results = {at: outcome for at, outcome in ordered if not isinstance(outcome, Problem)}
    return results, [outcome for _, outcome in ordered if isinstance(outcome, Problem)]


def utterance_problem(utterance: Utterance, error: InputError) -> Problem:
    """Return an error as a problem of an utterance's file; one that names no file is about the utterance."""
    reason = error.reason if error.path == str(utterance.path) else f"utterance {utterance.id!r}: {error.reason}"
    return Problem(str(utterance.path), None, reason, error.remedy)


def _length(utterance: Utterance) -> int:
    """Return the approximate length: exact for parts of files, by the size of the file otherwise."""
    if utterance.end is not None:
        return utterance.end - (utterance.start or 0)
    try:
        return utterance.path.stat().st_size
    except OSError:
        return 0
