"""Labels of an attribute, one per person, and the roles of people: to fit protectors, to train attackers, to test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, require_embeddings, require_speakers
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Flag
from zeroevidence.evaluation.rows.flags import flag

MOST_LABELS = 10  # different numbers up to which they are labels of classes
DEFAULT_CLASSES = 4  # of a number


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


def is_number(labels: StrArray) -> bool:
    """Return whether labels are a number: all finite, with more than ten different values.

    Examples
    --------
    >>> is_number(np.arange(11).astype(str)), is_number(np.arange(10).astype(str)), is_number(np.array(["f", "m"]))
    (True, False, False)
    """
    try:
        numbers = labels.astype(np.float64)
    except ValueError:
        return False
    return bool(np.isfinite(numbers).all()) and len(np.unique(numbers)) > MOST_LABELS


def quantile_boundaries(embeddings: Embeddings, attribute: str, classes: int) -> tuple[float, ...]:
    """Return the boundaries of classes that hold nearly equal numbers of people, at quantiles of their numbers.

    Where many people share a number, there are fewer classes. A boundary is the number of one of the people and belongs
    to the class above it.

    Examples
    --------
    >>> people = Embeddings(np.eye(12), attributes={"age": np.arange(20, 32)})
    >>> quantile_boundaries(people, "age", 4)
    (23.0, 26.0, 29.0)
    """
    if classes < 2:
        raise UsageError(f"classes: expected at least 2, got {classes}")
    numbers = _numbers(embeddings, attribute)
    if embeddings.speakers is not None:
        numbers = numbers[np.unique(embeddings.speakers, return_index=True)[1]]
    boundaries = np.unique(np.quantile(numbers, np.arange(1, classes) / classes, method="higher"))
    boundaries = boundaries[boundaries > numbers.min()]
    if not len(boundaries):
        raise InputError(
            f"{attribute}: quantiles make no two classes, because most training people have {numbers.min():g}; name "
            "the class of each person instead"
        )
    return tuple(map(float, boundaries))


def cut_number(embeddings: Embeddings, attribute: str, boundaries: Sequence[float]) -> Embeddings:
    """Return the same embeddings with classes between boundaries in place of an attribute's numbers.

    Examples
    --------
    >>> data = Embeddings(np.eye(3), attributes={"age": ["9", "30", "12"]})
    >>> cut_number(data, "age", (12.0, 18.0)).attributes["age"].tolist()
    ['below 12', '18 or more', '12 to below 18']
    """
    numbers = _numbers(embeddings, attribute)
    names = np.array(class_names(boundaries))[np.searchsorted(boundaries, numbers, side="right")]
    attributes = {**embeddings.attributes, attribute: names}
    return Embeddings(embeddings.vectors, embeddings.ids, embeddings.speakers, attributes)


def class_names(boundaries: Sequence[float]) -> list[str]:
    """Return the names of the classes between boundaries, in ascending order."""
    texts = [np.format_float_positional(boundary, trim="-") for boundary in boundaries]
    between = [f"{low} to below {high}" for low, high in pairwise(texts)]
    return [f"below {texts[0]}", *between, f"{texts[-1]} or more"]


def number_class_flags(attribute: str, boundaries: Sequence[float]) -> tuple[Flag, ...]:
    """Return a note on the classes that a number was cut into; none without boundaries."""
    if not boundaries:
        return ()
    return (flag("number-classes", attribute=attribute, classes=", ".join(class_names(boundaries))),)


def _numbers(embeddings: Embeddings, attribute: str) -> FloatArray:
    """Return an attribute as numbers, one per vector and the same for all vectors of a speaker."""
    labels = attribute_labels(embeddings, attribute)
    try:
        numbers = labels.astype(np.float64)
    except ValueError as error:
        raise InputError(f"{attribute}: expected numbers ({error})") from None
    if not np.isfinite(numbers).all():
        raise InputError(f"{attribute}: expected finite numbers")
    return numbers


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
        embeddings = require_embeddings(embeddings)
        part = None
        if not boundaries and classes is not None and is_number(attribute_labels(embeddings, attribute)):
            part = _parts_by_number(embeddings, attribute, 3, seed)
            boundaries = quantile_boundaries(embeddings.take(part == 0), attribute, classes)
        if boundaries:
            embeddings = cut_number(embeddings, attribute, boundaries)
        if part is None:
            part = stratified_parts(embeddings, attribute, 3, seed)
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
