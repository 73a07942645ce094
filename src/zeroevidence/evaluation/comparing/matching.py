"""Which rows are about the same data, people and attacker, so that only their systems differ."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from zeroevidence.errors import UsageError
from zeroevidence.evaluation.rows.about import About

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
    >>> told = [{"system": s, "sex": sex} for s in ("a", "b") for sex in ("f", "m")]
    >>> [(one.names, one.labels) for one in matched(told, [About()] * 4, ["a", "a", "b", "b"])]
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
