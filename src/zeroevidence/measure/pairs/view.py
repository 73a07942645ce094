"""All scores of both classes as a view."""

from __future__ import annotations

import numpy as np

from zeroevidence.calibrate.pav import Counts, RankedScores
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.linkability import linkability_of, nonmated_linkability_of
from zeroevidence.measure.views import PairSettings, PairView


class ScoreView(PairView):
    """All scores of both classes."""

    def __init__(
        self, ranked: RankedScores, settings: PairSettings | None = None, closed_set: Counts | None = None
    ) -> None:
        super().__init__(ranked.counts, settings or PairSettings(), closed_set)
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
        settings = self.settings
        return linkability_of(
            self.ranked, self.blocks, method=settings.linkability, omega=settings.omega, seed=settings.seed
        )

    def nonmated_linkability(self) -> float | None:
        """Linkability of non-mated pairs."""
        settings = self.settings
        return nonmated_linkability_of(
            self.ranked, method=settings.linkability, omega=settings.omega, seed=settings.seed
        )
