"""Roles of people in an assessment: to fit protectors, to train attackers, to test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import IntArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.errors import InputError
from zeroevidence.protect.assessment.labels import attribute_labels, cut_number, is_number, quantile_boundaries


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """Three groups of people: to train protectors (and the PLDA), to train attackers, and to test.

    Each group is put in the order of speakers and identifiers: the order in which it is given changes no number.
    `boundaries` are those of the classes that the attribute's numbers were cut into, if they were.

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
    boundaries: tuple[float, ...] = ()

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
    def split(
        cls,
        embeddings: Embeddings,
        attribute: str,
        *,
        classes: int | None = None,
        boundaries: tuple[float, ...] = (),
        seed: int = 0,
    ) -> Roles:
        """Return random thirds of the speakers of each class.

        Parameters
        ----------
        embeddings
            Embeddings of all people.
        attribute
            The attribute that thirds are stratified by.
        classes
            How many classes an attribute that is a number is cut into, at quantiles of the people in `train`. Unless
            given, every label is a class.
        boundaries
            Boundaries of classes that a number is cut into instead.
        seed
            Seed of the split.
        """
        if boundaries:
            embeddings = cut_number(embeddings, attribute, boundaries)
        elif classes is not None and is_number(attribute_labels(embeddings, attribute)):
            part = _parts_by_number(embeddings, attribute, 3, seed)
            boundaries = quantile_boundaries(embeddings.take(part == 0), attribute, classes)
            embeddings = cut_number(embeddings, attribute, boundaries)
            return cls._of_parts(embeddings, part, boundaries)
        return cls._of_parts(embeddings, stratified_parts(embeddings, attribute, 3, seed), boundaries)

    @classmethod
    def _of_parts(cls, embeddings: Embeddings, part: IntArray, boundaries: tuple[float, ...]) -> Roles:
        train, attack, test = (embeddings.take(part == number) for number in range(3))
        return cls(train, attack, test, boundaries)


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


def _parts_by_number(embeddings: Embeddings, attribute: str, parts: int, seed: int) -> IntArray:
    """Return a random part for each vector, so that every part has people with small, medium and large numbers."""
    _, first, person = np.unique(require_speakers(embeddings), return_index=True, return_inverse=True)
    numbers = attribute_labels(embeddings, attribute)[first].astype(np.float64)
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(numbers)), numbers))
    part = np.empty(len(numbers), dtype=np.int64)
    blocks = -(-len(numbers) // parts)
    part[order] = np.concatenate([rng.permutation(parts) for _ in range(blocks)])[: len(numbers)]
    return part[person]
