"""Which rows may be compared: about the same data, people and attacker, on the same trials."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import SearchedTrials
from zeroevidence.uncertainty.groups import find_clusters

_SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """Places of rows that differ in their system alone, their systems' names, and what tells them from other groups."""

    places: tuple[int, ...]
    names: tuple[str, ...]
    labels: dict[str, str]


def matched(
    labels: Sequence[Mapping[str, str]], abouts: Sequence[About], sources: Sequence[str]
) -> list[ComparedGroup]:
    """Groups of two and more rows on the same data set, people and attacker.

    Bounds (speech without protection, noise) are compared only where there is nothing else: they are not about a
    system.

    Parameters
    ----------
    labels
        Labels of each row.
    abouts
        What each row is about.
    sources
        Where each row came from; names systems that are called alike.

    Examples
    --------
    >>> labels = [{"system": s, "sex": sex} for s in ("a", "b") for sex in ("f", "m")]
    >>> [(group.names, group.labels) for group in matched(labels, [About()] * 4, ["a", "a", "b", "b"])]
    [(('a', 'b'), {'sex': 'f'}), (('a', 'b'), {'sex': 'm'})]
    """
    groups: dict[Hashable, list[int]] = {}
    for place, (row_labels, about) in enumerate(zip(labels, abouts, strict=True)):
        groups.setdefault(_key(row_labels, about), []).append(place)
    several = [places for places in groups.values() if len(places) > 1]
    compared_groups = [places for places in several if not abouts[places[0]].is_bound] or several
    if not compared_groups:
        raise UsageError(
            f"none of {len(labels)} rows are about the same data and attacker; expected two systems, or labels that "
            "differ in the system alone"
        )
    descriptions = [_words(labels[places[0]], abouts[places[0]]) for places in compared_groups]
    return [
        ComparedGroup(tuple(places), _names(places, labels, sources), _telling(description, descriptions))
        for places, description in zip(compared_groups, descriptions, strict=True)
    ]


def _key(labels: Mapping[str, str], about: About) -> Hashable:
    other_labels = tuple(sorted((name, text) for name, text in labels.items() if name != _SYSTEM))
    return other_labels, about.question, about.role, about.threat, about.attribute, about.of_class, about.attack


def _words(labels: Mapping[str, str], about: About) -> dict[str, str]:
    """Labels of a group without the system; the attacker by name, which says what is compared with what."""
    description = {name: text for name, text in labels.items() if name != _SYSTEM}
    if about.threat is None:
        return description
    rest = {name: text for name, text in description.items() if name not in ("enrolment", "trial", "attacker")}
    return {**rest, "attacker": about.threat.name}


def _telling(description: Mapping[str, str], descriptions: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Of a group's labels those that other groups do not share."""
    return {name: text for name, text in description.items() if any(other.get(name) != text for other in descriptions)}


def _names(places: Sequence[int], labels: Sequence[Mapping[str, str]], sources: Sequence[str]) -> tuple[str, ...]:
    """A name for each system: its label where these differ, else where it came from, else its number."""
    systems = [labels[place].get(_SYSTEM, "") for place in places]
    for names in (systems, [sources[place] for place in places]):
        if len(set(names)) == len(names) and all(names):
            return tuple(names)
    return tuple(str(number) for number in range(1, len(places) + 1))


def tell_apart(results: Sequence[Sequence[Evaluation]], names: Sequence[str]) -> list[list[Evaluation]]:
    """Return the rows of several results, where systems that two of them call alike are called as the results are.

    They are two systems where attacks of the same labels have other numbers.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> plain = Options(intervals=0, null=0)
    >>> one, two = ([evaluate([2.0], [x], labels={"system": "b5"}, options=plain)] for x in (1.0, 3.0))
    >>> [row.labels["system"] for rows in tell_apart([one, two], ["ours", "theirs"]) for row in rows]
    ['ours', 'theirs']
    >>> [row.labels["system"] for rows in tell_apart([one, one], ["ours", "theirs"]) for row in rows]
    ['b5', 'b5']
    """
    first: dict[Hashable, tuple[int, Evaluation]] = {}
    alike: set[str | None] = set()
    for number, rows in enumerate(results):
        for row in rows:
            system = row.labels.get(_SYSTEM)
            before, other = first.setdefault((system, _key(row.labels, row.about)), (number, row))
            if row.about.role == "attack" and before != number and _numbers(row) != _numbers(other):
                alike.add(system)
    return [
        [
            replace(row, labels={**row.labels, _SYSTEM: name}) if row.labels.get(_SYSTEM) in alike else row
            for row in rows
        ]
        for rows, name in zip(results, names, strict=True)
    ]


def _numbers(row: Evaluation) -> tuple[dict[str, object], dict[str, int]]:
    return {name: result.value for name, result in row.metrics.items()}, dict(row.counts)


def check_same_trials(systems: Sequence[tuple[str, Scores]]) -> None:
    """Refuse systems that were scored on other trials, saying which."""
    ordered = [(name, _named(name, scores)) for name, scores in systems]
    if all(_are_same(ordered[0][1], scores) for _, scores in ordered[1:]):
        return
    reference_name, reference = systems[0][0], _trials(ordered[0][1])
    for name, scores in ordered[1:]:
        trials = _trials(scores)
        for kind in ("target", "nontarget"):
            for (here_name, here), (there_name, there) in permutations(((reference_name, reference), (name, trials))):
                missing = np.setdiff1d(here[kind], there[kind])
                if len(missing):
                    example = " ".join(str(missing[0]).split("\x1f"))
                    raise InputError(
                        f"{len(missing)} {kind} trial(s) of {here_name} are not {kind} trials of {there_name}, among "
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
    names = ((first.enrolments, second.enrolments), (first.trials, second.trials))
    pairs = ((first.target_pairs, second.target_pairs), (first.nontarget_pairs, second.nontarget_pairs))
    sides = [(getattr(here, side), getattr(there, side)) for here, there in pairs for side in ("enrolment", "trial")]
    return all(np.array_equal(here, there) for here, there in (*names, *sides))


def _trials(scores: Scores) -> dict[str, StrArray]:
    assert scores.enrolments is not None
    assert scores.trials is not None
    first = np.char.add(scores.enrolments, "\x1f")
    pairs = {"target": scores.target_pairs, "nontarget": scores.nontarget_pairs}
    return {
        kind: np.char.add(first[each.enrolment], scores.trials[each.trial])
        for kind, each in pairs.items()
        if each is not None
    }


def check_same_people(systems: Sequence[tuple[str, Scores]]) -> None:
    """Refuse systems of the same trials whose files say differently whose they are: other people would be left out."""
    sides = [_sides(scores) for _, scores in systems]
    for (name, _), other in zip(systems[1:], sides[1:], strict=True):
        if not all(map(np.array_equal, sides[0], other)):
            raise _other_people(systems[0][0], name)


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
