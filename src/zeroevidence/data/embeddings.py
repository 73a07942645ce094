"""Embeddings with names, validated once and then read-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.data.files import ArrayOnDisk
from zeroevidence.data.scores import as_array, compose_names, frozen, owned
from zeroevidence.errors import InputError

_FEW = 1 << 12  # up to so many names, NumPy's sort of text is as fast
_KEY_BYTES = 8
Names = TypeVar("Names", bound=StrArray | IntArray)


def _keys(names: StrArray) -> Any:
    """Return rows of whole numbers that are equal, and ordered, as the names are."""
    letters = np.ascontiguousarray(names, dtype=names.dtype.newbyteorder("=")).view(np.uint32).reshape(len(names), -1)
    highest = int(letters.max()) if letters.size else 0
    kind = np.dtype(np.min_scalar_type(highest)).newbyteorder(">")  # as narrow as the letters allow
    in_key = _KEY_BYTES // kind.itemsize
    padded = np.zeros((len(names), max(1, -(-letters.shape[1] // in_key)) * in_key), dtype=kind)
    padded[:, : letters.shape[1]] = letters
    return padded.view(">u8").astype(np.uint64)


def _ranks(names: StrArray) -> tuple[IntArray, IntArray]:
    """Return a row of each distinct name, in the order of names, and the rank of each name."""
    keys = _keys(names)
    order = np.argsort(keys[:, 0]) if keys.shape[1] == 1 else np.lexsort(keys.T[::-1])
    starts = np.ones(len(names), dtype=bool)
    starts[1:] = (np.diff(keys[order], axis=0) != 0).any(axis=1)
    place = np.empty(len(names), dtype=np.int64)
    place[order] = np.cumsum(starts) - 1
    return order[starts], place


def rank_names(names: Names) -> tuple[Names, IntArray]:
    """Return the distinct names, sorted, and the rank of each name among them.

    Examples
    --------
    >>> distinct, place = rank_names(np.array(["eve", "ann", "eve", "bob"]))
    >>> distinct.tolist(), place.tolist()
    (['ann', 'bob', 'eve'], [2, 0, 2, 1])
    """
    values: Any = names
    if len(names) <= _FEW or names.dtype.kind != "U":
        values, ranks = np.unique(values, return_inverse=True)
        return values, ranks.astype(np.int64)
    rows, ranks = _ranks(values)
    return values[rows], ranks


def row_numbers(names: StrArray, some: StrArray) -> IntArray:
    """Return the row of each of some names among names that occur once, -1 where it is not among them.

    Examples
    --------
    >>> row_numbers(np.array(["eve", "ann"]), np.array(["ann", "bob"])).tolist()
    [1, -1]
    """
    _, place = rank_names(np.concatenate((names, some)))
    row = np.full(int(place.max()) + 1 if len(place) else 0, -1)
    row[place[: len(names)]] = np.arange(len(names))
    return row[place[len(names) :]]


def are_numbers(names: StrArray) -> bool:
    """Return whether names are the numbers of their rows, as where none were given."""
    return bool((names == np.arange(len(names)).astype(np.str_)).all())


def row_marks(vectors: FloatArray) -> IntArray:
    """Return a whole number for each vector, the same for equal ones and hardly ever for others.

    Examples
    --------
    >>> marks = row_marks(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -0.0]]))
    >>> bool(marks[0] == marks[2]), bool(marks[0] == marks[1])
    (True, False)
    """
    odd = np.random.default_rng(0).integers(0, 2**63, vectors.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    marks = []
    for rows in _blocks(vectors):
        bits = (vectors[rows].astype(np.float64) + 0.0).view(np.uint64)
        marks.append(((bits ^ (bits >> np.uint64(29))) * odd).sum(axis=1))
    return np.concatenate(marks).view(np.int64)


def find_duplicate(names: StrArray) -> tuple[int, int] | None:
    """Return the first two rows of the first name, in alphabetical order, that occurs more than once; None for none.

    Examples
    --------
    >>> find_duplicate(np.array(["eve", "bob", "ann", "eve", "bob"])), find_duplicate(np.array(["eve", "bob"]))
    ((1, 4), None)
    """
    _, place = rank_names(names)
    often = np.bincount(place) > 1
    if not often.any():
        return None
    first, second = np.flatnonzero(place == often.argmax())[:2]
    return int(first), int(second)


NAMING_SPEAKERS = (
    "an array or a column `speaker`, or lines of `utterance speaker` (--speakers FILE, of `link` --trial-ids and "
    "--enrol-ids)"
)
_BLOCK_BYTES = 1 << 25


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Vectors of utterances, validated and read-only.

    Parameters
    ----------
    vectors
        n x d in float16, float32 or float64. An array on disk stays there; it is checked in blocks.
    ids
        Identifier of each vector, each once; its number unless given. The order of vectors with identifiers changes no
        result; without identifiers another order may.
    speakers
        The speaker of each vector.
    attributes
        Further labels of each: sex, language, ...
    spellings
        Names beyond ASCII as they were written; those of utterances and speakers are added.

    Examples
    --------
    >>> Embeddings([[1.0, 0.0], [0.8, 0.1], [0.0, 1.0]], ["u1", "u2", "u3"], ["ann", "ann", "bob"])
    Embeddings(3 x 2 float64 of 2 speakers)
    """

    vectors: FloatArray
    ids: StrArray = None  # type: ignore[assignment]
    speakers: StrArray | None = None
    attributes: Mapping[str, StrArray] = field(default_factory=dict)
    spellings: frozenset[str] = field(default=frozenset(), kw_only=True)

    def __post_init__(self) -> None:
        vectors = self.vectors if isinstance(self.vectors, ArrayOnDisk) else as_array(self.vectors, "vectors")
        if vectors.ndim != 2 or 0 in vectors.shape:
            raise InputError(f"vectors: expected one vector per row, got shape {vectors.shape}")
        if vectors.dtype.kind in "iub":
            vectors = vectors.astype(np.result_type(vectors.dtype, np.float32))  # which holds all of these numbers
        if vectors.dtype.kind != "f" or vectors.dtype.itemsize > 8:
            raise InputError(f"vectors: expected float16, float32 or float64, got {vectors.dtype}")
        count = len(vectors)
        ids = np.arange(count).astype(np.str_) if self.ids is None else _text_array("ids", self.ids, count)
        ids, spellings = compose_names(ids)
        if (twice := find_duplicate(ids)) is not None:
            first, second = twice
            raise InputError(f"row {second}: identifier {str(ids[second])!r} is already that of row {first}")
        check_finite(vectors, ids)
        object.__setattr__(self, "vectors", vectors if isinstance(vectors, ArrayOnDisk) else owned(vectors))
        object.__setattr__(self, "ids", frozen(ids))
        if self.speakers is not None:
            speakers, more = compose_names(_text_array("speakers", self.speakers, count))
            object.__setattr__(self, "speakers", frozen(speakers))
            spellings |= more
        object.__setattr__(self, "spellings", self.spellings | spellings)
        attributes = {name: frozen(_text_array(name, value, count)) for name, value in self.attributes.items()}
        object.__setattr__(self, "attributes", MappingProxyType(attributes))

    def __len__(self) -> int:
        return len(self.vectors)

    def __repr__(self) -> str:
        people = "" if self.speakers is None else f" of {len(np.unique(self.speakers))} speakers"
        return f"Embeddings({len(self)} x {self.vectors.shape[1]} {self.vectors.dtype}{people})"

    def take(self, at: BoolArray | IntArray) -> Embeddings:
        """Return some of the vectors, with their identifiers, speakers and attributes."""
        speakers = None if self.speakers is None else self.speakers[at]
        attributes = {name: values[at] for name, values in self.attributes.items()}
        return Embeddings(self.vectors[at], self.ids[at], speakers, attributes)

    def profiles(self, *, cosine: bool = False) -> Embeddings:
        """Return one vector per speaker: the mean of the speaker's vectors, scaled to length one first for `cosine`.

        Speakers come in alphabetical order and are both identifier and speaker of the result, which is in the
        precision of the vectors, at least single.
        """
        if self.speakers is None:
            raise InputError(f"speakers are not known; expected the speaker of each vector: {NAMING_SPEAKERS}")
        names, index = np.unique(self.speakers, return_inverse=True)
        sums = np.zeros((len(names), self.vectors.shape[1]))
        for rows in _blocks(self.vectors):
            block = self.vectors[rows].astype(np.float64)
            if cosine:
                length = np.linalg.norm(block, axis=1)
                zero = np.flatnonzero(length == 0.0)
                if len(zero):
                    at = rows.start + int(zero[0])
                    raise InputError(f"row {at} ({str(self.ids[at])!r}): a zero vector has no direction; leave it out")
                block /= length[:, None]
            np.add.at(sums, index[rows], block)
        means = sums / np.bincount(index)[:, None]
        return Embeddings(means.astype(np.promote_types(self.vectors.dtype, np.float32)), names, names)


