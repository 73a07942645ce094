"""Fusion: what all classifiers of vectors tell together."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.log_linear import LogLinear


@register_classifier("fusion", "weighted sum of what the classifiers of vectors say", learns_from="scores")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """New classifiers."""
    return [LogLinear()]
