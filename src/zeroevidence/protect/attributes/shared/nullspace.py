"""Directions of linear classifiers, each of which is trained after the directions before it were removed."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants, class_means
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors

_LOSS = 1000.0  # weight of the mean loss beside the penalty, however many vectors there are
_RANK = 1e-9  # of a direction's length, after what was removed before


def classifier_directions(data: LabelledVectors, most: int) -> tuple[FloatArray, FloatArray, LinearDiscriminants]:
    """Return at most `most` orthonormal directions (d x m), the centre of the classes, and the first classifier."""
    centre = class_means(data).mean(axis=0)
    spread = float(np.sqrt(np.average(((data.x - centre) ** 2).mean(axis=1), weights=data.weights)))
    scale = spread if spread > 0.0 else 1.0
    left = (data.x - centre) / scale
    directions: list[FloatArray] = []
    slopes, constants = _classifier(left, data.labels[:, 0], data.weights)
    sides = (slopes[1:] - slopes[0]).T / scale
    first = LinearDiscriminants(sides, centre @ sides - (constants[1:] - constants[0]))
    while len(directions) < most:
        new = _orthonormal(slopes - slopes.mean(axis=0), directions)[: most - len(directions)]
        if not new:
            break
        directions += new
        left = left - sum(np.outer(left @ direction, direction) for direction in new)
        if len(directions) < most:
            slopes, _ = _classifier(left, data.labels[:, 0], data.weights)
    basis = np.stack(directions, axis=1) if directions else np.zeros((data.x.shape[1], 0))
    return basis, centre, first


def _classifier(x: FloatArray, labels: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes (K x d) and constants of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_LOSS, max_iter=1000).fit(x, labels, sample_weight=weights / weights.sum())
    if len(model.coef_) > 1:
        return model.coef_, model.intercept_
    return np.concatenate([-model.coef_, model.coef_]) / 2.0, np.append(-model.intercept_, model.intercept_) / 2.0


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