def mated_rows(trial: Embeddings, enrol: Embeddings) -> IntArray:
    """Return for each trial the row of its speaker among the enrolled, -1 where that person is not enrolled."""
    if trial.speakers is None or enrol.speakers is None:
        side = "trial" if trial.speakers is None else "enrolment"
        raise InputError(f"{side} vectors: speakers are not known; expected {NAMING_SPEAKERS}")
    twice = find_duplicate(enrol.speakers)
    if twice is not None:
        name = str(enrol.speakers[twice[0]])
        raise InputError(f"speaker {name!r} is enrolled more than once; expected one vector per person")
    return row_numbers(enrol.speakers, trial.speakers)


def check_finite(vectors: FloatArray, ids: StrArray | None = None) -> None:
    """Refuse entries that are not finite, naming the row, without a second copy of the vectors."""
    for rows in _blocks(vectors):
        block = np.asarray(vectors[rows])
        finite = np.isfinite(block)
        if not finite.all():
            at, column = np.argwhere(~finite)[0]
            row = rows.start + int(at)
            name = "" if ids is None else f" ({str(ids[row])!r})"
            entry = "NaN" if np.isnan(block[at, column]) else block[at, column]
            raise InputError(f"row {row}{name}: entry {column} is {entry}; expected finite numbers")


