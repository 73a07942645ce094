"""Mutual information of vectors and an attribute, without a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.measure.attribute.neighbours import information_by_column
from zeroevidence.measure.measures import attribute_measure
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import AttributeView

_MOST_ROWS = 5000  # more change the third digit and cost minutes


def mutual_information(
    vectors: FloatArray, labels: StrArray | IntArray, *, neighbours: int = 3, seed: int = 0
) -> FloatArray:
    """Mutual information between each dimension and the labels, in bits.

    Estimated by nearest neighbours [Ross 2014] (scikit-learn). Each dimension is considered alone: what several reveal
    only together is not seen, and the estimate is biased upwards where vectors of one speaker resemble each other. Of
    more than 5000 vectors a seeded sample is taken.
    """
    x, y = np.asarray(vectors, dtype=np.float64), np.asarray(labels)
    if len(x) > _MOST_ROWS:
        some = np.sort(np.random.default_rng(seed).choice(len(x), _MOST_ROWS, replace=False))
        x, y = x[some], y[some]
    bits: FloatArray = information_by_column(x, y, neighbours=neighbours, seed=seed) / LN2
    return bits


@attribute_measure(
    "mutual_information",
    "mutual information",
    unit="bit per dimension",
    high_note="log2 K",
    place=10,
    headline=70,
    interval=None,
    method="k nearest neighbours",
    references=("ross2014", "noe2022"),
)
def _mutual_information(view: Any) -> float | None:
    """Mutual information of a single entry of a vector and the attribute, averaged over the entries."""
    if not isinstance(view, AttributeView):
        return None
    return float(mutual_information(view.vectors, view.labels, seed=view.seed).mean())
