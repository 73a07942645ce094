"""Quick attackers that choose a protector's strength: logistic regression, QDA and a kernel machine.

Reported results come from `assessment`, whose attackers are more, and stronger.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.protect.assessment.attacker import training_environment
from zeroevidence.protect.assessment.class_learning import class_d_ece, evaluated_classes
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS
from zeroevidence.protect.assessment.roles import attribute_labels
from zeroevidence.protect.attributes.shared.labelled import balanced_weights

ATTACKERS = ("logistic", "qda", "kernel")  # of `CLASSIFIERS`, with their usual settings


def quick_attacks(
    attack: Embeddings, test: Embeddings, attribute: str, names: Sequence[str] = ATTACKERS
) -> dict[str, float]:
    """Return the D_ECE on test people by the name of the attacker; the largest over classes.

    Examples
    --------
    >>> sex = np.repeat(["f", "m"], 40)
    >>> vectors = np.random.default_rng(0).normal(size=(80, 3)) + 3.0 * (sex == "m")[:, None]
    >>> people = np.repeat([f"p{i}" for i in range(20)], 4)
    >>> data = Embeddings(vectors, None, people, {"sex": sex})
    >>> odd = np.arange(80) // 4 % 2 == 1
    >>> d_eces = quick_attacks(data.take(odd), data.take(~odd), "sex")
    >>> sorted(d_eces), min(d_eces.values()) > 0.5
    (['kernel', 'logistic', 'qda'], True)
    """
    classes, labels = np.unique(attribute_labels(attack, attribute), return_inverse=True)
    truth = np.searchsorted(classes, attribute_labels(test, attribute))
    _, people = np.unique(require_speakers(attack), return_inverse=True)
    x, tested = (np.asarray(side.vectors, dtype=np.float64) for side in (attack, test))
    weights = balanced_weights(labels[:, None], people)
    results = {}
    for name in names:
        attacker = CLASSIFIERS.find(name).candidates(0)[0]
        with training_environment():
            attacker.fit(x, labels, weights, people)
            log_posteriors = attacker.log_posteriors(tested)
        results[name] = max(class_d_ece(log_posteriors, truth, k) for k in evaluated_classes(len(classes)))
    return results
