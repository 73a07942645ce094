"""Embeddings of a search: vectors and where they lie, their scoring, and who is paired with whom."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, mated_rows, require_embeddings
from zeroevidence.data.files import ArrayOnDisk, naming_file, open_array, reading_file, unreadable_reason
from zeroevidence.data.loaded_scores import RelaxedRule, composed_rule
from zeroevidence.data.preparing import compared_with_itself, find_same
from zeroevidence.data.scores import as_array
from zeroevidence.errors import InputError, UsageError
from zeroevidence.optional import optional

ScoreFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
ScoringName: TypeAlias = Literal["cosine", "dot"]
Scoring: TypeAlias = ScoringName | ScoreFunction
SCORINGS: tuple[ScoringName, ...] = get_args(ScoringName)


def unit(vectors: FloatArray, *, side: str, rows: IntArray) -> FloatArray:
    """Vectors over their lengths, in double precision; a zero vector is refused by the number of its row."""
    x: FloatArray = np.asarray(vectors, dtype=np.float64)
    # scaling by the largest entry first keeps squares of very long or short vectors finite
    largest = np.abs(x).max(axis=1, keepdims=True, initial=0.0)
    zero = np.flatnonzero(largest[:, 0] == 0.0)
    if len(zero):
        raise InputError(f"{side} {rows[zero[0]]}: a zero vector has no direction; leave it out")
    x = x / largest
    length: FloatArray = np.sqrt(np.einsum("ij,ij->i", x, x))
    x /= length[:, None]
    return x


def plda_vectors(
    trial: FloatArray,
    enrol: FloatArray,
    *,
    mean: FloatArray,
    between: FloatArray,
    within: FloatArray,
    utterances: int = 1,
) -> tuple[FloatArray, FloatArray]:
    r"""Trial and enrolment vectors whose dot product is the two-covariance PLDA log-likelihood ratio.

    With speakers :math:`b \sim N(0, B)` and utterances :math:`x = \mu + b + w,\ w \sim N(0, W)`, a profile `y` that
    is the mean of n utterances has covariance :math:`B + W / n`, and the log-likelihood ratio is

    .. math:: x' P y + \tfrac12 x' Q_x x + \tfrac12 y' Q_y y + c

    (mean removed), which is the dot product of ``[P' x, 1, x' Q_x x / 2 + c]`` with ``[y, y' Q_y y / 2, 1]``.

    Parameters
    ----------
    trial
        T x d vectors of utterances.
    enrol
        N x d profiles.
    mean
        Mean of the model, mu.
    between
        Covariance between speakers, B.
    within
        Covariance within speakers, W.
    utterances
        How many utterances each profile averages; the same for all, since a row compares all profiles.

    Examples
    --------
    >>> model = {"mean": np.zeros(1), "between": np.array([[4.0]]), "within": np.array([[1.0]])}
    >>> trial, enrol = plda_vectors(np.array([[2.0]]), np.array([[2.5], [-3.0]]), **model)
    >>> (trial @ enrol.T).round(2).tolist()
    [[0.91, -4.47]]
    """
    if utterances < 1:
        raise UsageError(f"expected at least one utterance per profile, got {utterances}")
    d = len(mean)
    for name, matrix in (("between", between), ("within", within)):
        if np.shape(matrix) != (d, d):
            raise InputError(f"{name}: expected a {d} x {d} covariance, got shape {np.shape(matrix)}")
    b = np.asarray(between, dtype=np.float64)
    w = np.asarray(within, dtype=np.float64)
    x, y = (np.asarray(v, dtype=np.float64) - mean for v in (trial, enrol))
    total_x, total_y = b + w, b + w / utterances
    given_y, given_x = total_x - b @ np.linalg.solve(total_y, b), total_y - b @ np.linalg.solve(total_x, b)
    q_x = np.linalg.inv(total_x) - np.linalg.inv(given_y)
    q_y = np.linalg.inv(total_y) - np.linalg.inv(given_x)
    p = np.linalg.solve(total_x, b) @ np.linalg.inv(given_x)
    c = 0.5 * (np.linalg.slogdet(total_y)[1] - np.linalg.slogdet(given_x)[1])
    of_trial = 0.5 * np.einsum("ij,ij->i", x @ q_x, x) + c
    of_enrol = 0.5 * np.einsum("ij,ij->i", y @ q_y, y)
    return (np.column_stack((x @ p, np.ones(len(x)), of_trial)), np.column_stack((y, of_enrol, np.ones(len(y)))))


# Largest entries of vectors that are not scaled to length one; squares of their scores are finite, and not 0.
SMALLEST, LARGEST = 1e-70, 1e70
_BLOCK_BYTES = 1 << 25


@dataclass(frozen=True)
class Address:
    """Where vectors lie: a .npy file (read in blocks), .npz, Parquet, Kaldi, .pt; local, or at any fsspec address.

    An address is opened where it is used: a task sent to another machine carries the address, not the vectors.
    """

    location: str

    @cached_property
    def opened(self) -> FloatArray:
        """The vectors, which are opened once in each process."""
        return _open(self.location)

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
    elif reason := unreadable_reason(path):
        raise InputError(reason, path=path)
    else:
        vectors = open_array(path)
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
        if not isinstance(source, Address | ArrayOnDisk):
            source = as_array(source, f"{name} vectors")
        result = cls(source, name, cosine)
        vectors = result.vectors
        if vectors.ndim != 2 or 0 in vectors.shape or vectors.dtype.kind not in "fiub":
            content = f"{vectors.dtype} of shape {vectors.shape}"
            raise InputError(f"{name} vectors: {content}; expected numbers, one vector per row")
        return result

    @property
    def vectors(self) -> FloatArray:
        """The array itself, opened if need be."""
        return self.source.opened if isinstance(self.source, Address) else self.source

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
            where, bad = f"{self.name} {rows[at]}", np.flatnonzero(~np.isfinite(x[at]))
            if len(bad):
                raise InputError(f"{where}: entry {bad[0]} of its vector is {x[at, bad[0]]}; expected finite")
            largest = np.abs(x[at]).max()
            if not self.cosine and largest > 0.0 and not SMALLEST <= largest <= LARGEST:
                expected = f"{SMALLEST:g} to {LARGEST:g} (scale the vectors, or use cosine)"
                raise InputError(f"{where}: the largest entry of its vector is {largest:.3g}; expected {expected}")
        return unit(x, side=self.name, rows=rows) if self.cosine else x


def as_slice(rows: IntArray) -> slice | IntArray:
    """Return rows that follow each other as a slice, which takes no copy; others as they are."""
    if not len(rows) or not (np.diff(rows) == 1).all():
        return rows
    return slice(int(rows[0]), int(rows[-1]) + 1)


def vector_sets(trial: Any, enrol: Any, scoring: Scoring) -> tuple[VectorSet, VectorSet]:
    """Vectors of both sides of a search."""
    cosine = scoring == "cosine"
    return VectorSet.of(trial, "trial", cosine=cosine), VectorSet.of(enrol, "enrolment", cosine=cosine)


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Trials and enrolment of a search."""

    trial: Embeddings  # of people who are enrolled
    enrol: Embeddings  # one vector per person
    mated: IntArray  # for each trial the row of its speaker in `enrol`
    not_enrolled: int = 0  # trials left out, because their speaker is not enrolled
    relaxed: tuple[RelaxedRule, ...] = ()  # recordings on both sides

    @property
    def people(self) -> StrArray:
        """Names of the enrolled, in the order of their vectors."""
        return self.enrol.ids if self.enrol.speakers is None else self.enrol.speakers


def pair(trial: Embeddings, enrol: Embeddings, *, scoring: Scoring = "cosine", allow_same: bool = False) -> Pairing:
    """Find the speaker of each trial among the enrolled; trials of other speakers are left out.

    Parameters
    ----------
    trial
        Embeddings of the trials, with speakers.
    enrol
        Embeddings of the enrolled. A person with several vectors is represented by their mean, for ``cosine`` after
        each was brought to length one. Without speakers each identifier is a person.
    scoring
        Scoring of the search.
    allow_same
        Take recordings that are trial and enrolment of one person, which are refused unless that is meant.

    Examples
    --------
    >>> enrol = Embeddings([[1.0, 0.0], [0.0, 1.0], [0.0, 3.0]], speakers=["ada", "bob", "bob"])
    >>> trial = Embeddings([[0.1, 0.9], [0.5, 0.5]], ids=["u1", "u2"], speakers=["bob", "eve"])
    >>> search = pair(trial, enrol, scoring="dot")
    >>> search.trial.ids.tolist(), search.mated.tolist(), search.enrol.vectors.tolist(), search.not_enrolled
    (['u1'], [1], [[1.0, 0.0], [0.0, 2.0]], 1)
    """
    trial, enrol = require_embeddings(trial, "trial"), require_embeddings(enrol, "enrol")
    if trial.speakers is None:
        raise InputError("trials without speakers; expected the speaker of each, in the file, beside it or in a list")
    same, equal = find_same(trial, enrol)
    relaxed = compared_with_itself(trial.ids[same], allow=allow_same)
    relaxed += (RelaxedRule("equal-vectors", int(equal.sum())),) if equal.any() else ()
    relaxed += composed_rule(trial.spellings | enrol.spellings)
    enrol = one_per_person(enrol, scoring=scoring)
    mated = mated_rows(trial, enrol)
    enrolled = np.flatnonzero(mated >= 0)
    if not len(enrolled):
        raise InputError("no trial has its speaker among the enrolled")
    left_out = len(trial) - len(enrolled)
    return Pairing(trial.take(enrolled) if left_out else trial, enrol, mated[enrolled], left_out, relaxed)


def one_per_person(enrol: Embeddings, *, scoring: Scoring) -> Embeddings:
    """Return one vector per enrolled person."""
    if enrol.speakers is None:
        return Embeddings(enrol.vectors, enrol.ids, enrol.ids)
    if len(set(enrol.speakers.tolist())) == len(enrol):  # many times faster than sorting names
        return enrol
    return enrol.profiles(cosine=scoring == "cosine")


def read_pairing(
    trial: str | Path,
    enrol: str | Path,
    *,
    trial_ids: str | Path | None = None,
    enrol_ids: str | Path | None = None,
    scoring: Scoring = "cosine",
    allow_same: bool = False,
) -> Pairing:
    """Pair two files of embeddings; `trial_ids` and `enrol_ids` list `utterance speaker` for files without speakers."""
    # the readers of files need more than NumPy
    from zeroevidence.data.formats.vectors.read import read_embeddings

    trials, enrolled = (
        read_embeddings(path, ids=ids, on_disk=True) for path, ids in ((trial, trial_ids), (enrol, enrol_ids))
    )
    with naming_file(enrol):
        one_per_person(enrolled, scoring=scoring)
    with naming_file(trial):
        return pair(trials, enrolled, scoring=scoring, allow_same=allow_same)


def check_other_people(search: Pairing, development: Pairing) -> None:
    """Refuse a calibration on people who are searched for."""
    common = np.intersect1d(search.people, development.people)
    if len(common):
        reason = f"development and evaluation share {len(common)} speaker(s), among them {str(common[0])!r}"
        raise InputError(f"{reason}; expected other people in the development embeddings")
