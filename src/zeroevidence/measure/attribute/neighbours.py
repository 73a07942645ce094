"""Mutual information of single numbers and labels by nearest neighbours [Ross 2014].

On a line, nearest neighbours are adjacent once the numbers are sorted, so a sort replaces the trees that scikit-learn
builds for every column and class. The results are those of scikit-learn, which is still used for small classes, where
it computes distances in another way.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray


def information_by_column(
    vectors: FloatArray, labels: NDArray[Any], *, neighbours: int = 3, seed: int = 0
) -> FloatArray:
    """Mutual information of each column and the labels in nats, as ``mutual_info_classif`` of scikit-learn gives it.

    Parameters
    ----------
    vectors
        Rows of numbers.
    labels
        The class of each row.
    neighbours
        Number of neighbours in the same class whose distance is the radius in which all classes are counted.
    seed
        Seed of the noise that separates equal numbers.
    """
    classes, counts = np.unique(labels, return_inverse=True, return_counts=True)[1:]
    if counts.min() < 2 * (neighbours + 1):
        from sklearn.feature_selection import mutual_info_classif

        return np.asarray(mutual_info_classif(vectors, labels, n_neighbors=neighbours, random_state=seed))
    from scipy.special import psi  # slow to import, and needed for attributes alone
    from sklearn.preprocessing import scale

    x = scale(np.array(vectors, dtype=np.float64), with_mean=False, copy=False)
    noise = np.random.RandomState(seed).standard_normal(size=x.shape)  # as scikit-learn draws it
    x += 1e-10 * np.maximum(1, np.mean(np.abs(x), axis=0)) * noise
    constant = psi(len(x)) + psi(neighbours) - np.mean(psi(counts[classes]))
    nats = [constant - np.mean(psi(_within(column, classes, neighbours))) for column in x.T]
    return np.maximum(0.0, np.array(nats))


def _within(x: FloatArray, classes: IntArray, neighbours: int) -> IntArray:
    """How many numbers, with itself, lie nearer to each than its last neighbour of the same class."""
    order = np.argsort(x)
    x, classes = x[order], classes[order]
    radius = np.empty(len(x))
    for label in np.unique(classes):
        members = classes == label
        radius[members] = _distance(x[members], neighbours)
    first, last = np.searchsorted(x, x - radius), np.searchsorted(x, x + radius, side="right") - 1
    # Rounded sums may let in the neighbour at the radius itself, or leave out the one before.
    ends = len(x) - 1
    while len(at := np.flatnonzero(x - x[first] >= radius)):
        first[at] += 1
    while len(at := np.flatnonzero((first > 0) & (x - x[np.maximum(first - 1, 0)] < radius))):
        first[at] -= 1
    while len(at := np.flatnonzero(x[last] - x >= radius)):
        last[at] -= 1
    while len(at := np.flatnonzero((last < ends) & (x[np.minimum(last + 1, ends)] - x < radius))):
        last[at] += 1
    return last - first + 1


def _distance(x: FloatArray, k: int) -> FloatArray:
    """Of each of some sorted numbers, the distance to the k-th nearest other."""
    padded = np.concatenate((np.full(k, -np.inf), x, np.full(k, np.inf)))
    # The k nearest are a run with so many before it and the rest behind: the run that reaches least far.
    below = [x - padded[k - before : len(x) + k - before] for before in range(k + 1)]
    above = [padded[k + after : len(x) + k + after] - x for after in range(k + 1)]
    runs = [np.maximum(below[before], above[k - before]) for before in range(k + 1)]
    return np.asarray(np.min(runs, axis=0))
