"""A kernel machine: what the neighbourhood in all entries at once tells."""

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

_SETTINGS = ((1.0, 1.0), (1.0, 0.3), (1.0, 3.0), (10.0, 1.0))  # cost, and width of the kernel relative to the entries


class KernelMachine(WeightedClassifier):
    """A support vector machine with radial kernels; its margins are made into evidence by the calibration of scores."""

    def __init__(self, cost: float, gamma: float) -> None:
        from sklearn.svm import SVC

        super().__init__(SVC(C=cost))
        self.gamma = gamma

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray, people: IntArray) -> None:
        """Learn from weighted rows."""
        self.model.set_params(gamma=self.gamma / x.shape[1])
        super().fit(x, y, weights, people)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class, from the margins."""
        margins = self.model.decision_function(self.inputs(x))
        return log_normalise(np.stack([-margins, margins], axis=1) if margins.ndim == 1 else 2.0 * margins)


@register_classifier("kernel", "kernel machine: who is near in all entries at once")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """New classifiers."""
    return [KernelMachine(*setting) for setting in _SETTINGS]
