"""The steps that learn from embeddings alone."""

from __future__ import annotations

from collections.abc import Sequence

from zeroevidence.attack.backends.backend import Backend
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.backends.whitened import Whitened
from zeroevidence.attack.ladder.adapter import LEAST_SPEAKERS
from zeroevidence.attack.ladder.ladder import ladder_step

_SHRINKAGE = (0.02, 0.1, 0.3, 0.6)


@ladder_step("cosine", "centred cosine, nothing learned but the centre", cost=10, effort="quick")
def cosine(people: int, dimensions: int) -> Sequence[Backend]:  # noqa: ARG001 (the same for any number)
    """No setting to choose."""
    return [Cosine()]


@ladder_step(
    "whitened", "cosine after within-class whitening, shrunk as development people say", cost=20, effort="quick"
)
def whitened(people: int, dimensions: int) -> Sequence[Backend]:
    """Shrinkages, and discriminants where there are people enough."""
    found: list[Backend] = [Whitened(shrinkage=share) for share in _SHRINKAGE]
    kept = min(people - 1, 64)
    if 8 <= kept < dimensions:
        found += [Whitened(shrinkage=share, lda=kept) for share in _SHRINKAGE[1:]]
    return found


@ladder_step("plda", "two-covariance PLDA, shrunk as development people say", cost=30, effort="standard")
def plda(people: int, dimensions: int) -> Sequence[Backend]:  # noqa: ARG001 (the same for any number)
    """Shrinkages."""
    return [Plda(), *(Plda(shrinkage=share) for share in _SHRINKAGE)]


@ladder_step(
    "adapter",
    "a network between encoder and back-end that learned from anonymised speech",
    cost=40,
    effort="standard",
    adapts=True,
    extra="torch",
    people=LEAST_SPEAKERS,
)
def adapter(people: int, dimensions: int) -> Sequence[Backend]:  # noqa: ARG001 (the same for any number)
    """Cosine and whitening of what the network makes."""
    return [Cosine(), Whitened(shrinkage=0.3)]
