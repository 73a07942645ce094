"""Sphered attacker: quadratic discriminant analysis after sphering the shared covariance."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.gaussian import GaussianClassifier

_ALL = 1 << 30
# Few components whose covariances are estimated well, or more of them shrunk towards the shared covariance.
_SETTINGS = ((32, None), (8, None), (32, 0.5), (128, 0.5), (_ALL, 0.9))


@register_classifier("sphered", "quadratic discriminant analysis after sphering the shared covariance")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [GaussianClassifier(components=count, shrinkage=share) for count, share in _SETTINGS]
