"""Refuse to pair systems that were not measured on the same trials of the same people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.replicates import SearchedTrials
from zeroevidence.uncertainty.resampling.clusters import find_clusters


def check_same_trials(systems: Sequence[tuple[str, Scores]]) -> None:
    """Refuse systems that were scored on other trials, saying which."""
    if len(systems) < 2:
        return
    ordered = [(name, _named(name, scores)) for name, scores in systems]
    if all(_are_same(ordered[0][1], scores) for _, scores in ordered[1:]):
        return
    reference_name, reference = systems[0][0], _trials(ordered[0][1])
    for name, scores in ordered[1:]:
        trials = _trials(scores)
        for kind in ("target", "nontarget"):
            here, there = reference[kind], trials[kind]
            for data, one_name, other, other_name in (
                (here, reference_name, there, name),
                (there, name, here, reference_name),
            ):
                missing = np.setdiff1d(data, other)
                if len(missing):
                    example = " ".join(str(missing[0]).split("\x1f"))
                    raise InputError(
                        f"{len(missing)} {kind} trial(s) of {one_name} are not {kind} trials of {other_name}, among "
                        f"them {example!r}; expected the same trials in all systems"
                    )


def _named(name: str, scores: Scores) -> Scores:
    """Scores in the order of their names; refused where there are none."""
    if scores.enrolments is None or scores.trials is None:
        raise InputError(
            f"{name}: nobody said who was compared with whom, so trials cannot be paired with other systems"
        )
    return sort_by_name(scores)


def _are_same(first: Scores, second: Scores) -> bool:
    """Whether the same pairs were compared, each as often; both are in the order of their names."""
    if not (np.array_equal(first.enrolments, second.enrolments) and np.array_equal(first.trials, second.trials)):  # type: ignore[arg-type]
        return False
    kinds = ((first.target_pairs, second.target_pairs), (first.nontarget_pairs, second.nontarget_pairs))
    return all(
        here is not None
        and there is not None
        and np.array_equal(here.enrolment, there.enrolment)
        and np.array_equal(here.trial, there.trial)
        for here, there in kinds
    )


def _trials(scores: Scores) -> dict[str, StrArray]:
    def identifiers(pairs: Pairs | None) -> StrArray:
        assert pairs is not None
        assert scores.enrolments is not None
        assert scores.trials is not None
        first = np.char.add(scores.enrolments, "\x1f")[pairs.enrolment]
        joined: StrArray = np.char.add(first, scores.trials[pairs.trial])
        return joined

    return {"target": identifiers(scores.target_pairs), "nontarget": identifiers(scores.nontarget_pairs)}


def check_same_people(systems: Sequence[tuple[str, Scores]]) -> None:
    """Refuse systems of the same trials whose files say differently whose they are: other people would be left out."""
    if len(systems) < 2:
        return
    first, reference = systems[0][0], _sides(systems[0][1])
    for name, scores in systems[1:]:
        for here, there in zip(reference, _sides(scores), strict=True):
            if not np.array_equal(here, there):
                raise _other_people(first, name)


def _sides(scores: Scores) -> list[IntArray]:
    """Who is on each side of each score, as numbers in the order in which people are left out."""
    clusters = find_clusters(sort_by_name(scores))
    assert clusters is not None, "scores without names cannot be paired"
    return [side for pairs in (clusters.target, clusters.nontarget) for side in (pairs.enrolment, pairs.trial)]


def _other_people(first: str, second: str) -> InputError:
    return InputError(f"{first} and {second} do not agree on whose the trials are; expected the same people")


def check_same_search(searches: Sequence[tuple[str, SearchedTrials]]) -> None:
    """Refuse searches of other trials, of other people or through another number of identities."""
    for name, other in searches[1:]:
        first, reference = searches[0]
        different = np.setxor1d(reference.trials, other.trials)
        if len(different):
            raise InputError(
                f"{len(different)} trial(s) are in {first} or {name} only, among them {str(different[0])!r}; expected "
                "the same trials in all systems"
            )
        if reference.identities != other.identities:
            raise InputError(
                f"{first} searches {reference.identities} identities and {name} {other.identities}; expected the same "
                "search"
            )
        if not np.array_equal(_by_trial(reference), _by_trial(other)):
            raise _other_people(first, name)


def _by_trial(search: SearchedTrials) -> IntArray:
    """Whose each trial is, as a number, in the order of the names of trials."""
    return np.unique(search.speakers, return_inverse=True)[1][np.argsort(search.trials)]
