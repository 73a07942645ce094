"""Person attacker: logistic regression on mean and standard deviation of all vectors of a person."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, WeightedClassifier, register_classifier


@register_classifier(
    "person", "logistic regression on mean and standard deviation of a person's vectors", learns_from="people"
)
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    from sklearn.linear_model import LogisticRegression

    return [WeightedClassifier(LogisticRegression(C=c, max_iter=1000)) for c in (0.1, 0.01, 0.001)]
