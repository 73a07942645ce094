"""An attacker as it was carried out in every fold of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence.auditing.attacks.step_attack import FoldResult
from zeroevidence.data.folded_scores import FoldedScores
from zeroevidence.data.matrix import ScoreMatrix

CHOSEN = "chosen"  # what each fold's development people chose, which may be another step in every fold


@dataclass(frozen=True, slots=True, eq=False)
class AttackResult:
    """One attacker in each fold of people; in a single one where people were not cross-validated.

    Parameters
    ----------
    folds
        What was tried in each fold.
    step
        The step of the ladder, ``fusion`` or ``chosen``.
    scores
        Scores of all evaluated people; those of several folds hold their development scores too.
    settings
        Back-ends among which development people chose.
    seconds
        How long it took.
    """

    folds: tuple[FoldResult, ...]
    step: str
    scores: ScoreMatrix | FoldedScores
    settings: int
    seconds: float = 0.0

    @classmethod
    def of(cls, folds: Sequence[FoldResult], step: str | None = None) -> AttackResult:
        """What was tried in each fold as one attacker."""
        scores: ScoreMatrix | FoldedScores = folds[0].scores
        if len(folds) > 1:
            scores = FoldedScores.from_folds([one.scores for one in folds], [one.dev for one in folds])
        return cls(tuple(folds), step or folds[0].step, scores, max(one.settings for one in folds))

    @property
    def dev(self) -> ScoreMatrix | None:
        """Scores of development people, where there is one fold."""
        return self.folds[0].dev if len(self.folds) == 1 else None

    @property
    def encoders(self) -> tuple[str, ...]:
        """Encoders that some fold used."""
        return tuple(dict.fromkeys(name for one in self.folds for name in one.encoders))

    @property
    def encoder(self) -> str:
        """The encoders in one word."""
        return "+".join(self.encoders)

    @property
    def development(self) -> float:
        """What development people disclosed, in bits, averaged over folds."""
        return float(np.mean([one.development for one in self.folds]))

    @property
    def identities(self) -> int:
        """Among how many people each trial was searched."""
        return min(len(part.enrolment_names) for part in self.scores.parts)


def chosen(attackers: Sequence[AttackResult]) -> AttackResult | None:
    """In each fold the attacker to whom its development people disclose most; None where all choose the same one.

    The development people of one fold are evaluated in another, so an attacker that is chosen by the mean over folds is
    chosen by the evaluated people too. This one is not.
    """
    bits = np.array([[one.development for one in attacker.folds] for attacker in attackers])
    best = bits.argmax(axis=0).tolist()
    if len(set(best)) == 1:
        return None
    found = AttackResult.of([attackers[i].folds[fold] for fold, i in enumerate(best)], CHOSEN)
    return replace(found, settings=max(one.settings for one in attackers))
