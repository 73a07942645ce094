"""Pooled scores: what all classifiers say of all vectors of one person."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.log_linear import LogLinear


@register_classifier(
    "pooled", "mean of what the classifiers say, over all vectors of a person", learns_from="scores of people"
)
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """New classifiers."""
    return [LogLinear()]
