"""Boosting attacker: boosted trees."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.protect.assessment.attacker import QuantileLevels
from zeroevidence.protect.assessment.classifiers.classifier import Classifier, WeightedClassifier, register_classifier

_LEVELS = 64
_LEAVES = (31, 4)


@register_classifier("boosting", "boosted trees")
def candidates(seed: int) -> Sequence[Classifier]:
    """Return new classifiers."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return [
        WeightedClassifier(
            HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=n, random_state=seed, early_stopping=False),
            QuantileLevels(_LEVELS),
        )
        for n in _LEAVES
    ]
