"""Vectors of a system under attack: through a protector, or unprotected."""

from __future__ import annotations

from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Flag
from zeroevidence.evaluation.rows.flags import flag

_POINT_MASS = 0.01  # share of zeros from which a protector cannot do its work


def protect(embeddings: Embeddings, protector: Any) -> Embeddings:
    """Return embeddings through a fitted protector; as they are if it is None."""
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    if protector is not None:
        vectors = np.asarray(protector.transform(vectors), dtype=np.float64)
    return Embeddings(vectors, embeddings.ids, embeddings.speakers, embeddings.attributes)


def zero_entry_flags(vectors: FloatArray) -> tuple[Flag, ...]:
    """Return a warning where many entries are exactly zero, as after a ReLU."""
    share = float(np.mean(np.asarray(vectors) == 0.0))
    return (flag("zeros", percent=100 * share),) if share >= _POINT_MASS else ()
