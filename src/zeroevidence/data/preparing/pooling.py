"""Pooling of the scores of several groups of speakers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError

Side = Literal["enrolment", "trial"]


def pool_groups(parts: Sequence[LoadedScores], label: str) -> LoadedScores:
    """Return the scores of several files as one; identifiers that several files share are the same.

    Parameters
    ----------
    parts
        The scores of each group.
    label
        The label that groups differ by.

    Examples
    --------
    >>> women = LoadedScores(Scores([2.0], [0.0]), "a", None, ())
    >>> men = LoadedScores(Scores([1.0], [0.5]), "a", None, ())
    >>> both = pool_groups([women, men], "sex")
    >>> both.data.target, str(both.relaxed[0])
    (array([2., 1.]), 'pooled:sex:2')
    """
    scores = [part.data.to_scores() if isinstance(part.data, ScoreMatrix) else part.data for part in parts]
    target = np.concatenate([group.target for group in scores])
    nontarget = np.concatenate([group.nontarget for group in scores])
    relaxed = (RelaxedRule("pooled", len(parts), how=label), *(rule for part in parts for rule in part.relaxed))
    known = [part.same_session for part in parts if part.same_session is not None]
    same_session = sum(known[1:], known[0]) if known else None
    if any(group.target_pairs is None for group in scores):
        return LoadedScores(Scores(target, nontarget), parts[0].format, parts[0].key_format, relaxed)
    enrolments, enrolment_speakers, enrolment_places = _identifiers(scores, "enrolment")
    trials, trial_speakers, trial_places = _identifiers(scores, "trial")
    target_pairs, nontarget_pairs = (
        Pairs(
            np.concatenate([places[part.enrolment] for places, part in zip(enrolment_places, pairs, strict=True)]),
            np.concatenate([places[part.trial] for places, part in zip(trial_places, pairs, strict=True)]),
        )
        for pairs in (
            [_pairs(group.target_pairs) for group in scores],
            [_pairs(group.nontarget_pairs) for group in scores],
        )
    )
    speakers = enrolment_speakers, trial_speakers
    data = Scores(target, nontarget, target_pairs, nontarget_pairs, enrolments, trials, *speakers)
    return LoadedScores(data, parts[0].format, parts[0].key_format, relaxed, same_session)


def _pairs(pairs: Pairs | None) -> Pairs:
    assert pairs is not None
    return pairs


def _identifiers(scores: Sequence[Scores], side: Side) -> tuple[StrArray, StrArray | None, list[np.ndarray]]:
    """Return all identifiers of a side, their speakers where known, and the positions of each group's identifiers."""
    identifiers = [getattr(group, f"{side}s") for group in scores]
    names, inverse = np.unique(np.concatenate(identifiers), return_inverse=True)
    places = np.split(inverse, np.cumsum([len(group) for group in identifiers])[:-1])
    group_speakers = [getattr(group, f"{side}_speakers") for group in scores]
    if all(group is None for group in group_speakers):
        return names, None, places
    speakers = np.full(len(names), "", dtype=object)
    for part, at in zip(group_speakers, places, strict=True):
        if part is None:
            continue
        other = (speakers[at] != "") & (part != "") & (speakers[at] != part)
        if other.any():
            first = int(np.flatnonzero(other)[0])
            raise InputError(f"{names[at[first]]!s} is {speakers[at[first]]} in one group and {part[first]} in another")
        speakers[at] = np.where(part == "", speakers[at], part)
    return names, speakers.astype(np.str_), places
