"""Scores of a cross-validation over speakers: every speaker is searched for among the speakers of one fold."""

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
    """Scores of every fold of speakers on one scale, with those of the development speakers of each fold.

    Every speaker is evaluated in one fold, by an attacker who learned from speakers of the others. Each trial is
    searched among as many identities as the smallest fold has: in larger folds its speaker and those that follow in the
    order of names. `from_folds` brings the folds to one scale.

    Parameters
    ----------
    parts
        For each fold its trials against its speakers.
    dev
        For each fold those of development speakers, by the same attacker.

    Examples
    --------
    >>> first, second = (
    ...     ScoreMatrix([[2.0, 0.0], [0.5, 1.0]], [0, 1], people, people, people, people)
    ...     for people in (["ann", "bob"], ["cyd", "dan"])
    ... )
    >>> FoldedScores.from_folds([first, second], [second, first])
    FoldedScores(2 folds, 4 trials x 2 identities)
    """

    parts: tuple[ScoreMatrix, ...]
    dev: tuple[ScoreMatrix, ...]

    @classmethod
    def from_folds(cls, parts: Sequence[ScoreMatrix], dev: Sequence[ScoreMatrix]) -> FoldedScores:
        """Return the folds on one scale: scores less the mean of their fold, divided by its standard deviation.

        Attackers that learned from different speakers score on different scales. This changes no order within a fold,
        uses no labels, and is sharper than a scale from few development speakers.

        Parameters
        ----------
        parts
            The scores of each fold.
        dev
            The scores of its development speakers, which are scaled like those of the fold.
        """
        scales = [_scale(part) for part in parts]
        return cls(*(tuple(map(_scaled, side, scales)) for side in (parts, dev)))

    def __post_init__(self) -> None:
        if len(self.parts) != len(self.dev) or len(self.parts) < 2:
            raise InputError(f"{len(self.parts)} folds, {len(self.dev)} of development; expected as many, at least two")
        for number, part in enumerate(self.parts, 1):
            if part.enrolment_speakers is None or part.trial_speakers is None or part.scores.shape[1] < 2:
                raise InputError(f"fold {number}: expected two people or more, and to know who they are")
        for names, kind in ((self.people, "person"), (self.trials, "trial")):
            distinct, counts = np.unique(names, return_counts=True)
            if (counts > 1).any():
                raise InputError(f"{kind} {str(distinct[counts > 1][0])!r} is in two folds; expected each in one")

    def __repr__(self) -> str:
        return f"FoldedScores({len(self.parts)} folds, {len(self.trials)} trials x {self.identities} identities)"

    @property
    def people(self) -> StrArray:
        """The enrolled speakers, fold by fold."""
        return np.concatenate([column_speakers(part) for part in self.parts])

    @property
    def trials(self) -> StrArray:
        """Identifiers of the trials, fold by fold."""
        return np.concatenate([part.trial_names for part in self.parts])

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many speakers each fold has."""
        return tuple(part.scores.shape[1] for part in self.parts)

    @property
    def identities(self) -> int:
        """Among how many identities each trial is searched."""
        return min(self.sizes)

    def candidates(self, fold: int) -> IntArray:
        """Return for each speaker of a fold the columns that the trials are compared with, the mated one first."""
        order = np.argsort(column_speakers(self.parts[fold]), kind="stable")
        columns = np.empty((len(order), self.identities), dtype=np.int64)
        circle = np.arange(len(order))[:, None] + np.arange(self.identities)
        columns[order] = order[circle % len(order)]
        return columns

    def enrolled_trials(self) -> tuple[FoldedScores, int]:
        """Return the trials of enrolled speakers, and how many others there were."""
        sides = [[closed_set_search(part)[0] for part in side] for side in (self.parts, self.dev)]
        parts, dev = (tuple(part for part in side if part is not None) for side in sides)
        if len(parts) < len(self.parts) or len(dev) < len(self.dev):
            raise InputError("a fold has no trial of an enrolled person")
        trials = [sum(len(part.mated) for part in side) for side in (self.parts, parts)]
        return FoldedScores(parts, dev), trials[0] - trials[1]

    def to_scores(self) -> Scores:
        """Return all comparisons of all folds as two classes."""
        folds = [part.to_scores() for part in self.parts]
        return Scores(
            np.concatenate([fold.target for fold in folds]),
            np.concatenate([fold.nontarget for fold in folds]),
            self._pairs([fold.target_pairs for fold in folds]),
            self._pairs([fold.nontarget_pairs for fold in folds]),
            enrolments=np.concatenate([part.enrolment_names for part in self.parts]),
            trials=self.trials,
            enrolment_speakers=self.people,
            trial_speakers=np.concatenate([fold.trial_speakers for fold in folds if fold.trial_speakers is not None]),
        )

    def _pairs(self, pairs: Sequence[Pairs | None]) -> Pairs:
        """Return the comparisons with positions counted through all folds."""
        columns = np.cumsum([0, *self.sizes])
        rows = np.cumsum([0, *(len(part.mated) for part in self.parts)])
        folds = [fold for fold in pairs if fold is not None]
        return Pairs(
            np.concatenate([fold.enrolment + first for fold, first in zip(folds, columns[:-1], strict=True)]),
            np.concatenate([fold.trial + first for fold, first in zip(folds, rows[:-1], strict=True)]),
        )


def column_speakers(part: ScoreMatrix) -> StrArray:
    """Return the speaker of each column of a fold."""
    return part.enrolment_names if part.enrolment_speakers is None else part.enrolment_speakers


def _scale(part: ScoreMatrix) -> tuple[float, float]:
    scores = part.scores.astype(np.float64)
    deviation = float(scores.std())
    return float(scores.mean()), deviation if deviation > 0.0 else 1.0


def _scaled(matrix: ScoreMatrix, scale: tuple[float, float]) -> ScoreMatrix:
    mean, deviation = scale
    return matrix.with_scores((matrix.scores.astype(np.float64) - mean) / deviation)
