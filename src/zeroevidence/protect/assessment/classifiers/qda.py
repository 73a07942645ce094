"""QDA attacker: quadratic discriminant analysis with shrunk covariances."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier


@register_classifier("qda", "quadratic discriminant analysis with a shrunk covariance for each class")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [GaussianClassifier(shrinkage=share) for share in (None, 0.1, 0.3, 0.7)]
