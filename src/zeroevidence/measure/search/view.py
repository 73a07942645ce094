"""All trials of a search as a view."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.priors import log_ratio_from_lid, prior_free
from zeroevidence.measure.search.rank import rank_distribution
from zeroevidence.measure.views import NameCounts, SearchView


def search_view(evidence: RowEvidence, singled: IntArray | None = None, names: NameCounts | None = None) -> SearchView:
    """Return the view of all trials of a search; `singled` and `names` are None where these were not counted."""
    columns = trial_columns(evidence, singled)
    sums = {name: np.array([column.sum()], dtype=np.float64) for name, column in columns.items()}
    ranks = rank_distribution(evidence.greater, evidence.equal, evidence.identities)[None, :]
    return SearchView(evidence.identities, highest=np.array([evidence.lid.max()]), ranks=ranks, names=names, **sums)


def trial_columns(evidence: RowEvidence, singled: IntArray | None) -> dict[str, FloatArray]:
    """Return what each trial adds to the sums of a `SearchView`, by the name of the sum."""
    lid = evidence.lid
    positive = lid > 0.0
    columns = {
        "trials": np.ones(len(lid)),
        "lid": lid,
        "positive": positive.astype(np.float64),
        "lid_positive": np.where(positive, lid, 0.0),
        "first": np.where(evidence.greater == 0, 1.0 / (evidence.equal + 1.0), 0.0),
        "linked": ((evidence.greater == 0) & (evidence.equal == 0)).astype(np.float64),
        "prior_free": prior_free(log_ratio_from_lid(lid, 1.0 / evidence.identities)),
    }
    return columns if singled is None else columns | {"singled": singled.astype(np.float64)}
