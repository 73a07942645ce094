"""The data themselves as views: all scores, and all trials of a search."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Ranked
from zeroevidence.measure.disclosure import RowEvidence
from zeroevidence.measure.linkability import linkability_of, nonmated_linkability_of
from zeroevidence.measure.priors import against_the_others, prior_free
from zeroevidence.measure.rank import rank_distribution
from zeroevidence.measure.registry import MEASURES
from zeroevidence.measure.views import PairSettings, PairView, SearchView


class ScoreView(PairView):
    """The scores themselves."""

    def __init__(self, ranked: Ranked, settings: PairSettings | None = None) -> None:
        super().__init__(ranked.counts, settings or PairSettings())
        self.ranked = ranked

    def class_means(self, name: str) -> tuple[float, float] | None:
        """Means over all scores of each class."""
        cost = MEASURES[name].per_score
        target, nontarget = self.ranked.target, self.ranked.nontarget
        if cost is None or len(target) + len(nontarget) > cost.most:
            return None
        if cost.mean is not None:
            return cost.mean(target, nontarget, self.settings)
        return (
            float(np.mean(cost.target(target, self.settings))),
            float(np.mean(cost.nontarget(nontarget, self.settings))),
        )

    def linkability(self) -> float:
        """Linkability of the scores."""
        how = self.settings
        return linkability_of(self.ranked, self.blocks, method=how.linkability, omega=how.omega, seed=how.seed)

    def nonmated_linkability(self) -> float | None:
        """Linkability of non-mated pairs."""
        how = self.settings
        return nonmated_linkability_of(self.ranked, method=how.linkability, omega=how.omega, seed=how.seed)


def search_view(evidence: RowEvidence, singled: IntArray | None = None) -> SearchView:
    """All trials of a search, each counted once; `singled` is None where nobody counted."""
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
        prior_free(against_the_others(lid, 1.0 / evidence.identities)),
    ]
    return columns if singled is None else [*columns, singled.astype(np.float64)]
