"""The ladder: back-ends of growing effort, each with the settings among which development people choose."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from zeroevidence.attack.backends.backend import Backend
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.attack.backends.whitened import Whitened
from zeroevidence.attack.ladder.adapter import LEAST_SPEAKERS
from zeroevidence.errors import UsageError
from zeroevidence.registry import Registry

Effort: TypeAlias = Literal["quick", "standard", "full"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)
Candidates: TypeAlias = Callable[[int, int], Sequence[Backend]]
_SHRINKAGE = (0.02, 0.1, 0.3, 0.6)


@dataclass(frozen=True, slots=True)
class LadderStep:
    """One step of the ladder.

    Parameters
    ----------
    name
        Name in results.
    title
        A line on what it does.
    cost
        Its place: cheap steps come first.
    effort
        The least effort of an audit that tries it.
    candidates
        Unfitted back-ends for so many training people and dimensions, among which development people choose.
    adapts
        Whether an adapter network is trained before the back-end; only where all speech is anonymised.
    extra
        The optional part of the package that it needs.
    people
        How many training people it takes at least.
    """

    name: str
    title: str
    cost: int
    effort: Effort
    candidates: Candidates
    adapts: bool = False
    extra: str | None = None
    people: int = 2


LADDER: Registry[LadderStep] = Registry(
    "step of the ladder", package="zeroevidence.attack.ladder", order=lambda step: step.cost
)


def ladder_steps(effort: Effort = "full") -> list[LadderStep]:
    """Return the steps up to an effort, the cheapest first.

    Examples
    --------
    >>> from zeroevidence.attack.ladder.ladder import ladder_steps
    >>> [step.name for step in ladder_steps("quick")]
    ['cosine', 'whitened']
    """
    if effort not in EFFORTS:
        raise UsageError(f"effort: expected one of {', '.join(EFFORTS)}, got {effort!r}")
    most = EFFORTS.index(effort)
    return [step for step in LADDER.values() if EFFORTS.index(step.effort) <= most]


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


for entry in (
    LadderStep("cosine", "centred cosine, nothing learned but the centre", 10, "quick", lambda _p, _d: [Cosine()]),
    LadderStep(
        "whitened", "cosine after within-class whitening, shrunk as development people say", 20, "quick", whitened
    ),
    LadderStep("plda", "two-covariance PLDA, shrunk as development people say", 30, "standard", plda),
    LadderStep(
        "adapter",
        "a network between encoder and back-end that learned from anonymised speech",
        40,
        "standard",
        lambda _p, _d: [Cosine(), Whitened(shrinkage=0.3)],
        adapts=True,
        extra="torch",
        people=LEAST_SPEAKERS,
    ),
):
    LADDER.add(entry)
