"""Logistic regression: what a straight cut tells."""

from __future__ import annotations

from zeroevidence.protect.assessment.classifiers.base import Classifier, WeightedClassifier, register_classifier


@register_classifier("logistic", "logistic regression: one straight cut through all entries")
def make(seed: int) -> Classifier:  # noqa: ARG001 (it draws nothing)
    """A new classifier."""
    from sklearn.linear_model import LogisticRegression

    return WeightedClassifier(LogisticRegression(C=0.1, max_iter=1000))
