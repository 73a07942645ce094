"""Boosted trees: what single entries and their combinations tell."""

from __future__ import annotations

from zeroevidence.protect.assessment.classifiers.base import Classifier, WeightedClassifier, register_classifier

_LEVELS = 64


@register_classifier("boosting", "boosted trees: steps along single entries, and their combinations")
def make(seed: int) -> Classifier:
    """A new classifier."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(max_iter=60, random_state=seed, early_stopping=False)
    return WeightedClassifier(trees, levels=_LEVELS)
