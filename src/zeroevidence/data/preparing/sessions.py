"""Comparisons of recordings from one session, which are left out.

Two recordings of one session share the room, the microphone and the day. A target pair of one session is alike for
these reasons too, and exchanging people cannot tell them from the voice: whoever is exchanged, room and voice go
together. A non-target pair of one session is alike for the same reasons and would hide what voices disclose. So both
are left out, of values, intervals and nulls, and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from zeroevidence._typing import BoolArray, IntArray, StrArray
from zeroevidence.data.loaded_scores import LoadedScores, SameSession
from zeroevidence.data.matrix import ScoreMatrix, complete_rows
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError

Sessions: TypeAlias = Mapping[str, str | Collection[str]]


def leave_out_same_session(scores: Scores | ScoreMatrix | LoadedScores, sessions: Sessions) -> LoadedScores:
    """Return the scores without comparisons of one session, and how many these were.

    Sessions of one name are one session, whoever was recorded in them.

    Parameters
    ----------
    scores
        Scores with the identifiers of enrolments and trials.
    sessions
        The session, or the sessions, that each enrolment and each trial was recorded in.

    Raises
    ------
    InputError
        Where an identifier has no session, or where all target or all non-target pairs are of one session.

    Examples
    --------
    >>> scores = ScoreMatrix([[2.0, 0.0], [1.5, 0.5]], [0, 0], trials=["a1", "a2"], enrolments=["ann", "bob"])
    >>> loaded = leave_out_same_session(scores, {"ann": "monday", "a1": "monday", "a2": "friday", "bob": "sunday"})
    >>> loaded.data, loaded.same_session
    (Scores(1 target, 2 nontarget), SameSession(target=1, nontarget=0, trials=1))
    """
    loaded = scores if isinstance(scores, LoadedScores) else LoadedScores(scores, "arrays", None, ())
    data = loaded.data
    if data.trials is None or data.enrolments is None:
        raise InputError("the scores do not name what was compared; sessions need identifiers of enrolments and trials")
    codes: dict[str, int] = {}
    enrolments = _session_codes(data.enrolments, sessions, "enrolment", codes)
    trials = _session_codes(data.trials, sessions, "trial", codes)
    pairs = data.to_scores() if isinstance(data, ScoreMatrix) else data
    assert pairs.target_pairs is not None
    assert pairs.nontarget_pairs is not None
    same = [_share_session(side, enrolments, trials) for side in (pairs.target_pairs, pairs.nontarget_pairs)]
    numbers = [int(np.count_nonzero(side)) for side in same]
    for side, number, kind in zip(same, numbers, ("target", "non-target"), strict=True):
        if number == len(side):
            raise InputError(
                f"all {number} {kind} pairs are of one session each, so the room cannot be told from the voice; "
                "expected enrolments and trials of different sessions"
            )
    if not any(numbers):
        return replace(loaded, same_session=SameSession(0, 0))
    kept = _without(pairs, *same)
    lost = _complete_trials(data) & set(_names(kept.trials).tolist()) - _complete_trials(kept)
    return replace(loaded, data=kept, same_session=SameSession(numbers[0], numbers[1], len(lost)))


def _session_codes(names: StrArray, sessions: Sessions, kind: str, codes: dict[str, int]) -> IntArray:
    """Return the numbers of the sessions of each identifier in a row, filled up with its first one."""
    rows: list[list[int]] = []
    for name in names.tolist():
        of_name = sessions.get(name, ())
        held = [of_name] if isinstance(of_name, str) else sorted(of_name)
        if not held:
            raise InputError(f"no session for {kind} {name!r}; expected one for every enrolment and every trial")
        rows.append([codes.setdefault(session, len(codes)) for session in held])
    most = max(map(len, rows))
    return np.array([row + row[:1] * (most - len(row)) for row in rows])


def _share_session(pairs: Pairs, enrolments: IntArray, trials: IntArray) -> BoolArray:
    """Return which pairs have a session on both sides."""
    same = np.zeros(len(pairs), dtype=bool)
    for of_enrolment in enrolments.T:
        for of_trial in trials.T:
            same |= of_enrolment[pairs.enrolment] == of_trial[pairs.trial]
    return same


def _without(scores: Scores, target: BoolArray, nontarget: BoolArray) -> Scores:
    """Return scores without some targets and non-targets, and without identifiers that have no score left."""
    assert scores.target_pairs is not None
    assert scores.nontarget_pairs is not None
    sides = ((scores.target_pairs, ~target), (scores.nontarget_pairs, ~nontarget))
    kept = [Pairs(pairs.enrolment[stays], pairs.trial[stays]) for pairs, stays in sides]
    enrolments, new_enrolments = np.unique(np.concatenate([pairs.enrolment for pairs in kept]), return_inverse=True)
    trials, new_trials = np.unique(np.concatenate([pairs.trial for pairs in kept]), return_inverse=True)
    n_target = len(kept[0])
    return Scores(
        scores.target[~target],
        scores.nontarget[~nontarget],
        Pairs(new_enrolments[:n_target], new_trials[:n_target]),
        Pairs(new_enrolments[n_target:], new_trials[n_target:]),
        enrolments=_names(scores.enrolments)[enrolments],
        trials=_names(scores.trials)[trials],
        enrolment_speakers=None if scores.enrolment_speakers is None else scores.enrolment_speakers[enrolments],
        trial_speakers=None if scores.trial_speakers is None else scores.trial_speakers[trials],
    )


def _complete_trials(data: Scores | ScoreMatrix) -> set[str]:
    """Return the trials that were compared with every enrolment, none where the scores do not form rows."""
    if isinstance(data, ScoreMatrix):
        return set(data.trial_names.tolist())
    rows = complete_rows(data)
    return set() if rows is None else set(rows[0].trial_names.tolist())


def _names(names: StrArray | None) -> StrArray:
    assert names is not None
    return names
