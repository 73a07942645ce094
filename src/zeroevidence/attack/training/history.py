"""What a training came to: development scores by epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError
from zeroevidence.evaluation.searches import average_disclosure
from zeroevidence.measure.pairs.verification import eer


@dataclass(frozen=True, slots=True)
class DevelopmentScore:
    """Average disclosure of a search in bits, and equal error rate."""

    bits: float
    eer: float


def development_score(vectors: FloatArray, speakers: StrArray) -> DevelopmentScore:
    """Score development people by centred cosine: every other utterance of each enrols, the rest are trials.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> people = np.repeat(["a", "b", "c", "d"], 6)
    >>> centres = np.repeat(4.0 * np.eye(4), 6, axis=0)
    >>> development_score(centres + rng.normal(size=(24, 4)), people).eer < 0.1
    True
    """
    names, who = np.unique(speakers, return_inverse=True)
    turn = np.zeros(len(who), dtype=np.int64)
    for k in range(len(names)):
        rows = np.flatnonzero(who == k)
        turn[rows] = np.arange(len(rows))
    enrols = turn % 2 == 0
    tried = np.flatnonzero(~enrols & np.isin(who, who[enrols]))
    if len(tried) < 2 or len(np.unique(who[tried])) < 2:
        raise InputError("expected at least two utterances of at least two development people")
    x = vectors - vectors.mean(axis=0)
    x = x / np.linalg.norm(x, axis=1, keepdims=True)
    profiles = np.stack([x[enrols & (who == k)].mean(axis=0) for k in range(len(names))])
    profiles /= np.linalg.norm(profiles, axis=1, keepdims=True)
    matrix = ScoreMatrix(x[tried] @ profiles.T, who[tried].astype(np.int64))
    pairs = matrix.to_scores()
    return DevelopmentScore(average_disclosure(matrix), eer.unchecked(pairs.target, pairs.nontarget))


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the utterances."""

    number: int
    loss: float
    development: DevelopmentScore | None  # None where it was not evaluated


def ignore_epoch(epoch: Epoch) -> None:
    """Show nothing of an epoch."""


@dataclass(slots=True)
class TrainedNetwork:
    """A trained network with the history of its training."""

    network: Any  # a torch module
    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0  # epoch whose weights the network has; 0 is before training

    @property
    def best_score(self) -> DevelopmentScore | None:
        """Disclosure of development people to the weights of the best epoch."""
        scores = {epoch.number: epoch.development for epoch in self.epochs if epoch.development is not None}
        return scores.get(self.best)


CHECKPOINTS = "checkpoints"  # the kind of what trainings keep