def _blocks(vectors: FloatArray) -> Any:
    step = max(1, _BLOCK_BYTES // (8 * vectors.shape[1]))
    return [slice(start, min(len(vectors), start + step)) for start in range(0, len(vectors), step)]


def _text_array(name: str, values: Any, count: int) -> StrArray:
    """Return values as text, one for each vector; identifiers and speakers must not be empty."""
    array = as_array(values, name)
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8")
    array = array.astype(np.str_)
    if array.shape != (count,):
        raise InputError(f"{name}: expected {count}, one per vector, got shape {array.shape}")
    empty = np.flatnonzero(array == "")
    if len(empty) and name in ("ids", "speakers"):
        raise InputError(f"{name}: row {empty[0]} is empty; expected a name")
    return array


def require_embeddings(data: Any, name: str = "data") -> Embeddings:
    """Return embeddings; an array is refused, because it does not say whose vectors they are and of which classes."""
    if not isinstance(data, Embeddings):
        expected = "Embeddings(vectors, speakers=..., attributes={'sex': ...})"
        raise InputError(f"{name}: expected Embeddings, such as {expected}, got {type(data).__name__}")
    return data


def require_speakers(embeddings: Embeddings, name: str = "embeddings") -> StrArray:
    """Return the speakers; unknown ones are an error, which calls the embeddings `name`."""
    speakers = require_embeddings(embeddings, name).speakers
    if speakers is None:
        expected = f"them, so that nobody is in two groups: {NAMING_SPEAKERS}"
        raise InputError(f"{name}: speakers are not known; expected {expected}")
    return speakers
