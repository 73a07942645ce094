"""Summaries of searches that add up over blocks and machines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.linkage.evidence.trial_evidence import TrialEvidence

_SUMS = ("sum_positive", "sum_negative", "top1")


@dataclass(frozen=True, slots=True, eq=False)
class LinkSummary:
    """Disclosure of many trials; its size grows with the number of distinct ranks, not of trials.

    Examples
    --------
    >>> from zeroevidence.linkage import link
    >>> people = np.eye(3)
    >>> trials = np.array([[0.9, 0.2, 0.1], [0.5, 0.4, 0.6], [0.3, 0.1, 0.7]])
    >>> result = link(trials, people, [0, 1, 2], weight=2.0)
    >>> parts = [LinkSummary.of(result.take(slice(0, 2))), LinkSummary.of(result.take(slice(2, 3)))]
    >>> both = LinkSummary.merge(parts)
    >>> both.trials, both.linked, round(both.alid, 2), both.gamma().round(2).tolist()
    (3, 2, -0.85, [0.67, 0.0, 0.33])
    """

    identities: int
    trials: int
    positive: int  # trials with LID above 0
    sum_positive: float  # of LID, bits
    sum_negative: float
    lid_max: float
    top1: float  # expected number of trials whose true identity comes first, ties in equal parts
    linked: int  # trials whose true identity scores strictly above all others
    ranks: IntArray  # distinct pairs (greater, equal), one per row
    counts: IntArray  # how many trials have each

    @staticmethod
    def of(result: TrialEvidence) -> LinkSummary:
        """Summary of some trials."""
        positive = result.lid > 0.0
        pairs = np.column_stack((result.greater, result.equal))
        ranks, counts = np.unique(pairs, axis=0, return_counts=True)
        first = result.greater == 0
        return LinkSummary(
            identities=result.identities,
            trials=len(result),
            positive=int(positive.sum()),
            sum_positive=float(result.lid[positive].sum()),
            sum_negative=float(result.lid[~positive].sum()),
            lid_max=float(result.lid.max(initial=-np.inf)),
            top1=float((first / (result.equal + 1.0)).sum()),
            linked=int((first & (result.equal == 0)).sum()),
            ranks=ranks,
            counts=counts,
        )

    @staticmethod
    def merge(parts: Sequence[LinkSummary]) -> LinkSummary:
        """Summary of all trials of several parts, of a search through the same number of identities."""
        if not parts or len({part.identities for part in parts}) != 1:
            raise InputError("expected summaries of searches through the same number of identities")
        ranks, place = np.unique(np.concatenate([part.ranks for part in parts]), axis=0, return_inverse=True)
        counts = np.zeros(len(ranks), np.int64)
        np.add.at(counts, place.ravel(), np.concatenate([part.counts for part in parts]))
        whole_numbers: dict[str, Any] = {
            name: sum(getattr(part, name) for part in parts) for name in ("trials", "positive", "linked")
        }
        sums: dict[str, Any] = {name: float(np.sum([getattr(part, name) for part in parts])) for name in _SUMS}
        highest = max(part.lid_max for part in parts)
        return LinkSummary(parts[0].identities, lid_max=highest, ranks=ranks, counts=counts, **whole_numbers, **sums)

    @property
    def alid(self) -> float:
        """Mean disclosure in bits."""
        return (self.sum_positive + self.sum_negative) / self.trials

    @property
    def pdr(self) -> float:
        """Share of trials with positive disclosure."""
        return self.positive / self.trials

    @property
    def lid_pos(self) -> float:
        """Mean over trials with positive disclosure, 0 without any."""
        return self.sum_positive / self.positive if self.positive else 0.0

    @property
    def lid_neg(self) -> float:
        """Mean over the others, NaN without any."""
        rest = self.trials - self.positive
        return self.sum_negative / rest if rest else nan

    @property
    def identification_rate(self) -> float:
        """Share of trials whose true identity comes first, ties in equal parts."""
        return self.top1 / self.trials

    @property
    def link_probability(self) -> float:
        """Share of trials whose true identity scores strictly above all others."""
        return self.linked / self.trials

    def gamma(self) -> FloatArray:
        """Share of trials at each rank, ties in equal parts."""
        edges = np.zeros(self.identities + 1)
        greater, equal = self.ranks.T
        part = self.counts / (equal + 1.0)
        np.add.at(edges, greater, part)
        np.add.at(edges, greater + equal + 1, -part)
        shares: FloatArray = np.maximum(np.cumsum(edges[:-1]), 0.0) / self.trials
        return shares
