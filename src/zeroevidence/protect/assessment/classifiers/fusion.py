"""Fusion attacker: weighted sum of the log-posteriors of all classifiers of vectors."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.classifiers.classifier import Classifier, register_classifier
from zeroevidence.protect.assessment.classifiers.log_linear import LogLinear


@register_classifier("fusion", "weighted sum of the scores of the classifiers of vectors", learns_from="scores")
def candidates(seed: int) -> Sequence[Classifier]:  # noqa: ARG001 (it draws nothing)
    """Return new classifiers."""
    return [LogLinear()]
