"""What all classifiers of an attribute have in common, and the table that they enter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.registry import Registry

# vectors: entries of single vectors; people: mean and spread of each person's vectors; scores: what the classifiers of
# vectors say; scores of people: the mean of that over each person's vectors
Input: TypeAlias = Literal["vectors", "people", "scores", "scores of people"]


class Classifier(Protocol):
    """An attacker of an attribute: learns classes from weighted rows, and tells how probable each is."""

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Learn from rows (n x d), the number of the class of each, how much each counts, and whose each is."""

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class for each row; classes are equally likely before."""


Candidates: TypeAlias = Callable[[int], Sequence[Classifier]]


@dataclass(frozen=True, slots=True)
class ClassifierKind:
    """One classifier that has a name.

    Parameters
    ----------
    name, title
        What it is called, and one line of words.
    candidates
        Unfitted classifiers from a seed, among which the people that attackers learn from choose; the first is the
        usual one.
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
        return self.learns_from in ("people", "scores of people")

    @property
    def combines(self) -> bool:
        """Whether it learns from what other classifiers say."""
        return self.learns_from in ("scores", "scores of people")


CLASSIFIERS: Registry[ClassifierKind] = Registry("classifier", package=__package__)


def register_classifier(name: str, title: str, *, learns_from: Input = "vectors") -> Callable[[Candidates], Candidates]:
    """Return a decorator that registers a function that makes candidates from a seed."""

    def register(candidates: Candidates) -> Candidates:
        CLASSIFIERS.add(ClassifierKind(name, title, candidates, learns_from))
        return candidates

    return register


class Standardiser:
    """Rows with every entry at mean zero and spread one, as they were in training.

    Entries that are the same for everybody in training are divided by `constant`: infinity leaves them out.
    """

    def __init__(self, constant: float = 1.0) -> None:
        self.constant = constant

    def learn(self, x: FloatArray) -> FloatArray:
        """Learn means and spreads from rows, and standardise them."""
        self.mean, spread = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        # an entry that a protector has made the same for everybody differs by rounding alone
        varies = spread > 1e-9 * (np.abs(self.mean) + spread.max())
        self.scale = np.where(varies, spread, self.constant)
        return self.of(x)

    def of(self, x: FloatArray) -> FloatArray:
        """Other rows in the same way."""
        standard: FloatArray = (x - self.mean) / self.scale
        return standard


class WeightedClassifier:
    """A scikit-learn classifier behind standardisation, or behind `levels` of equal size for trees, weighted."""

    def __init__(self, model: Any, levels: int = 0) -> None:
        self.model, self.levels = model, levels

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:  # noqa: ARG002
        """Learn from weighted rows."""
        self.standardised = Standardiser()
        self.standardised.learn(x)
        if self.levels:
            # beforehand: the library's own bins of weighted data take a minute for a few hundred dimensions
            self.edges = np.quantile(x, np.arange(1, self.levels) / self.levels, axis=0)
        self.model.fit(self.inputs(x), y, sample_weight=weights)

    def inputs(self, x: FloatArray) -> FloatArray:
        """What the model gets."""
        if not self.levels:
            return self.standardised.of(x)
        columns = [np.searchsorted(edges, column) for edges, column in zip(self.edges.T, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class."""
        logs: FloatArray = np.log(np.maximum(self.model.predict_proba(self.inputs(x)), 1e-300))
        return logs


def log_normalise(logits: FloatArray) -> FloatArray:
    """Rows of numbers as log-probabilities that add up to one."""
    shares: FloatArray = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    return shares
