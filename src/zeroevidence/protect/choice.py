"""The choice of the protector, and the level of its noise, that leave the least evidence within a limit."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence import __version__
from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.store import Store, digest
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.parallel import compute_each
from zeroevidence.protect.assessment.class_attacks import Verifier
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
from zeroevidence.protect.attributes import fit_protector, make_protector, seeded_protector
from zeroevidence.protect.attributes.protector import CANDIDATES, EmbeddingProtector
from zeroevidence.protect.quick_attackers import Disclosure, held_out_attacks
from zeroevidence.protect.strengths import Limit, Tradeoff, quick_protectors, set_strength
from zeroevidence.run import Run, StepCounter

PARTS = 4  # of the people: two fit the protector, two are attacked


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One split of people: half fit protectors and the PLDA, the other half is attacked and verified."""

    train: Embeddings
    verifier: Verifier  # of the other half

    @property
    def others(self) -> Embeddings:
        """The half that is attacked, in the verifier's order."""
        return self.verifier.people

    def release(self, protector: EmbeddingProtector) -> FloatArray:
        """Return vectors of the other half that were protected together, and apart from those that enrol: 2 x n x d."""
        apart = np.empty(self.others.vectors.shape)
        for number, rows in enumerate((self.verifier.enrols, ~self.verifier.enrols)):
            seed = None if protector.noise_seed is None else protector.noise_seed + number * PARTS
            other = copy.copy(protector).set_params(noise_seed=seed)  # a second release draws noise of its own
            apart[rows] = protect(self.others.take(rows), other).vectors
        return np.stack([np.asarray(protect(self.others, protector).vectors), apart])

    def with_vectors(self, vectors: FloatArray) -> Embeddings:
        """Return the other half with protected vectors."""
        return Embeddings(vectors, self.others.ids, self.others.speakers, self.others.attributes)

    def has_all_classes(self, attribute: str) -> bool:
        """Return whether two people or more of the other half are of each class of an attribute."""
        pairs = np.unique(np.stack([self.others.attributes[attribute], require_speakers(self.others)]), axis=1)
        return bool(np.unique(pairs[0], return_counts=True)[1].min() > 1)


def split_people(data: Embeddings, attribute: str, *, seed: int = 0) -> list[Fold]:
    """Return four splits of the people of each class; everybody is attacked twice."""
    part = stratified_parts(data, attribute, PARTS, seed)
    folds = []
    for place in range(PARTS):
        others = (part == place) | (part == (place + 1) % PARTS)
        folds.append(Fold(data.take(~others), Verifier.of(data.take(~others), data.take(others))))
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
_SHARES = (0.25, 0.5, 1.0)  # of the people whom attackers could learn from
ATTACKER_PEOPLE = 100  # whom an attacker has learned from, unless the user knows better


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
    attacker_people
        Number of people that an attacker learns from, whom D_ECE and its limits are for.
    kept
        What is left of other attributes.
    """

    limit: Limit
    unprotected: Tradeoff
    chosen: Tradeoff
    within: bool
    people: int
    searched: int
    attacker_people: int
    kept: tuple[KeptAttribute, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return what was measured as plain values, for JSON."""
        return {
            "limit": str(self.limit),
            "within": self.within,
            "people": self.people,
            "searched": self.searched,
            "attacker_people": self.attacker_people,
            "unprotected": asdict(self.unprotected),
            "protected": asdict(self.chosen),
            "kept": [asdict(attribute) for attribute in self.kept],
        }


