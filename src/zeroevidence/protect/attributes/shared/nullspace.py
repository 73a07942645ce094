"""Directions that linear classifiers use, one after another: each is removed before the next classifier learns."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.attributes.shared.discriminants import LinearDiscriminants, class_means
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors

_LOSS = 1000.0  # weight of the mean loss beside the penalty, however many vectors there are
_RANK = 1e-9  # of a direction's length, after what was removed before


def classifier_directions(data: LabelledVectors, most: int) -> tuple[FloatArray, FloatArray, LinearDiscriminants]:
    """At most so many orthonormal directions (d x m), the centre of the classes, and the first classifier."""
    centre = class_means(data).mean(axis=0)
    spread = float(np.sqrt(np.average(((data.x - centre) ** 2).mean(axis=1), weights=data.weights)))
    scale = spread if spread > 0.0 else 1.0
    left = (data.x - centre) / scale
    found: list[FloatArray] = []
    slopes, constants = _classifier(left, data.labels[:, 0], data.weights)
    sides = (slopes[1:] - slopes[0]).T / scale
    first = LinearDiscriminants(sides, centre @ sides - (constants[1:] - constants[0]))
    while len(found) < most:
        new = _beyond(slopes - slopes.mean(axis=0), found)[: most - len(found)]
        if not new:
            break
        found += new
        left = left - sum(np.outer(left @ one, one) for one in new)
        if len(found) < most:
            slopes, _ = _classifier(left, data.labels[:, 0], data.weights)
    basis = np.stack(found, axis=1) if found else np.zeros((data.x.shape[1], 0))
    return basis, centre, first


def _classifier(x: FloatArray, labels: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes (K x d) and constants of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_LOSS, max_iter=1000).fit(x, labels, sample_weight=weights / weights.sum())
    if len(model.coef_) > 1:
        return model.coef_, model.intercept_
    return np.concatenate([-model.coef_, model.coef_]) / 2.0, np.append(-model.intercept_, model.intercept_) / 2.0


def _beyond(rows: FloatArray, found: list[FloatArray]) -> list[FloatArray]:
    """Orthonormal directions of rows outside those found before."""
    new: list[FloatArray] = []
    for row in rows:
        away = row.copy()
        for _ in range(2):  # twice: rounding of the first time
            for one in (*found, *new):
                away -= (away @ one) * one
        length = float(np.linalg.norm(away))
        if length > _RANK * max(float(np.linalg.norm(row)), np.finfo(float).tiny):
            new.append(away / length)
    return new
