"""Measures of attacks on an attribute that is a number or has several classes: information and errors of guesses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.measure.measures import attribute_measure
from zeroevidence.measure.softplus import LN2


@dataclass(frozen=True, slots=True, eq=False)
class Guesses:
    """Densities and guesses of an attacker for n vectors of S people.

    The logarithm of the density of a scaled number y, relative to the marginal, is slope y + curve y^2 / 2 - total.

    Parameters
    ----------
    people
        Whose each vector is.
    scaled
        The number of each person on the attacker's scale.
    numbers
        The number of each person.
    slope
        Coefficient of y for each vector.
    curve
        Coefficient of y^2 / 2 for each vector.
    total
        Logarithm of the normalisation for each vector, a mean over the training people.
    known
        Number of training people.
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

    def bits(self, assigned: IntArray) -> FloatArray:
        """Return the bits about each person, who is assigned another's number and counts as a training person."""
        y = self.scaled[assigned][self.people]
        f = self.slope * y + 0.5 * self.curve * y**2
        total = np.logaddexp(self.total + np.log(self.known), f) - np.log(self.known + 1.0)
        return self._by_person((f - total) / LN2)

    def errors(self, assigned: IntArray) -> FloatArray:
        """Return the mean absolute error for each person, given whose number each is assigned."""
        return self._by_person(np.abs(self.guess - self.numbers[assigned][self.people]))

    def moments(self, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and mean square of the guesses for each person."""
        return self._by_person(guess), self._by_person(guess**2)

    def _by_person(self, rows: FloatArray) -> FloatArray:
        counts = np.bincount(self.people, minlength=len(self.numbers))
        means: FloatArray = np.bincount(self.people, weights=rows, minlength=len(self.numbers)) / counts
        return means


@dataclass(frozen=True, slots=True, eq=False)
class NumberView:
    """Guesses about some people, and whose number each is assigned: their own, or another's under permutation."""

    guesses: Guesses
    people: IntArray
    assigned: IntArray

    @classmethod
    def whole(cls, guesses: Guesses) -> NumberView:
        """Return the view of all people with their own numbers."""
        everyone = np.arange(len(guesses.numbers))
        return cls(guesses, everyone, everyone)


@dataclass(frozen=True, slots=True, eq=False)
class ClassView:
    """Log-probabilities (n x K) that an attacker gives to classes, the class of each row, and how much it counts."""

    log_posteriors: FloatArray
    labels: IntArray
    weights: FloatArray


def class_bits(log_posteriors: FloatArray, labels: IntArray) -> FloatArray:
    """Return the information of calibrated log-posteriors of K equally likely classes about each row, in bits.

    Examples
    --------
    >>> class_bits(np.log([[0.5, 0.25, 0.25]]), np.array([0])).round(3).tolist()
    [0.585]
    """
    of_label = log_posteriors[np.arange(len(labels)), labels]
    bits: FloatArray = of_label / LN2 + np.log2(log_posteriors.shape[1])
    return bits


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
        return float(view.guesses.bits(view.assigned)[view.people].mean())
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
    return _correlation(view.guesses.guess, view.guesses.numbers, view)


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
    return _correlation(_ranks(view.guesses.guess), _ranks(view.guesses.numbers), view)


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
    return float(view.guesses.errors(view.assigned)[view.people].mean())


def _correlation(guess: FloatArray, numbers: FloatArray, view: NumberView) -> float:
    """Of guesses for single vectors with the numbers of people, who count alike."""
    mean, square = (moment[view.people] for moment in view.guesses.moments(guess))
    truth = numbers[view.assigned][view.people]
    spread = float(square.mean() - mean.mean() ** 2)
    if spread <= 1e-12 * float(square.mean()) or np.ptp(truth) == 0.0:
        return 0.0
    together = float(((mean - mean.mean()) * (truth - truth.mean())).mean())
    return together / float(np.sqrt(spread) * truth.std())


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks, ties sharing their mean."""
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: FloatArray = (ends - 0.5 * (counts - 1))[which]
    return ranks
