"""Replicates of the measures of a search: speakers drawn again, each bringing all of its trials.

The calibration and the enrolled identities stay as they are; what varies is whose utterances were intercepted. A view
of a replicate is made of sums over speakers, so that a batch of replicates is one small matrix product.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.measure.disclosure import RowEvidence
from zeroevidence.measure.rank import rank_distribution
from zeroevidence.measure.registry import of_family
from zeroevidence.measure.views import SearchView
from zeroevidence.measure.whole import trial_columns
from zeroevidence.uncertainty.draws import cluster_draws, leave_one_out

_MOST_RANKS = 50_000_000  # speakers times identities


class SearchResampler:
    """Sums over each speaker's trials, from which replicates follow.

    Parameters
    ----------
    evidence
        What the search learned from each trial.
    singled
        Whether each trial's predicate fired on exactly one identity; None where nobody counted.
    speakers
        Whose each trial is.
    """

    def __init__(
        self, evidence: RowEvidence, singled: IntArray | None, speakers: IntArray | StrArray, *, seed: int = 0
    ) -> None:
        self.seed = seed
        self.identities = evidence.identities
        names, self.speaker = np.unique(speakers, return_inverse=True)
        self.n_clusters = len(names)
        columns = [np.ones(len(evidence.lid)), *trial_columns(evidence, singled)]
        self.sums = np.column_stack([np.bincount(self.speaker, weights=column) for column in columns])
        self.highest = np.full(self.n_clusters, -np.inf)
        np.maximum.at(self.highest, self.speaker, evidence.lid)
        self.ranks: FloatArray | None = None
        if self.n_clusters * self.identities > _MOST_RANKS:
            return  # no rank disclosure: its table would not fit
        # Ranks that nobody holds need no column.
        per_speaker = [
            rank_distribution(evidence.greater[own], evidence.equal[own], self.identities) * len(own)
            for own in (np.flatnonzero(self.speaker == s) for s in range(self.n_clusters))
        ]
        ranks = np.stack(per_speaker)
        self.ranks = ranks[:, ranks.any(axis=0)]

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Replicates of one batch."""
        return self.replicates(cluster_draws(self.n_clusters, batch, size, self.seed))

    def jackknife(self) -> dict[str, FloatArray]:
        """Leave-one-speaker-out values."""
        return self.replicates(leave_one_out(self.n_clusters))

    def replicates(self, draws: IntArray) -> dict[str, FloatArray]:
        """Measures for given numbers of copies of each speaker, shape (replicates, speakers)."""
        trials, lid, positive, lid_positive, first, linked, *singled = (draws @ self.sums).T
        with np.errstate(invalid="ignore", divide="ignore"):
            view = SearchView(
                self.identities,
                trials,
                lid,
                positive,
                lid_positive,
                first,
                linked,
                singled[0] if singled else None,
                np.where(draws > 0, self.highest, -np.inf).max(axis=1),
                None if self.ranks is None else (draws @ self.ranks) / trials[:, None],
            )
            found = ((one, one.compute(view)) for one in of_family("search") if one.interval(view) is not None)
            return {one.name: np.where(trials > 0, values, np.nan) for one, values in found if values is not None}
