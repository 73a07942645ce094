"""What all protectors of embeddings have in common: checks, labels, weights, and the scikit-learn interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Training:
    """Checked training data: vectors, labels as numbers (a column per attribute), weights and people."""

    x: FloatArray
    labels: IntArray
    weights: FloatArray
    people: IntArray  # every row is one where they are not named


class EmbeddingProtector(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A transformer over embeddings that takes the evidence about an attribute out.

    `fit` takes vectors and one label each, further `speakers`, so that nobody counts more than others and held-out
    people are new people. `transform` gives vectors of the same dimension without the evidence that the model sees, and
    `llr` that evidence: in favour of ``classes_[1]`` for two classes, of each class against the others for more.
    """

    kind: ClassVar[str]

    def fit(self, X: Any, y: Any, *, speakers: Any = None) -> Self:
        """Learn from vectors (n x d) and their labels."""
        self._fit(self._training(X, y, speakers))
        return self

    def _training(self, X: Any, y: Any, speakers: Any, keep: Any = None) -> Training:
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed: the attribute to conceal, one per row")
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2, ensure_min_features=2)
        self.classes_, labels = _labels("y", y, len(X))
        columns = [labels]
        if keep is not None:
            self.kept_classes_, kept = _labels("keep", keep, len(X))
            columns.append(kept)
        names = np.arange(len(X)) if speakers is None else np.asarray(speakers).astype(np.str_)
        if names.shape != (len(X),):
            raise InputError(f"speakers: expected {len(X)}, one per row, got shape {names.shape}")
        _, people = np.unique(names, return_inverse=True)
        stacked = np.stack(columns, axis=1)
        return Training(X, stacked, balanced_weights(stacked, people), people)

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self, "classes_")
        x: FloatArray = validate_data(self, X, dtype=np.float64, reset=False)
        return x

    @abstractmethod
    def _fit(self, data: Training) -> None:
        """Learn from checked data."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @abstractmethod
    def _arrays(self) -> dict[str, FloatArray]:
        """What a saved model consists of; see `models`."""

    @abstractmethod
    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        """Be the model that was saved."""


def _labels(name: str, values: Any, rows: int) -> tuple[StrArray, IntArray]:
    given = np.asarray(values)
    if given.shape != (rows,):
        raise InputError(f"{name}: expected {rows} labels, one per row, got shape {given.shape}")
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{name}: expected at least two classes, got 1 class: {classes[0]!r}")
    return classes, labels.astype(np.int64)


def balanced_weights(labels: IntArray, people: IntArray) -> FloatArray:
    """Weights of mean one: classes (combinations of them) count alike, and people within a class."""
    _, cell = np.unique(labels, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    _, who = np.unique(np.stack([cell, people], axis=1), axis=0, return_inverse=True)
    who = who.reshape(-1)
    rows_of = np.bincount(who)
    first = np.unique(who, return_index=True)[1]
    people_of = np.bincount(cell[first])
    weights = 1.0 / (people_of[cell] * rows_of[who])
    balanced: FloatArray = weights / weights.mean()
    return balanced


def held_out_rows(data: Training, share: float, seed: int) -> BoolArray:
    """Rows of a seeded share of the people of each class; nobody of a class with fewer than three."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(data.x), dtype=bool)
    for label in range(int(data.labels[:, 0].max()) + 1):
        people = np.unique(data.people[data.labels[:, 0] == label])
        if len(people) > 2:
            chosen = rng.permutation(people)[: max(1, round(share * len(people)))]
            held |= np.isin(data.people, chosen)
    return held
