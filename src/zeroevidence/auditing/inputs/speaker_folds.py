"""Roles of speakers where a corpus names none: one split of the people or, of few, folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.speech.corpus import Corpus, Utterance
from zeroevidence.data.speech.folds import LEAST_PEOPLE, default_folds, draw_folds
from zeroevidence.errors import InputError


def split_people(corpus: Corpus, folds: int | None, seed: int) -> tuple[Corpus, ...]:
    """Return the corpus with roles and splits for each fold of people; 0 folds for one split."""
    number = default_folds(corpus) if folds is None else folds
    return draw_folds(corpus, number, seed) if number else (corpus.assign(seed),)


def sets_of(embeddings: Embeddings, corpus: Corpus) -> EmbeddingSets:
    """Return embeddings by the roles that a corpus gives to their utterances."""
    utterances = list(corpus)
    place = {name: at for at, name in enumerate(embeddings.ids.tolist())}
    missing = next((utterance.id for utterance in utterances if utterance.id not in place), None)
    if missing is not None:
        raise InputError(f"utterance {missing!r} has no embedding")
    split = np.array(["train" if utterance.role == "train" else str(utterance.split) for utterance in utterances])
    role = np.array([str(utterance.role) for utterance in utterances])
    rows = np.array([place[utterance.id] for utterance in utterances])
    return EmbeddingSets.from_roles(embeddings.take(rows), split, role)


def draw_sets(
    original: Embeddings, anonymised: Embeddings, folds: int | None, seed: int
) -> list[tuple[EmbeddingSets, EmbeddingSets]]:
    """Return both kinds of speech in each fold of people; each embedding counts as a recording of its own."""
    only_one = np.setxor1d(original.ids, anonymised.ids)
    if len(only_one):
        raise InputError(f"utterance {str(only_one[0])!r} is in only one of original and protected speech")
    attributes = [
        {name: str(values[at]) for name, values in original.attributes.items()} for at in range(len(original))
    ]
    rows = zip(original.ids.tolist(), require_speakers(original).tolist(), attributes, strict=True)
    corpus = Corpus(tuple(Utterance(name, speaker, Path(name), attributes=values) for name, speaker, values in rows))
    return [(sets_of(original, fold), sets_of(anonymised, fold)) for fold in split_people(corpus, folds, seed)]


def check_trainable(corpus: Corpus, path: str | Path) -> None:
    """Refuse a corpus without training people before hours of work."""
    people = {utterance.speaker for utterance in corpus.select("train")}
    if not people:
        raise InputError(
            "every utterance has a role and none is train, so attackers have nobody to learn from; give some speakers "
            "the role train, or leave the roles out and they are drawn",
            path=path,
        )
    if len(people) < 2:
        raise InputError(
            f"{len(corpus.speakers)} speakers leave one to train attackers on, who learn from at least two; an audit "
            f"needs at least {LEAST_PEOPLE} speakers with two recordings each",
            path=path,
        )
