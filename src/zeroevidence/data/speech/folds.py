"""Folds of people: where a corpus is small, everybody is evaluated once, by attackers who learned from the others.

A third of few people is too few to tell a leak from chance. In each fold the people of the fold are evaluated, and the
others are training and development people in turn. Folds, roles and the order of utterances follow names and the seed.
"""

from __future__ import annotations

from zeroevidence.data.speech.corpus import Corpus, Utterance, by_speaker, drawn, recordings, sex_of, with_place
from zeroevidence.errors import UsageError

FEW_PEOPLE = 30  # fewer are cross-validated unless told otherwise
FOLDS = 3  # as many evaluated, development and training people as in one split, and thrice the work
LEAST_PEOPLE = 6  # two of each kind in every fold
_LEAST_OTHERS = 4  # two to learn from and two to choose and calibrate on


def default_folds(corpus: Corpus) -> int:
    """How many folds a corpus gets unless told: 0 where people are many, too few, or have roles or splits already.

    Examples
    --------
    >>> from pathlib import Path
    >>> def of(people):
    ...     return Corpus(tuple(Utterance(f"{i}-{j}", f"{i}", Path(f"{i}-{j}")) for i in range(people) for j in (0, 1)))
    >>> [default_folds(of(people)) for people in (5, 9, 29, 30)]
    [0, 3, 3, 0]
    """
    return FOLDS if _is_open(corpus) and LEAST_PEOPLE <= len(_evaluable(corpus)) < FEW_PEOPLE else 0


def draw_folds(corpus: Corpus, folds: int, seed: int = 0) -> tuple[Corpus, ...]:
    """The corpus once for each fold, with roles and splits: everybody with two recordings is evaluated in one of them.

    Sexes are shared out alike where they are known. The recordings of a person are halved into enrolment and trials in
    the same way wherever the person is evaluated or a development person.

    Raises
    ------
    UsageError
        Where the corpus names roles or splits itself, or has too few people for as many folds.
    """
    if not _is_open(corpus):
        raise UsageError("the corpus names roles or splits; folds are drawn only where it names none")
    people = _evaluable(corpus)
    names = sorted(people, key=lambda name: (sex_of(people[name]), drawn(f"{seed}:{name}"), name))
    largest = -(-len(names) // max(folds, 1))
    if folds < 2 or len(names) < 2 * folds or len(names) - largest < _LEAST_OTHERS:
        raise UsageError(
            f"{folds} folds of {len(names)} people with two recordings each; expected at least two folds of two people "
            f"or more, and in each at least {_LEAST_OTHERS} other people to learn from and to calibrate on"
        )
    return tuple(_fold(corpus, names, number, folds, seed) for number in range(folds))


def _fold(corpus: Corpus, names: list[str], number: int, folds: int, seed: int) -> Corpus:
    """One fold: every so many-th person is evaluated, and of the others every second one is a development person."""
    evaluated = names[number::folds]
    others = [name for name in names if name not in set(evaluated)]
    dev = set(others[number % 2 :: 2])  # turned from fold to fold, so that it is not always the same people
    places = dict.fromkeys(evaluated, "eval") | {name: "dev" if name in dev else "train" for name in others}
    found = [
        one
        for name, mine in by_speaker(corpus.utterances).items()
        for one in with_place(mine, places.get(name, "train"), f"{seed}:{name}")
    ]
    return corpus.only(sorted(found, key=lambda one: one.id))


def _is_open(corpus: Corpus) -> bool:
    return all(one.role is None and one.split is None for one in corpus)


def _evaluable(corpus: Corpus) -> dict[str, list[Utterance]]:
    """People who can be enrolled and tried, with what there is of each."""
    return {name: mine for name, mine in by_speaker(corpus.utterances).items() if len(recordings(mine)) >= 2}
