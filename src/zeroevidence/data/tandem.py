"""Scores of a countermeasure, of the verifier behind it, or of one system that does both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.data.scores import distinct_speakers, read_only, read_only_scores
from zeroevidence.errors import InputError

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
        object.__setattr__(self, "scores", read_only_scores(self.scores, "scores"))
        for name in ("speakers", "utterances", "attacks"):
            values = getattr(self, name)
            if values is None:
                continue
            array = read_only(np.asarray(values, dtype=np.str_))
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
                name: value if value is None or isinstance(value, TrialScores) else TrialScores(np.asarray(value))
                for name, value in scores.items()
            }
        )

    def has(self, side: str) -> bool:
        """Return whether there are scores of this side: ``cm``, ``asv`` or ``sasv``."""
        return getattr(self, f"{side}_spoof") is not None

    def classes(self) -> dict[str, TrialScores]:
        """Return the scores that are there, by name."""
        scores = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: trials for name, trials in scores.items() if trials is not None}

    @property
    def speakers(self) -> StrArray | None:
        """Distinct known speakers, None where speakers are unknown."""
        return distinct_speakers(*(trials.speakers for trials in self.classes().values()))

    def __repr__(self) -> str:
        return f"TandemScores({', '.join(f'{len(trials)} {name}' for name, trials in self.classes().items())})"
