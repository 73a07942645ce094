"""Directions that linear models of the class use, each after the directions before it were removed.

This is iterative null-space projection [Ravfogel et al. 2020].
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.attributes.shared.discriminants import class_means
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import shrinkage_share, shrunk

_LOSS = 1000.0  # weight of the mean loss beside the penalty, however many vectors there are
_RANK = 1e-9  # of a direction's length, after what was removed before


def classifier_directions(data: LabelledVectors, most: int) -> tuple[FloatArray, FloatArray]:
    """Return at most `most` orthonormal directions (d x m) of logistic regressions, and the centre of the classes."""
    centre = class_means(data).mean(axis=0)
    spread = float(np.sqrt(np.average(((data.x - centre) ** 2).mean(axis=1), weights=data.weights)))
    scale = spread if spread > 0.0 else 1.0
    left = (data.x - centre) / scale
    directions: list[FloatArray] = []
    while len(directions) < most:
        slopes = _classifier(left, data.labels[:, 0], data.weights)
        new = _orthonormal(slopes - slopes.mean(axis=0), directions)[: most - len(directions)]
        if not new:
            break
        directions += new
        left = left - sum(np.outer(left @ direction, direction) for direction in new)
    return _basis(directions, data.x.shape[1]), centre


def regression_directions(data: LabelledVectors, most: int) -> tuple[FloatArray, FloatArray]:
    r"""Return at most `most` orthonormal directions (d x m) of least-squares classifiers, and the classes' centre.

    The slopes of regression of the classes on vectors of covariance C are :math:`C^{-1} \delta`, with C shrunk and the
    differences :math:`\delta` of the class means. Without the direction q, the inverse is that of before less
    :math:`C^{-1} q q' C^{-1} / q' C^{-1} q`, so that no regression has to be solved anew.
    """
    means = class_means(data)
    centre = means.mean(axis=0)
    share = data.weights / data.weights.sum()
    rows = data.x - centre
    covariance = shrunk((rows * share[:, None]).T @ rows, shrinkage_share(rows, "auto"))
    ridge = _RANK * np.trace(covariance) / len(covariance) + np.finfo(float).tiny
    inverse = np.linalg.inv(covariance + ridge * np.eye(len(covariance)))
    directions: list[FloatArray] = []
    while len(directions) < most:
        new = _orthonormal((means - centre) @ inverse, directions)[: most - len(directions)]
        if not new:
            break
        for direction in new:
            column = inverse @ direction
            inverse = inverse - np.outer(column, column) / (direction @ column)
        directions += new
    return _basis(directions, data.x.shape[1]), centre


def _basis(directions: list[FloatArray], dimension: int) -> FloatArray:
    """Return directions as columns."""
    return np.stack(directions, axis=1) if directions else np.zeros((dimension, 0))


def _classifier(x: FloatArray, labels: IntArray, weights: FloatArray) -> FloatArray:
    """Return the slopes of logistic regression (K x d)."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_LOSS, max_iter=1000).fit(x, labels, sample_weight=weights / weights.sum())
    slopes: FloatArray = model.coef_
    return slopes if len(slopes) > 1 else np.concatenate([-slopes, slopes]) / 2.0


def _orthonormal(rows: FloatArray, basis: list[FloatArray]) -> list[FloatArray]:
    """Return orthonormal directions of rows outside a basis."""
    new: list[FloatArray] = []
    for row in rows:
        away = row.copy()
        for _ in range(2):  # twice: rounding of the first time
            for direction in (*basis, *new):
                away -= (away @ direction) * direction
        length = float(np.linalg.norm(away))
        if length > _RANK * max(float(np.linalg.norm(row)), np.finfo(float).tiny):
            new.append(away / length)
    return new
