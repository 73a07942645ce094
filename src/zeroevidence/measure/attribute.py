"""Measures of what vectors or attackers reveal about an attribute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.measure.measures import attribute_measure
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import AttributeView

_MOST_ROWS = 5000  # more change the third digit and cost minutes


def information_by_column(
    vectors: FloatArray, labels: NDArray[Any], *, neighbours: int = 3, seed: int = 0
) -> FloatArray:
    """Mutual information of each column and the labels in nats, as ``mutual_info_classif`` of scikit-learn gives it.

    On a line, nearest neighbours are adjacent once the numbers are sorted, so a sort replaces the trees that
    scikit-learn builds for every column and class. The results are those of scikit-learn, which is still used for small
    classes, where it computes distances in another way.

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
    return np.asarray(of_label / LN2 + np.log2(log_posteriors.shape[1]))


@attribute_measure(
    "attribute_bits",
    "bits about the attribute",
    unit="bit",
    limits=(-np.inf, np.inf),
    high_note="log2 K",
    place=20,
    headline=72,
    method="calibrated probabilities of classes",
    references=("barber2003",),
)
def attribute_bits(view: Any) -> float | None:
    """A lower bound of what an attacker learns about several classes together.

    Mean bits of the weighted rows; None for other views.
    """
    if isinstance(view, ClassView):
        return float(np.average(class_bits(view.log_posteriors, view.labels), weights=view.weights))
    return None


def mutual_information(
    vectors: FloatArray, labels: StrArray | IntArray, *, neighbours: int = 3, seed: int = 0
) -> FloatArray:
    """Mutual information between each dimension and the labels, in bits.

    Estimated by nearest neighbours [Ross 2014] (scikit-learn). Each dimension is considered alone: what several reveal
    only together is not seen, and the estimate is biased upwards where vectors of one speaker resemble each other. Of
    more than 5000 vectors a seeded sample is taken.
    """
    x, y = np.asarray(vectors, dtype=np.float64), np.asarray(labels)
    if len(x) > _MOST_ROWS:
        some = np.sort(np.random.default_rng(seed).choice(len(x), _MOST_ROWS, replace=False))
        x, y = x[some], y[some]
    return information_by_column(x, y, neighbours=neighbours, seed=seed) / LN2


@attribute_measure(
    "mutual_information",
    "mutual information",
    unit="bit per dimension",
    high_note="log2 K",
    place=10,
    headline=70,
    interval=None,
    method="k nearest neighbours",
    references=("ross2014", "noe2022"),
)
def _mutual_information(view: Any) -> float | None:
    """Mutual information of a single entry of a vector and the attribute, averaged over the entries."""
    if not isinstance(view, AttributeView):
        return None
    return float(mutual_information(view.vectors, view.labels, seed=view.seed).mean())