class _System:
    """A protector in all folds, fitted in each; without any, unprotected vectors."""

    def __init__(self, folds: Sequence[Fold], attribute: str, protected: Sequence[FloatArray] = ()) -> None:
        self.folds, self.attribute = folds, attribute
        self.quiet: list[FloatArray] = [quiet for quiet, _ in protected]  # together and apart
        self.noise: list[FloatArray] = [loud - quiet for quiet, loud in protected]  # of level one
        if not protected:
            self.quiet = [np.stack([np.asarray(fold.others.vectors, dtype=np.float64)] * 2) for fold in folds]
            self.noise = [np.zeros_like(quiet) for quiet in self.quiet]

    def vectors(self, level: float) -> list[FloatArray]:
        """Return protected vectors of each fold with noise of a level, together and apart."""
        return [quiet + level * noise for quiet, noise in zip(self.quiet, self.noise, strict=True)]

    def released(self, level: float) -> list[Embeddings]:
        """Return the attacked people of each fold, protected together."""
        return [fold.with_vectors(pair[0]) for fold, pair in zip(self.folds, self.vectors(level), strict=True)]

    def rates(self, level: float) -> FloatArray:
        """Return the mean EER and top-1 of vectors protected together, and apart."""
        pairs = zip(self.folds, self.vectors(level), strict=True)
        rates = [[fold.verifier.rates(vectors, vectors) for vectors in pair] for fold, pair in pairs]
        return np.asarray(np.mean(rates, axis=0).reshape(-1))

    def eer(self, level: float) -> float:
        """Return the larger mean EER, of vectors protected together or apart."""
        rates = self.rates(level)
        return float(max(rates[0], rates[2]))

    def kept(self, level: float, name: str) -> float:
        """Return the mean D_ECE of logistic regression about another attribute."""
        return float(np.mean([held_out_attacks(each, name, names=["logistic"]).d_ece for each in self.released(level)]))


def _learning_curve(attribute: str, data: Embeddings) -> list[Disclosure]:
    """Return what attackers learn from more and more people."""
    return [held_out_attacks(data, attribute, share=share) for share in _SHARES]


def expected_disclosure(
    curves: Sequence[Sequence[Disclosure]], people: int, level: float
) -> tuple[float, float, float, float]:
    """Return the D_ECE of vectors and its upper limit, and of people and its, for attackers who learn from `people`.

    What attackers learn grows about in proportion to the logarithm of that number. In each fold a straight line over it
    gives the growth, which counts from what was learned from the most people and is never negative. The limit is that
    of the mean over folds (Student's t).

    Examples
    --------
    >>> folds = [[Disclosure(8, 0.1, 0.2 + x), Disclosure(16, 0.2, 0.3 + x)] for x in (0.0, 0.02)]
    >>> [round(value, 3) for value in expected_disclosure(folds, 32, 0.95)]
    [0.3, 0.3, 0.41, 0.473]
    """
    from scipy.special import stdtrit

    values = []
    for curve in curves:
        logs = np.log([point.people for point in curve])
        d_eces = np.array([(point.d_ece, point.person_d_ece) for point in curve])
        away = logs - logs.mean()
        slopes = np.maximum(away @ d_eces / max(float(away @ away), np.finfo(float).tiny), 0.0)
        values.append(d_eces[logs.argmax()] + slopes * (np.log(people) - logs.max()))
    mean, count = np.mean(values, axis=0), len(values)
    above = stdtrit(count - 1, level) * np.std(values, axis=0, ddof=1) / np.sqrt(count)
    pairs = np.clip(np.stack([mean, mean + above], axis=1), 0.0, D_ECE_MAX)
    return tuple(map(float, pairs.reshape(-1)))  # type: ignore[return-value]


