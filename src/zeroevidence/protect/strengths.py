"""Privacy against utility over the strengths of protectors, and limits on either."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.protect.assessment.class_attacks import AttackOptions, assess
from zeroevidence.protect.assessment.labels import Roles, attribute_labels
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, fit_protector, seeded_protector
from zeroevidence.protect.attributes.protector import EmbeddingProtector
from zeroevidence.run import Run

LimitedMeasure: TypeAlias = Literal["eer", "d_ece"]
STRENGTHS = (0.0, 0.3, 0.6, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0, 4.5)  # levels of noise that are tried


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the EER of verification (a budget) or on an attacker's D_ECE (a target).

    Parameters
    ----------
    measure
        What is limited; the other measure is minimised: D_ECE within a budget, EER within a target. The EER is the
        larger of vectors protected together and apart, the D_ECE that of single vectors and of people.
    most
        The largest value, a share for the EER.
    added
        Whether it is added to the value of unprotected vectors.

    Examples
    --------
    >>> Limit.parse("eer=2%"), Limit.parse("eer=+1%").added, Limit.parse("d_ece=0.1").most
    (Limit(measure='eer', most=0.02, added=False), True, 0.1)
    """

    measure: LimitedMeasure
    most: float
    added: bool = False

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Return the limit of ``eer=2%``, ``eer=+1%`` (points above unprotected vectors) or ``d_ece=0.1``."""
        name, _, value = text.partition("=")
        percent = value.endswith("%")
        try:
            number = float(value.removesuffix("%"))
        except ValueError:
            number = float("nan")
        if name not in get_args(LimitedMeasure) or not number >= 0.0:
            raise UsageError(f"{text!r}: expected eer=2%, eer=+1% or d_ece=0.1")
        return cls(name, number / 100.0 if percent else number, value.startswith("+"))  # type: ignore[arg-type]

    def bound(self, unprotected: Tradeoff) -> float:
        """Return the largest value, given that of unprotected vectors."""
        return self.most + (getattr(unprotected, self.measure) if self.added else 0.0)

    def __str__(self) -> str:
        value = f"{100 * self.most:g}%" if self.measure == "eer" else f"{self.most:g}"
        return f"{self.measure}={'+' if self.added else ''}{value}"


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """A protector at one strength, over splits of the people.

    Parameters
    ----------
    protector
        Its name.
    strength
        The level of its noise.
    d_ece
        D_ECE that the strongest quick attacker of single vectors is expected to reach.
    d_ece_bound
        Its upper limit.
    person_d_ece
        D_ECE that the strongest quick attacker is expected to reach who has all vectors of a person.
    person_d_ece_bound
        Its upper limit.
    eer
        EER of verification among vectors that were protected together.
    top1
        How often a search among them finds the right person.
    eer_apart
        EER of verification where enrolment and trials were protected apart, as in two releases.
    top1_apart
        How often a search finds the right person then.
    """

    protector: str
    strength: float
    d_ece: float
    d_ece_bound: float
    person_d_ece: float
    person_d_ece_bound: float
    eer: float
    top1: float
    eer_apart: float
    top1_apart: float

    @property
    def worse_d_ece(self) -> float:
        """What counts: the larger of what attackers of vectors and of people are expected to reach."""
        return max(self.d_ece, self.person_d_ece)

    @property
    def worse_eer(self) -> float:
        """What counts: the larger EER of vectors that were protected together and apart."""
        return max(self.eer, self.eer_apart)


def set_strength(protector: EmbeddingProtector, strength: float) -> EmbeddingProtector:
    """Return a fitted protector with noise of another level; what was fitted is shared."""
    return copy.copy(protector).set_params(noise=strength)  # type: ignore[no-any-return]


def fit_at_strengths(
    kind: str,
    data: Embeddings,
    attribute: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    strengths: Sequence[float] = STRENGTHS,
) -> dict[float, EmbeddingProtector]:
    """Return a kind of protector fitted to embeddings, with noise of each level; the noise is drawn by the seed."""
    protector = seeded_protector(kind, {"noise_seed": seed, **(parameters or {})}, seed)
    fitted = fit_protector(protector, data, attribute_labels(data, attribute))
    return {strength: set_strength(fitted, strength) for strength in strengths}


def quick_protectors() -> tuple[str, ...]:
    """Return the protectors that need no optional dependency, and are fitted within seconds."""
    return tuple(kind.name for kind in ATTRIBUTE_PROTECTORS.values() if kind.extra is None)


def assess_strengths(
    roles: Roles,
    attribute: str,
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    attack: AttackOptions = AttackOptions(),
    options: Options = Options(),
    run: Run = Run(),
) -> list[Evaluation]:
    """Return the rows of `assess` of protectors at all their strengths, beside unprotected vectors.

    The strength of a protector is the level of its noise. Strengths are compared on people whom neither the protector
    nor the attackers have seen. A point is on the Pareto front if no other leaves less evidence at an error rate that
    is not higher.

    The field `about` of a row has protector and strength. `candidates` are parameters of protectors by kind; those of
    `quick_protectors` with their defaults unless given. There are no maps; the other parameters are those of `assess`.
    """
    systems: dict[str, EmbeddingProtector] = {}
    points: dict[str, tuple[str, float]] = {UNPROTECTED: (UNPROTECTED, 0.0)}
    for kind, parameters in (candidates or {kind: {} for kind in quick_protectors()}).items():
        fitted = fit_at_strengths(kind, roles.train, attribute, parameters=parameters, seed=run.seed)
        for strength, protector in fitted.items():
            name = f"{kind}, noise {strength:g}"
            systems[name], points[name] = protector, (kind, strength)
    result = []
    for row in assess(systems, roles, attribute, replace(attack, map_method="none"), options, run):
        kind, strength = points[row.labels["system"]]
        result.append(replace(row, about=replace(row.about, protector=kind, strength=strength)))
    return result
