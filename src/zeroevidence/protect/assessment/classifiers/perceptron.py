"""A perceptron with one hidden layer: what bent cuts tell."""

from __future__ import annotations

from zeroevidence.protect.assessment.classifiers.base import Classifier, WeightedClassifier, register_classifier


@register_classifier("perceptron", "a network with one hidden layer: bent cuts")
def make(seed: int) -> Classifier:
    """A new classifier."""
    from sklearn.neural_network import MLPClassifier

    return WeightedClassifier(MLPClassifier((64,), alpha=1.0, max_iter=60, random_state=seed))
