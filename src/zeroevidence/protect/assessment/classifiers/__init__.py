"""Classifiers that attack an attribute: their interface, their registry and what they share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.registry import Registry


class Standardiser:
    """Standardisation of every entry to the mean and standard deviation in training.

    Entries that are the same for everybody in training are divided by `constant`: infinity leaves them out.
    """

    def __init__(self, constant: float = 1.0) -> None:
        self.constant = constant

    def learn(self, x: FloatArray) -> FloatArray:
        """Learn means and standard deviations from rows, and return them standardised."""
        self.mean, spread = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        # an entry that a protector has made the same for everybody differs by rounding alone
        varies = spread > 1e-9 * (np.abs(self.mean) + spread.max())
        self.scale = np.where(varies, spread, self.constant)
        return self.of(x)

    def of(self, x: FloatArray) -> FloatArray:
        """Return other rows standardised in the same way."""
        return np.asarray((x - self.mean) / self.scale)


class QuantileLevels:
    """Entries as levels of equal size in training, for trees.

    The bins that scikit-learn makes of weighted data take a minute for a few hundred dimensions.
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def learn(self, x: FloatArray) -> FloatArray:
        """Learn the limits of the levels from rows, and return their levels."""
        self.limits = np.quantile(x, np.arange(1, self.count) / self.count, axis=0)
        return self.of(x)

    def of(self, x: FloatArray) -> FloatArray:
        """Return the levels of other rows."""
        columns = [np.searchsorted(limits, column) for limits, column in zip(self.limits.T, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)


def sphering(rows: FloatArray, components: int, rank: float) -> FloatArray:
    """Return the map to leading principal components of centred rows in which their covariance is the identity.

    Components whose standard deviation is below `rank` times the largest are left out.
    """
    _, spread, directions = np.linalg.svd(rows / np.sqrt(len(rows)), full_matrices=False)
    count = min(components, max(1, int(np.count_nonzero(spread > rank * spread.max()))))
    return np.asarray(directions[:count].T / np.maximum(spread[:count], 1e-12))


def unit_rows(z: FloatArray) -> FloatArray:
    """Return rows divided by their lengths."""
    return np.asarray(z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12))


@contextmanager
def training_environment() -> Iterator[None]:
    """Train on one thread and without warnings.

    On one thread sums keep their order, and for so few vectors threads wait more than they work. Attackers that did not
    converge are still attackers, so the warning does not matter.
    """
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# vectors: entries of single vectors; means: those of each person's vectors; people: these and standard deviations;
# scores: log-posteriors of the classifiers of vectors; scores of people: their means over each person's vectors
Input: TypeAlias = Literal["vectors", "means", "people", "scores", "scores of people"]


class Classifier(Protocol):
    """An attacker of an attribute: learns classes from weighted rows, and predicts their probabilities."""

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Train on rows (n x d), and the class number, weight and speaker number of each."""

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class for each row, for equal priors."""


Candidates: TypeAlias = Callable[[int], Sequence[Classifier]]


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """A registered classifier.

    Parameters
    ----------
    name
        Its name in options, labels and messages.
    title
        A few words about it.
    candidates
        Makes unfitted classifiers from a seed, among which cross-validation chooses; the first is the usual one.
    learns_from
        What its rows are.
    """

    name: str
    title: str
    candidates: Candidates
    learns_from: Input = "vectors"

    @property
    def pools(self) -> bool:
        """Whether it judges all vectors of a person together."""
        return self.learns_from in ("means", "people", "scores of people")

    @property
    def combines(self) -> bool:
        """Whether it learns from the scores of other classifiers."""
        return self.learns_from in ("scores", "scores of people")


# by name, and the slowest last
CLASSIFIERS: Registry[ClassifierKind] = Registry(
    "classifier", package=__package__, order=lambda kind: (kind.name == "boosting", kind.name)
)


def register_classifier(name: str, title: str, *, learns_from: Input = "vectors") -> Callable[[Candidates], Candidates]:
    """Return a decorator that registers a function that makes candidates from a seed."""

    def register(candidates: Candidates) -> Candidates:
        CLASSIFIERS.add(ClassifierKind(name, title, candidates, learns_from))
        return candidates

    return register


class WeightedClassifier:
    """A scikit-learn classifier that is trained with weights, on standardised entries or on levels of them."""

    def __init__(self, model: Any, inputs: Standardiser | QuantileLevels | None = None) -> None:
        self.model, self.inputs = model, inputs or Standardiser()

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Train on weighted rows."""
        self.model.fit(self.inputs.learn(x), y, sample_weight=weights)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class."""
        return np.asarray(np.log(np.maximum(self.model.predict_proba(self.inputs.of(x)), 1e-300)))


def log_normalise(logits: FloatArray) -> FloatArray:
    """Return rows of numbers as log-probabilities."""
    return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
