"""Perceptron attacker: a neural network with one hidden layer."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, WeightedClassifier, register_classifier


@register_classifier("perceptron", "neural network with one hidden layer")
def candidates(seed: int) -> Sequence[Classifier]:
    """Return new classifiers."""
    from sklearn.neural_network import MLPClassifier

    return [
        WeightedClassifier(MLPClassifier((64,), alpha=alpha, max_iter=60, random_state=seed)) for alpha in (1.0, 10.0)
    ]
