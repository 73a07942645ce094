"""The search for the protector, and the level of its noise, that leave least within a limit.

More noise leaves no more evidence and makes verification no better: it could be added to what less noise gave. So
within a budget the strongest noise that keeps to it is the best, and bisection finds it. A protector is fitted once in
each fold, its noise is drawn once and scaled, and attackers are trained at one level alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import UsageError
from zeroevidence.protect.assessment.numbers import attribute_numbers, balanced_parts, people_numbers
from zeroevidence.protect.assessment.roles import attribute_labels, stratified_parts
from zeroevidence.protect.assessment.systems import draws_for_people, protect
from zeroevidence.protect.assessment.verification import Verifier
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector
from zeroevidence.protect.models import fit_kind
from zeroevidence.protect.tradeoff.kept import KeptAttribute, kept_evidence, other_attributes
from zeroevidence.protect.tradeoff.quick_attackers import quick_attacks
from zeroevidence.protect.tradeoff.strengths import (
    PARTS,
    Limit,
    Tradeoff,
    not_within,
    quick_protectors,
    set_strength,
)
from zeroevidence.uncertainty.resampling.draws import Progress

LEVELS = tuple(round(0.1 * step, 1) for step in range(61))  # of noise
_TRIED = 2  # folds in which every protector is attacked; then those that left more in each are given up


@dataclass(frozen=True, slots=True)
class Choice:
    """The protector and strength that were chosen within a limit.

    Parameters
    ----------
    limit
        The limit.
    unprotected
        What attackers learn without protection, and how well people are verified.
    chosen
        The same with the chosen protector.
    within
        Whether that keeps to the limit; if not, it comes nearest.
    people
        Number of people that it was chosen on.
    kept
        What is left of other attributes.
    """

    limit: Limit
    unprotected: Tradeoff
    chosen: Tradeoff
    within: bool
    people: int
    kept: tuple[KeptAttribute, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Fold:
    """One split of people: half fit protectors and the PLDA, a quarter trains attackers, a quarter is tested."""

    train: Embeddings
    verifier: Verifier  # of the other half
    tested: BoolArray  # which of the other half's vectors

    @property
    def others(self) -> Embeddings:
        """The half that attacks and is tested, in the verifier's order."""
        return self.verifier.people

    def sides(self, vectors: FloatArray) -> tuple[Embeddings, Embeddings]:
        """Return protected vectors of those who train attackers, and of those who are tested."""
        everyone = Embeddings(vectors, self.others.ids, self.others.speakers, self.others.attributes)
        return everyone.take(~self.tested), everyone.take(self.tested)


@dataclass(frozen=True, slots=True, eq=False)
class _Releases:
    """The other half's vectors through a protector without noise, and noise of level one for two releases of them."""

    quiet: FloatArray
    noise: tuple[FloatArray, FloatArray]

    @classmethod
    def of(cls, fold: _Fold, protector: EmbeddingProtector | None) -> _Releases:
        """Return both releases; that of unprotected vectors has no noise."""
        if protector is None:
            vectors = np.asarray(fold.others.vectors, dtype=np.float64)
            return cls(vectors, (np.zeros_like(vectors), np.zeros_like(vectors)))
        quiet = np.asarray(protect(fold.others, set_strength(protector, 0.0)).vectors)
        loud = set_strength(protector, 1.0)
        first = np.asarray(protect(fold.others, loud).vectors) - quiet
        if not draws_for_people(protector):
            return cls(quiet, (first, first))
        return cls(quiet, (first, np.asarray(protect(fold.others, loud, release=1).vectors) - quiet))

    def at(self, level: float, release: int = 0) -> FloatArray:
        """Return the vectors of a release with noise of a level."""
        noisy: FloatArray = self.quiet + level * self.noise[release]
        return noisy


