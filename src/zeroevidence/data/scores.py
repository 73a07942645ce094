"""One-to-one scores: two classes, and who was compared with whom where that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.errors import InputError

T = TypeVar("T", bound=np.generic)


def frozen_scores(values: ArrayLike, name: str, ndim: int = 1) -> FloatArray:
    """A read-only float32 or float64 array without NaN; infinities are kept (they are evidence)."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub" and array.size:
        raise InputError(f"{name}: expected numbers, got {array.dtype}")
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
    return frozen(array)


def frozen(array: NDArray[T]) -> NDArray[T]:
    """A read-only view: what the caller holds stays writable, what we hold does not."""
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Who was compared with whom: for each score, the position of its enrolment and of its trial in the id lists."""

    enrolment: IntArray
    trial: IntArray

    def __post_init__(self) -> None:
        for name in ("enrolment", "trial"):
            object.__setattr__(self, name, frozen(np.asarray(getattr(self, name), dtype=np.int64)))

    def __len__(self) -> int:
        return len(self.enrolment)


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """Target (mated) and non-target scores of one system, validated and read-only.

    Parameters
    ----------
    target, nontarget
        Scores, higher meaning more alike. NaN is refused; infinities are kept.
    target_pairs, nontarget_pairs
        For each score its (enrolment, trial); both or neither, with `enrolments` and `trials`.
    enrolments, trials
        Distinct identifiers that the pairs point into.
    enrolment_speakers, trial_speakers
        The person behind each identifier, "" where unknown.
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
            object.__setattr__(self, name, frozen_scores(getattr(self, name), name))
        together = ("target_pairs", "nontarget_pairs", "enrolments", "trials")
        given = [getattr(self, name) is not None for name in together]
        if any(given) and not all(given):
            raise InputError(f"expected all of {', '.join(together)}, or none of them")
        for name in ("enrolments", "trials", "enrolment_speakers", "trial_speakers"):
            ids = getattr(self, name)
            if ids is not None:
                object.__setattr__(self, name, frozen(np.asarray(ids, dtype=np.str_)))
        self._check_pairs()

    def _check_pairs(self) -> None:
        if self.enrolments is None or self.trials is None:
            return
        for ids, speakers, name in (
            (self.enrolments, self.enrolment_speakers, "enrolment_speakers"),
            (self.trials, self.trial_speakers, "trial_speakers"),
        ):
            if speakers is not None and len(speakers) != len(ids):
                raise InputError(f"{name}: expected {len(ids)} names, one per identifier, got {len(speakers)}")
        for pairs, scores, name in (
            (self.target_pairs, self.target, "target_pairs"),
            (self.nontarget_pairs, self.nontarget, "nontarget_pairs"),
        ):
            if pairs is None:
                continue
            if len(pairs) != len(scores) or len(pairs.trial) != len(scores):
                raise InputError(f"{name}: expected {len(scores)} pairs, one per score, got {len(pairs)}")
            for codes, ids in ((pairs.enrolment, self.enrolments), (pairs.trial, self.trials)):
                if codes.min() < 0 or codes.max() >= len(ids):
                    raise InputError(f"{name}: expected positions from 0 to {len(ids) - 1}")

    def __len__(self) -> int:
        return len(self.target) + len(self.nontarget)

    def __repr__(self) -> str:
        return f"Scores({len(self.target)} target, {len(self.nontarget)} nontarget)"

    @property
    def speakers(self) -> StrArray | None:
        """Distinct known speakers on either side, or None when nobody said."""
        return known_speakers(self.enrolment_speakers, self.trial_speakers)


def known_speakers(*sides: StrArray | None) -> StrArray | None:
    """Distinct names on any side, "" left out; None when no side has any."""
    known = [names for names in sides if names is not None]
    if not known:
        return None
    names = np.unique(np.concatenate(known))
    result: StrArray = names[names != ""]
    return result
