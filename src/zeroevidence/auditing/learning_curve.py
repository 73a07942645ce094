"""Learning curves of attackers: disclosure over the amount of training."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence.attack.backends.backend import Backend, make_backend
from zeroevidence.auditing.attacks.step_attack import Sides, disclosure, score_trials
from zeroevidence.data.threat import ThreatModel
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Curve
from zeroevidence.evaluation.rows.about import DrawUse

_GAIN = 0.1  # bits from a doubling, below which a curve counts as level
_SHARES = (0.25, 0.5, 1.0)
_REPEATS = 5
_LEAST_PEOPLE = 4
_NUMBERS = (1, 2, 5, 10, 20, 50, 100)  # of draws


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """Disclosure to an attacker over the amount of training people, epochs, draws or enrolled recordings.

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


def learning_curve(
    model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, *, seed: int = 0
) -> LearningCurve | None:
    """Return the disclosure to the same back-end fitted to fewer people; None where it cannot be fitted to so few."""
    everyone = sides[model.trained_on].speakers("train")
    sizes = [max(2, round(share * len(everyone))) for share in _SHARES]
    if sizes[0] < _LEAST_PEOPLE:
        return None
    bits = []
    for size in sizes:
        repeats = 1 if size == len(everyone) else _REPEATS
        samples = [
            np.random.default_rng([seed, size, repeat]).permutation(everyone)[:size] for repeat in range(repeats)
        ]
        try:
            bits.append(float(np.mean([_disclosure(model, backend, sides, draws, people) for people in samples])))
        except (InputError, np.linalg.LinAlgError):
            return None
    return LearningCurve(tuple(sizes), tuple(bits))


def draw_curve(model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse) -> LearningCurve | None:
    """Return the disclosure to the same back-end over the number of draws that it learns from and enrols.

    The encoder stays the same. None where there is one draw only, or the attacker enrols original speech.
    """
    most = 1 + len(sides[model.enrolment].draws)
    if most < 2:
        return None
    amounts = [*(number for number in _NUMBERS if number < most), most]
    people = sides[model.trained_on].speakers("train")
    bits = [
        _disclosure(model, backend, sides, DrawUse(training=number, enrolment=number, level=draws.level), people)
        for number in amounts
    ]
    return LearningCurve(tuple(amounts), tuple(bits))


def _disclosure(model: ThreatModel, backend: Backend, sides: Sides, draws: DrawUse, people: StrArray) -> float:
    vectors, speakers = sides[model.trained_on].training(draws.training)
    rows = np.isin(speakers, people)
    fitted = make_backend(backend).fit(vectors[rows], speakers[rows])
    enrolled = sides[model.enrolment].part_draws("eval_enrol")[: draws.enrolment]
    return disclosure(score_trials(fitted, enrolled, sides[model.trial].eval_trial, draws.level))
