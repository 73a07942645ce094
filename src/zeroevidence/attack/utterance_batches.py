"""Utterances in batches of similar length, and what came of each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError, Problem
from zeroevidence.run import Step

Result = TypeVar("Result")
Batch: TypeAlias = list[tuple[int, Utterance]]


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
