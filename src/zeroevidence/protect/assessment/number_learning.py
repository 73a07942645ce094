"""What regressors learn about a number from the people they have: settings, calibration and strength over people.

As with classifiers (`learning`), nothing here that chooses sees the people that attackers are tested on.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError
from zeroevidence.measure.attribute.number import Guesses
from zeroevidence.protect.assessment.density import Density, Marginal
from zeroevidence.protect.assessment.numbers import balanced_parts, people_numbers
from zeroevidence.protect.assessment.regressors.regressor import Regressor, RegressorKind

_FOLDS = 5
_LEAST_PEOPLE = 3


@dataclass(frozen=True, slots=True, eq=False)
class NumberSample:
    """Rows of vectors, whose each is, and the number of each person."""

    x: FloatArray
    people: IntArray
    numbers: FloatArray

    @classmethod
    def of(cls, data: Embeddings, attribute: str) -> NumberSample:
        """Embeddings whose attribute is a number."""
        numbers, who = people_numbers(data, attribute)
        if len(numbers) < _LEAST_PEOPLE:
            raise InputError(f"{attribute}: {len(numbers)} speaker(s); attacks need at least {_LEAST_PEOPLE}")
        return cls(np.asarray(data.vectors, dtype=np.float64), who, numbers)

    @property
    def weights(self) -> FloatArray:
        """What makes people count alike, one on average."""
        counts = np.bincount(self.people)
        found: FloatArray = len(self.people) / (len(counts) * counts[self.people])
        return found


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRegressor:
    """A trained regressor, its calibration, and what it told of the people that it learned from, all held out in turn.

    Parameters
    ----------
    kind, regressor, density
        What it is; trained on all of these people; what makes bits of its predictions.
    bits
        Mean over people held out: attackers are chosen by it.
    """

    kind: RegressorKind
    regressor: Regressor
    density: Density
    bits: float

    def told(self, test: NumberSample) -> Guesses:
        """What it says of other people."""
        with threadpool_limits(1):
            mean, variance = self.regressor.predict(test.x)
        return _guesses(self.density, mean, variance, test)


def train_regressors(kinds: Sequence[RegressorKind], rows: NumberSample, seed: int) -> Iterator[TrainedRegressor]:
    """Train regressors, each with the settings that tell most of people held out."""
    folds = balanced_parts(rows.numbers, min(_FOLDS, len(rows.numbers)), seed)[rows.people]
    for kind in kinds:
        # as for classifiers: one thread keeps the order of sums, and who stops early is still an attacker
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield _learned(kind, rows, folds, seed)


def _learned(kind: RegressorKind, rows: NumberSample, folds: IntArray, seed: int) -> TrainedRegressor:
    marginal = Marginal(rows.numbers)
    y = marginal.scaled(rows.numbers)[rows.people]
    best: tuple[float, int, Density] | None = None
    for number in range(len(kind.candidates(seed))):
        mean, variance = np.empty(len(y)), np.empty(len(y))
        for fold in np.unique(folds):
            held = folds == fold
            one = kind.candidates(seed)[number]
            one.fit(rows.x[~held], y[~held], rows.weights[~held], rows.people[~held])
            mean[held], variance[held] = one.predict(rows.x[held])
        density = Density(marginal)
        density.fit(mean, variance, y, rows.weights)
        bits = float(_guesses(density, mean, variance, rows).bits(np.arange(len(rows.numbers))).mean())
        if best is None or bits > best[0]:
            best = bits, number, density
    assert best is not None
    bits, number, density = best
    regressor = kind.candidates(seed)[number]
    regressor.fit(rows.x, y, rows.weights, rows.people)
    return TrainedRegressor(kind, regressor, density, bits)


def _guesses(density: Density, mean: FloatArray, variance: FloatArray, rows: NumberSample) -> Guesses:
    """What calibrated predictions say of people."""
    return Guesses(
        rows.people,
        density.marginal.scaled(rows.numbers),
        rows.numbers,
        *density.tilts(mean, variance),
        density.total(mean, variance),
        density.marginal.people,
        density.guess(mean, variance),
    )
