"""What a training gave, epoch by epoch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from zeroevidence.attack.training.development import DevelopmentScore


@dataclass(frozen=True, slots=True)
class Epoch:
    """What one pass over the utterances gave."""

    number: int
    loss: float
    development: DevelopmentScore | None  # where it was looked at


@dataclass(slots=True)
class TrainedNetwork:
    """A trained network and how it came about."""

    network: Any  # a torch module
    epochs: list[Epoch] = field(default_factory=list)
    best: int = 0  # epoch whose weights were kept; 0 is the network as it was

    @property
    def kept(self) -> DevelopmentScore | None:
        """What development people disclosed to the weights that were kept."""
        looked = {one.number: one.development for one in self.epochs if one.development is not None}
        return looked.get(self.best)
