"""Classifiers that attack an attribute: their interface and registry."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.attacker import QuantileLevels, Standardiser
from zeroevidence.registry import Registry

# vectors: entries of single vectors; people: mean and standard deviation of each person's vectors; scores:
# log-posteriors of the classifiers of vectors; scores of people: their means over each person's vectors
Input: TypeAlias = Literal["vectors", "people", "scores", "scores of people"]


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
        return self.learns_from in ("people", "scores of people")

    @property
    def combines(self) -> bool:
        """Whether it learns from the scores of other classifiers."""
        return self.learns_from in ("scores", "scores of people")


CLASSIFIERS: Registry[ClassifierKind] = Registry("classifier", package=__package__)


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
        logs: FloatArray = np.log(np.maximum(self.model.predict_proba(self.inputs.of(x)), 1e-300))
        return logs


def log_normalise(logits: FloatArray) -> FloatArray:
    """Return rows of numbers as log-probabilities."""
    logs: FloatArray = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    return logs
