"""What attackers tell about an attribute that is a number, or has several classes, in bits and by how far they err."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.measure.measures import attribute_measure
from zeroevidence.measure.softplus import LN2


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """What an attacker says of n vectors of S people.

    Parameters
    ----------
    people, numbers
        Whose each vector is, and the number of each person, scaled as the attacker has it and as it is.
    slope, curve, total, known
        The logarithm of the density of a scaled number y, relative to the marginal, is slope y + curve y^2 / 2 - total,
        where the total is over so many known people.
    guess
        The number that is guessed for each vector.
    """

    people: IntArray
    scaled: FloatArray
    numbers: FloatArray
    slope: FloatArray
    curve: FloatArray
    total: FloatArray
    known: int
    guess: FloatArray

    def bits(self, given: IntArray) -> FloatArray:
        """What is said of each person, if they have the number of another; theirs counts as one more of the known."""
        y = self.scaled[given][self.people]
        f = self.slope * y + 0.5 * self.curve * y**2
        total = np.logaddexp(self.total + np.log(self.known), f) - np.log(self.known + 1.0)
        return self._by_person((f - total) / LN2)

    def errors(self, given: IntArray) -> FloatArray:
        """How far guesses are from the numbers of others."""
        return self._by_person(np.abs(self.guess - self.numbers[given][self.people]))

    def moments(self, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and mean square of something for each person."""
        return self._by_person(guess), self._by_person(guess**2)

    def _by_person(self, rows: FloatArray) -> FloatArray:
        counts = np.bincount(self.people, minlength=len(self.numbers))
        found: FloatArray = np.bincount(self.people, weights=rows, minlength=len(self.numbers)) / counts
        return found


@dataclass(frozen=True, slots=True, eq=False)
class NumberView:
    """Some people (by number), and whose number everybody is given: their own, or another's under permutation."""

    told: Guesses
    people: IntArray
    given: IntArray

    @classmethod
    def whole(cls, told: Guesses) -> NumberView:
        """Everybody with their own number."""
        everyone = np.arange(len(told.numbers))
        return cls(told, everyone, everyone)


@dataclass(frozen=True, slots=True, eq=False)
class ClassView:
    """Log-probabilities (n x K) that an attacker gives to classes, the class of each row, and how much it counts."""

    log_posteriors: FloatArray
    labels: IntArray
    weights: FloatArray


def class_bits(log_posteriors: FloatArray, labels: IntArray) -> FloatArray:
    """What calibrated log-probabilities of K classes, equally likely before, tell of each row, in bits.

    Examples
    --------
    >>> class_bits(np.log([[0.5, 0.25, 0.25]]), np.array([0])).round(3).tolist()
    [0.585]
    """
    own = log_posteriors[np.arange(len(labels)), labels]
    found: FloatArray = own / LN2 + np.log2(log_posteriors.shape[1])
    return found


@attribute_measure(
    "attribute_bits",
    "bits about the attribute",
    unit="bit",
    limits=(-np.inf, np.inf),
    high_note="log2 (people + 1), or log2 K",
    place=20,
    headline=72,
    null=True,
    tested=True,
    method="calibrated density of an attacker",
    references=("barber2003", "oord2018"),
    null_note="Below 0 where nothing leaks: a density that is sure of the wrong number costs more than none.",
)
def attribute_bits(view: Any) -> float | None:
    """A lower bound of what an attacker learns about a number, or about several classes together.

    Mean bits of the people, or of the weighted rows of classes; None for other views.
    """
    if isinstance(view, NumberView):
        return float(view.told.bits(view.given)[view.people].mean())
    if isinstance(view, ClassView):
        return float(np.average(class_bits(view.log_posteriors, view.labels), weights=view.weights))
    return None


@attribute_measure(
    "attribute_correlation",
    "correlation",
    unit="fraction",
    limits=(-1.0, 1.0),
    place=30,
    null=True,
    references=("pearson1895",),
)
def attribute_correlation(view: Any) -> float | None:
    """Pearson correlation of the attacker's guesses and the true numbers.

    Pearson's correlation of guesses and numbers, people counting alike; 0 where all guesses are the same.
    """
    if not isinstance(view, NumberView):
        return None
    return _correlation(view.told.guess, view.told.numbers, view)


@attribute_measure(
    "attribute_rank_correlation",
    "rank correlation",
    unit="fraction",
    limits=(-1.0, 1.0),
    place=40,
    null=True,
    references=("spearman1904",),
)
def attribute_rank_correlation(view: Any) -> float | None:
    """Spearman correlation of the attacker's guesses and the true numbers.

    Spearman's correlation, ranks being those among everybody.
    """
    if not isinstance(view, NumberView):
        return None
    return _correlation(_ranks(view.told.guess), _ranks(view.told.numbers), view)


@attribute_measure(
    "attribute_error",
    "mean absolute error",
    unit="unit of the attribute",
    high_note="any",
    discloses="down",
    place=50,
    null=True,
    references=("willmott2005",),
)
def attribute_error(view: Any) -> float | None:
    """Mean distance of the attacker's guess from the true number.

    Mean distance of guesses from numbers, people counting alike.
    """
    if not isinstance(view, NumberView):
        return None
    return float(view.told.errors(view.given)[view.people].mean())


def _correlation(guess: FloatArray, numbers: FloatArray, view: NumberView) -> float:
    """Of guesses for single vectors with the numbers of people, who count alike."""
    mean, square = (one[view.people] for one in view.told.moments(guess))
    truth = numbers[view.given][view.people]
    spread = float(square.mean() - mean.mean() ** 2)
    if spread <= 1e-12 * float(square.mean()) or np.ptp(truth) == 0.0:
        return 0.0
    together = float(((mean - mean.mean()) * (truth - truth.mean())).mean())
    return together / float(np.sqrt(spread) * truth.std())


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks, ties sharing their mean."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    found: FloatArray = (ends - 0.5 * (counts - 1))[which]
    return found
