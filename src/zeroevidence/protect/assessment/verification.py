"""Utility: speaker verification with a PLDA trained on unprotected vectors, both sides protected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.attack.backends import named_scores
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.evaluation import About, Evaluation, Options, evaluate
from zeroevidence.measure.pairs.verification import eer
from zeroevidence.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class Verifier:
    """A PLDA trained on unprotected vectors, and people whom it has not seen.

    Parameters
    ----------
    backend
        The PLDA.
    people
        Embeddings of the people to verify, in the order of speakers and identifiers.
    enrols
        Which of their vectors enrol them: the first half of each person's.
    """

    backend: Plda
    people: Embeddings
    enrols: BoolArray

    @classmethod
    def of(cls, train: Embeddings, people: Embeddings) -> Verifier:
        """Return the verifier of people by a PLDA trained on others."""
        backend = Plda().fit(np.asarray(train.vectors, dtype=np.float64), require_speakers(train, "train"))
        people = sort_by_name(people)
        names = require_speakers(people)
        enrols = np.zeros(len(names), dtype=bool)
        for name in np.unique(names):
            rows = np.flatnonzero(names == name)
            enrols[rows[: len(rows) // 2]] = True
        return cls(backend, people, enrols)

    def matrix(self, enrolment: FloatArray, trial: FloatArray) -> ScoreMatrix:
        """Return the scores of all trials, given all vectors as they enrol people and as they are compared."""
        names = require_speakers(self.people)
        compared = ~self.enrols & np.isin(names, names[self.enrols])
        profiles = self._with(enrolment).take(self.enrols).profiles()
        trials = self._with(trial).take(compared)
        scores = self.backend.score(np.asarray(profiles.vectors), np.asarray(trials.vectors))
        return named_scores(scores, trials, profiles)

    def rates(self, enrolment: FloatArray, trial: FloatArray) -> tuple[float, float]:
        """Return the EER, and how often the right person scores highest."""
        matrix = self.matrix(enrolment, trial)
        scores, mated = np.asarray(matrix.scores), np.asarray(matrix.mated)
        targets = np.zeros(scores.shape, dtype=bool)
        targets[np.arange(len(scores)), mated] = True
        return eer.unchecked(scores[targets], scores[~targets]), float(np.mean(scores.argmax(axis=1) == mated))

    def _with(self, vectors: FloatArray) -> Embeddings:
        return Embeddings(vectors, self.people.ids, self.people.speakers)


def verification(
    train: Embeddings, sides: Mapping[str, Embeddings], labels: Mapping[str, str], options: Options, run: Run
) -> Evaluation:
    """Return the verification of all people outside the training set.

    Parameters
    ----------
    train
        Unprotected embeddings that the PLDA is trained on.
    sides
        Embeddings of other people, of which the first half of each person's vectors enrols.
    labels
        Labels of the row.
    options
        How to measure.
    run
        Seed and level.
    """
    people = list(sides.values())
    vectors = np.concatenate([side.vectors for side in people])
    ids = np.concatenate([side.ids for side in people])
    verifier = Verifier.of(train, Embeddings(vectors, ids, np.concatenate([require_speakers(side) for side in people])))
    vectors = np.asarray(verifier.people.vectors)  # in their order
    matrix = verifier.matrix(vectors, vectors)
    # Both sides are protected or neither is: the system says which.
    labels = {**labels, "split": "test", "backend": verifier.backend.name}
    return evaluate(matrix, labels=labels, about=About(role="utility"), options=options, run=run)
