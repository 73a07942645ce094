"""Iterative null-space projection [Ravfogel et al. 2020]: one linear classifier after another is made blind."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.attributes import protector
from zeroevidence.protect.discriminants import Discriminants, class_means
from zeroevidence.protect.noise import NoiseShape
from zeroevidence.protect.transformers import EmbeddingProtector, Training

_PENALTY = 1.0
_RANK = 1e-9  # of a direction's length, after what was removed before


@protector("Removes the direction of a linear classifier, trains another on the rest, and so on (INLP).")
class Inlp(EmbeddingProtector):
    """Project vectors onto what a row of linear classifiers do not use.

    Parameters
    ----------
    directions
        How many directions to remove; at least one remains.
    noise, noise_shape, noise_seed
        See `EmbeddingProtector`.

    Attributes
    ----------
    basis_
        The directions that are removed, orthonormal, d x at most `directions`.
    centre_
        Where vectors are put along them.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Inlp
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0, 1], 50)
    >>> x = rng.normal(size=(100, 6)) + np.outer(sex, [2.0, 1.0, 0.0, 0.0, 0.0, 0.0])
    >>> inlp = Inlp(directions=2).fit(x, sex)
    >>> inlp.basis_.shape, np.linalg.matrix_rank(inlp.transform(x) - inlp.centre_)
    ((6, 2), np.int64(4))
    """

    kind: ClassVar[str] = "inlp"

    def __init__(
        self,
        *,
        directions: int = 10,
        noise: float = 0.0,
        noise_shape: NoiseShape = "within",
        noise_seed: int | None = None,
    ) -> None:
        super().__init__(noise=noise, noise_shape=noise_shape, noise_seed=noise_seed)
        self.directions = directions

    def _fit(self, data: Training) -> None:
        if self.directions < 1:
            raise UsageError(f"directions: expected at least 1, got {self.directions}")
        dimension = data.x.shape[1]
        most = min(self.directions, dimension - 1)
        self.centre_ = class_means(data).mean(axis=0)
        scale = float(np.sqrt(np.average(((data.x - self.centre_) ** 2).mean(axis=1), weights=data.weights)))
        scale = scale if scale > 0.0 else 1.0
        left = (data.x - self.centre_) / scale
        found: list[FloatArray] = []
        while len(found) < most:
            slopes, constants = _classifier(left, data.labels[:, 0], data.weights)
            if not found:
                sides = (slopes[1:] - slopes[0]).T / scale
                self.discriminants_ = Discriminants(sides, self.centre_ @ sides - (constants[1:] - constants[0]))
            new = _beyond(slopes - slopes.mean(axis=0), found)[: most - len(found)]
            if not new:
                break
            found += new
            left = left - sum(np.outer(left @ one, one) for one in new)
        self.basis_ = np.stack(found, axis=1) if found else np.zeros((dimension, 0))

    def _transform(self, x: FloatArray) -> FloatArray:
        moved: FloatArray = x - ((x - self.centre_) @ self.basis_) @ self.basis_.T
        return moved

    def _llr(self, x: FloatArray) -> FloatArray:
        """That of the first classifier."""
        return self.discriminants_.llr(x)

    def _arrays(self) -> dict[str, FloatArray]:
        return {"basis": self.basis_, "centre": self.centre_, **self.discriminants_.arrays()}

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.basis_, self.centre_ = arrays["basis"], arrays["centre"]
        self.discriminants_ = Discriminants.of(arrays)


def _classifier(x: FloatArray, labels: IntArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes (K x d) and constants of logistic regression."""
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_PENALTY, max_iter=1000).fit(x, labels, sample_weight=weights)
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
