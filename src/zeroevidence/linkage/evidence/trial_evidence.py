"""Evidence of trials in a search by embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from zeroevidence._typing import FloatArray, IntArray

if TYPE_CHECKING:
    from zeroevidence.measure.search.disclosure import RowEvidence

LN2 = float(np.log(2.0))


@dataclass(frozen=True, slots=True, eq=False)
class TrialEvidence:
    """Evidence of T trials in a search through N identities; one entry per trial in every array."""

    identities: int
    score: FloatArray  # of the true identity
    mean: FloatArray  # of the row of scores
    deviation: FloatArray  # of the row, 0 where all its scores are equal
    log_sum: FloatArray  # ln of the sum of exp(LLR) over the row
    lid: FloatArray  # disclosure in bits, log2(N p)
    greater: IntArray  # identities that score higher than the true one
    equal: IntArray  # other identities that score the same
    best_other: FloatArray  # highest score among the others
    top: IntArray  # identity with the highest score; of equals the first
    fires: IntArray  # identities above the threshold, -1 where none was given

    def __len__(self) -> int:
        return len(self.lid)

    @property
    def evidence(self) -> RowEvidence:
        """The part that the one-to-N measures take."""
        from zeroevidence.measure.search.disclosure import RowEvidence

        return RowEvidence(self.lid, self.greater, self.equal, self.identities)

    def take(self, rows: IntArray | slice) -> TrialEvidence:
        """Return the evidence of some of the trials."""
        return TrialEvidence(self.identities, **{name: getattr(self, name)[rows] for name in ARRAYS})

    @staticmethod
    def join(parts: Sequence[TrialEvidence]) -> TrialEvidence:
        """Return the trials of several parts, one after the other."""
        return TrialEvidence(
            parts[0].identities, **{name: np.concatenate([getattr(part, name) for part in parts]) for name in ARRAYS}
        )


ARRAYS = tuple(field.name for field in fields(TrialEvidence) if field.name != "identities")
