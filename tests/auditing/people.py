"""Embeddings of made-up people, for tests of audits."""

import numpy as np

from zeroevidence.data.embeddings import Embeddings


def corpus(people=60, each=10, dimension=12, noise=0.5, enrolled=4):
    """Embeddings, split and role of each: a third of the people to train on, to calibrate on, to evaluate."""
    rng = np.random.default_rng(0)
    index = np.repeat(np.arange(people), each)
    x = rng.normal(size=(people, dimension))[index] + noise * rng.normal(size=(len(index), dimension))
    names = np.array([f"s{i:02d}" for i in index])
    ids = np.array([f"{name}-{j % each}" for j, name in enumerate(names)])
    role = np.where(np.arange(len(index)) % each < enrolled, "enrol", "trial")
    return Embeddings(x, ids, names), np.array(["train", "dev", "eval"])[index % 3], role


def named(vectors, index, prefix="p", **attributes):
    """Embeddings of the people with these numbers."""
    names = np.array([f"{prefix}{i:02d}" for i in index])
    return Embeddings(vectors, np.array([f"{name}-{k}" for k, name in enumerate(names)]), names, attributes)


def changed(embeddings, vectors):
    return Embeddings(vectors, embeddings.ids, embeddings.speakers)


def joined(sets):
    """The embeddings of all parts together."""
    fields = ("vectors", "ids", "speakers")
    return Embeddings(*(np.concatenate([getattr(part, field) for part in sets.parts().values()]) for field in fields))
