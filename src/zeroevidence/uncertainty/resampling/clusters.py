"""Clusters of scores: people where they are known, else recordings, else single scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.uncertainty.resampling.draws import draw_groups, generator
from zeroevidence.uncertainty.spread import effective_number

_SPARSE = 16  # possible codes for each given one, beyond which sorting is quicker than a table
_TABLE = 1 << 16  # codes that have a place each, however few are given
Unit: TypeAlias = Literal["speaker", "identifier", "score"]


@dataclass(frozen=True, slots=True, eq=False)
class Clusters:
    """The clusters of the enrolment and of the trial of each score."""

    unit: Unit
    names: StrArray
    target: Pairs
    nontarget: Pairs


def find_clusters(scores: Scores) -> Clusters | None:
    """Return people where they are known, identifiers where only these are; None where neither is.

    Trials of unknown speakers are clusters of their own. Without any speakers, identifiers that targets say to be of
    one person are one cluster.
    """
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return None
    assert scores.enrolments is not None
    assert scores.trials is not None
    if scores.enrolment_speakers is None or scores.trial_speakers is None:
        return _of_identifiers(scores, scores.enrolments, scores.trials)
    # The mark keeps an identifier that stands in for an unknown speaker apart from a speaker of that name.
    sides = [
        np.where(speakers != "", speakers, np.char.add("?", ids))
        for ids, speakers in (
            (scores.enrolments, scores.enrolment_speakers),
            (scores.trials, scores.trial_speakers),
        )
    ]
    names, codes = np.unique(np.concatenate(sides), return_inverse=True)
    return _clusters("speaker", scores, names, codes)


def _of_identifiers(scores: Scores, enrolments: StrArray, trials: StrArray) -> Clusters:
    """Identifiers, those of mated pairs joined.

    An identifier on both sides is one recording, unless that would make one person of non-targets: then both sides
    count in their own way.
    """
    assert scores.target_pairs is not None
    first, second = scores.target_pairs.enrolment, len(enrolments) + scores.target_pairs.trial
    for apart in (False, True):
        names, codes = np.unique(np.concatenate((enrolments, trials)), return_inverse=True)
        if apart:
            names, codes = np.concatenate((enrolments, trials)), np.arange(len(enrolments) + len(trials))
        merged = _clusters("identifier", scores, *_merge(names, codes, first, second))
        if not (merged.nontarget.enrolment == merged.nontarget.trial).any():
            return merged
    names, codes = np.unique(np.concatenate((enrolments, trials)), return_inverse=True)
    return _clusters("identifier", scores, names, codes)


def _clusters(unit: Unit, scores: Scores, names: StrArray, codes: IntArray) -> Clusters:
    """Clusters from a code for every enrolment and then every trial."""
    assert scores.enrolments is not None
    assert scores.target_pairs is not None
    assert scores.nontarget_pairs is not None
    enrolment, trial = codes[: len(scores.enrolments)], codes[len(scores.enrolments) :]
    target, nontarget = (
        Pairs(enrolment[pairs.enrolment], trial[pairs.trial]) for pairs in (scores.target_pairs, scores.nontarget_pairs)
    )
    return Clusters(unit, names, target, nontarget)


def _merge(names: StrArray, codes: IntArray, first: IntArray, second: IntArray) -> tuple[StrArray, IntArray]:
    """Merge clusters that are the same person; each has the first of its names."""
    from scipy.sparse import coo_matrix  # slow to import, and needed only where speakers are not named
    from scipy.sparse.csgraph import connected_components

    n = len(names)
    same = coo_matrix((np.ones(len(first)), (codes[first], codes[second])), shape=(n, n))
    _, person = connected_components(same, directed=False)
    _, lowest = np.unique(person, return_index=True)
    return names[lowest], person.astype(np.int64)[codes]


def number_codes(codes: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the codes below `limit` that may be used, ascending, and the place of each code among them.

    All of them, which spares sorting, unless they are far more than there are codes.
    """
    if limit <= max(len(codes), _TABLE):
        return np.arange(limit), codes
    return compact_codes(codes, limit)


def compact_codes(codes: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Return the codes below `limit` that are used, ascending, and the place of each code among them.

    Examples
    --------
    >>> used, place = compact_codes(np.array([7, 2, 7]), 10)
    >>> used.tolist(), place.tolist()
    ([2, 7], [1, 0, 1])
    """
    if limit > _SPARSE * len(codes):
        return np.unique(codes, return_inverse=True)
    is_used = np.zeros(limit, dtype=bool)
    is_used[codes] = True
    used = np.flatnonzero(is_used)
    places = np.empty(limit, dtype=np.int64)
    places[used] = np.arange(len(used))
    return used, places[codes]


def find_owners(clusters: Clusters | None) -> tuple[IntArray, IntArray] | None:
    """Return the person of each target and non-target where scores are of people and not of comparisons.

    That is so where both sides of every pair are one person, and nobody has scores of both classes (an attribute).
    """
    if clusters is None or clusters.unit != "speaker":
        return None
    target, nontarget = clusters.target, clusters.nontarget
    if any((pairs.enrolment != pairs.trial).any() for pairs in (target, nontarget)):
        return None
    if len(np.intersect1d(target.trial, nontarget.trial)):
        return None
    return target.trial, nontarget.trial


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Groups of clusters that are left out: one by one, or several together where there are very many.

    Parameters
    ----------
    unit
        What a cluster is.
    number
        How many groups there are.
    target
        The groups on both sides of each target.
    nontarget
        The groups on both sides of each non-target.
    clusters
        Number of clusters with scores of the class that fewer clusters have.
    people
        Effective number of clusters: of how many of equal size they are worth.
    shares
        The share of the scores that each group contributes, of the class to which it contributes more.
    """

    unit: Unit
    number: int
    target: Pairs
    nontarget: Pairs
    clusters: int
    people: float
    shares: FloatArray


def find_groups(scores: Scores, most: int, seed: int, clusters: Clusters | None = None) -> Groups:
    """Return at most `most` groups of people, recordings or single scores."""
    if clusters is None:
        return _of_scores(len(scores.target), len(scores.nontarget), most, seed)
    n = len(clusters.names)
    sizes = [_sizes(pairs, n) for pairs in (clusters.target, clusters.nontarget)]
    group = draw_groups(n, most, seed)
    number = int(group.max()) + 1
    shares = [np.bincount(group, weights=size, minlength=number) / size.sum() for size in sizes]
    target, nontarget = clusters.target, clusters.nontarget
    if number < n:
        target, nontarget = (Pairs(group[pairs.enrolment], group[pairs.trial]) for pairs in (target, nontarget))
    people = min(effective_number(size) for size in sizes)
    fewest = min(int(np.count_nonzero(size)) for size in sizes)
    return Groups(clusters.unit, number, target, nontarget, fewest, people, np.maximum(*shares))


def _sizes(pairs: Pairs, n: int) -> FloatArray:
    """Return the number of scores of each cluster, half of a score on either side."""
    return (np.bincount(pairs.enrolment, minlength=n) + np.bincount(pairs.trial, minlength=n)) / 2.0


def _of_scores(n_target: int, n_nontarget: int, most: int, seed: int) -> Groups:
    """Deal scores of unknown origin to groups of nearly equal size."""
    number = min(most, n_target, n_nontarget)
    rng = generator(seed, 3, 1)
    groups = [rng.permutation(np.arange(n) % number) for n in (n_target, n_nontarget)]
    pairs = [Pairs(group, group) for group in groups]
    people = min(n_target, n_nontarget)
    return Groups("score", number, pairs[0], pairs[1], people, float(people), np.full(number, 1.0 / number))
