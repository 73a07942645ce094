"""All trials of a search as a view."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.priors import log_ratio_from_lid, prior_free
from zeroevidence.measure.search.rank import rank_distribution
from zeroevidence.measure.views import SearchView


def search_view(evidence: RowEvidence, singled: IntArray | None = None) -> SearchView:
    """All trials of a search, each counted once; `singled` is None where these were not counted."""
    lid, identities = evidence.lid, evidence.identities
    sums = (np.array([column.sum()], dtype=np.float64) for column in trial_columns(evidence, singled))
    total, positive, lid_positive, first, linked, free, *more = sums
    return SearchView(
        identities,
        np.array([float(len(lid))]),
        total,
        positive,
        lid_positive,
        first,
        linked,
        more[0] if more else None,
        np.array([lid.max()]),
        rank_distribution(evidence.greater, evidence.equal, identities)[None, :],
        free,
    )


def trial_columns(evidence: RowEvidence, singled: IntArray | None) -> list[FloatArray]:
    """What each trial adds to the sums of a `SearchView`, in their order."""
    lid = evidence.lid
    positive = lid > 0.0
    columns = [
        lid,
        positive.astype(np.float64),
        np.where(positive, lid, 0.0),
        np.where(evidence.greater == 0, 1.0 / (evidence.equal + 1.0), 0.0),
        ((evidence.greater == 0) & (evidence.equal == 0)).astype(np.float64),
        prior_free(log_ratio_from_lid(lid, 1.0 / evidence.identities)),
    ]
    return columns if singled is None else [*columns, singled.astype(np.float64)]
