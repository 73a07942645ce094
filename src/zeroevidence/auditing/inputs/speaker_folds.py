"""Who is trained on, chosen on and evaluated where nobody said: one split of the people or, of few, folds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.auditing.inputs.embedding_sets import EmbeddingSets
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.speech.corpus import Corpus, Utterance
from zeroevidence.data.speech.folds import default_folds, draw_folds
from zeroevidence.errors import InputError


def split_people(corpus: Corpus, folds: int | None, seed: int) -> tuple[Corpus, ...]:
    """The corpus with roles and splits, once for each fold of people: as many as is usual unless given, 0 for none."""
    number = default_folds(corpus) if folds is None else folds
    return draw_folds(corpus, number, seed) if number else (corpus.assign(seed),)


def sets_of(embeddings: Embeddings, corpus: Corpus) -> EmbeddingSets:
    """Embeddings by the roles that a corpus gives to their utterances."""
    utterances = list(corpus)
    place = {name: at for at, name in enumerate(embeddings.ids.tolist())}
    missing = next((one.id for one in utterances if one.id not in place), None)
    if missing is not None:
        raise InputError(f"utterance {missing!r} has no embedding")
    split = np.array(["train" if one.role == "train" else str(one.split) for one in utterances])
    role = np.array([str(one.role) for one in utterances])
    return EmbeddingSets.from_roles(embeddings.take(np.array([place[one.id] for one in utterances])), split, role)


def drawn_sets(
    original: Embeddings, anonymised: Embeddings, folds: int | None, seed: int
) -> list[tuple[EmbeddingSets, EmbeddingSets]]:
    """Both kinds of speech, once for each fold of people; each embedding counts as a recording of its own."""
    only_one = np.setxor1d(original.ids, anonymised.ids)
    if len(only_one):
        raise InputError(f"utterance {str(only_one[0])!r} is in only one of original and protected speech")
    words = [{name: str(values[at]) for name, values in original.attributes.items()} for at in range(len(original))]
    named = zip(original.ids.tolist(), require_speakers(original).tolist(), words, strict=True)
    corpus = Corpus(tuple(Utterance(name, who, Path(name), attributes=known) for name, who, known in named))
    corpora = split_people(corpus, folds, seed)
    return [(sets_of(original, one), sets_of(anonymised, one)) for one in corpora]
