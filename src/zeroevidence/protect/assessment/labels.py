"""Labels of an attribute, one per person; numbers such as ages become classes between quantiles."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.data.embeddings import Embeddings
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
