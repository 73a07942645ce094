"""Quadratic discriminant analysis of sphered vectors: how covariances differ from what classes share."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier

_ALL = 1 << 30
# Few components that are known well, or more of them nearer to what the classes share.
_SETTINGS = ((32, None), (8, None), (32, 0.5), (128, 0.5), (_ALL, 0.9))


@register_classifier("sphered", "quadratic discriminant after sphering what classes share")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """New classifiers."""
    return [GaussianClassifier(components=count, shrinkage=share) for count, share in _SETTINGS]
