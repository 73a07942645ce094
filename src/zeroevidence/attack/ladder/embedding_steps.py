"""The steps of the ladder that learn from embeddings alone."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.backends.backend import Backend
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.backends.whitened import Whitened
from zeroevidence.attack.ladder.adapter import LEAST_SPEAKERS
from zeroevidence.attack.ladder.ladder import LADDER, LadderStep

_SHRINKAGE = (0.02, 0.1, 0.3, 0.6)


def whitened(people: int, dimensions: int) -> Sequence[Backend]:
    """Return candidates with several shrinkages, and with LDA where there are people enough."""
    candidates: list[Backend] = [Whitened(shrinkage=share) for share in _SHRINKAGE]
    lda = min(people - 1, 64)
    if 8 <= lda < dimensions:
        candidates += [Whitened(shrinkage=share, lda=lda) for share in _SHRINKAGE[1:]]
    return candidates


def plda(_people: int, _dimensions: int) -> Sequence[Backend]:
    """Return candidates with several shrinkages."""
    return [Plda(), *(Plda(shrinkage=share) for share in _SHRINKAGE)]


LADDER.add(
    LadderStep("cosine", "centred cosine, nothing learned but the centre", 10, "quick", lambda _p, _d: [Cosine()])
)
LADDER.add(
    LadderStep(
        "whitened", "cosine after within-class whitening, shrunk as development people say", 20, "quick", whitened
    )
)
LADDER.add(LadderStep("plda", "two-covariance PLDA, shrunk as development people say", 30, "standard", plda))
LADDER.add(
    LadderStep(
        "adapter",
        "a network between encoder and back-end that learned from anonymised speech",
        40,
        "standard",
        lambda _p, _d: [Cosine(), Whitened(shrinkage=0.3)],
        adapts=True,
        extra="torch",
        people=LEAST_SPEAKERS,
    )
)
