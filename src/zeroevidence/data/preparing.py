"""Scores and embeddings prepared for measuring: direction, order of names, recordings on both sides, sessions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, are_numbers, rank_names, require_speakers, row_marks, row_numbers
from zeroevidence.data.loaded_scores import LoadedScores, RelaxedRule, SameSession
from zeroevidence.data.matrix import ScoreMatrix, complete_rows
from zeroevidence.data.scores import Pairs, Scores, frozen
from zeroevidence.errors import InputError

FEWEST = 10  # of either class; fewer can be reversed by chance
_CLEARLY = 0.75  # the share of either class from which on scores are taken for distances


def are_distances(data: Scores | ScoreMatrix) -> bool:
    """Return whether three quarters of the targets score below three quarters of the non-targets.

    No protection does that to similarities: where nothing is recognised, both classes score alike.

    Examples
    --------
    >>> near, far = [0.1 * i for i in range(10)], [2.0 + i for i in range(10)]
    >>> are_distances(Scores(near, far)), are_distances(Scores(far, near)), are_distances(Scores(near, near))
    (True, False, False)
    """
    scores = data.to_scores()
    if min(len(scores.target), len(scores.nontarget)) < FEWEST:
        return False
    return are_reversed(scores.target, scores.nontarget, _CLEARLY)


def are_reversed(target: FloatArray, nontarget: FloatArray, share: float) -> bool:
    """Return whether this share of the targets scores below this share of the non-targets: about, an EER above it."""
    return _quantile(target, share) < _quantile(nontarget, 1.0 - share)


def _quantile(values: FloatArray, share: float) -> float:
    """Return the score that this share of scores does not exceed; it may be infinite."""
    at = round(share * (len(values) - 1))
    return float(np.partition(values, at)[at])


def check_direction(data: Scores | ScoreMatrix, path: str | Path) -> None:
    """Refuse a file of distances."""
    if are_distances(data):
        expected = "higher scores for targets, or --negate to turn the scores round"
        raise InputError(f"targets score lower than nontargets, as distances do; expected {expected}", path=path)


Named = TypeVar("Named", bound=Scores | ScoreMatrix | Embeddings)
_BITS = 63  # of a number that is not negative
_BLOCK = 1 << 16  # scores that stay in the cache together


def sort_by_name(data: Named) -> Named:
    """Return the same data with identifiers sorted, and scores or vectors in their order.

    Examples
    --------
    >>> ordered = sort_by_name(ScoreMatrix([[1.0, 2.0], [4.0, 3.0]], [1, 0], enrolments=["bob", "ann"]))
    >>> ordered.scores.tolist(), ordered.mated.tolist(), ordered.enrolments.tolist()
    ([[2.0, 1.0], [3.0, 4.0]], [0, 1], ['ann', 'bob'])
    """
    sort: Any = _embeddings if isinstance(data, Embeddings) else _matrix if isinstance(data, ScoreMatrix) else _scores
    ordered: Named = sort(data)
    return ordered


def _embeddings(data: Embeddings) -> Embeddings:
    rows = np.arange(len(data))
    if np.array_equal(data.ids, rows.astype(np.str_)):  # numbers, which keep their positions
        return data
    order = np.lexsort((data.ids,) if data.speakers is None else (data.ids, data.speakers))
    return data if np.array_equal(order, rows) else data.take(order)


def _matrix(matrix: ScoreMatrix) -> ScoreMatrix:
    rows = _sorting(matrix.trials, matrix.trial_speakers)
    columns = _sorting(matrix.enrolments, matrix.enrolment_speakers)
    if rows is None and columns is None:
        return matrix
    scores, mated = matrix.scores, matrix.mated
    if columns is not None:
        place = np.append(np.argsort(columns), -1)  # the last is for those who are not enrolled
        scores, mated = scores[:, columns], place[mated]
    if rows is not None:
        scores, mated = scores[rows], mated[rows]
    trials, trial_speakers = (_taken(names, rows) for names in (matrix.trials, matrix.trial_speakers))
    enrolments, speakers = (_taken(names, columns) for names in (matrix.enrolments, matrix.enrolment_speakers))
    return ScoreMatrix(scores, mated, trials, enrolments, trial_speakers, speakers)


def _scores(scores: Scores) -> Scores:
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return scores
    enrolments, trials = _sorting(scores.enrolments), _sorting(scores.trials)
    ranks = _inverse(enrolments), _inverse(trials)
    target, target_pairs = _in_pair_order(scores.target, scores.target_pairs, *ranks)
    nontarget, nontarget_pairs = _in_pair_order(scores.nontarget, scores.nontarget_pairs, *ranks)
    names = _taken(scores.enrolments, enrolments), _taken(scores.trials, trials)
    speakers = _taken(scores.enrolment_speakers, enrolments), _taken(scores.trial_speakers, trials)
    return Scores(target, nontarget, target_pairs, nontarget_pairs, *names, *speakers)


def _inverse(order: IntArray | None) -> IntArray | None:
    """Return the new position of each old one."""
    if order is None:
        return None
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    return places


def _in_pair_order(
    values: FloatArray, pairs: Pairs, enrolments: IntArray | None, trials: IntArray | None
) -> tuple[FloatArray, Pairs]:
    """Sort the scores of one class by enrolment and trial, and by score where a pair was compared more than once.

    `enrolments` and `trials` are the new positions of identifiers, None where they stay.
    """
    n = len(values)
    bits = [int(most).bit_length() for most in (_highest(pairs.trial, trials), n - 1)]
    if _highest(pairs.enrolment, enrolments).bit_length() + sum(bits) > _BITS:
        return _by_columns(values, *(_placed(*side) for side in ((pairs.enrolment, enrolments), (pairs.trial, trials))))
    # enrolment, trial and place of a score in one number: sorting these is far quicker than sorting places by them
    keys = np.empty(n, dtype=np.int64)
    for start in range(0, n, _BLOCK):
        span = slice(start, start + _BLOCK)
        key = keys[span]
        np.left_shift(_placed(pairs.enrolment[span], enrolments), bits[0], out=key)
        key |= _placed(pairs.trial[span], trials)
        key <<= bits[1]
        key |= np.arange(start, start + len(key))
    if (keys[1:] <= keys[:-1]).any():
        keys.sort()
    return _unpacked(values, keys, *bits)


def _unpacked(values: FloatArray, keys: IntArray, bits_trial: int, bits_score: int) -> tuple[FloatArray, Pairs]:
    """Return scores and pairs in the order of sorted keys."""
    ordered = np.empty_like(values)
    enrolment, trial = np.empty_like(keys), np.empty_like(keys)
    again = False
    for start in range(0, len(keys), _BLOCK):
        span = slice(start, start + _BLOCK)
        key = keys[span]
        ordered[span] = values[key & ((1 << bits_score) - 1)]
        pair = keys[max(start - 1, 0) : start + len(key)] >> bits_score
        again = again or bool((pair[1:] == pair[:-1]).any())
        pair = pair[-len(key) :]
        np.bitwise_and(pair, (1 << bits_trial) - 1, out=trial[span])
        np.right_shift(pair, bits_trial, out=enrolment[span])
    if again:
        return _by_columns(ordered, enrolment, trial)
    return frozen(ordered), Pairs(frozen(enrolment), frozen(trial))


def _by_columns(values: FloatArray, enrolment: IntArray, trial: IntArray) -> tuple[FloatArray, Pairs]:
    """Sort column by column, which works for any numbers, and for pairs that were compared more than once."""
    order = np.lexsort((values, trial, enrolment))
    return values[order], Pairs(enrolment[order], trial[order])


def _highest(side: IntArray, places: IntArray | None) -> int:
    return int(side.max()) if places is None else len(places) - 1


def _placed(side: IntArray, places: IntArray | None) -> IntArray:
    return side if places is None else places[side]


def _sorting(*candidates: StrArray | None) -> IntArray | None:
    """Return the order that sorts the first names that are known; None where none are or they are sorted already."""
    for names in candidates:
        if names is not None:
            order = np.argsort(names, kind="stable")
            return None if bool((np.diff(order) > 0).all()) else order
    return None


def _taken(names: StrArray | None, order: IntArray | None) -> StrArray | None:
    return names if names is None or order is None else names[order]


ALLOW_SAME = "Take targets that compare a recording with itself, instead of refusing."


def compared_with_itself(names: Sequence[str] | StrArray, *, allow: bool) -> tuple[RelaxedRule, ...]:
    """Return the rule that was relaxed for recordings that are compared with themselves; unless allowed, refuse them.

    Examples
    --------
    >>> compared_with_itself(["u1", "u2"], allow=False)
    Traceback (most recent call last):
        ...
    zeroevidence.errors.InputError: 'u1' is compared with itself, as are 1 more; expected another recording of the \
