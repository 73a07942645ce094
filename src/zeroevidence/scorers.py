"""Measures as functions of labels and scores, ready for scikit-learn's ``make_scorer``.

``make_scorer(ze.scorers.eer, response_method="decision_function", greater_is_better=False)`` ranks models by their
equal error rate; ``response_method="predict_proba"`` works as well, since only the order of scores counts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray
from zeroevidence.data.scores import as_array, check_scores
from zeroevidence.errors import UsageError
from zeroevidence.measure.pairs import linkability as _linkability
from zeroevidence.measure.pairs import verification, zebra

__all__ = ["cllr_min", "d_ece", "dcf_min", "eer", "linkability"]


def classes_of_scores(y_true: ArrayLike, y_score: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the scores of the positive class, which is the later of two labels, and those of the other.

    Examples
    --------
    >>> classes_of_scores(["no", "yes", "no"], [0.1, 0.9, 0.3])
    (array([0.9]), array([0.1, 0.3]))
    """
    labels, scores = as_array(y_true, "y_true"), check_scores(y_score, "y_score")
    if labels.shape != scores.shape:
        raise UsageError(f"expected a label for each of a list of scores, got {labels.shape} and {scores.shape}")
    classes = np.unique(labels)
    if len(classes) != 2:
        raise UsageError(f"expected two classes, got {len(classes)}")
    positive = labels == classes[1]
    return scores[positive], scores[~positive]


def eer(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Equal error rate.

    Examples
    --------
    >>> eer([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])
    0.5
    """
    return verification.eer.unchecked(*classes_of_scores(y_true, y_score))


def cllr_min(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Cost of the log-likelihood ratios after the best calibration, in bits: from 0 (separated classes) to 1.

    Examples
    --------
    >>> round(cllr_min([1, 1, 1, 0, 0, 0], [0.9, 0.4, 0.8, 0.6, 0.1, 0.2]), 3)
    0.333
    """
    return verification.cllr_min.unchecked(*classes_of_scores(y_true, y_score))


def dcf_min(y_true: ArrayLike, y_score: ArrayLike, *, prior: float = 0.05) -> float:
    """Least normalised detection cost, for this probability of the positive class.

    Examples
    --------
    >>> round(dcf_min([1, 1, 1, 0, 0, 0], [0.9, 0.4, 0.8, 0.6, 0.1, 0.2]), 3)
    0.333
    """
    return verification.dcf_min.unchecked(*classes_of_scores(y_true, y_score), prior=prior)


def d_ece(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Expected disclosure of scores, D_ECE, in bits.

    Examples
    --------
    >>> round(d_ece([1, 1, 1, 0, 0, 0], [0.9, 0.4, 0.8, 0.6, 0.1, 0.2]), 3)
    0.481
    """
    return zebra.d_ece.unchecked(*classes_of_scores(y_true, y_score))


def linkability(y_true: ArrayLike, y_score: ArrayLike) -> float:
    """Global linkability: 0 where the classes have the same scores, 1 where each score determines its class.

    Examples
    --------
    >>> linkability([0] * 50 + [1] * 50, range(100)) > 0.8
    True
    """
    return _linkability.linkability.unchecked(*classes_of_scores(y_true, y_score))
