"""Attributes that are numbers, such as age: read as numbers, cut into bands, and people split by them.

Embeddings hold attributes as words. Whether numbers among them are classes, bands or a number is for the user to say.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.attributes.shared.bands import Bands, as_numbers

MOST_CLASSES = 10  # different numbers that may be classes without anybody saying so


def attribute_numbers(embeddings: Embeddings, attribute: str) -> FloatArray:
    """An attribute as numbers, one per vector and the same for all vectors of a speaker."""
    numbers = as_numbers(attribute_labels(embeddings, attribute), attribute)
    if np.ptp(numbers) == 0.0:
        raise InputError(f"{attribute}: every number is {numbers[0]:g}; there is nothing to tell apart")
    return numbers


def with_bands(embeddings: Embeddings, attribute: str, bands: Bands) -> Embeddings:
    """The same embeddings with bands in the place of an attribute's numbers.

    Examples
    --------
    >>> data = Embeddings(np.eye(3), attributes={"age": ["9", "30", "15"]})
    >>> with_bands(data, "age", Bands((12.0, 18.0))).attributes["age"].tolist()
    ['below 12', '18 or more', '12 to below 18']
    """
    words = bands.of(attribute_numbers(embeddings, attribute))
    if len(np.unique(words)) < 2:
        raise InputError(f"{attribute}: everybody is {words[0]}; expected bands that tell people apart")
    attributes = {**embeddings.attributes, attribute: words}
    return Embeddings(embeddings.vectors, embeddings.ids, embeddings.speakers, attributes)


def refuse_many_numbers(embeddings: Embeddings, attribute: str) -> None:
    """Refuse to take many different numbers for classes, which nobody asked for."""
    try:
        count = len(np.unique(as_numbers(attribute_labels(embeddings, attribute), attribute)))
    except InputError:
        return
    if count > MOST_CLASSES:
        raise UsageError(
            f"{attribute} has {count} different numbers; say whether they are bands (--bands 12,18,30) or a number "
            "(--continuous)"
        )


def people_numbers(embeddings: Embeddings, attribute: str) -> tuple[FloatArray, IntArray]:
    """The number of each person, people in alphabetical order, and whose each vector is."""
    numbers = attribute_numbers(embeddings, attribute)
    _, first, who = np.unique(require_speakers(embeddings), return_index=True, return_inverse=True)
    return numbers[first], who


def balanced_parts(numbers: FloatArray, hands: int, seed: int) -> IntArray:
    """For each person a hand, so that every hand gets people with small, middling and large numbers.

    Examples
    --------
    >>> sorted(balanced_parts(np.array([1.0, 2.0, 3.0, 50.0, 60.0, 70.0]), 3, seed=0)[:3].tolist())
    [0, 1, 2]
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(numbers)), numbers))
    found = np.empty(len(numbers), dtype=np.int64)
    for start in range(0, len(order), hands):
        own = order[start : start + hands]
        found[own] = rng.permutation(hands)[: len(own)]
    return found


def split_by_number(embeddings: Embeddings, attribute: str, *, seed: int = 0) -> Roles:
    """Thirds of the people, each with small, middling and large numbers; see `Roles`."""
    numbers, who = people_numbers(embeddings, attribute)
    if len(numbers) < 9:
        raise InputError(f"{attribute}: {len(numbers)} speaker(s); thirds of people need at least nine")
    part = balanced_parts(numbers, 3, seed)[who]
    return Roles(*(embeddings.take(part == number) for number in range(3)))


def splits_by_number(embeddings: Embeddings, attribute: str, count: int, *, seed: int = 0) -> Iterator[Roles]:
    """Several such thirds, each with a seed of its own."""
    for number in range(count):
        yield split_by_number(embeddings, attribute, seed=seed + number)
