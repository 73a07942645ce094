"""People who are named: nearly all of their recordings, and few of others', are attributed to them.

An average over recordings hides a single person who is recognised every time. A name that comes up for everybody names
nobody, so a person counts only if the name is put to their recordings more often than to those of others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import lru_cache
from math import ceil, exp, lgamma, log, log1p

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.views import NameCounts, SearchView

NAMED_SHARE = 0.8  # of a person's recordings
LEAST_RECORDINGS = 2
_SIGNIFICANCE = 0.01
_HAIR = 1e-9


def first_identity(scores: FloatArray) -> IntArray:
    """Return the column that scores strictly above all others in each row; -1 where none does.

    Examples
    --------
    >>> first_identity(np.array([[0.1, 0.9, 0.2], [0.5, 0.5, 0.1]])).tolist()
    [1, -1]
    """
    alone = np.count_nonzero(scores == scores.max(axis=1, keepdims=True), axis=1) == 1
    return np.where(alone, scores.argmax(axis=1), -1)


def count_names(speaker: IntArray, first: IntArray, people: IntArray, compared: IntArray | None = None) -> NameCounts:
    """Return how often the name of each person came first.

    Parameters
    ----------
    speaker
        Number of the speaker of each trial.
    first
        Number of the identity that came first on each trial; -1 where none did.
    people
        Numbers of the people to count, of those who have trials.
    compared
        With how many trials of others each of these people was compared; with all of them unless given.
    """
    size = int(max(speaker.max(initial=0), first.max(initial=0), people.max(initial=0))) + 1
    trials = np.bincount(speaker, minlength=size)[people]
    right = np.bincount(speaker[first == speaker], minlength=size)[people]
    times = np.bincount(first[first >= 0], minlength=size)[people]
    others = len(speaker) - trials if compared is None else compared
    return NameCounts(trials, right, others, times - right)


def join_names(parts: Sequence[NameCounts]) -> NameCounts:
    """Return the counts of several folds of people as one."""
    return NameCounts(*(np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(NameCounts)))


def countable_people(counts: NameCounts) -> BoolArray:
    """Return who has enough recordings to be counted: two."""
    return np.asarray(counts.trials >= LEAST_RECORDINGS)


def named_people(counts: NameCounts) -> BoolArray:
    """Return who is named: in at least 80 % of their recordings, and more often than in those of others.

    "More often" is a binomial test at 1 %, with the rate at which the name comes up for others.

    Examples
    --------
    >>> counts = NameCounts(*np.array([[5, 5, 1, 4], [4, 5, 1, 2], [90] * 4, [0, 60, 0, 0]]))
    >>> named_people(counts).tolist()  # the second is a name for everybody, the third has one recording
    [True, False, False, False]
    """
    enough = countable_people(counts) & (counts.named >= NAMED_SHARE * counts.trials - _HAIR)
    named = np.zeros(len(counts.trials), dtype=bool)
    for place in np.flatnonzero(enough).tolist():
        rate = counts.falsely[place] / max(int(counts.compared[place]), 1)
        named[place] = _tail(int(counts.trials[place]), int(counts.named[place]), float(rate)) <= _SIGNIFICANCE
    return named


def named_by_guessing(trials: IntArray, identities: int) -> float:
    """Return the share of people whom guesses would name in at least 80 % of their recordings.

    Examples
    --------
    >>> round(named_by_guessing(np.array([2, 2]), 10), 12)
    0.01
    """
    numbers, people = np.unique(trials[trials >= LEAST_RECORDINGS], return_counts=True)
    chances = [_tail(n, ceil(NAMED_SHARE * n - _HAIR), 1.0 / identities) for n in numbers.tolist()]
    return float(np.average(chances, weights=people)) if len(people) else 0.0


@lru_cache(maxsize=4096)
def _tail(trials: int, least: int, rate: float) -> float:
    """Probability of at least so many successes."""
    if rate >= 1.0 or least <= 0:
        return 1.0
    if rate <= 0.0:
        return 0.0
    ways = [lgamma(trials + 1) - lgamma(k + 1) - lgamma(trials - k + 1) for k in range(least, trials + 1)]
    powers = (k * log(rate) + (trials - k) * log1p(-rate) for k in range(least, trials + 1))
    return min(1.0, sum(exp(way + power) for way, power in zip(ways, powers, strict=True)))


def _describe_guessing(view: SearchView) -> str:
    guessing = 0.0 if view.names is None else named_by_guessing(view.names.trials, view.identities)
    return f"guessing {guessing:.2g}"


@search_measure(
    "people_named",
    "people named",
    unit="rate",
    place=5,
    headline=19,
    interval=None,
    null=True,
    method=_describe_guessing,
    references=("clopper1934",),
)
def _people_named(view: SearchView) -> FloatArray | None:
    """Share of people to whom at least 80 % of their recordings, and few of other people's, are attributed."""
    if view.names is None or not (people := np.count_nonzero(countable_people(view.names))):
        return None
    return np.array([np.count_nonzero(named_people(view.names)) / people])
