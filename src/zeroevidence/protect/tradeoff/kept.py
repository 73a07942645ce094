"""What protected vectors keep of other attributes of their speakers, such as age where sex is concealed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.errors import InputError
from zeroevidence.protect.assessment.labels import (
    DEFAULT_CLASSES,
    MOST_LABELS,
    attribute_labels,
    cut_number,
    is_number,
    quantile_boundaries,
)


@dataclass(frozen=True, slots=True)
class KeptAttribute:
    """D_ECE of logistic regression about an attribute that nobody conceals, before and after protection.

    `boundaries` are those of the classes that a number was cut into.
    """

    name: str
    unprotected: float
    protected: float
    boundaries: tuple[float, ...] = ()


def other_attributes(
    data: Embeddings, attribute: str, parts: int
) -> tuple[Embeddings, Mapping[str, tuple[float, ...]]]:
    """Return embeddings with classes in place of numbers, and the attributes that can be measured in so many parts.

    Each of these comes with the boundaries of its classes, none unless it is a number. An attribute that differs
    between the vectors of a person, or is not known of everybody, is left out.
    """
    others: dict[str, tuple[float, ...]] = {}
    for name in data.attributes:
        if name == attribute:
            continue
        try:
            boundaries: tuple[float, ...] = ()
            if is_number(attribute_labels(data, name)):
                boundaries = quantile_boundaries(data, name, DEFAULT_CLASSES)
                data = cut_number(data, name, boundaries)
        except InputError:
            continue
        pairs = np.unique(np.stack([data.attributes[name], require_speakers(data)], axis=1), axis=0)
        classes, people = np.unique(pairs[:, 0], return_counts=True)
        if 2 <= len(classes) <= MOST_LABELS and people.min() >= 2 * parts:
            others[name] = boundaries
    return data, others