class _Measurements:
    """Verification and attacks in all folds."""

    def __init__(self, folds: Sequence[_Fold], attribute: str) -> None:
        self.folds, self.attribute = folds, attribute

    def rates(self, releases: Sequence[_Releases], level: float) -> list[tuple[float, float]]:
        """Return EER and top-1 of each fold, for people enrolled in one release and compared in another."""
        return [
            fold.verifier.rates(release.at(level), release.at(level, 1))
            for fold, release in zip(self.folds, releases, strict=True)
        ]

    def eer(self, releases: Sequence[_Releases], level: float) -> float:
        """Return the mean EER."""
        return float(np.mean([eer for eer, _ in self.rates(releases, level)]))

    def attacked(self, number: int, releases: Sequence[_Releases], level: float, vectors: int | None) -> float:
        """Return the D_ECE of the strongest attacker in one fold, who has so many vectors of a person (None: all)."""
        sides = self.folds[number].sides(releases[number].at(level))
        return max(quick_attacks(*sides, self.attribute, vectors=vectors).values())

    def d_ece(self, releases: Sequence[_Releases], level: float) -> float:
        """Return the mean D_ECE of attackers of single vectors."""
        return float(np.mean([self.attacked(number, releases, level, 1) for number in range(len(self.folds))]))

    def kept(self, releases: Sequence[_Releases], level: float, name: str, measure: Any) -> float:
        """Return the mean of what is left of another attribute."""
        pairs = zip(self.folds, releases, strict=True)
        return float(np.mean([kept_evidence(*fold.sides(release.at(level)), name, measure) for fold, release in pairs]))


