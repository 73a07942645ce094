"""Pooled attacker: mean scores of all classifiers over all vectors of one person."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.log_linear import LogLinear


@register_classifier(
    "pooled", "mean scores of the classifiers over all vectors of a person", learns_from="scores of people"
)
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [LogLinear()]
