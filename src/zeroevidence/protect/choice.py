"""The choice of the protector, and the level of its noise, that leave the least evidence within a limit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence import __version__
from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.store import Store, digest
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError
from zeroevidence.parallel import compute_each
from zeroevidence.protect.assessment.labels import (
    DEFAULT_CLASSES,
    MOST_LABELS,
    attribute_labels,
    cut_number,
    is_number,
    quantile_boundaries,
    stratified_parts,
)
from zeroevidence.protect.assessment.rows import protect
from zeroevidence.protect.assessment.verification import Verifier
from zeroevidence.protect.attributes import CANDIDATES, fit_protector, seeded_protector
from zeroevidence.protect.attributes.protector import EmbeddingProtector
from zeroevidence.protect.quick_attackers import attacks_by_count, quick_attacks
from zeroevidence.protect.strengths import Limit, Tradeoff, quick_protectors, set_strength
from zeroevidence.run import Run, StepCounter

PARTS = 4  # of the people: half fit the protector, a quarter trains attackers, a quarter is tested


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
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

    def has_all_classes(self, attribute: str) -> bool:
        """Return whether those who train attackers have the classes of an attribute that the tested have."""
        labels = self.others.attributes[attribute]
        return np.array_equal(np.unique(labels[~self.tested]), np.unique(labels[self.tested]))


def split_people(data: Embeddings, attribute: str, *, seed: int = 0) -> list[Fold]:
    """Return four splits of the people of each class; everybody is tested once."""
    part = stratified_parts(data, attribute, PARTS, seed)
    folds = []
    for place in range(PARTS):
        tested, attacks = part == place, part == (place + 1) % PARTS
        train = data.take(~tested & ~attacks)
        verifier = Verifier.of(train, data.take(tested | attacks))
        names = require_speakers(verifier.people)
        folds.append(Fold(train, verifier, np.isin(names, require_speakers(data.take(tested)))))
    return folds


@dataclass(frozen=True, slots=True)
class KeptAttribute:
    """D_ECE of logistic regression about an attribute that nobody conceals, before and after protection.

    `boundaries` are those of the classes that a number was cut into.
    """

    name: str
    unprotected: float
    protected: float
    boundaries: tuple[float, ...] = ()


def other_attributes(
    data: Embeddings, attribute: str, parts: int
) -> tuple[Embeddings, Mapping[str, tuple[float, ...]]]:
    """Return embeddings with classes in place of numbers, and the attributes that can be measured in so many parts.

    Each of these comes with the boundaries of its classes, none unless it is a number. An attribute that differs
    between the vectors of a person, or is not known of everybody, is left out.
    """
    others: dict[str, tuple[float, ...]] = {}
    for name in data.attributes:
        if name == attribute:
            continue
        try:
            boundaries: tuple[float, ...] = ()
            if is_number(attribute_labels(data, name)):
                boundaries = quantile_boundaries(data, name, DEFAULT_CLASSES)
                data = cut_number(data, name, boundaries)
        except InputError:
            continue
        pairs = np.unique(np.stack([data.attributes[name], require_speakers(data)], axis=1), axis=0)
        classes, people = np.unique(pairs[:, 0], return_counts=True)
        if 2 <= len(classes) <= MOST_LABELS and people.min() >= 2 * parts:
            others[name] = boundaries
    return data, others


LEVELS = tuple(round(0.1 * step, 1) for step in range(61))  # of noise
_TRIED = 2  # folds in which every protector is attacked; then those that left more in each of them are dropped


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
    searched
        Number of people among whom a search was to find the right one.
    kept
        What is left of other attributes.
    """

    limit: Limit
    unprotected: Tradeoff
    chosen: Tradeoff
    within: bool
    people: int
    searched: int
    kept: tuple[KeptAttribute, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured as plain values, for JSON."""
        return {
            "limit": str(self.limit),
            "within": self.within,
            "people": self.people,
            "searched": self.searched,
            "unprotected": asdict(self.unprotected),
            "protected": asdict(self.chosen),
            "kept": [asdict(attribute) for attribute in self.kept],
        }


class _System:
    """A protector in all folds, fitted in each; without any, unprotected vectors."""

    def __init__(self, folds: Sequence[Fold], attribute: str, protected: Sequence[FloatArray] = ()) -> None:
        self.folds, self.attribute = folds, attribute
        plain = [np.stack([np.asarray(fold.others.vectors, dtype=np.float64)] * 2) for fold in folds]
        self.quiet: list[FloatArray] = [quiet for quiet, _ in protected or plain]
        self.noise: list[FloatArray] = [loud - quiet for quiet, loud in protected or plain]  # of level one

    def vectors(self, number: int, level: float) -> FloatArray:
        """Return protected vectors of a fold with noise of a level."""
        return self.quiet[number] + level * self.noise[number]

    def rates(self, level: float) -> list[tuple[float, float]]:
        """Return EER and top-1 of each fold."""
        noisy = [self.vectors(number, level) for number in range(len(self.folds))]
        return [fold.verifier.rates(vectors, vectors) for fold, vectors in zip(self.folds, noisy, strict=True)]

    def eer(self, level: float) -> float:
        """Return the mean EER."""
        return float(np.mean([eer for eer, _ in self.rates(level)]))

    def attacked(self, number: int, level: float, *counts: int | None) -> tuple[float, ...]:
        """Return the D_ECE of the strongest attackers in one fold, who have so many vectors of a person (None: all)."""
        sides = self.folds[number].sides(self.vectors(number, level))
        attacks = attacks_by_count(*sides, self.attribute, counts=counts)
        return tuple(max(attacks[count].values()) for count in counts)

    def d_ece(self, level: float) -> float:
        """Return the mean D_ECE of attackers of single vectors."""
        return float(np.mean([self.attacked(number, level, 1) for number in range(len(self.folds))]))

    def kept(self, level: float, name: str) -> float:
        """Return the mean D_ECE of logistic regression about another attribute."""
        sides = [fold.sides(self.vectors(number, level)) for number, fold in enumerate(self.folds)]
        return float(np.mean([quick_attacks(*pair, name, ["logistic"])["logistic"] for pair in sides]))


def search(
    data: Embeddings,
    attribute: str,
    limit: Limit,
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    nearest: bool = False,
    run: Run = Run(),
) -> Choice:
    """Return the protector and the noise that leave least within a limit, by cross-validation over people.

    More noise never leaves more evidence and never improves verification, since anybody could add it to vectors with
    less noise. So within a budget the strongest noise that keeps to it is the best, and bisection finds it. In each
    fold a protector is fitted once, its noise is drawn once and scaled, and attackers are trained at one level only.

    Parameters
    ----------
    data
        Embeddings of at least four people of each class, with several vectors of each.
    attribute
        What to conceal; every label is a class.
    limit
        A budget of verification, or a target of attackers of single vectors.
    candidates
        Parameters of protectors, by kind; those of `quick_protectors` with their defaults unless given.
    nearest
        Return the nearest where no protector keeps to the limit, which is an InputError otherwise.
    run
        Seed of the splits, of noise, and of training; workers; the folder where what is done is kept, and the progress
        in steps.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> rng = np.random.default_rng(0)
    >>> vectors = np.repeat(3.0 * rng.normal(size=(24, 6)), 4, axis=0) + rng.normal(size=(96, 6))
    >>> data = Embeddings(vectors + 2.0 * (sex == "f")[:, None], None, people, {"sex": sex})
    >>> choice = search(data, "sex", Limit.parse("eer=+5%"), {"linear": {}, "leace": {}})
    >>> choice.within, choice.chosen.d_ece < choice.unprotected.d_ece
    (True, True)
    """
    kinds = {kind: {} for kind in quick_protectors()} if candidates is None else dict(candidates)
    data, others = other_attributes(data, attribute, PARTS)
    folds = split_people(data, attribute, seed=run.seed)
    steps = StepCounter(run.progress("choosing", "steps"), PARTS * (1 + 2 * len(kinds)))
    plain = _System(folds, attribute)
    unprotected = _tradeoffs({UNPROTECTED: plain}, {UNPROTECTED: 0.0}, steps)[0]
    vectors = _protect_folds(kinds, folds, attribute, steps, run)
    systems = {kind: _System(folds, attribute, protected) for kind, protected in vectors.items()}
    levels, within = _levels(systems, limit, limit.bound(unprotected))
    points = _tradeoffs(systems, levels, steps)
    steps.add(steps.total - steps.count)  # attacks on protectors that were dropped, or cannot keep to the limit
    # within a budget, what attackers of one vector and attackers of all vectors of a person learn counts alike
    budget = limit.measure == "eer"
    best = min(points, key=lambda point: (point.d_ece + point.person_d_ece) / 2.0 if budget else point.eer)
    if not within and not nearest:
        raise InputError(
            f"no protector stays within {limit}; the nearest is {best.protector} at strength {best.strength:g}, with "
            f"EER {100 * best.eer:.1f} % and D_ECE {best.d_ece:.2f}"
        )
    kept = tuple(
        KeptAttribute(name, plain.kept(0.0, name), systems[best.protector].kept(best.strength, name), boundaries)
        for name, boundaries in others.items()
        if all(fold.has_all_classes(name) for fold in folds)
    )
    people = len(np.unique(require_speakers(data)))
    searched = round(float(np.mean([len(np.unique(require_speakers(fold.others))) for fold in folds])))
    return Choice(limit, unprotected, best, within, people, searched, kept)


def _protect_folds(
    kinds: Mapping[str, Mapping[str, Any]], folds: Sequence[Fold], attribute: str, steps: StepCounter, run: Run
) -> dict[str, list[FloatArray]]:
    """Return vectors of each fold, as `_protect_fold` does, by the kind of protector."""
    pairs = [
        (seeded_protector(kind, {"noise_seed": seed, **parameters}, seed), fold)
        for kind, parameters in kinds.items()
        for seed, fold in enumerate(folds, run.seed)
    ]
    quick = [pair for pair in pairs if pair[0].kind in quick_protectors()]
    others = [pair for pair in pairs if pair[0].kind not in quick_protectors()]  # torch divides their work
    compute = partial(_protect_fold, attribute, run.cache)
    vectors: dict[str, list[FloatArray]] = {kind: [] for kind in kinds}
    results = chain(compute_each(compute, quick, run, little=True), map(compute, others))
    for (protector, _), protected in zip([*quick, *others], results, strict=True):
        vectors[protector.kind].append(protected)
        steps.add()
    return vectors


def _protect_fold(attribute: str, cache: Path | None, pair: tuple[EmbeddingProtector, Fold]) -> FloatArray:
    """Fit a protector, and return the vectors of the other half without noise, and with noise of level one."""
    protector, fold = pair
    labels, settings = attribute_labels(fold.train, attribute), sorted(protector.get_params().items())
    data = labels, require_speakers(fold.train), fold.train.vectors, fold.others.vectors
    key = digest(__version__, protector.kind, repr(settings), *data)

    def compute() -> FloatArray:
        fitted = fit_protector(protector, fold.train, labels)
        return np.stack([protect(fold.others, set_strength(fitted, level)).vectors for level in (0.0, 1.0)])

    return compute() if cache is None else Store(cache, CANDIDATES).array(key, compute)


def _levels(systems: Mapping[str, _System], limit: Limit, most: float) -> tuple[dict[str, float], bool]:
    """Return the level of noise of each protector that can keep to a limit, and True; else the nearest and False."""
    # ordered from the level that is likeliest to keep to the limit; the last that does is the best
    ordered, measure = (LEVELS, _System.eer) if limit.measure == "eer" else (LEVELS[::-1], _System.d_ece)
    lasts = {
        kind: _last(ordered, lambda level, system=system: measure(system, level) <= most)  # type: ignore[misc]
        for kind, system in systems.items()
    }
    levels = {kind: level for kind, level in lasts.items() if level is not None}
    if levels:
        return levels, True
    return {min(systems, key=lambda kind: measure(systems[kind], ordered[0])): ordered[0]}, False


def _last(levels: Sequence[float], holds: Callable[[float], bool]) -> float | None:
    """Return by bisection the last level at which a condition holds, which no later level meets; None if none does."""
    if not holds(levels[0]):
        return None
    low, high = 0, len(levels)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(levels[middle]) else (low, middle)
    return levels[low]


def _tradeoffs(systems: Mapping[str, _System], levels: Mapping[str, float], steps: StepCounter) -> list[Tradeoff]:
    """Return the tradeoffs of protectors at their levels; those that left more in each of two folds are dropped."""
    left: dict[str, list[tuple[float, ...]]] = {kind: [] for kind in levels}
    for place in range(PARTS):
        for kind, values in left.items():
            values.append(systems[kind].attacked(place, levels[kind], 1, None))
            steps.add()
        if place + 1 >= _TRIED:
            best = min(left.values(), key=np.sum)
            left = {
                kind: values for kind, values in left.items() if np.any(np.sum(values, axis=1) <= np.sum(best, axis=1))
            }
    points = []
    for kind, values in left.items():
        measured = (np.mean(values, axis=0), np.mean(systems[kind].rates(levels[kind]), axis=0))
        points.append(Tradeoff(kind, levels[kind], *map(float, np.concatenate(measured))))
    return points
