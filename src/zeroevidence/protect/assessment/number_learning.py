"""Training of regressors: settings, calibration and strength by cross-validation over people.

As with classifiers (`class_learning`), nothing here sees the people that attackers are tested on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError
from zeroevidence.measure.attribute.number import Guesses
from zeroevidence.protect.assessment.attacker import training_environment
from zeroevidence.protect.assessment.density import Density, Marginal
from zeroevidence.protect.assessment.numbers import balanced_parts, people_numbers
from zeroevidence.protect.assessment.regressors.regressor import Regressor, RegressorKind

_FOLDS = 5
_LEAST_PEOPLE = 3


@dataclass(frozen=True, slots=True, eq=False)
class NumberSample:
    """Vectors, the speaker of each, and the number of each speaker."""

    x: FloatArray
    people: IntArray
    numbers: FloatArray

    @classmethod
    def of(cls, data: Embeddings, attribute: str) -> NumberSample:
        """Return the sample of embeddings whose attribute is a number."""
        numbers, people = people_numbers(data, attribute)
        if len(numbers) < _LEAST_PEOPLE:
            raise InputError(f"{attribute}: {len(numbers)} speaker(s); attacks need at least {_LEAST_PEOPLE}")
        return cls(np.asarray(data.vectors, dtype=np.float64), people, numbers)

    @property
    def weights(self) -> FloatArray:
        """Weights of mean one that make people equal."""
        counts = np.bincount(self.people)
        weights: FloatArray = len(self.people) / (len(counts) * counts[self.people])
        return weights


@dataclass(frozen=True, slots=True, eq=False)
class TrainedRegressor:
    """A trained regressor, its calibration, and its result on the people it learned from.

    Parameters
    ----------
    kind
        Its registered kind.
    regressor
        The regressor, trained on all of these people.
    density
        Turns its predictions into calibrated densities.
    bits
        Mean over these people, all held out in turn; attackers are chosen by it.
    """

    kind: RegressorKind
    regressor: Regressor
    density: Density
    bits: float

    def guesses(self, test: NumberSample) -> Guesses:
        """Return its guesses about other people."""
        with threadpool_limits(1):
            mean, variance = self.regressor.predict(test.x)
        return _guesses(self.density, mean, variance, test)


def train_regressors(kinds: Sequence[RegressorKind], rows: NumberSample, seed: int) -> Iterator[TrainedRegressor]:
    """Train regressors, each with the settings that have the most bits about held-out people."""
    folds = balanced_parts(rows.numbers, min(_FOLDS, len(rows.numbers)), seed)[rows.people]
    for kind in kinds:
        with training_environment():
            attacker = _train(kind, rows, folds, seed)
        yield attacker


def _train(kind: RegressorKind, rows: NumberSample, folds: IntArray, seed: int) -> TrainedRegressor:
    marginal = Marginal(rows.numbers)
    y = marginal.scaled(rows.numbers)[rows.people]
    best: tuple[float, int, Density] | None = None
    for number in range(len(kind.candidates(seed))):
        mean, variance = np.empty(len(y)), np.empty(len(y))
        for fold in np.unique(folds):
            held = folds == fold
            candidate = kind.candidates(seed)[number]
            candidate.fit(rows.x[~held], y[~held], rows.weights[~held], rows.people[~held])
            mean[held], variance[held] = candidate.predict(rows.x[held])
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
    """Return the guesses of calibrated predictions."""
    return Guesses(
        rows.people,
        density.marginal.scaled(rows.numbers),
        rows.numbers,
        *density.tilts(mean, variance),
        density.total(mean, variance),
        density.marginal.people,
        density.guess(mean, variance),
    )
