"""Replicates of the one-to-N measures: speakers drawn anew, each bringing all of its trials.

The calibration and the enrolled identities stay as they are; what varies is whose utterances were intercepted. All
measures but the rank ones are ratios of sums over speakers, so that a batch of replicates is one small matrix product.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.measure.disclosure import RowEvidence
from zeroevidence.measure.rank import rank_distribution
from zeroevidence.uncertainty.draws import cluster_draws, leave_one_out

_MOST_RANKS = 50_000_000  # speakers times identities


class SearchResampler:
    """Sums over each speaker's trials, from which replicates follow."""

    def __init__(
        self, evidence: RowEvidence, singled: IntArray, speakers: IntArray | StrArray, *, seed: int = 0
    ) -> None:
        self.seed = seed
        self.identities = evidence.identities
        names, self.speaker = np.unique(speakers, return_inverse=True)
        self.n_clusters = len(names)
        lid = evidence.lid
        positive = lid > 0.0
        linked = (evidence.greater == 0) & (evidence.equal == 0)
        first = np.where(evidence.greater == 0, 1.0 / (evidence.equal + 1.0), 0.0)
        columns = (np.ones(len(lid)), lid, positive, np.where(positive, lid, 0.0), first, linked, singled)
        self.sums = np.column_stack([np.bincount(self.speaker, weights=c) for c in columns])
        self.highest = np.full(self.n_clusters, -np.inf)
        np.maximum.at(self.highest, self.speaker, lid)
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
        trials, lid, positive, lid_positive, first, linked, singled = (draws @ self.sums).T
        with np.errstate(invalid="ignore", divide="ignore"):
            pdr = positive / trials
            values = {
                "alid": lid / trials,
                "pdr": pdr,
                "ndr": 1.0 - pdr,
                "lid_pos": np.where(positive > 0, lid_positive / positive, 0.0),
                "lid_neg": np.where(trials > positive, (lid - lid_positive) / (trials - positive), 0.0),
                "lid_max": np.where(draws > 0, self.highest, -np.inf).max(axis=1),
                "top1": first / trials,
                "identification_rate": first / trials,
                "link_probability": linked / trials,
                "singling_out": singled / trials,
            }
            if self.ranks is not None:
                gamma = (draws @ self.ranks) / trials[:, None]
                bits = np.where(gamma > 0.0, np.log2(self.identities * gamma), -np.inf)
                values["mean_rank_disclosure"] = np.where(gamma > 0.0, gamma * bits, 0.0).sum(axis=1)
                values["max_rank_disclosure"] = bits.max(axis=1)
        return {name: np.where(trials > 0, value, np.nan) for name, value in values.items()}