def search(
    data: Embeddings,
    attribute: str,
    limit: Limit,
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    nearest: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> Choice:
    """Return the protector and the noise that leave least within a limit, by cross-validation over people.

    Parameters
    ----------
    data
        Embeddings of at least four people of each class, with several vectors of each.
    attribute
        What to conceal: classes, or a number where a single candidate conceals one.
    limit
        A budget of verification, or a target of attackers of single vectors.
    candidates
        Parameters of protectors, by kind; those of `quick_protectors` with their defaults unless given.
    nearest
        Return the nearest where no protector keeps to the limit, which is an InputError otherwise.
    seed
        Seed of the splits, of noise, and of training.
    progress
        Called with the number of steps done and to be done.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> rng = np.random.default_rng(0)
    >>> vectors = np.repeat(3.0 * rng.normal(size=(24, 6)), 4, axis=0) + rng.normal(size=(96, 6))
    >>> data = Embeddings(vectors + 2.0 * (sex == "f")[:, None], None, people, {"sex": sex})
    >>> choice = search(data, "sex", Limit.parse("eer=+5%"), {"classmeans": {}, "leace": {}})
    >>> choice.within, choice.chosen.d_ece < choice.unprotected.d_ece
    (True, True)
    """
    kinds = {kind: {} for kind in quick_protectors()} if candidates is None else dict(candidates)
    number = any(ATTRIBUTE_PROTECTORS.find(kind).conceals == "number" for kind in kinds)
    if number and (len(kinds) > 1 or limit.measure != "eer"):
        raise UsageError("a number is concealed by one protector, within a budget of EER")
    folds = _folds(data, attribute, number, seed)
    measurements = _Measurements(folds, attribute)
    steps = _Steps(progress, PARTS * (1 + (1 if number else 2) * len(kinds)))
    plain = [_Releases.of(fold, None) for fold in folds]
    unprotected = _tradeoffs(measurements, {UNPROTECTED: plain}, {UNPROTECTED: 0.0}, number, steps)[0]
    releases: dict[str, list[_Releases]] = {}
    for kind, parameters in kinds.items():
        releases[kind] = []
        for place, fold in enumerate(folds):
            labels = (attribute_numbers if number else attribute_labels)(fold.train, attribute)
            settings = {"noise_seed": seed + place, **parameters}
            protector = fit_kind(
                kind,
                fold.train.vectors,
                labels,
                parameters=settings,
                seed=seed + place,
                speakers=fold.train.speakers,
            )
            releases[kind].append(_Releases.of(fold, protector))
            steps.done()
    levels, within = _levels(measurements, releases, limit, limit.bound(unprotected))
    points = _tradeoffs(measurements, releases, levels, number, steps)
    best = min(points, key=_disclosed if limit.measure == "eer" else lambda point: point.eer)
    if not within and not nearest:
        raise not_within(limit, best)
    own, level = releases[best.protector], best.strength
    kept = tuple(
        KeptAttribute(
            name,
            measure,
            measurements.kept(plain, 0.0, name, measure),
            measurements.kept(own, level, name, measure),
        )
        for name, measure in other_attributes(data, attribute, PARTS)
    )
    return Choice(limit, unprotected, best, within, len(np.unique(require_speakers(data))), kept)


class _Steps:
    """Counts steps for a function that shows progress."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self.progress, self.total, self.count = progress, total, 0

    def done(self, count: int = 1) -> None:
        """Count further steps."""
        self.count += count
        if self.progress is not None and count:
            self.progress(self.count, self.total)


def _folds(data: Embeddings, attribute: str, number: bool, seed: int) -> list[_Fold]:
    """Return four splits of the people; everybody is tested once."""
    if number:
        numbers, people = people_numbers(data, attribute)
        part = balanced_parts(numbers, PARTS, seed)[people]
    else:
        part = stratified_parts(data, attribute, PARTS, seed)
    folds = []
    for place in range(PARTS):
        tested, attacks = part == place, part == (place + 1) % PARTS
        train = data.take(~tested & ~attacks)
        verifier = Verifier.of(train, data.take(tested | attacks))
        names = require_speakers(verifier.people)
        folds.append(_Fold(train, verifier, np.isin(names, require_speakers(data.take(tested)))))
    return folds


def _levels(
    measurements: _Measurements, releases: Mapping[str, Sequence[_Releases]], limit: Limit, most: float
) -> tuple[dict[str, float], bool]:
    """Return the level of noise of each protector that can keep to a limit, and True; else the nearest and False."""
    # from the level that is likeliest to keep to the limit on; the last one that does is the best
    ordered, measure = (LEVELS, measurements.eer) if limit.measure == "eer" else (LEVELS[::-1], measurements.d_ece)

    def last(kind: str) -> float | None:
        return _last(ordered, lambda level: measure(releases[kind], level) <= most)

    levels = {kind: level for kind in releases if (level := last(kind)) is not None}
    if levels:
        return levels, True
    return {min(releases, key=lambda kind: measure(releases[kind], ordered[0])): ordered[0]}, False


def _last(levels: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return the last level at which something holds that holds up to some level; None where it never does."""
    if not holds(levels[0]):
        return None
    low, high = 0, len(levels)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(levels[middle]) else (low, middle)
    return levels[low]


def _disclosed(point: Tradeoff) -> float:
    """Return what attackers of one vector and of all vectors of a person learn, averaged; 0 of a number."""
    return (point.d_ece + point.person_d_ece) / 2.0 if point.d_eces else 0.0


def _tradeoffs(
    measurements: _Measurements,
    releases: Mapping[str, Sequence[_Releases]],
    levels: Mapping[str, float],
    number: bool,
    steps: _Steps,
) -> list[Tradeoff]:
    """Return the tradeoffs of protectors at their levels; those that left more in each of two folds are given up."""
    left: dict[str, list[tuple[float, float]]] = {kind: [] for kind in levels}
    for place in range(0 if number else len(measurements.folds)):
        for kind, values in left.items():
            own, level = releases[kind], levels[kind]
            one, every = (measurements.attacked(place, own, level, vectors) for vectors in (1, None))
            values.append((one, every))
            steps.done()
        if place + 1 >= _TRIED:
            best = min(left.values(), key=np.sum)
            given_up = [kind for kind in left if np.all(np.sum(left[kind], axis=1) > np.sum(best, axis=1))]
            left = {kind: values for kind, values in left.items() if kind not in given_up}
            steps.done(len(given_up) * (len(measurements.folds) - place - 1))
    points = []
    for kind, values in left.items():
        rates = measurements.rates(releases[kind], levels[kind])
        single, person = zip(*values, strict=True) if values else ((), ())
        points.append(Tradeoff(kind, levels[kind], single, *zip(*rates, strict=True), person))
    return points
