"""Scores of trials, and of a verifier behind a countermeasure, validated once and then read-only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.data.printable import compose
from zeroevidence.errors import InputError

T = TypeVar("T", bound=np.generic)
_MANY = 10  # scores, of which not all are 0 or 1 by accident


def check_scores(values: ArrayLike, name: str, ndim: int = 1) -> FloatArray:
    """Return scores as a float32 or float64 array; NaN is refused, infinities are evidence."""
    array = as_array(values, name)
    if array.dtype.kind not in "fiu" and array.size:
        kinds = {"U": "text", "S": "text", "b": "True and False, which are labels or decisions"}
        raise InputError(f"{name}: expected numbers, got {kinds.get(array.dtype.kind, array.dtype)}")
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != ndim:
        raise InputError(f"{name}: expected {ndim} dimension(s), got shape {array.shape}")
    if array.size == 0:
        raise InputError(f"{name}: expected at least one score, got none")
    # One reduction instead of a mask as large as the scores: NaN survives a sum, and so does inf - inf.
    with np.errstate(all="ignore"):
        suspicious = not np.isfinite(array.sum())
    if suspicious and np.isnan(array).any():
        first = np.argwhere(np.isnan(array))[0]
        raise InputError(f"{name}: NaN at position {', '.join(map(str, first))}; expected a number")
    return array


def as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    """Return lists, arrays, series of polars and pandas, and tensors of torch as an array; masked ones are refused."""
    parts = values if isinstance(values, (list, tuple)) else (values,)
    if any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts):
        raise InputError(f"{name}: a masked array; expected only the entries that count, such as {name}.compressed()")
    if hasattr(values, "detach"):
        tensor: Any = values.detach().cpu()
        # NumPy has no bfloat16 and no float8; single precision holds all of their numbers
        values = tensor.float() if tensor.dtype.is_floating_point and tensor.dtype.itemsize < 4 else tensor
    try:
        array = values if isinstance(values, np.memmap) else np.asarray(values)
    except ValueError:
        raise InputError(f"{name}: expected one number per score, got lists of different lengths") from None
    if array.dtype == object and all(value is None or isinstance(value, Real) for value in array.flat):
        array = array.astype(np.float64)  # a column with missing values, which become NaN
    return array


def are_decisions(*classes: FloatArray) -> bool:
    """Return whether all scores are 0 or 1, and not just a few that differ between the classes.

    Examples
    --------
    >>> are_decisions(np.array([1.0, 0.0]), np.array([0.0])), are_decisions(np.array([1.0]), np.array([0.0]))
    (True, False)
    """
    mixed = any(values.min() < values.max() for values in classes)
    many = sum(map(len, classes)) >= _MANY
    return (mixed or many) and all(bool(((values == 0.0) | (values == 1.0)).all()) for values in classes)


def check_classes(target: FloatArray, nontarget: FloatArray) -> None:
    """Refuse labels in the place of scores: 0 and 1 alone, as many as there are scores, of which not all are whole."""
    for name, values, others in (("target", target, nontarget), ("nontarget", nontarget, target)):
        alone = len(values) == len(others) and values.min() < values.max() and are_decisions(values)
        if alone and (others != np.rint(others)).any():
            expected = "target scores and non-target scores, such as scores[labels == 1] and scores[labels == 0]"
            raise InputError(f"{name}: 0 and 1 alone, one for each score, as labels are; expected {expected}")


def frozen(array: NDArray[T]) -> NDArray[T]:
    """Return an array that nobody else holds, read-only from now on."""
    array.flags.writeable = False
    return array


def owned(array: NDArray[T]) -> NDArray[T]:
    """Return a read-only array that no later change of the caller's reaches; it is copied unless it is read-only.

    Arrays of files stay on disk.
    """
    part: Any = array
    while isinstance(part, np.ndarray) and not part.flags.writeable:
        part = part.base
    if not isinstance(part, np.ndarray):
        return array
    return frozen(array.view() if isinstance(array, np.memmap) else array.copy("K"))


def compose_names(names: StrArray) -> tuple[StrArray, frozenset[str]]:
    """Return names in the form in which they are compared, and those beyond ASCII as they were written."""
    listed = names.tolist()
    if "".join(listed).isascii():
        return names, frozenset()
    return np.array(list(map(compose, listed)), dtype=np.str_), frozenset(name for name in listed if not name.isascii())


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The comparison behind each score.

    Parameters
    ----------
    enrolment
        Position of the enrolment of each score among the enrolments.
    trial
        Position of its trial among the trials.

    Examples
    --------
    >>> target, nontarget = Pairs([0], [0]), Pairs([1], [0])
    >>> Scores([2.0], [-1.0], target, nontarget, enrolments=["ann", "bob"], trials=["a1"])
    Scores(1 target, 1 nontarget)
    """

    enrolment: IntArray
    trial: IntArray

    def __post_init__(self) -> None:
        for name in ("enrolment", "trial"):
            object.__setattr__(self, name, owned(as_array(getattr(self, name), name).astype(np.int64, copy=False)))

    def __len__(self) -> int:
        return len(self.enrolment)

    def renumbered(self, enrolments: IntArray, trials: IntArray) -> Pairs:
        """Return the same pairs with other numbers, given those of all enrolments and of all trials."""
        # `take` is quicker than an index, and what nobody else holds is not copied
        return Pairs(frozen(enrolments.take(self.enrolment)), frozen(trials.take(self.trial)))


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Target (mated) and non-target scores of one system, validated and read-only.

    Lists, NumPy arrays, series of polars or pandas and tensors of torch are taken.

    Parameters
    ----------
    target
        Scores of targets, higher meaning more alike. NaN is refused; infinities are kept.
    nontarget
        Scores of non-targets.
    target_pairs
        The comparison behind each target score; with `nontarget_pairs`, `enrolments` and `trials`, or not at all.
    nontarget_pairs
        The comparison behind each non-target score.
    enrolments
        Distinct identifiers of enrolments.
    trials
        Distinct identifiers of trials.
    enrolment_speakers
        The speaker of each enrolment, "" where unknown.
    trial_speakers
        The speaker of each trial, "" where unknown.

    Examples
    --------
    >>> Scores([2.0, 3.0], [-1.0, 0.5, 0.0])
    Scores(2 target, 3 nontarget)
    """

    target: FloatArray
    nontarget: FloatArray
    target_pairs: Pairs | None = None
    nontarget_pairs: Pairs | None = None
    enrolments: StrArray | None = None
    trials: StrArray | None = None
    enrolment_speakers: StrArray | None = None
    trial_speakers: StrArray | None = None

    def __post_init__(self) -> None:
        for name in ("target", "nontarget"):
            object.__setattr__(self, name, owned(check_scores(getattr(self, name), name)))
        together = ("target_pairs", "nontarget_pairs", "enrolments", "trials")
        if len({getattr(self, name) is None for name in together}) > 1:
            raise InputError(f"expected all of {', '.join(together)}, or none of them")
        for name in ("enrolments", "trials", "enrolment_speakers", "trial_speakers"):
            ids = getattr(self, name)
            if ids is not None:
                object.__setattr__(self, name, owned(np.asarray(ids, dtype=np.str_)))
        if self.enrolments is None or self.trials is None:
            return
        for side, ids in (("enrolment_speakers", self.enrolments), ("trial_speakers", self.trials)):
            speakers = getattr(self, side)
            if speakers is not None and len(speakers) != len(ids):
                raise InputError(f"{side}: expected {len(ids)} names, one per identifier, got {len(speakers)}")
        for name in ("target", "nontarget"):
            count, pairs = len(getattr(self, name)), getattr(self, f"{name}_pairs")
            if len(pairs) != count or len(pairs.trial) != count:
                raise InputError(f"{name}_pairs: expected {count} pairs, one per score, got {len(pairs)}")
            for codes, ids in ((pairs.enrolment, self.enrolments), (pairs.trial, self.trials)):
                if codes.min() < 0 or codes.max() >= len(ids):
                    raise InputError(f"{name}_pairs: expected positions from 0 to {len(ids) - 1}")

    @classmethod
    def from_labels(cls, scores: ArrayLike, labels: ArrayLike, **pairs: Any) -> Scores:
        """Return the scores of one array with a label for each.

        Parameters
        ----------
        scores
            Scores of targets and non-targets.
        labels
            1, True or ``target`` for targets; 0, False or ``nontarget`` for non-targets.
        **pairs
            Further arguments of `Scores`.

        Examples
        --------
        >>> Scores.from_labels([2.0, -1.0, 0.5], [1, 0, 0])
        Scores(1 target, 2 nontarget)
        """
        values, mated = check_scores(scores, "scores"), is_target(labels)
        if mated.shape != values.shape:
            raise InputError(f"labels: expected {len(values)}, one per score, got shape {mated.shape}")
        return cls(values[mated], values[~mated], **pairs)

    def __len__(self) -> int:
        return len(self.target) + len(self.nontarget)

    def __repr__(self) -> str:
        return f"Scores({len(self.target)} target, {len(self.nontarget)} nontarget)"

    def to_scores(self) -> Scores:
        """The scores themselves, as a matrix has this method, too."""
        return self

    @property
    def speakers(self) -> StrArray | None:
        """Distinct known speakers on either side, None where speakers are unknown."""
        return distinct_speakers(self.enrolment_speakers, self.trial_speakers)


def pool_scores(parts: Sequence[Scores]) -> Scores:
    """Return the scores of all parts as one; identifiers that several parts share are the same, of one speaker."""
    target, nontarget = (np.concatenate([getattr(part, name) for part in parts]) for name in ("target", "nontarget"))
    if any(part.target_pairs is None for part in parts):
        return Scores(target, nontarget)
    enrolments, columns, people = _distinct_names([(part.enrolments, part.enrolment_speakers) for part in parts])
    trials, rows, speakers = _distinct_names([(part.trials, part.trial_speakers) for part in parts])
    target_pairs, nontarget_pairs = (
        Pairs(
            np.concatenate([place[pairs.enrolment] for place, pairs in zip(columns, of_parts, strict=True)]),
            np.concatenate([place[pairs.trial] for place, pairs in zip(rows, of_parts, strict=True)]),
        )
        for of_parts in zip(*((part.target_pairs, part.nontarget_pairs) for part in parts), strict=True)
    )
    return Scores(target, nontarget, target_pairs, nontarget_pairs, enrolments, trials, people, speakers)


def _distinct_names(parts: Sequence[tuple[Any, Any]]) -> tuple[StrArray, list[IntArray], StrArray | None]:
    """Return the distinct names of all parts as they come, the places of those of each part, and their speakers."""
    names = np.concatenate([names for names, _ in parts])
    _, first, place = np.unique(names, return_index=True, return_inverse=True)
    order = np.argsort(first)
    names, place = names[first[order]], np.argsort(order)[place]
    places = np.split(place, np.cumsum([len(names) for names, _ in parts])[:-1])
    if all(people is None for _, people in parts):
        return names, places, None
    speakers = np.full(len(names), "", dtype=object)
    for at, (_, people) in zip(places, parts, strict=True):
        heard = speakers[at] if people is None else np.where(people == "", speakers[at], people)
        other = (speakers[at] != "") & (speakers[at] != heard)
        if other.any():
            row = at[other][0]
            raise InputError(f"{names[row]!s} is {speakers[row]} in one group and {heard[other][0]} in another")
        speakers[at] = heard
    return names, places, speakers.astype(np.str_)


def is_target(labels: ArrayLike) -> BoolArray:
    """Return which labels mean target: 1, True or ``target``; others than 0, False and ``nontarget`` are refused."""
    array = as_array(labels, "labels")
    if array.dtype.kind in "biuf":
        wrong = (array != 0) & (array != 1)
    else:
        array = array.astype(np.str_)
        wrong = ~np.isin(array, ("target", "nontarget", "1", "0", "True", "False"))
    if wrong.any():
        first = int(np.flatnonzero(wrong.ravel())[0])
        raise InputError(f"labels: {array.ravel()[first]!s} at position {first}; expected 1, 0, target or nontarget")
    return array.astype(bool) if array.dtype.kind in "biuf" else np.isin(array, ("target", "1", "True"))


def distinct_speakers(*sides: StrArray | None) -> StrArray | None:
    """Return the distinct names of all sides, without ""; None when no side has any."""
    present = [names for names in sides if names is not None]
    if not present:
        return None
    names = np.unique(np.concatenate(present))
    return np.asarray(names[names != ""])


KINDS: Mapping[str, tuple[str, ...]] = {
    "cm": ("bonafide", "spoof"),
    "asv": ("target", "nontarget", "spoof"),
    "sasv": ("target", "nontarget", "spoof"),
}


@dataclass(frozen=True, slots=True, eq=False)
class TrialScores:
    """Scores of one kind of trial, with speakers, utterances and attacks where they are known.

    Parameters
    ----------
    scores
        Higher means more acceptable. NaN is refused; infinities are kept.
    speakers
        The claimed speaker of a verifier's trial, the speaker heard by a countermeasure; "" where unknown.
    utterances
        The utterance of each trial.
    attacks
        The attack that made a spoof; "" where unknown.
    """

    scores: FloatArray
    speakers: StrArray | None = None
    utterances: StrArray | None = None
    attacks: StrArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scores", owned(check_scores(self.scores, "scores")))
        for name in ("speakers", "utterances", "attacks"):
            values = getattr(self, name)
            if values is None:
                continue
            array = owned(np.asarray(values, dtype=np.str_))
            if array.shape != self.scores.shape:
                raise InputError(f"{name}: expected {len(self.scores)}, one per score, got shape {array.shape}")
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        return f"TrialScores({len(self)})"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TandemScores:
    """Scores of a tandem, of a countermeasure alone, or of a single spoofing-robust verifier.

    A countermeasure has ``cm_bonafide`` and ``cm_spoof``; the verifier behind it ``asv_target``, ``asv_nontarget``
    and ``asv_spoof``; a single system that does both ``sasv_target``, ``sasv_nontarget`` and ``sasv_spoof``. Each of
    the three is complete or absent, and a verifier needs a countermeasure. `of` takes plain arrays.

    Examples
    --------
    >>> scores = TandemScores.of(cm_bonafide=[2.0, 3.0], cm_spoof=[-1.0])
    >>> {kind: len(trials) for kind, trials in scores.classes().items()}
    {'cm_bonafide': 2, 'cm_spoof': 1}
    """

    cm_bonafide: TrialScores | None = None
    cm_spoof: TrialScores | None = None
    asv_target: TrialScores | None = None
    asv_nontarget: TrialScores | None = None
    asv_spoof: TrialScores | None = None
    sasv_target: TrialScores | None = None
    sasv_nontarget: TrialScores | None = None
    sasv_spoof: TrialScores | None = None

    def __post_init__(self) -> None:
        for side, kinds in KINDS.items():
            lacking = [kind for kind in kinds if getattr(self, f"{side}_{kind}") is None]
            if lacking and len(lacking) < len(kinds):
                raise InputError(f"no {side}_{lacking[0]} scores; expected {', '.join(f'{side}_{k}' for k in kinds)}")
        if self.has("asv") and not self.has("cm"):
            raise InputError("a verifier's scores without those of the countermeasure in front of it")
        if not self.has("cm") and not self.has("sasv"):
            raise InputError("expected the scores of a countermeasure, or of a single spoofing-robust verifier")

    @classmethod
    def of(cls, **scores: ArrayLike | TrialScores | None) -> TandemScores:
        """Return the scores of plain arrays, by the names of the fields."""
        names = {field.name for field in fields(cls)}
        unknown = sorted(set(scores) - names)
        if unknown:
            raise InputError(f"unknown scores {unknown[0]!r}; expected {', '.join(sorted(names))}")
        return cls(
            **{
                name: value if value is None or isinstance(value, TrialScores) else TrialScores(value)  # type: ignore[arg-type]
                for name, value in scores.items()
            }
        )

    def has(self, side: str) -> bool:
        """Return whether there are scores of this side: ``cm``, ``asv`` or ``sasv``."""
        return getattr(self, f"{side}_spoof") is not None

    def classes(self) -> dict[str, TrialScores]:
        """Return the scores that are there, by name."""
        return {field.name: trials for field in fields(self) if (trials := getattr(self, field.name)) is not None}

    @property
    def speakers(self) -> StrArray | None:
        """Distinct known speakers, None where speakers are unknown."""
        return distinct_speakers(*(trials.speakers for trials in self.classes().values()))

    def __repr__(self) -> str:
        return f"TandemScores({', '.join(f'{len(trials)} {name}' for name, trials in self.classes().items())})"
