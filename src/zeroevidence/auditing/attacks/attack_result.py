"""The scores of one attacker in all folds of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence.auditing.attacks.step_attack import FoldResult
from zeroevidence.data.folded_scores import FoldedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.finding.choosing import DevelopmentResult, choose
from zeroevidence.evaluation.rows.about import DrawUse

CHOSEN = "chosen"  # label of what the development people of each fold chose, which may differ between folds


@dataclass(frozen=True, slots=True)
class FailedAttack:
    """An attack that could not be carried out.

    Parameters
    ----------
    attacker
        Name of the threat model.
    encoder
        The encoder.
    step
        The step of the ladder.
    reason
        Why.
    """

    attacker: str
    encoder: str
    step: str
    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class AttackResult:
    """One attacker in each fold of people, or in a single one without cross-validation.

    Parameters
    ----------
    folds
        The result in each fold.
    step
        The step of the ladder, ``fusion`` or ``chosen``.
    scores
        Scores of all evaluated people; those of several folds contain their development scores too.
    settings
        Settings among which development people chose.
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
        """Return the results of folds as one attacker."""
        scores: ScoreMatrix | FoldedScores = folds[0].scores
        if len(folds) > 1:
            scores = FoldedScores.from_folds([fold.scores for fold in folds], [fold.dev for fold in folds])
        return cls(tuple(folds), step or folds[0].step, scores, max(fold.settings for fold in folds))

    @property
    def dev(self) -> ScoreMatrix | None:
        """Scores of development people, where there is one fold."""
        return self.folds[0].dev if len(self.folds) == 1 else None

    @property
    def encoders(self) -> tuple[str, ...]:
        """Encoders that some fold used."""
        return tuple(dict.fromkeys(name for fold in self.folds for name in fold.encoders))

    @property
    def encoder(self) -> str:
        """The encoders, joined by a plus sign."""
        return "+".join(self.encoders)

    @property
    def development(self) -> float:
        """Disclosure of development people in bits, averaged over folds."""
        return float(np.mean([fold.development for fold in self.folds]))

    @property
    def error(self) -> float:
        """Standard error of `development` over people."""
        return float(np.sqrt(np.sum([fold.error**2 for fold in self.folds])) / len(self.folds))

    @property
    def fused(self) -> bool:
        """Whether it is a fusion, in some fold."""
        return any(fold.parts for fold in self.folds)

    @property
    def draws(self) -> DrawUse:
        """How runs of the anonymiser were used, at most in any fold."""
        return DrawUse.together([fold.draws for fold in self.folds])

    @property
    def identities(self) -> int:
        """Number of people among whom each trial was searched."""
        return min(len(part.enrolment_names) for part in self.scores.parts)


def choose_per_fold(attackers: Sequence[AttackResult]) -> AttackResult | None:
    """Return the attacker of each fold that its development people choose; None where all are the same.

    The development people of one fold are evaluated in another, so an attacker that is chosen by the mean over folds is
    chosen by the evaluated people too. This one is not.
    """
    folds = zip(*(attacker.folds for attacker in attackers), strict=True)
    best = [
        choose([DevelopmentResult(part.development, part.error, bool(part.parts)) for part in parts]) for parts in folds
    ]
    if len(set(best)) == 1:
        return None
    result = AttackResult.of([attackers[i].folds[fold] for fold, i in enumerate(best)], CHOSEN)
    return replace(result, settings=max(attacker.settings for attacker in attackers))
