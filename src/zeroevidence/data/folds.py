"""Folds of speakers for small corpora: every speaker is evaluated once, by attackers trained on the others.

A third of few speakers is too few to detect a leak. In each fold the speakers of the fold are evaluated, and the others
are training and development speakers in turn. Folds, roles and the order of utterances depend on names and the seed.
"""

from __future__ import annotations

from zeroevidence.data.corpus import Corpus, Utterance, assign_roles, by_speaker, random_key, sex_of
from zeroevidence.errors import UsageError

FEW_PEOPLE = 30  # fewer are cross-validated by default
FOLDS = 3  # as many evaluated, development and training speakers as in one split, for three times the work
LEAST_PEOPLE = 6  # two of each part in every fold
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


def draw_folds(corpus: Corpus, folds: int, seed: int = 0) -> tuple[Corpus, ...]:
    """Return the corpus once for each fold, with roles and splits.

    Every speaker with two recordings, or two sessions where these are drawn apart, is evaluated in one fold. Folds have
    equal shares of the sexes where these are known. The recordings of a speaker are halved into enrolment and trials in
    the same way in all folds.

    Parameters
    ----------
    corpus
        A corpus without roles and splits.
    folds
        How many.
    seed
        Decides which speakers are in which fold.

    Raises
    ------
    UsageError
        Where the corpus names roles or splits itself, or has too few people for as many folds.
    """
    if not _is_open(corpus):
        raise UsageError("the corpus names roles or splits; folds are drawn only where it names none")
    speakers = _evaluable(corpus)
    names = sorted(speakers, key=lambda name: (sex_of(speakers[name]), random_key(f"{seed}:{name}"), name))
    largest = -(-len(names) // max(folds, 1))
    if folds < 2 or len(names) < 2 * folds or len(names) - largest < _LEAST_OTHERS:
        reason = (
            f"{folds} folds of {len(names)} people with two {'sessions' if corpus.by_session else 'recordings'} each"
        )
        others = f"at least {_LEAST_OTHERS} other people to learn from and to calibrate on"
        raise UsageError(f"{reason}; expected at least two folds of two people or more, and in each {others}")
    return tuple(_fold(corpus, names, number, folds, seed) for number in range(folds))


def _fold(corpus: Corpus, names: list[str], number: int, folds: int, seed: int) -> Corpus:
    """Return one fold: every `folds`-th speaker is evaluated, and every second of the others is for development."""
    evaluated = names[number::folds]
    others = [name for name in names if name not in evaluated]
    dev = set(others[number % 2 :: 2])  # alternates from fold to fold, so that it is not always the same speakers
    parts = dict.fromkeys(evaluated, "eval") | {name: "dev" if name in dev else "train" for name in others}
    apart = corpus.by_session
    assigned = [
        utterance
        for name, utterances in by_speaker(corpus.utterances).items()
        for utterance in assign_roles(utterances, parts.get(name, "train"), f"{seed}:{name}", by_session=apart)
    ]
    return corpus.only(sorted(assigned, key=lambda utterance: utterance.id))


def _is_open(corpus: Corpus) -> bool:
    return all(utterance.role is None and utterance.split is None for utterance in corpus)


def _evaluable(corpus: Corpus) -> dict[str, list[Utterance]]:
    """Return the speakers with two recordings or more, or two sessions where these are apart, and their utterances."""
    single = set(corpus.single)
    return {name: items for name, items in by_speaker(corpus.utterances).items() if name not in single}
