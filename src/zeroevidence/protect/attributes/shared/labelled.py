"""Training data of attribute protectors: labelled vectors, their weights, and people held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class LabelledVectors:
    """Checked training data.

    Parameters
    ----------
    x
        Vectors, n x d.
    labels
        Class numbers, one column per attribute.
    weights
        Weights of the vectors.
    people
        Speaker number of each vector; every vector is a speaker of its own where speakers are not given.
    """

    x: FloatArray
    labels: IntArray
    weights: FloatArray
    people: IntArray


def balanced_weights(labels: IntArray, people: IntArray) -> FloatArray:
    """Return weights of mean one that make all classes (or combinations) equal, and all people in a class."""
    _, cell = np.unique(labels, axis=0, return_inverse=True)
    cell = cell.reshape(-1)
    _, person = np.unique(np.stack([cell, people], axis=1), axis=0, return_inverse=True)
    person = person.reshape(-1)
    rows_of_person = np.bincount(person)
    first = np.unique(person, return_index=True)[1]
    people_in_cell = np.bincount(cell[first])
    weights = 1.0 / (people_in_cell[cell] * rows_of_person[person])
    balanced: FloatArray = weights / weights.mean()
    return balanced


def held_out_rows(data: LabelledVectors, share: float, seed: int) -> BoolArray:
    """Return the rows of a random share of the people of each class with at least three people."""
    rng = np.random.default_rng(seed)
    held = np.zeros(len(data.x), dtype=bool)
    for label in range(int(data.labels[:, 0].max()) + 1):
        people = np.unique(data.people[data.labels[:, 0] == label])
        if len(people) > 2:
            chosen = rng.permutation(people)[: max(1, round(share * len(people)))]
            held |= np.isin(data.people, chosen)
    return held
