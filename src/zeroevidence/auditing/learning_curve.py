"""Learning curves of attackers: disclosure over the amount of training."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.evaluation import Curve

_GAIN = 0.1  # bits from a doubling, below which a curve counts as level


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Disclosure to attackers with more and more: people, epochs over their speech, draws of it, enrolled recordings.

    Parameters
    ----------
    amount
        Training people, epochs, draws of the anonymiser or enrolled recordings; each about twice the one before.
    bits
        Disclosure, averaged over draws where there are several.

    Examples
    --------
    >>> curve = LearningCurve((5, 10, 20), (1.0, 1.5, 1.53))
    >>> curve.levelled_off, round(curve.gain, 2)
    (True, 0.03)
    """

    amount: tuple[int, ...]
    bits: tuple[float, ...]

    @property
    def gain(self) -> float:
        """Gain of the last doubling, in bits."""
        return self.bits[-1] - self.bits[-2]

    @property
    def levelled_off(self) -> bool:
        """Whether more training would hardly make this attacker stronger."""
        return self.gain < _GAIN

    def to_curve(self) -> Curve:
        """Return the curve for figures and files."""
        return Curve(tuple(map(float, self.amount)), self.bits)


@dataclass(frozen=True, slots=True)
class LearningCurves:
    """The learning curves of an attacker, where they are known.

    Parameters
    ----------
    people
        Over training people.
    epochs
        Over epochs of the training of its encoder.
    draws
        Over draws of the anonymiser that its back-end learns from and that it enrols; the encoder stays the same.
    """

    people: LearningCurve | None = None
    epochs: LearningCurve | None = None
    draws: LearningCurve | None = None
