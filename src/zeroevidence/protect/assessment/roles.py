"""Roles of people in an assessment: to fit protectors, to train attackers, to test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """Three groups of people: to train protectors (and the PLDA), to train attackers, and to test.

    Each group is put in the order of speakers and identifiers: the order in which it is given changes no number.

    Examples
    --------
    >>> people = np.repeat([f"p{i}" for i in range(12)], 2)
    >>> sex = np.where(np.arange(24) < 12, "f", "m")
    >>> vectors = np.random.default_rng(0).normal(size=(24, 4))
    >>> data = Embeddings(vectors, np.arange(24).astype(str), people, {"sex": sex})
    >>> roles = Roles.split(data, "sex")
    >>> len(roles.train), len(roles.attack), len(roles.test)
    (8, 8, 8)
    """

    train: Embeddings
    attack: Embeddings
    test: Embeddings

    def __post_init__(self) -> None:
        for first, second in (("train", "attack"), ("train", "test"), ("attack", "test")):
            common = np.intersect1d(
                require_speakers(getattr(self, first), first), require_speakers(getattr(self, second), second)
            )
            if len(common):
                raise InputError(
                    f"{first} and {second} share {len(common)} speaker(s), among them {str(common[0])!r}; expected "
                    "other people, or a classifier recognises them instead of the attribute"
                )
        for name in ("train", "attack", "test"):
            object.__setattr__(self, name, sort_by_name(getattr(self, name)))

    @classmethod
    def split(cls, embeddings: Embeddings, attribute: str, *, seed: int = 0) -> Roles:
        """Return random thirds of the speakers of each class."""
        part = stratified_parts(embeddings, attribute, 3, seed)
        return cls(*(embeddings.take(part == number) for number in range(3)))


def stratified_parts(embeddings: Embeddings, attribute: str, parts: int, seed: int) -> IntArray:
    """Return a part for each vector: the speakers of each class are split at random into parts of nearly equal size."""
    speakers, labels = require_speakers(embeddings), attribute_labels(embeddings, attribute)
    rng = np.random.default_rng(seed)
    part = np.zeros(len(speakers), dtype=np.int64)
    start = 0
    for label in np.unique(labels):
        names = np.unique(speakers[labels == label])
        if len(names) < parts:
            raise InputError(f"{attribute} {str(label)!r}: {len(names)} speaker(s); expected at least {parts}")
        for number, name in enumerate(rng.permutation(names)):
            # classes of few people do not all fill the same part
            part[speakers == name] = (start + number) % parts
        start += len(names)
    return part


def attribute_labels(embeddings: Embeddings, attribute: str) -> StrArray:
    """Return the labels of an attribute, one per vector and the same for all vectors of a speaker."""
    try:
        labels = embeddings.attributes[attribute]
    except KeyError:
        names = ", ".join(embeddings.attributes) or "none"
        raise InputError(
            f"no attribute {attribute!r} comes with the embeddings (there is {names}); expected a column or an array "
            "of that name, or --labels FILE"
        ) from None
    empty = np.flatnonzero(labels == "")
    if len(empty):
        raise InputError(f"row {empty[0]} ({str(embeddings.ids[empty[0]])!r}): no {attribute}; expected a label")
    if embeddings.speakers is not None:
        pairs = np.unique(np.stack([embeddings.speakers, labels], axis=1), axis=0)
        twice = np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0])
        if len(twice):
            raise InputError(f"speaker {str(pairs[twice[0], 0])!r} has more than one {attribute}; expected one")
    return labels
