"""LDA attacker: linear discriminant analysis with one shrunk covariance."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier


@register_classifier("lda", "linear discriminant analysis with one shrunk covariance")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [GaussianClassifier(shared=True, shrinkage=share) for share in (None, 0.3, 0.7, 0.95)]