def search(
    data: Embeddings,
    attribute: str,
    limit: Limit,
    candidates: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    nearest: bool = False,
    attacker_people: int = ATTACKER_PEOPLE,
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
        A budget of verification, or a target of attackers.
    candidates
        Parameters of protectors, by kind; those of `quick_protectors` with their defaults unless given.
    nearest
        Return the nearest where no protector keeps to the limit, which is an InputError otherwise.
    attacker_people
        Number of people that an attacker learns from: what was learned from the people here is extrapolated to it.
    run
        Seed of the splits, of noise, and of training; level of limits; workers; the folder where what is done is kept,
        and the progress in steps.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(16), 4).astype(str), np.repeat(np.tile(["f", "m"], 8), 4)
    >>> rng = np.random.default_rng(0)
    >>> vectors = np.repeat(3.0 * rng.normal(size=(16, 6)), 4, axis=0) + rng.normal(size=(64, 6))
    >>> data = Embeddings(vectors + 2.0 * (sex == "f")[:, None], None, people, {"sex": sex})
    >>> choice = search(data, "sex", Limit.parse("eer=+5%"), {"linear": {}, "leace": {}})
    >>> choice.within, choice.chosen.eer_apart <= choice.unprotected.eer + 0.05
    (True, True)
    """
    kinds = {kind: {} for kind in quick_protectors()} if candidates is None else dict(candidates)
    data, others = other_attributes(data, attribute, PARTS)
    folds = split_people(data, attribute, seed=run.seed)
    steps = StepCounter(run.progress("choosing", "steps"), PARTS * (1 + 2 * len(kinds)))
    plain = _System(folds, attribute)
    measure = partial(_tradeoff, steps=steps, people=attacker_people, run=run)
    unprotected = measure(UNPROTECTED, plain, 0.0)
    people, dimension = len(np.unique(require_speakers(data))), data.vectors.shape[1]
    sized = {kind: {**each, **make_protector(kind, each).sizes(people, dimension)} for kind, each in kinds.items()}
    vectors = _protect_folds(sized, folds, attribute, steps, run)
    systems = {kind: _System(folds, attribute, protected) for kind, protected in vectors.items()}
    if limit.measure == "eer":
        levels, within = _levels(systems, LEVELS, _System.eer, limit.bound(unprotected))
    else:
        reached = partial(_worse_d_ece, people=attacker_people, run=run)
        levels, within = _levels(systems, LEVELS[::-1], reached, limit.bound(unprotected))
    points = [measure(kind, systems[kind], level) for kind, level in levels.items()]
    # noise of people in directions where they hardly differ marks them: their EER falls
    points = [point for point in points if point.eer >= unprotected.eer / 2.0] or points
    steps.add(steps.total - steps.count)  # attacks on protectors that cannot keep to the limit
    budget = limit.measure == "eer"
    best = min(points, key=lambda point: (point.worse_d_ece, point.d_ece) if budget else (point.worse_eer,))
    if not within and not nearest:
        raise InputError(
            f"no protector stays within {limit}; the nearest is {best.protector} at strength {best.strength:g}, with "
            f"EER {100 * best.worse_eer:.1f} % and D_ECE {best.worse_d_ece:.2f}"
        )
    kept = tuple(
        KeptAttribute(name, plain.kept(0.0, name), systems[best.protector].kept(best.strength, name), boundaries)
        for name, boundaries in others.items()
        if all(fold.has_all_classes(name) for fold in folds)
    )
    searched = round(float(np.mean([len(np.unique(require_speakers(fold.others))) for fold in folds])))
    return Choice(limit, unprotected, best, within, people, searched, attacker_people, kept)


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
    """Fit a protector, and return the releases of the other half without noise, and with noise of level one."""
    protector, fold = pair
    labels, settings = attribute_labels(fold.train, attribute), sorted(protector.get_params().items())
    data = labels, require_speakers(fold.train), fold.train.vectors, fold.others.vectors
    key = digest(__version__, protector.kind, repr(settings), *data)

    def compute() -> FloatArray:
        fitted = fit_protector(protector, fold.train, labels)
        return np.stack([fold.release(set_strength(fitted, level)) for level in (0.0, 1.0)])

    return compute() if cache is None else Store(cache, CANDIDATES).array(key, compute)


def _levels(
    systems: Mapping[str, _System], ordered: Sequence[float], measure: Callable[[_System, float], float], most: float
) -> tuple[dict[str, float], bool]:
    """Return the level of noise of each protector that can keep to a limit, and True; else the nearest and False.

    Levels are ordered from the one that is likeliest to keep to the limit; the last that does is the best.
    """
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


def _expected(system: _System, level: float, people: int, run: Run) -> tuple[float, float, float, float]:
    """Return what attackers of a system are expected to learn, with limits."""
    curves = compute_each(partial(_learning_curve, system.attribute), system.released(level), run, little=True)
    return expected_disclosure(list(curves), people, run.level)


def _worse_d_ece(system: _System, level: float, people: int, run: Run) -> float:
    return max(_expected(system, level, people, run)[::2])


def _tradeoff(kind: str, system: _System, level: float, steps: StepCounter, people: int, run: Run) -> Tradeoff:
    """Return what is left by a system, and what is kept."""
    disclosed = _expected(system, level, people, run)
    steps.add(PARTS)
    return Tradeoff(kind, level, *disclosed, *map(float, system.rates(level)))
