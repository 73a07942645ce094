"""Privacy against utility over the strengths of protectors, and the choice of a strength within a limit.

Every protector has one dial (`EmbeddingProtector.dial`). Its strengths are compared on people whom neither the
protector nor the attackers have seen. A point is on the Pareto front if no other leaves less evidence at an error rate
that is not higher.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.protect.assessment.class_attacks import assess
from zeroevidence.protect.assessment.roles import Roles, attribute_labels, stratified_parts
from zeroevidence.protect.assessment.systems import protect
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, protectors_of
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector
from zeroevidence.protect.models import fit_kind
from zeroevidence.protect.tradeoff.folds import PARTS, split_people
from zeroevidence.protect.tradeoff.quick_attackers import quick_attacks
from zeroevidence.uncertainty.resampling.draws import Progress

LimitedMeasure: TypeAlias = Literal["eer", "d_ece"]


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the EER of verification (a budget) or on an attacker's D_ECE (a target).

    Parameters
    ----------
    measure
        What is limited; the other measure is minimised: D_ECE within a budget, EER within a target.
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
    """A protector at one strength, with a value for each split.

    Parameters
    ----------
    protector
        Its name.
    strength
        The value of its dial.
    d_eces
        D_ECE of the strongest quick attacker of single vectors; none for an attribute that is a number.
    eers
        EER of verification.
    top1s
        How often a search finds the right person.
    person_d_eces
        D_ECE of the strongest quick attacker who has all vectors of a person; none where nobody measured it.
    """

    protector: str
    strength: float
    d_eces: tuple[float, ...]
    eers: tuple[float, ...]
    top1s: tuple[float, ...]
    person_d_eces: tuple[float, ...] = ()

    @property
    def d_ece(self) -> float:
        """The mean over splits."""
        return float(np.mean(self.d_eces)) if self.d_eces else float("nan")

    @property
    def person_d_ece(self) -> float:
        """The mean over splits."""
        return float(np.mean(self.person_d_eces)) if self.person_d_eces else float("nan")

    @property
    def eer(self) -> float:
        """The mean over splits."""
        return float(np.mean(self.eers))

    @property
    def top1(self) -> float:
        """The mean over splits."""
        return float(np.mean(self.top1s))

    def to_dict(self) -> dict[str, Any]:
        """Return the means over splits that were measured, as plain values."""
        values = {name: getattr(self, name) for name in ("d_ece", "person_d_ece", "eer", "top1")}
        measured = {name: value for name, value in values.items() if np.isfinite(value)}
        return {"protector": self.protector, "strength": self.strength, **measured}


def set_strength(protector: EmbeddingProtector, strength: float) -> EmbeddingProtector:
    """Return a fitted protector whose dial is noise at another strength; what was fitted is shared."""
    if protector.dial != "noise":
        raise UsageError(f"{protector.kind}: its dial is {protector.dial}; fit it anew for another strength")
    return copy.copy(protector).set_params(noise=strength)  # type: ignore[no-any-return]


def fit_at_strengths(
    kind: str,
    data: Embeddings,
    attribute: str,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    strengths: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> dict[float, EmbeddingProtector]:
    """Return a kind of protector fitted to embeddings at each of its strengths; the noise is drawn by the seed."""
    cls = ATTRIBUTE_PROTECTORS.find(kind).cls
    values = cls.strengths if strengths is None else strengths
    labels, fixed = attribute_labels(data, attribute), {"noise_seed": seed, **(parameters or {})}

    def fit(**dial: float) -> EmbeddingProtector:
        return fit_kind(
            kind,
            data.vectors,
            labels,
            parameters={**fixed, **dial},
            seed=seed,
            speakers=data.speakers,
            progress=progress,
        )

    if cls.dial == "noise":
        fitted = fit()
        return {strength: set_strength(fitted, strength) for strength in values}
    return {strength: fit(**{cls.dial: strength}) for strength in values}


def cross_validation_roles(data: Embeddings, attribute: str, *, seed: int = 0) -> Iterator[Roles]:
    """Yield four splits of the people of each class into roles; everybody is tested once."""
    part = stratified_parts(data, attribute, PARTS, seed)
    for tested in range(PARTS):
        attacks = (tested + 1) % PARTS
        yield Roles(
            data.take((part != tested) & (part != attacks)), data.take(part == attacks), data.take(part == tested)
        )


def quick_protectors() -> tuple[str, ...]:
    """Return the protectors of classes that need no optional dependency, and are fitted within seconds."""
    return tuple(kind.name for kind in protectors_of("classes") if kind.extra is None)


def measure_tradeoffs(
    data: Embeddings,
    attribute: str,
    names: Sequence[str] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> list[Tradeoff]:
    """Return the tradeoffs of protectors at all their strengths, by cross-validation over people.

    Parameters
    ----------
    data
        Embeddings of at least four people of each class.
    attribute
        What to conceal.
    names
        Kinds of protectors; `quick_protectors` unless given.
    parameters
        Parameters of the one kind that is named.
    seed
        Seed of the splits, of noise, and of training.
    progress
        Called with the number of protectors fitted and to be fitted.

    Returns
    -------
    The tradeoff of unprotected vectors, then one for each kind and strength.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> points = measure_tradeoffs(Embeddings(vectors, None, people, {"sex": sex}), "sex", ["classmeans"])
    >>> [(point.protector, point.strength) for point in points[:3]]
    [('unprotected', 0.0), ('classmeans', 0.0), ('classmeans', 0.3)]
    """
    chosen = tuple(names or quick_protectors())
    results: dict[tuple[str, float], list[tuple[float, float, float]]] = {}
    done = 0
    for number, fold in enumerate(split_people(data, attribute, seed=seed)):
        systems: dict[tuple[str, float], EmbeddingProtector | None] = {(UNPROTECTED, 0.0): None}
        for kind in chosen:
            fitted = fit_at_strengths(kind, fold.train, attribute, parameters=parameters, seed=seed + number)
            systems |= {(kind, strength): protector for strength, protector in fitted.items()}
            done += 1
            if progress is not None:
                progress(done, PARTS * len(chosen))
        for key, protector in systems.items():
            vectors = np.asarray(protect(fold.others, protector).vectors)
            d_ece = max(quick_attacks(*fold.sides(vectors), attribute).values())
            results.setdefault(key, []).append((d_ece, *fold.verifier.rates(vectors, vectors)))
    return [Tradeoff(kind, strength, *zip(*values, strict=True)) for (kind, strength), values in results.items()]


def choose_tradeoff(points: Sequence[Tradeoff], limit: Limit) -> Tradeoff:
    """Return the best point within a limit; raise an InputError that names the nearest where there is none.

    Examples
    --------
    >>> points = [
    ...     Tradeoff("unprotected", 0.0, (0.6,), (0.01,), (1.0,)),
    ...     Tradeoff("transport", 0.0, (0.3,), (0.015,), (1.0,)),
    ...     Tradeoff("transport", 1.0, (0.2,), (0.03,), (0.9,)),
    ... ]
    >>> [choose_tradeoff(points, Limit.parse(limit)).strength for limit in ("eer=2%", "d_ece=0.25")]
    [0.0, 1.0]
    """
    unprotected = next((point for point in points if point.protector == UNPROTECTED), None)
    if limit.added and unprotected is None:
        raise UsageError(f"{limit}: points of unprotected vectors are needed to add to")
    other: LimitedMeasure = "d_ece" if limit.measure == "eer" else "eer"
    most = limit.most if unprotected is None else limit.bound(unprotected)
    candidates = [point for point in points if point.protector != UNPROTECTED]
    within = [point for point in candidates if getattr(point, limit.measure) <= most]
    if not within:
        nearest = min(candidates, key=lambda point: float(getattr(point, limit.measure)))
        raise not_within(limit, nearest)
    return min(within, key=lambda point: (getattr(point, other), getattr(point, limit.measure)))


def not_within(limit: Limit, nearest: Tradeoff) -> InputError:
    """Return the error that no protector keeps to a limit, with the one that comes nearest."""
    return InputError(
        f"no protector stays within {limit}; the nearest is {nearest.protector} at strength {nearest.strength:g}, with "
        f"EER {100 * nearest.eer:.1f} % and D_ECE {nearest.d_ece:.2f}"
    )


def assess_strengths(
    roles: Roles,
    attribute: str,
    names: Sequence[str] | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    classifiers: Sequence[str] | None = None,
    options: Options | None = None,
    seed: int = 0,
    dataset: str = "",
    progress: Progress | None = None,
) -> list[Evaluation]:
    """Return the rows of `assess` of protectors at all their strengths, beside unprotected vectors.

    The field `about` of a row has protector and strength. Parameters are those of `assess` and `measure_tradeoffs`.
    """
    systems: dict[str, EmbeddingProtector] = {}
    points: dict[str, tuple[str, float]] = {UNPROTECTED: (UNPROTECTED, 0.0)}
    for kind in names or quick_protectors():
        fitted = fit_at_strengths(kind, roles.train, attribute, parameters=parameters, seed=seed)
        for strength, protector in fitted.items():
            name = f"{kind}, {protector.dial} {strength:g}"
            systems[name], points[name] = protector, (kind, strength)
    rows = assess(
        systems,
        roles,
        attribute,
        classifiers=classifiers,
        map_method="none",
        options=options,
        seed=seed,
        dataset=dataset,
        progress=progress,
    )
    result = []
    for row in rows:
        kind, strength = points[row.labels["system"]]
        result.append(replace(row, about=replace(row.about, protector=kind, strength=strength)))
    return result
