"""Searches of a cross-validation over people, put together: everybody is searched for among the people of one fold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.matrix import ScoreMatrix, closed_set_search
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class FoldedScores:
    """Scores of every fold of people on one scale, with those of the development people of each fold.

    Every person is evaluated in one fold, by an attacker who learned from people of the others. Each trial is searched
    among as many identities as the smallest fold has: in larger folds the person's own and those that follow it in the
    order of names. Make them with `from_folds`.

    Parameters
    ----------
    parts
        For each fold its trials against its people.
    dev
        For each fold those of development people, by the same attacker.

    Examples
    --------
    >>> one, other = (
    ...     ScoreMatrix([[2.0, 0.0], [0.5, 1.0]], [0, 1], people, people, people, people)
    ...     for people in (["ann", "bob"], ["cyd", "dan"])
    ... )
    >>> FoldedScores.from_folds([one, other], [other, one])
    FoldedScores(2 folds, 4 trials x 2 identities)
    """

    parts: tuple[ScoreMatrix, ...]
    dev: tuple[ScoreMatrix, ...]

    @classmethod
    def from_folds(cls, parts: Sequence[ScoreMatrix], dev: Sequence[ScoreMatrix]) -> FoldedScores:
        """Folds on one scale: every fold's scores less their mean, over their deviation, mated or not.

        Attackers that learned from different people score on different scales. This changes no order within a fold,
        uses no truth, and keeps apart what a scale from few development people would blur.
        """
        scales = [_scale(one) for one in parts]
        return cls(
            tuple(_scaled(one, *scale) for one, scale in zip(parts, scales, strict=True)),
            tuple(_scaled(one, *scale) for one, scale in zip(dev, scales, strict=True)),
        )

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.dev) or len(self.parts) < 2:
            raise InputError(f"{len(self.parts)} folds, {len(self.dev)} of development; expected as many, at least two")
        for number, part in enumerate(self.parts, 1):
            if part.enrolment_speakers is None or part.trial_speakers is None or part.scores.shape[1] < 2:
                raise InputError(f"fold {number}: expected two people or more, and to know who they are")
        for names, what in ((self.people, "person"), (self.trials, "trial")):
            found, counts = np.unique(names, return_counts=True)
            if (counts > 1).any():
                raise InputError(f"{what} {str(found[counts > 1][0])!r} is in two folds; expected each in one")

    def __repr__(self) -> str:
        return f"FoldedScores({len(self.parts)} folds, {len(self.trials)} trials x {self.identities} identities)"

    @property
    def people(self) -> StrArray:
        """Everybody who is enrolled, fold by fold."""
        return np.concatenate([column_speakers(part) for part in self.parts])

    @property
    def trials(self) -> StrArray:
        """Identifiers of the trials, fold by fold."""
        return np.concatenate([part.trial_names for part in self.parts])

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many people each fold has."""
        return tuple(part.scores.shape[1] for part in self.parts)

    @property
    def identities(self) -> int:
        """Among how many each trial is searched."""
        return min(self.sizes)

    def candidates(self, fold: int) -> IntArray:
        """For each person of a fold the columns that trials of that person are compared with, the own one first."""
        order = np.argsort(column_speakers(self.parts[fold]), kind="stable")
        found = np.empty((len(order), self.identities), dtype=np.int64)
        circle = np.arange(len(order))[:, None] + np.arange(self.identities)
        found[order] = order[circle % len(order)]
        return found

    def enrolled_trials(self) -> tuple[FoldedScores, int]:
        """The trials of enrolled people, and how many others there were."""
        sides = [[closed_set_search(one)[0] for one in side] for side in (self.parts, self.dev)]
        parts, dev = (tuple(one for one in side if one is not None) for side in sides)
        if len(parts) < len(self.parts) or len(dev) < len(self.dev):
            raise InputError("a fold has no trial of an enrolled person")
        trials = [sum(len(part.mated) for part in side) for side in (self.parts, parts)]
        return FoldedScores(parts, dev), trials[0] - trials[1]

    def to_scores(self) -> Scores:
        """All comparisons of all folds as two classes."""
        found = [part.to_scores() for part in self.parts]
        return Scores(
            np.concatenate([one.target for one in found]),
            np.concatenate([one.nontarget for one in found]),
            self._pairs([one.target_pairs for one in found]),
            self._pairs([one.nontarget_pairs for one in found]),
            enrolments=np.concatenate([part.enrolment_names for part in self.parts]),
            trials=self.trials,
            enrolment_speakers=self.people,
            trial_speakers=np.concatenate([one.trial_speakers for one in found if one.trial_speakers is not None]),
        )

    def _pairs(self, pairs: Sequence[Pairs | None]) -> Pairs:
        """Who was compared, counted through all folds."""
        columns = np.cumsum([0, *self.sizes])
        rows = np.cumsum([0, *(len(part.mated) for part in self.parts)])
        known = [one for one in pairs if one is not None]
        return Pairs(
            np.concatenate([one.enrolment + first for one, first in zip(known, columns[:-1], strict=True)]),
            np.concatenate([one.trial + first for one, first in zip(known, rows[:-1], strict=True)]),
        )


def column_speakers(part: ScoreMatrix) -> StrArray:
    """The person behind each column of a fold."""
    return part.enrolment_names if part.enrolment_speakers is None else part.enrolment_speakers


def _scale(part: ScoreMatrix) -> tuple[float, float]:
    scores = part.scores.astype(np.float64)
    deviation = float(scores.std())
    return float(scores.mean()), deviation if deviation > 0.0 else 1.0


def _scaled(matrix: ScoreMatrix, mean: float, deviation: float) -> ScoreMatrix:
    return matrix.with_scores((matrix.scores.astype(np.float64) - mean) / deviation)
