"""Quadratic discriminant analysis: what means and covariances tell."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier


@register_classifier("qda", "quadratic discriminant: a shrunk covariance for each class")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """New classifiers."""
    return [GaussianClassifier(shrinkage=share) for share in (None, 0.1, 0.3, 0.7)]
