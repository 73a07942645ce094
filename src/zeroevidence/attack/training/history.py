"""What trainings came to: development scores by epoch, and rounds of several settings with a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, StrArray
from zeroevidence.attack.training import TrainingSettings
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError
from zeroevidence.evaluation.searches import average_disclosure
from zeroevidence.linkage.estimate import format_duration
from zeroevidence.measure.pairs.verification import eer
from zeroevidence.run import Run


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
_RATES = (1.0, 3.0, 1.0 / 3.0)
_GAIN = 0.05  # bits that twice the epochs must add


@dataclass(frozen=True, slots=True)
class TrainingRound:
    """A training that ended: its epochs as allowed, its rate, the disclosure that it reached, and its time."""

    epochs: int
    learning_rate: float
    bits: float
    seconds: float


@dataclass(frozen=True, slots=True)
class RoundHistory:
    """The trainings that ended, and the seconds that the one in progress has taken."""

    rounds: tuple[TrainingRound, ...] = ()
    begun: float = 0.0

    @property
    def seconds(self) -> float:
        """The time that was spent."""
        return sum(each.seconds for each in self.rounds) + self.begun


# trains with settings until it ends or a function says so after an epoch
TrainRound: TypeAlias = Callable[[TrainingSettings, Callable[[], bool]], TrainedNetwork]


def next_round(rounds: Sequence[TrainingRound], settings: TrainingSettings) -> TrainingSettings | None:
    """Return the settings of the next training, or None once twice the epochs did not add 0.05 bits.

    Examples
    --------
    >>> base = TrainingSettings(epochs=10, learning_rate=1e-3)
    >>> tried = [TrainingRound(10, rate, bits, 9.0) for rate, bits in ((1e-3, 3.0), (3e-3, 3.2), (3e-4, 2.5))]
    >>> further = next_round(tried, base)
    >>> further.epochs, further.learning_rate
    (20, 0.003)
    >>> next_round([*tried, TrainingRound(20, 3e-3, 3.21, 18.0)], base) is None
    True
    """
    if len(rounds) < len(_RATES):
        return replace(settings, learning_rate=settings.learning_rate * _RATES[len(rounds)])
    best = max(rounds[: len(_RATES)], key=lambda each: each.bits)
    longer = rounds[len(_RATES) :]
    if longer and longer[-1].bits < (longer[-2].bits if len(longer) > 1 else best.bits) + _GAIN:
        return None
    last = longer[-1] if longer else best
    return replace(settings, learning_rate=best.learning_rate, epochs=2 * last.epochs)


def train_within(
    hours: float,
    settings: TrainingSettings,
    key: str,
    train_round: TrainRound,
    *,
    agreed: Callable[[Any], Any] = lambda value: value,
    save: bool = True,
    run: Run = Run(),
) -> tuple[TrainedNetwork, TrainingSettings]:
    """Return the training to which development people disclosed most, and its settings.

    The first training has the settings that were given, the second and third three times and a third of its learning
    rate. With the best of these rates, the following have twice as many epochs each, as long as that adds 0.05 bits.
    The result depends on how fast the machine is. An interrupted one continues, and time spent before counts.

    Parameters
    ----------
    hours
        Time that is allowed; the epoch in which it ends is finished. A training is begun only if there is time for it,
        by what the epochs before took.
    settings
        Settings of the first training, with nothing left open.
    key
        Key of the history in the cache: of settings, data and encoder.
    train_round
        Trains.
    agreed
        Makes a value that of the first of several processes, which decides for all.
    save
        Whether this process writes the history.
    run
        Messages after each training, and on the reason of the end. Its cache keeps the history.
    """
    assert run.cache is not None
    allowed, store = 3600.0 * hours, Store(run.cache, CHECKPOINTS)
    history = store.load_value(key, RoundHistory) or RoundHistory()

    def keep(history: RoundHistory) -> None:
        if save:
            store.save_value(key, history)

    def train_next(changed: TrainingSettings) -> tuple[RoundHistory, TrainedNetwork]:
        began, before = time.monotonic() - history.begun, history.seconds - history.begun

        def stop() -> bool:
            spent = time.monotonic() - began
            keep(replace(history, begun=spent))
            return bool(agreed(before + spent >= allowed))

        result = train_round(changed, stop)
        assert result.best_score is not None
        seconds = time.monotonic() - began
        ended = TrainingRound(changed.epochs, changed.learning_rate, result.best_score.bits, seconds)
        after = RoundHistory((*history.rounds, ended))
        keep(after)
        return after, result

    best: TrainedNetwork | None = None  # of the trainings that were not done before
    while True:
        changed = next_round(history.rounds, settings)
        if changed is None:
            run.say(f"twice the epochs add less than {_GAIN} bits: the curve over epochs has levelled off")
            break
        slowest = max((each.seconds / each.epochs for each in history.rounds), default=0.0)
        if history.rounds and agreed(history.seconds + slowest * changed.epochs > allowed):
            spent = format_duration(history.seconds)
            run.say(f"no time for {changed.epochs} more epochs: {spent} of {hours:g} h are spent")
            break
        history, result = train_next(changed)
        ended = history.rounds[-1]
        if _best(history) == len(history.rounds) - 1:
            best = result
        run.say(
            f"training {len(history.rounds)}, {ended.epochs} epochs at most, learning rate {ended.learning_rate:.2g}: "
            f"development people disclose {ended.bits:.2f} bits"
        )
    at = _best(history)
    chosen = replace(settings, epochs=history.rounds[at].epochs, learning_rate=history.rounds[at].learning_rate)
    return best or train_round(chosen, lambda: True), chosen


def _best(history: RoundHistory) -> int:
    """Return the number of the training to which development people disclosed most, the first of several."""
    return max(range(len(history.rounds)), key=lambda number: history.rounds[number].bits)
