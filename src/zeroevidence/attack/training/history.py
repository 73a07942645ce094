"""The history of a training, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zeroevidence.attack.training.development import DevelopmentScore


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass over the utterances."""

    number: int
    loss: float
    development: DevelopmentScore | None  # None where it was not evaluated


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
