"""Kernel attacker: a support vector machine with radial kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.protect.assessment.classifiers.classifier import (
    Classifier,
    WeightedClassifier,
    log_normalise,
    register_classifier,
)

_SETTINGS = ((1.0, 1.0), (1.0, 0.3), (1.0, 3.0), (10.0, 1.0))  # cost, and gamma relative to the number of entries


class KernelMachine(WeightedClassifier):
    """A support vector machine with radial kernels; calibration turns its margins into evidence."""

    def __init__(self, cost: float, gamma: float) -> None:
        from sklearn.svm import SVC

        super().__init__(SVC(C=cost))
        self.gamma = gamma

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Train on weighted rows."""
        self.model.set_params(gamma=self.gamma / x.shape[1])
        super().fit(x, y, weights, people)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the log-posterior of each class, from the margins."""
        margins = self.model.decision_function(self.inputs.of(x))
        return log_normalise(np.stack([-margins, margins], axis=1) if margins.ndim == 1 else 2.0 * margins)


@register_classifier("kernel", "support vector machine with radial kernels")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [KernelMachine(*setting) for setting in _SETTINGS]
