"""Attributes that are numbers, such as age: conversion, bands, and splits of people.

Embeddings hold attributes as strings. Whether numbers among them are classes, bands or a number is the user's choice.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.attributes.shared.bands import Bands, as_numbers

MOST_CLASSES = 10  # different numbers that are treated as classes without being asked


def attribute_numbers(embeddings: Embeddings, attribute: str) -> FloatArray:
    """Return an attribute as numbers, one per vector and the same for all vectors of a speaker."""
    numbers = as_numbers(attribute_labels(embeddings, attribute), attribute)
    if np.ptp(numbers) == 0.0:
        raise InputError(f"{attribute}: every number is {numbers[0]:g}; expected different numbers")
    return numbers


def with_bands(embeddings: Embeddings, attribute: str, bands: Bands) -> Embeddings:
    """Return the same embeddings with bands in place of an attribute's numbers.

    Examples
    --------
    >>> data = Embeddings(np.eye(3), attributes={"age": ["9", "30", "15"]})
    >>> with_bands(data, "age", Bands((12.0, 18.0))).attributes["age"].tolist()
    ['below 12', '18 or more', '12 to below 18']
    """
    names = bands.of(attribute_numbers(embeddings, attribute))
    if len(np.unique(names)) < 2:
        raise InputError(f"{attribute}: everybody is {names[0]}; expected people in at least two bands")
    attributes = {**embeddings.attributes, attribute: names}
    return Embeddings(embeddings.vectors, embeddings.ids, embeddings.speakers, attributes)


def refuse_many_numbers(embeddings: Embeddings, attribute: str) -> None:
    """Refuse to treat many different numbers as classes unless the user says so."""
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
    """Return the number of each speaker, in alphabetical order of speakers, and the speaker of each vector."""
    numbers = attribute_numbers(embeddings, attribute)
    _, first, people = np.unique(require_speakers(embeddings), return_index=True, return_inverse=True)
    return numbers[first], people


def balanced_parts(numbers: FloatArray, parts: int, seed: int) -> IntArray:
    """Return a part for each person, so that every part has people with small, medium and large numbers.

    Examples
    --------
    >>> sorted(balanced_parts(np.array([1.0, 2.0, 3.0, 50.0, 60.0, 70.0]), 3, seed=0)[:3].tolist())
    [0, 1, 2]
    """
    rng = np.random.default_rng(seed)
    order = np.lexsort((rng.random(len(numbers)), numbers))
    part = np.empty(len(numbers), dtype=np.int64)
    for start in range(0, len(order), parts):
        block = order[start : start + parts]
        part[block] = rng.permutation(parts)[: len(block)]
    return part


def split_by_number(embeddings: Embeddings, attribute: str, *, seed: int = 0) -> Roles:
    """Return thirds of the people, each with small, medium and large numbers; see `Roles`."""
    numbers, people = people_numbers(embeddings, attribute)
    if len(numbers) < 9:
        raise InputError(f"{attribute}: {len(numbers)} speaker(s); thirds of people need at least nine")
    part = balanced_parts(numbers, 3, seed)[people]
    return Roles(*(embeddings.take(part == number) for number in range(3)))


def splits_by_number(embeddings: Embeddings, attribute: str, count: int, *, seed: int = 0) -> Iterator[Roles]:
    """Yield several such thirds, each with its own seed."""
    for number in range(count):
        yield split_by_number(embeddings, attribute, seed=seed + number)
