"""Null of a search: its measures when people are exchanged, the calibration kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import CountArray, FloatArray, IntArray
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.measure.search.disclosure import RowEvidence, join_evidence
from zeroevidence.measure.search.named import count_names, first_identity, join_names
from zeroevidence.measure.search.view import search_view
from zeroevidence.measure.views import NameCounts
from zeroevidence.uncertainty.null import measures_with_null, permute_mated
from zeroevidence.uncertainty.resampling.draws import generator


@dataclass(frozen=True, slots=True, eq=False)
class HypotheticalEvidence:
    """Evidence of each trial of a search, or of one fold of it, for each identity as if it were the true one.

    Parameters
    ----------
    mated
        The column of the true identity of each trial.
    lid
        Disclosure in bits, trials x identities.
    greater
        Number of identities that score higher than each.
    equal
        Number of other identities that score the same as each.
    first
        The identity that scores strictly above all others, -1 where none does, by the identity that is searched for.
    candidates
        The identities that each is searched among; all of them unless given.
    """

    mated: IntArray
    lid: FloatArray
    greater: CountArray
    equal: CountArray
    first: IntArray
    candidates: IntArray | None = None

    @classmethod
    def ranked(cls, rows: ScoreMatrix, lid: FloatArray) -> HypotheticalEvidence:
        """Return the evidence of a matrix with the LID of every identity."""
        ordered = np.sort(rows.scores, axis=1)
        n = rows.scores.shape[1]
        greater, equal = (np.empty(rows.scores.shape, dtype=np.int32) for _ in range(2))
        for i, (row, sorted_row) in enumerate(zip(rows.scores, ordered, strict=True)):
            right = np.searchsorted(sorted_row, row, "right")
            greater[i] = n - right
            equal[i] = right - np.searchsorted(sorted_row, row, "left") - 1
        first = first_identity(rows.scores)[:, None]
        return cls(rows.mated, lid, greater, equal, np.broadcast_to(first, rows.scores.shape))

    def evidence(self, mated: IntArray, identities: int) -> RowEvidence:
        """Return the evidence of the search if these are the true identities."""
        at = np.arange(len(mated))
        greater, equal = (part[at, mated].astype(np.int64) for part in (self.greater, self.equal))
        return RowEvidence(self.lid[at, mated], greater, equal, identities)

    def names(self, mated: IntArray) -> NameCounts:
        """Return how often the name of each person came first if these are the true identities."""
        people, compared = np.unique(mated), None
        if self.candidates is not None:
            among = np.bincount(self.candidates[mated].ravel(), minlength=self.lid.shape[1])
            compared = (among - np.bincount(mated, minlength=self.lid.shape[1]))[people]
        return count_names(mated, self.first[np.arange(len(mated)), mated], people, compared)


class SearchNull:
    """One-to-N measures under permuted speakers, the calibration kept."""

    def __init__(self, folds: Sequence[HypotheticalEvidence], identities: int, seed: int = 0) -> None:
        """Exchange people within each of the folds."""
        self.folds, self.identities, self.seed = folds, identities, seed

    def draw(self, batch: int, size: int) -> dict[str, FloatArray]:
        """Measures under the permutations of one batch."""
        rng = generator(self.seed, 1, batch)
        measures = measures_with_null("search")
        values: dict[str, FloatArray] = {measure.name: np.empty(size) for measure in measures}
        for r in range(size):
            mated = [permute_mated(fold.mated, fold.lid.shape[1], rng) for fold in self.folds]
            drawn = list(zip(self.folds, mated, strict=True))
            evidence = join_evidence([fold.evidence(permuted, self.identities) for fold, permuted in drawn])
            view = search_view(evidence, names=join_names([fold.names(permuted) for fold, permuted in drawn]))
            for measure in measures:
                value = measure.compute(view)
                values[measure.name][r] = np.nan if value is None else value[0]
        return values
