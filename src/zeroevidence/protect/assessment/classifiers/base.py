"""What all classifiers of an attribute have in common, and the table that they enter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import UsageError


class Classifier(Protocol):
    """An attacker of an attribute: learns classes from weighted vectors, and tells how probable each is."""

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray) -> None:
        """Learn from vectors (n x d), the number of the class of each, and how much each counts."""

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class for each vector."""


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """One classifier that has a name."""

    name: str
    title: str  # one line of words
    make: Callable[[int], Classifier]  # from a seed


CLASSIFIERS: dict[str, ClassifierKind] = {}


def register_classifier(name: str, title: str) -> Callable[[Callable[[int], Classifier]], Callable[[int], Classifier]]:
    """Enter a function that makes a classifier from a seed; a second one of the same name replaces the first."""

    def enter(make: Callable[[int], Classifier]) -> Callable[[int], Classifier]:
        CLASSIFIERS[name] = ClassifierKind(name, title, make)
        return make

    return enter


def find_classifier(name: str) -> ClassifierKind:
    """The entry of that name."""
    if name not in CLASSIFIERS:
        raise UsageError(f"unknown classifier {name!r}; expected one of {', '.join(CLASSIFIERS)}")
    return CLASSIFIERS[name]


class WeightedClassifier:
    """A scikit-learn classifier behind standardisation, or behind `levels` of equal size for trees, weighted."""

    def __init__(self, model: Any, levels: int = 0) -> None:
        self.model, self.levels = model, levels

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray) -> None:
        """Learn from weighted vectors."""
        self.mean, spread = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        self.scale = np.where(spread > 0.0, spread, 1.0)
        if self.levels:
            # beforehand: the library's own bins of weighted data take a minute for a few hundred dimensions
            self.edges = np.quantile(x, np.arange(1, self.levels) / self.levels, axis=0)
        self.model.fit(self._input(x), y, sample_weight=weights)

    def _input(self, x: FloatArray) -> FloatArray:
        if not self.levels:
            return (x - self.mean) / self.scale  # type: ignore[no-any-return]
        columns = [np.searchsorted(edges, column) for edges, column in zip(self.edges.T, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class."""
        logs: FloatArray = np.log(np.maximum(self.model.predict_proba(self._input(x)), 1e-300))
        return logs
