"""Learning curves of attackers: whether more training data or longer training would still make them stronger."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.evaluation import Evaluation

# the curve of a result, its abscissa, and the warning that it has not levelled off
_CURVES = (
    ("alid_over_training_people", "training people", "still-rising"),
    ("alid_over_epochs", "epochs of training", "training-pays"),
    ("alid_over_draws", "runs of the anonymiser", "draws-pay"),
    ("alid_over_enrolment", "enrolled recordings of each person", "enrolment-pays"),
)


@dataclass(frozen=True, slots=True)
class ReportedLearningCurve:
    """The disclosure to an attacker who learned from more and more.

    Parameters
    ----------
    over
        What the amounts count.
    amount
        How much the attacker learned from.
    bits
        Mean disclosure with each amount.
    rising
        Whether the curve has not levelled off.
    """

    over: str
    amount: tuple[float, ...]
    bits: tuple[float, ...]
    rising: bool

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Amounts and bits as they are shown."""
        return [(f"{amount:g}", f"{bits:.2f}") for amount, bits in zip(self.amount, self.bits, strict=True)]

    @property
    def sentence(self) -> str:
        """Whether it has levelled off, and its last step.

        Examples
        --------
        >>> ReportedLearningCurve("training people", (15, 30, 60), (1.0, 1.8, 2.5), True).sentence
        'With 60 training people instead of 30 it learned 0.70 bits more; this has not levelled off.'
        """
        last, before = (f"{self.amount[i]:g}" for i in (-1, -2))
        gain = self.bits[-1] - self.bits[-2]
        change = f"{abs(gain):.2f} bits {'more' if gain >= 0.0 else 'less'}"
        level = "this has not levelled off" if self.rising else "this has levelled off"
        return f"With {last} {self.over} instead of {before} it learned {change}; {level}."


def learning_curves(row: Evaluation) -> list[ReportedLearningCurve]:
    """The learning curves of an attacker, where it was trained in several steps."""
    codes = {flag.code for flag in row.flags}
    return [
        ReportedLearningCurve(over, row.curves[name].x, row.curves[name].y, code in codes)
        for name, over, code in _CURVES
        if name in row.curves and len(row.curves[name].x) > 1
    ]


def rising_sentences(row: Evaluation) -> list[str]:
    """Sentences on the learning curves that have not levelled off."""
    return [curve.sentence for curve in learning_curves(row) if curve.rising]
