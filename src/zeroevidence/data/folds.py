"""Folds of speakers for small corpora: every speaker is evaluated by attackers trained on the others.

A third of few speakers is too few to detect a leak. In each fold the speakers of the fold are evaluated, and the others
are training and development speakers in turn. What few speakers show depends on who is in which fold and who learns
from whom, so the split into folds is repeated. Two blocks of speakers make a fold, and every two blocks meet in one of
the splits: a tournament, so three folds of six blocks make five splits. Speakers of a block are never apart, neither
among those who are evaluated nor among development speakers, so that one exchange of speakers within blocks is an
exchange in every split. Blocks of two would leave few exchanges, and so little power: very few speakers stay in their
folds, and only those to learn from and to calibrate on are dealt anew.

Folds, roles and the order of utterances depend on names and the seed; repeated splits on names alone, so that no seed
can be picked for its verdict.
"""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.data.corpus import Corpus, Utterance, assign_roles, by_speaker, random_key, sex_of
from zeroevidence.errors import UsageError

FEW_PEOPLE = 30  # fewer are cross-validated by default
FOLDS = 3  # as many evaluated, development and training speakers as in one split, for three times the work
SPLITS = 5  # in which every two of six blocks meet once
LEAST_PEOPLE = 6  # two of each part in every fold
_LEAST_IN_BLOCK = 3
_LEAST_OTHERS = 4  # two to learn from and two to choose and calibrate on


def default_folds(corpus: Corpus) -> int:
    """Return the default number of folds: 0 for many speakers, too few, or a corpus with roles or splits.

    Examples
    --------
    >>> from pathlib import Path
    >>> def corpus_of(count):
    ...     return Corpus(tuple(Utterance(f"{i}-{j}", f"{i}", Path(f"{i}-{j}")) for i in range(count) for j in (0, 1)))
    >>> [default_folds(corpus_of(count)) for count in (5, 9, 29, 30)]
    [0, 3, 3, 0]
    """
    return FOLDS if _is_open(corpus) and LEAST_PEOPLE <= len(_evaluable(corpus)) < FEW_PEOPLE else 0


def default_splits(corpus: Corpus) -> int:
    """Return the default number of splits into folds: one for many speakers."""
    return SPLITS if len(_evaluable(corpus)) < FEW_PEOPLE else 1


def draw_folds(corpus: Corpus, folds: int, seed: int = 0, splits: int = 1) -> tuple[Corpus, ...]:
    """Return the corpus once for each fold of each split, with roles and splits.

    Every speaker with two recordings, or two sessions where these are drawn apart, is evaluated in one fold of each
    split. Folds have equal shares of the sexes where these are known. The recordings of a speaker are halved into
    enrolment and trials, in the same way everywhere.

    Parameters
    ----------
    corpus
        A corpus without roles and splits.
    folds
        How many.
    seed
        Decides which speakers are in which fold of a single split.
    splits
        How often people are dealt to folds.

    Raises
    ------
    UsageError
        Where the corpus names roles or splits itself, or has too few people for as many folds.
    """
    if not _is_open(corpus):
        raise UsageError("the corpus names roles or splits; folds are drawn only where it names none")
    speakers = _evaluable(corpus)
    seeded = f"{seed}:" if splits == 1 else ""

    def ordered(key: str) -> list[str]:
        return sorted(speakers, key=lambda name: (sex_of(speakers[name]), random_key(f"{key}{name}"), name))

    names = ordered(seeded)
    largest = -(-len(names) // max(folds, 1))
    if folds < 2 or len(names) < 2 * folds or len(names) - largest < _LEAST_OTHERS:
        twice = "sessions" if corpus.by_session else "recordings"
        reason = f"{folds} folds of {len(names)} people with two {twice} each"
        others = f"at least {_LEAST_OTHERS} other people to learn from and to calibrate on"
        raise UsageError(f"{reason}; expected at least two folds of two people or more, and in each {others}")
    if splits > 1 and len(names) >= _LEAST_IN_BLOCK * 2 * folds:
        dealt = [fold for split in range(splits) for fold in _deal_blocks(names, folds, split)]
    else:
        orders = [names, *(ordered(f"{split}:") for split in range(1, splits))]
        evaluated = [names[number::folds] for number in range(folds)]
        # development people are every second of the others, not always the same ones
        dealt = [
            (fold, [name for name in order if name not in fold][number % 2 :: 2])
            for order in orders
            for number, fold in enumerate(evaluated)
        ]
    return tuple(_with_roles(corpus, evaluated, dev, seeded) for evaluated, dev in dealt)


def _deal_blocks(names: Sequence[str], folds: int, split: int) -> list[tuple[list[str], list[str]]]:
    """Return who is evaluated, and who is for development, in each fold of a split."""
    blocks = [names[first :: 2 * folds] for first in range(2 * folds)]
    evaluated = _round(2 * folds, split)
    dealt = []
    for fold, own in enumerate(evaluated):
        others = [block for number in range(1, folds) for block in evaluated[(fold + number) % folds]]
        dealt.append((_members(blocks, own), _members(blocks, others[split % 2 :: 2])))
    return dealt


def _round(players: int, number: int) -> list[list[int]]:
    """Return the pairs of one round of a tournament of an even number of players, of which there are one fewer.

    Examples
    --------
    >>> [_round(4, number) for number in range(3)]
    [[[3, 0], [1, 2]], [[3, 1], [2, 0]], [[3, 2], [0, 1]]]
    """
    circle = players - 1
    pairs = [[(number + place) % circle, (number - place) % circle] for place in range(1, players // 2)]
    return [[circle, number % circle], *pairs]


def _members(blocks: Sequence[Sequence[str]], numbers: Sequence[int]) -> list[str]:
    return [name for number in numbers for name in blocks[number]]


def _with_roles(corpus: Corpus, evaluated: Sequence[str], dev: Sequence[str], key: str) -> Corpus:
    """Return one fold: some people are evaluated, some are for development, and the others to learn from."""
    parts = dict.fromkeys(evaluated, "eval") | dict.fromkeys(dev, "dev")
    apart = corpus.by_session
    assigned = [
        utterance
        for name, utterances in by_speaker(corpus.utterances).items()
        for utterance in assign_roles(utterances, parts.get(name, "train"), f"{key}{name}", by_session=apart)
    ]
    return corpus.only(sorted(assigned, key=lambda utterance: utterance.id))


def _is_open(corpus: Corpus) -> bool:
    return all(utterance.role is None and utterance.split is None for utterance in corpus)


def _evaluable(corpus: Corpus) -> dict[str, list[Utterance]]:
    """Return the speakers with two recordings or more, or two sessions where these are apart, and their utterances."""
    single = set(corpus.single)
    return {name: items for name, items in by_speaker(corpus.utterances).items() if name not in single}
