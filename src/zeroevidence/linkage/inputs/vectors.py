"""Vectors of one side of a search: in memory, memory-mapped, or at an address, read in checked blocks.

An address is opened where it is used: a task sent to another machine carries the address, not the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.files.errors import reading_file, unreadable_reason
from zeroevidence.errors import InputError
from zeroevidence.linkage.inputs.scoring import Scoring, unit
from zeroevidence.linkage.optional import optional

# Largest entries of vectors that are not scaled to length one; squares of their scores are finite, and not 0.
SMALLEST, LARGEST = 1e-70, 1e70
_BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class Address:
    """Where vectors lie: a .npy file (memory-mapped), .npz, Parquet, Kaldi, .pt; local, or at any fsspec address."""

    location: str
    _opened: list[Any] = field(default_factory=list, repr=False, compare=False)

    def open(self) -> FloatArray:
        """Return the vectors, which are opened once in each process."""
        if not self._opened:
            self._opened.append(_open(self.location))
        vectors: FloatArray = self._opened[0]
        return vectors

    def __reduce__(self) -> tuple[Any, ...]:
        return Address, (self.location,)


def _open(location: str) -> FloatArray:
    path = location.removeprefix("file://")
    if not path.endswith(".npy"):
        # other formats need the readers, and those a table library
        from zeroevidence.data.formats.vectors.read import read_embeddings

        return read_embeddings(path).vectors
    vectors: FloatArray
    if "://" in path:
        fsspec = optional("fsspec", "cluster", f"{path}: reading from an address")
        with reading_file(path, "NumPy npy"), fsspec.open(path, "rb") as stream:
            vectors = np.load(stream, allow_pickle=False)
        return vectors
    reason = unreadable_reason(path)
    if reason:
        raise InputError(reason, path=path)
    with reading_file(path, "NumPy npy"):
        vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    return vectors


@dataclass(frozen=True, eq=False)
class VectorSet:
    """Vectors of trials or enrolments, as the engines read them: blocks of finite vectors, of length one for cosine."""

    source: FloatArray | Address
    name: str  # "trial" or "enrolment", for messages
    cosine: bool = False

    @classmethod
    def of(cls, source: Any, name: str, *, cosine: bool = False) -> VectorSet:
        """Return the vectors of an array, `Embeddings`, a file name or an `Address`."""
        source = source.source if isinstance(source, VectorSet) else getattr(source, "vectors", source)
        if isinstance(source, str | Path):
            source = Address(str(source))
        if not isinstance(source, Address):
            source = np.asanyarray(source)
        result = cls(source, name, cosine)
        vectors = result.vectors
        if vectors.ndim != 2 or 0 in vectors.shape or vectors.dtype.kind not in "fiub":
            raise InputError(
                f"{name} vectors: {vectors.dtype} of shape {vectors.shape}; expected numbers, one vector per row"
            )
        return result

    @property
    def vectors(self) -> FloatArray:
        """The array itself, opened if need be."""
        return self.source.open() if isinstance(self.source, Address) else self.source

    @property
    def count(self) -> int:
        """Number of vectors."""
        return len(self.vectors)

    @property
    def dim(self) -> int:
        """Length of each."""
        return int(self.vectors.shape[1])

    @property
    def single(self) -> bool:
        """Whether the values are stored in at most single precision."""
        return self.vectors.dtype.kind == "f" and self.vectors.dtype.itemsize <= 4

    def read(self, start: int, stop: int) -> FloatArray:
        """Vectors of a run of rows, in double precision."""
        return self._checked(self.vectors[start:stop], np.arange(start, min(stop, self.count)))

    def take(self, rows: IntArray) -> FloatArray:
        """Vectors of some rows, in double precision."""
        return self._checked(self.vectors[as_slice(rows)], rows)

    def blocks(self, rows: int | None = None) -> Iterator[tuple[int, int]]:
        """Runs of rows that fit a modest amount of memory."""
        step = rows or max(1, _BLOCK_BYTES // (8 * self.dim))
        for start in range(0, self.count, step):
            yield start, min(self.count, start + step)

    def _checked(self, raw: FloatArray, rows: IntArray) -> FloatArray:
        x = np.array(raw, dtype=np.float64, order="C")
        # the squared length of a row shows whether an entry may be out of range, without a mask of the block
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            squares = np.einsum("ij,ij->i", x, x)
        for at in np.flatnonzero(~((squares >= SMALLEST**2) & (squares <= LARGEST**2))):
            self._check_vector(x[at], int(rows[at]))
        return unit(x, side=self.name, rows=rows) if self.cosine else x

    def _check_vector(self, x: FloatArray, row: int) -> None:
        bad = np.flatnonzero(~np.isfinite(x))
        if len(bad):
            raise InputError(f"{self.name} {row}: entry {bad[0]} of its vector is {x[bad[0]]}; expected finite")
        largest = np.abs(x).max()
        if not self.cosine and largest > 0.0 and not SMALLEST <= largest <= LARGEST:
            raise InputError(
                f"{self.name} {row}: the largest entry of its vector is {largest:.3g}; "
                f"expected {SMALLEST:g} to {LARGEST:g} (scale the vectors, or use cosine)"
            )


def as_slice(rows: IntArray) -> slice | IntArray:
    """Return rows that follow each other as a slice, which takes no copy; others as they are."""
    if not len(rows) or not (np.diff(rows) == 1).all():
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1)


def vector_sets(trial: Any, enrol: Any, scoring: Scoring) -> tuple[VectorSet, VectorSet]:
    """Vectors of both sides of a search."""
    cosine = scoring == "cosine"
    return VectorSet.of(trial, "trial", cosine=cosine), VectorSet.of(enrol, "enrolment", cosine=cosine)
