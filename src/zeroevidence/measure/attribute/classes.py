"""Information of an attacker's calibrated probabilities about several classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.measure.measures import attribute_measure
from zeroevidence.measure.softplus import LN2


@dataclass(frozen=True, slots=True, eq=False)
class ClassView:
    """Log-probabilities (n x K) that an attacker gives to classes, the class of each row, and how much it counts."""

    log_posteriors: FloatArray
    labels: IntArray
    weights: FloatArray


def class_bits(log_posteriors: FloatArray, labels: IntArray) -> FloatArray:
    """Return the information of calibrated log-posteriors of K equally likely classes about each row, in bits.

    Examples
    --------
    >>> class_bits(np.log([[0.5, 0.25, 0.25]]), np.array([0])).round(3).tolist()
    [0.585]
    """
    of_label = log_posteriors[np.arange(len(labels)), labels]
    bits: FloatArray = of_label / LN2 + np.log2(log_posteriors.shape[1])
    return bits


@attribute_measure(
    "attribute_bits",
    "bits about the attribute",
    unit="bit",
    limits=(-np.inf, np.inf),
    high_note="log2 K",
    place=20,
    headline=72,
    method="calibrated probabilities of classes",
    references=("barber2003",),
)
def attribute_bits(view: Any) -> float | None:
    """A lower bound of what an attacker learns about several classes together.

    Mean bits of the weighted rows; None for other views.
    """
    if isinstance(view, ClassView):
        return float(np.average(class_bits(view.log_posteriors, view.labels), weights=view.weights))
    return None
