"""Three attackers that take a moment, to choose a protector's strength by: straight, quadratic and radial boundaries.

What is reported comes from `assessment`, whose attackers are more, and stronger.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.data.embeddings import Embeddings, speaker_names
from zeroevidence.measure.zebra import d_ece
from zeroevidence.protect.assessment.roles import attribute_labels
from zeroevidence.protect.discriminants import gaussian_classes
from zeroevidence.protect.transformers import Training, balanced_weights

_FLAT = 1e-9  # of the widest entry: one that spreads less does not vary


def _straight(data: Training) -> Callable[[FloatArray], FloatArray]:
    from sklearn.linear_model import LogisticRegression

    return _scores(LogisticRegression(C=0.1, max_iter=500).fit(data.x, data.labels[:, 0], data.weights))


def _radial(data: Training) -> Callable[[FloatArray], FloatArray]:
    from sklearn.svm import SVC

    return _scores(SVC().fit(data.x, data.labels[:, 0], data.weights))


def _quadratic(data: Training) -> Callable[[FloatArray], FloatArray]:
    return gaussian_classes(data).log_likelihoods


def _scores(model: Any) -> Callable[[FloatArray], FloatArray]:
    def told(x: FloatArray) -> FloatArray:
        found = model.decision_function(x)
        return np.stack([-found, found], axis=1) if found.ndim == 1 else np.asarray(found)

    return told


ATTACKERS: dict[str, Callable[[Training], Callable[[FloatArray], FloatArray]]] = {
    "logistic": _straight,
    "quadratic": _quadratic,
    "kernel": _radial,
}


def quick_attacks(
    attack: Embeddings, test: Embeddings, attribute: str, names: Sequence[str] = tuple(ATTACKERS)
) -> dict[str, float]:
    """D_ECE on test people by the name of the attacker; of several classes, each against the others, the largest.

    Examples
    --------
    >>> sex = np.repeat(["f", "m"], 40)
    >>> vectors = np.random.default_rng(0).normal(size=(80, 3)) + 3.0 * (sex == "m")[:, None]
    >>> people = np.repeat([f"p{i}" for i in range(20)], 4)
    >>> data = Embeddings(vectors, None, people, {"sex": sex})
    >>> odd = np.arange(80) // 4 % 2 == 1
    >>> told = quick_attacks(data.take(odd), data.take(~odd), "sex")
    >>> sorted(told), min(told.values()) > 0.5
    (['kernel', 'logistic', 'quadratic'], True)
    """
    classes, labels = np.unique(attribute_labels(attack, attribute), return_inverse=True)
    truth = attribute_labels(test, attribute)
    _, people = np.unique(speaker_names(attack), return_inverse=True)
    x = np.asarray(attack.vectors, dtype=np.float64)
    mean, spread = x.mean(axis=0), x.std(axis=0)
    scale = np.where(spread > _FLAT * max(spread.max(), np.finfo(float).tiny), spread, np.inf)
    columns = labels[:, None]
    data = Training((x - mean) / scale, columns, balanced_weights(columns, people), people)
    tested = (np.asarray(test.vectors, dtype=np.float64) - mean) / scale
    found = {}
    for name in names:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an attacker who stops early is still an attacker
            told = ATTACKERS[name](data)(tested)
        found[name] = max(_against_others(told, k, truth == classes[k]) for k in range(1, len(classes)))
    return found


def _against_others(told: FloatArray, k: int, own: BoolArray) -> float:
    score = told[:, k] - np.delete(told, k, axis=1).max(axis=1)
    return float(d_ece(score[own], score[~own]))
