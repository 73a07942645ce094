"""How much privacy a protector gives for how much utility, over its strengths; and the strength that a user asks for.

Every protector has one dial (`EmbeddingProtector.dial`). Its strengths are compared on people whom neither the
protector nor the attackers have seen. A point is on the front if no other leaves less evidence at an error rate that is
not higher.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Evaluation, Options
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.assessment.verification import verification
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, protectors_of
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector
from zeroevidence.protect.models import make_protector
from zeroevidence.protect.tradeoff.quick_attackers import quick_attacks
from zeroevidence.uncertainty.resampling.draws import Progress

LimitedMeasure: TypeAlias = Literal["eer", "d_ece"]
_PARTS = 4  # of the people: half fit the protector, a quarter trains attackers, a quarter is tested


@dataclass(frozen=True, slots=True)
class Limit:
    """What may not be exceeded: an error rate of verification (a budget), or an attacker's D_ECE (a target).

    Parameters
    ----------
    measure
        What is limited; of the rest the best is taken: the least D_ECE within a budget, the least EER that meets a
        target.
    most
        The largest value, a share for the EER.
    added
        Whether it is added to what unprotected vectors have.

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
        """From ``eer=2%``, ``eer=+1%`` (points above unprotected vectors) or ``d_ece=0.1``."""
        name, _, value = text.partition("=")
        percent = value.endswith("%")
        try:
            number = float(value.removesuffix("%"))
        except ValueError:
            number = float("nan")
        if name not in get_args(LimitedMeasure) or not number >= 0.0:
            raise UsageError(f"{text!r}: expected eer=2%, eer=+1% or d_ece=0.1")
        return cls(name, number / 100.0 if percent else number, value.startswith("+"))  # type: ignore[arg-type]

    def __str__(self) -> str:
        value = f"{100 * self.most:g}%" if self.measure == "eer" else f"{self.most:g}"
        return f"{self.measure}={'+' if self.added else ''}{value}"


@dataclass(frozen=True, slots=True)
class Tradeoff:
    """A protector at one strength: D_ECE of the strongest quick attacker, EER and top-1, a value for each cut."""

    protector: str
    strength: float
    d_eces: tuple[float, ...]
    eers: tuple[float, ...]
    top1s: tuple[float, ...]

    @property
    def d_ece(self) -> float:
        """The mean over cuts."""
        return float(np.mean(self.d_eces))

    @property
    def eer(self) -> float:
        """The mean over cuts."""
        return float(np.mean(self.eers))

    @property
    def top1(self) -> float:
        """The mean over cuts."""
        return float(np.mean(self.top1s))


def set_strength(protector: EmbeddingProtector, strength: float) -> EmbeddingProtector:
    """A fitted protector whose dial is noise, at another strength; what was fitted is shared."""
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
    """A kind of protector fitted to embeddings, at each of its strengths; the noise is drawn by the seed."""
    chosen = ATTRIBUTE_PROTECTORS.find(kind)
    wanted = tuple(chosen.cls.strengths if strengths is None else strengths)
    fixed = {"noise_seed": seed, **({"random_state": seed} if chosen.seeded else {}), **(parameters or {})}
    more: dict[str, Any] = {"speakers": data.speakers}
    if progress is not None and "progress" in chosen.fit_options:
        more["progress"] = progress
    labels = attribute_labels(data, attribute)
    if chosen.cls.dial == "noise":
        fitted = make_protector(kind, fixed).fit(data.vectors, labels, **more)
        return {one: set_strength(fitted, one) for one in wanted}
    return {
        one: make_protector(kind, {**fixed, chosen.cls.dial: one}).fit(data.vectors, labels, **more) for one in wanted
    }


def cross_validation_roles(data: Embeddings, attribute: str, *, seed: int = 0) -> Iterator[Roles]:
    """Four cuts of the people of each class into fit, attack and test people; everybody is tested once."""
    speakers, labels = require_speakers(data), attribute_labels(data, attribute)
    rng = np.random.default_rng(seed)
    part = np.zeros(len(speakers), dtype=np.int64)
    start = 0
    for label in np.unique(labels):
        names = np.unique(speakers[labels == label])
        if len(names) < _PARTS:
            raise InputError(f"{attribute} {str(label)!r}: {len(names)} speaker(s); a choice needs at least {_PARTS}")
        for number, name in enumerate(rng.permutation(names)):
            part[speakers == name] = (start + number) % _PARTS
        start += len(names)
    for tested in range(_PARTS):
        attacks = (tested + 1) % _PARTS
        yield Roles(
            data.take((part != tested) & (part != attacks)), data.take(part == attacks), data.take(part == tested)
        )


