"""Scores of several groups of people as those of one."""

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
    """The scores of several files in one; identifiers that two of them use are the same thing.

    Examples
    --------
    >>> women = LoadedScores(Scores([2.0], [0.0]), "a", None, ())
    >>> men = LoadedScores(Scores([1.0], [0.5]), "a", None, ())
    >>> both = pool_groups([women, men], "sex")
    >>> both.data.target, str(both.loosened[0])
    (array([2., 1.]), 'pooled:sex:2')
    """
    scores = [one.data.to_scores() if isinstance(one.data, ScoreMatrix) else one.data for one in parts]
    target = np.concatenate([one.target for one in scores])
    nontarget = np.concatenate([one.nontarget for one in scores])
    told = [rule for one in parts for rule in one.loosened]
    loosened = (RelaxedRule("pooled", len(parts), how=label), *told)
    if any(one.target_pairs is None for one in scores):
        return LoadedScores(Scores(target, nontarget), parts[0].format, parts[0].key_format, loosened)
    enrolments, enrolment_speakers, enrolment_places = _identifiers(scores, "enrolment")
    trials, trial_speakers, trial_places = _identifiers(scores, "trial")
    target_pairs, nontarget_pairs = (
        Pairs(
            np.concatenate([places[part.enrolment] for places, part in zip(enrolment_places, own, strict=True)]),
            np.concatenate([places[part.trial] for places, part in zip(trial_places, own, strict=True)]),
        )
        for own in ([_pairs(one.target_pairs) for one in scores], [_pairs(one.nontarget_pairs) for one in scores])
    )
    people = enrolment_speakers, trial_speakers
    data = Scores(target, nontarget, target_pairs, nontarget_pairs, enrolments, trials, *people)
    return LoadedScores(data, parts[0].format, parts[0].key_format, loosened)


def _pairs(pairs: Pairs | None) -> Pairs:
    assert pairs is not None
    return pairs


def _identifiers(scores: Sequence[Scores], side: Side) -> tuple[StrArray, StrArray | None, list[np.ndarray]]:
    """All identifiers of a side, who is behind each where known, and where those of each part stand among them."""
    own = [getattr(one, f"{side}s") for one in scores]
    names, inverse = np.unique(np.concatenate(own), return_inverse=True)
    places = np.split(inverse, np.cumsum([len(one) for one in own])[:-1])
    known = [getattr(one, f"{side}_speakers") for one in scores]
    if all(one is None for one in known):
        return names, None, places
    speakers = np.full(len(names), "", dtype=object)
    for part, at in zip(known, places, strict=True):
        if part is None:
            continue
        other = (speakers[at] != "") & (part != "") & (speakers[at] != part)
        if other.any():
            first = int(np.flatnonzero(other)[0])
            raise InputError(f"{names[at[first]]!s} is {speakers[at[first]]} in one group and {part[first]} in another")
        speakers[at] = np.where(part == "", speakers[at], part)
    return names, speakers.astype(np.str_), places
