"""Training of attackers: what is set, and what follows from scope and machine where it is not."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, TypeAlias, get_args

from zeroevidence.errors import UsageError
from zeroevidence.run import setting

# all: every weight; last: pooling and the layers around it, on frame-level outputs that are computed once
Scope: TypeAlias = Literal["all", "last"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

LEAST_PEOPLE = 8


def usual_scope(device: str) -> Scope:
    """Return what is trained on a device of torch by default: every weight on a GPU, the last layers without one.

    Examples
    --------
    >>> usual_scope("cpu"), usual_scope("cuda:1")
    ('last', 'all')
    """
    return "last" if device.startswith("cpu") else "all"


def _by_scope(help: str, for_all: float, for_last: float) -> Any:
    """Return a field whose value depends on the scope where it is not set."""
    text = f"{for_all} for all, {for_last} for last"
    return setting(None, help, above=0, by_scope={"all": for_all, "last": for_last}, default_text=text)


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """Settings of the training; scope, epochs, batch, crop and learning rate are None until `filled` chooses them.

    Parameters
    ----------
    scope
        ``all`` trains every weight, which needs a GPU; ``last`` trains the pooling and the layers around it.
    epochs
        Passes over the utterances at most.
    batch
        Utterances in a step.
    crop
        Frames (10 ms each) of the random crop of each utterance.
    learning_rate
        Highest rate of the one-cycle schedule.
    weight_decay
        Decay of the weights.
    margin
        Additive angular margin [Deng et al. 2019], in radians.
    scale
        Scale of the cosines in the softmax.
    band_mask
        Share of the bands that is masked at random; 0 for none.
    floor
        How far a random noise floor may reach up to the mean level, in the units of the features; 0 for none.
    look
        Epochs between two evaluations on the development people.
    patience
        Evaluations without gain after which training stops.
    seed
        Seed of crops, order, masks and head.

    Examples
    --------
    >>> TrainingSettings(epochs=3).filled("last").batch
    32
    >>> TrainingSettings(epochs=0)
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: epochs: expected more than 0, got 0
    """

    scope: Scope = setting(
        None,
        "Train every weight, or only pooling and last layers.",
        choices=SCOPES,
        default_text="all on a GPU, last without one",
    )
    epochs: int = _by_scope("Passes over the speech at most.", 30, 8)
    batch: int = _by_scope("Utterances in a step.", 64, 32)
    crop: int = _by_scope("Frames (10 ms) of the random crop of an utterance.", 200, 150)
    learning_rate: float = _by_scope("Highest learning rate of the schedule.", 3e-4, 6e-4)
    weight_decay: float = setting(1e-4, "Decay of the weights.", least=0)
    margin: float = setting(0.2, "Angular margin of the loss, in radians.", least=0)
    scale: float = setting(30.0, "Scale of the cosines in the loss.", above=0)
    band_mask: float = setting(0.1, "Share of the bands that is masked at random.", least=0, below=1)
    floor: float = setting(2.0, "How far a random noise floor reaches up to the mean level.", least=0)
    look: int = setting(2, "Epochs between two evaluations on the development people.", above=0)
    patience: int = setting(5, "Evaluations without gain after which training stops.", above=0)
    seed: int = setting(0, "Seed of all random choices.", least=0)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is None and field.default is None:
                continue
            choices, least, above, below = map(field.metadata.get, ("choices", "least", "above", "below"))
            expected = [
                *([f"one of {', '.join(choices)}"] if choices and value not in choices else []),
                *([f"at least {least}"] if least is not None and not value >= least else []),
                *([f"more than {above}"] if above is not None and not value > above else []),
                *([f"less than {below}"] if below is not None and not value < below else []),
            ]
            if expected:
                raise UsageError(f"{field.name}: expected {expected[0]}, got {value!r}")

    def filled(self, scope: Scope = "all") -> TrainingSettings:
        """Return the settings with nothing left open: `scope` unless one is set, and the values that suit it.

        Examples
        --------
        >>> TrainingSettings().filled("last").epochs, TrainingSettings(epochs=3).filled("last").epochs
        (8, 3)
        """
        chosen: Scope = self.scope or scope
        unset = [field for field in fields(self) if "by_scope" in field.metadata and getattr(self, field.name) is None]
        return replace(self, scope=chosen, **{field.name: field.metadata["by_scope"][chosen] for field in unset})