same person, or --allow-same
    """
    if len(names) and not allow:
        more = f", as are {len(names) - 1} more" if len(names) > 1 else ""
        reason = f"{str(names[0])!r} is compared with itself{more}"
        raise InputError(f"{reason}; expected another recording of the same person, or --allow-same")
    return (RelaxedRule("same-recordings", len(names)),) if len(names) else ()


def check_pairs(loaded: LoadedScores, *, allow_same: bool) -> LoadedScores:
    """Return scores whose targets compare different recordings; by name, where there are names.

    Numbers are none: 3 may be the third enrolment and the third trial.

    Examples
    --------
    >>> scores = ScoreMatrix([[2.0, 0.0], [0.5, 1.5]], [0, 1], trials=["a1", "b1"], enrolments=["a1", "b2"])
    >>> [str(rule) for rule in check_pairs(LoadedScores(scores, "arrays", None, ()), allow_same=True).relaxed]
    ['same-recordings:1']
    """
    data = loaded.data
    if data.trials is None or data.enrolments is None:
        return loaded
    pairs = Pairs(data.mated, np.arange(len(data.mated))) if isinstance(data, ScoreMatrix) else data.target_pairs
    assert pairs is not None
    same = row_numbers(data.enrolments, data.trials)[pairs.trial] == np.where(pairs.enrolment < 0, -2, pairs.enrolment)
    names = data.trials[pairs.trial[same]]
    rules = compared_with_itself(names[~np.char.isdecimal(names)], allow=allow_same)
    return replace(loaded, relaxed=(*loaded.relaxed, *rules)) if rules else loaded


def find_same(trial: Embeddings, enrol: Embeddings) -> tuple[BoolArray, BoolArray]:
    """Return which trials are enrolled for their speaker, by name or by an equal vector, and which equal somebody else.

    A name that is also the speaker's, and a row number, are no names of a recording. Equal vectors of different people
    may be one text in one voice.

    Examples
    --------
    >>> trial = Embeddings([[1.0, 0.0], [0.0, 1.0]], ["u1", "u2"], ["ada", "bob"])
    >>> enrol = Embeddings([[0.0, 1.0], [0.5, 0.5]], ["u1", "e2"], ["ada", "bob"])
    >>> [which.tolist() for which in find_same(trial, enrol)]
    [[True, False], [False, True]]
    """
    people = enrol.ids if enrol.speakers is None else enrol.speakers
    speakers = require_speakers(trial, "trial")
    at = np.full(len(trial), -1) if are_numbers(enrol.ids) else row_numbers(enrol.ids, trial.ids)
    same = (at >= 0) & (people[at] == speakers) & (trial.ids != speakers)
    if trial.vectors.shape[1] != enrol.vectors.shape[1]:
        return same, np.zeros_like(same)
    names, person = rank_names(np.concatenate((people, speakers)))
    _, mark = rank_names(np.concatenate((row_marks(enrol.vectors), row_marks(trial.vectors))))
    enrolled, tried = np.split(mark * len(names) + person, [len(people)])
    enrolled = np.unique(enrolled)  # each vector once for each person
    holders = np.bincount(enrolled // len(names), minlength=int(mark.max()) + 1)
    of_speaker = np.isin(tried, enrolled)
    return same | of_speaker, holders[tried // len(names)] > of_speaker


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
    pairs = data.to_scores()
    assert pairs.target_pairs is not None
    assert pairs.nontarget_pairs is not None
    same = [_share_session(side, enrolments, trials) for side in (pairs.target_pairs, pairs.nontarget_pairs)]
    numbers = [int(np.count_nonzero(side)) for side in same]
    for side, number, kind in zip(same, numbers, ("target", "non-target"), strict=True):
        if number == len(side):
            reason = f"all {number} {kind} pairs are of one session each, so the room cannot be told from the voice"
            raise InputError(f"{reason}; expected enrolments and trials of different sessions")
    if not any(numbers):
        return replace(loaded, same_session=SameSession(0, 0))
    kept = _without(pairs, *same)
    assert kept.trials is not None
    lost = _complete_trials(data) & set(kept.trials.tolist()) - _complete_trials(kept)
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


def acquired_scores(target: FloatArray, nontarget: FloatArray, *about: Any) -> tuple[Scores, tuple[RelaxedRule, ...]]:
    """Return scores without NaN, and the rules that count these as failures to acquire.

    Parameters
    ----------
    target
        Scores of targets.
    nontarget
        Scores of non-targets.
    about
        Further arguments of `Scores`.

    Raises
    ------
    InputError
        Where all scores of targets, or of non-targets, are failures.

    Examples
    --------
    >>> scores, rules = acquired_scores(np.array([2.0, np.nan]), np.array([0.5]))
    >>> scores.target, [str(rule) for rule in rules]
    (array([2.]), ['failures:target:1'])
    """
    classes = {"target": target, "nontarget": nontarget}
    failed = {name: np.isnan(scores) for name, scores in classes.items()}
    counts = {name: int(np.count_nonzero(mask)) for name, mask in failed.items()}
    if not any(counts.values()):
        return Scores(target, nontarget, *about), ()
    for name, count in counts.items():
        if count == len(classes[name]):
            raise InputError(f"all {count} {name} scores are failures to acquire; expected some that are not")
    filled = {name: np.where(failed[name], 0.0, values) for name, values in classes.items()}
    scores = Scores(filled["target"], filled["nontarget"], *about)
    rules = tuple(RelaxedRule("failures", count, how=name) for name, count in counts.items() if count)
    return _without(scores, **failed), rules


def _without(scores: Scores, target: BoolArray, nontarget: BoolArray) -> Scores:
    """Return scores without some targets and non-targets, and without identifiers that have no score left."""
    kept_scores = scores.target[~target], scores.nontarget[~nontarget]
    if scores.target_pairs is None or scores.nontarget_pairs is None:
        return Scores(*kept_scores)
    sides = ((scores.target_pairs, ~target), (scores.nontarget_pairs, ~nontarget))
    kept = [Pairs(pairs.enrolment[stays], pairs.trial[stays]) for pairs, stays in sides]
    enrolments, new_enrolments = np.unique(np.concatenate([pairs.enrolment for pairs in kept]), return_inverse=True)
    trials, new_trials = np.unique(np.concatenate([pairs.trial for pairs in kept]), return_inverse=True)
    n_target = len(kept[0])
    target_pairs = Pairs(new_enrolments[:n_target], new_trials[:n_target])
    nontarget_pairs = Pairs(new_enrolments[n_target:], new_trials[n_target:])
    names = _taken(scores.enrolments, enrolments), _taken(scores.trials, trials)
    speakers = _taken(scores.enrolment_speakers, enrolments), _taken(scores.trial_speakers, trials)
    return Scores(*kept_scores, target_pairs, nontarget_pairs, *names, *speakers)


def _complete_trials(data: Scores | ScoreMatrix) -> set[str]:
    """Return the trials that were compared with every enrolment, none where the scores do not form rows."""
    if isinstance(data, ScoreMatrix):
        return set(data.trial_names.tolist())
    rows = complete_rows(data)
    return set() if rows is None else set(rows[0].trial_names.tolist())