def measure_protector(
    roles: Roles, attribute: str, protector: EmbeddingProtector | None
) -> tuple[dict[str, float], Evaluation]:
    """D_ECE of each quick attacker, and verification, of vectors through a protector."""
    sides = {}
    for name in ("attack", "test"):
        side = getattr(roles, name)
        x = np.asarray(side.vectors, dtype=np.float64)
        vectors = x if protector is None else protector.transform(x)
        sides[name] = Embeddings(vectors, side.ids, side.speakers, side.attributes)
    verified = verification(roles.train, sides, Options(intervals=0, null=0), {})
    return quick_attacks(sides["attack"], sides["test"], attribute), verified


def quick_protectors() -> tuple[str, ...]:
    """Protectors of classes that are fitted in a moment: those that need no optional part."""
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
    """Protectors at all their strengths, by cross-validation over people, after unprotected vectors.

    Parameters
    ----------
    data, attribute
        Embeddings of at least four people of each class, and what to conceal.
    names
        Kinds of protectors; those that are fitted in a moment unless given.
    parameters
        Parameters of the one kind that is named.
    seed
        Of the cuts, of noise, and of training.
    progress
        Called with the number of protectors fitted and to be fitted.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> found = measure_tradeoffs(Embeddings(vectors, None, people, {"sex": sex}), "sex", ["classmeans"])
    >>> [(one.protector, one.strength) for one in found[:3]]
    [('unprotected', 0.0), ('classmeans', 0.0), ('classmeans', 0.3)]
    """
    chosen = tuple(names or quick_protectors())
    found: dict[tuple[str, float], list[tuple[float, float, float]]] = {}
    done = 0
    for number, roles in enumerate(cross_validation_roles(data, attribute, seed=seed)):
        systems: dict[tuple[str, float], EmbeddingProtector | None] = {(UNPROTECTED, 0.0): None}
        for kind in chosen:
            fitted = fit_at_strengths(kind, roles.train, attribute, parameters=parameters, seed=seed + number)
            systems |= {(kind, strength): one for strength, one in fitted.items()}
            done += 1
            if progress is not None:
                progress(done, _PARTS * len(chosen))
        for key, protector in systems.items():
            told, verified = measure_protector(roles, attribute, protector)
            numbers = (max(told.values()), float(verified["eer"]), float(verified["top1"]))
            found.setdefault(key, []).append(numbers)
    return [Tradeoff(kind, strength, *zip(*values, strict=True)) for (kind, strength), values in found.items()]


def choose_tradeoff(points: Sequence[Tradeoff], limit: Limit) -> Tradeoff:
    """The best point within a limit; `InputError` says what comes nearest where there is none.

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
    unprotected = next((one for one in points if one.protector == UNPROTECTED), None)
    if limit.added and unprotected is None:
        raise UsageError(f"{limit}: points of unprotected vectors are needed to add to")
    other: LimitedMeasure = "d_ece" if limit.measure == "eer" else "eer"
    most = limit.most + (getattr(unprotected, limit.measure) if limit.added else 0.0)
    candidates = [one for one in points if one.protector != UNPROTECTED]
    within = [one for one in candidates if getattr(one, limit.measure) <= most]
    if not within:
        nearest = min(candidates, key=lambda one: float(getattr(one, limit.measure)))
        raise InputError(
            f"no protector stays within {limit}; the nearest is {nearest.protector} at strength "
            f"{nearest.strength:g}, with EER {100 * nearest.eer:.1f} % and D_ECE {nearest.d_ece:.2f}"
        )
    return min(within, key=lambda one: (getattr(one, other), getattr(one, limit.measure)))


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
    """Every attacker of `assess` and verification, against protectors at all their strengths, beside no protection.

    Rows say in `about` which protector, at which strength. The parameters are those of `assess` and `tradeoffs`.
    """
    from zeroevidence.protect.assessment.class_attacks import assess

    systems: dict[str, EmbeddingProtector] = {}
    points: dict[str, tuple[str, float]] = {UNPROTECTED: (UNPROTECTED, 0.0)}
    for kind in names or quick_protectors():
        for strength, one in fit_at_strengths(kind, roles.train, attribute, parameters=parameters, seed=seed).items():
            name = f"{kind}, {one.dial} {strength:g}"
            systems[name], points[name] = one, (kind, strength)
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
    placed = []
    for row in rows:
        kind, strength = points[row.labels["system"]]
        placed.append(replace(row, about=replace(row.about, protector=kind, strength=strength)))
    return placed
