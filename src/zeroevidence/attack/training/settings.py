"""How an attacker's encoder is trained."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias, get_args

from zeroevidence.errors import UsageError

# all: every weight; last: pooling and the layers around it, on frame-level outputs that are computed once
Scope: TypeAlias = Literal["all", "last"]

LEAST_PEOPLE = 8
# What differs from the fields' own values, which suit a GPU, where only the last layers are trained without one.
_USUAL: dict[Scope, dict[str, Any]] = {
    "all": {},
    "last": {"epochs": 8, "batch": 32, "crop": 150, "learning_rate": 6e-4},
}
_POSITIVE = ("epochs", "batch", "crop", "learning_rate", "scale", "patience", "look")


def usual_scope(device: str) -> Scope:
    """What is trained on a device of torch unless told: every weight on a GPU, the last layers without one.

    Examples
    --------
    >>> usual_scope("cpu"), usual_scope("cuda:1")
    ('last', 'all')
    """
    return "last" if device.startswith("cpu") else "all"


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of the training.

    Parameters
    ----------
    scope
        ``all`` trains every weight, which wants a GPU; ``last`` trains the pooling and the layers around it.
    epochs
        Passes over the utterances at most.
    batch, crop
        Utterances in a step, and frames (10 ms each) of the random piece of each.
    learning_rate, weight_decay
        Highest rate of the one-cycle schedule, and decay of the weights.
    margin, scale
        Of the additive angular margin [Deng et al. 2019].
    band_mask, floor
        Share of the bands that is masked at random, and how far a random noise floor may reach up to the mean level, in
        the units of the features; 0 for neither.
    look, patience
        Epochs between two looks at the development people, and looks without gain after which training stops.
    seed
        Of crops, order, masks and head.

    Examples
    --------
    >>> TrainingSettings(epochs=30).scope
    'all'
    >>> TrainingSettings(epochs=0)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: epochs: expected more than 0, got 0
    """

    scope: Scope = "all"
    epochs: int = 30
    batch: int = 64
    crop: int = 200
    learning_rate: float = 3e-4
    weight_decay: float = 1e-4
    margin: float = 0.2
    scale: float = 30.0
    band_mask: float = 0.1
    floor: float = 2.0
    look: int = 2
    patience: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        if self.scope not in get_args(Scope):
            raise UsageError(f"scope: expected one of {', '.join(get_args(Scope))}, got {self.scope!r}")
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise UsageError(f"{name}: expected more than 0, got {getattr(self, name)}")
        for name in ("weight_decay", "margin", "floor", "seed"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name}: expected at least 0, got {getattr(self, name)}")
        if not 0.0 <= self.band_mask < 1.0:
            raise UsageError(f"band_mask: expected a share from 0 to less than 1, got {self.band_mask}")

    @classmethod
    def usual(cls, scope: Scope, **others: Any) -> TrainingSettings:
        """The settings that suit a scope, but for those given.

        Examples
        --------
        >>> TrainingSettings.usual("last").epochs, TrainingSettings.usual("last", epochs=3).epochs
        (8, 3)
        """
        return cls(**{"scope": scope, **_USUAL.get(scope, {}), **others})

    def to_dict(self) -> dict[str, str | int | float]:
        """The settings as plain values."""
        return asdict(self)
