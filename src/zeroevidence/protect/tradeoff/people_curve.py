"""Are the people enough? What protectors leave that were fitted on fewer of them, and where the curve leads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.evaluation import Curve, Evaluation, MeasureResult
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.assessment.class_attacks import attacked_samples, protected
from zeroevidence.protect.assessment.class_learning import (
    ClassSample,
    class_d_ece,
    evaluated_classes,
    predict_all,
    train_classifiers,
)
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS
from zeroevidence.protect.fitting import fit_protectors
from zeroevidence.protect.tradeoff.extrapolation import PeopleEstimate, people_needed
from zeroevidence.uncertainty.resampling.draws import Progress

TARGET = 0.1
OVER_PEOPLE = "d_ece_over_people"
_SHARES = (0.125, 0.25, 0.5, 1.0)
_DRAWS = 3
_LEAST = 2  # people of each class
_REPLICATES = 200
_ATTACKERS = 2


@dataclass(frozen=True, slots=True)
class PeopleCurve:
    """What a protector leaves of an attribute over the number of people that it was fitted on.

    Parameters
    ----------
    people, evidence
        Numbers of people, and D_ECE to the strongest attacker, averaged over draws of that many.
    target, needed
        A D_ECE, and how many people it would take.
    """

    people: tuple[int, ...]
    evidence: tuple[float, ...]
    target: float
    needed: PeopleEstimate


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """What attackers say of the tested people after a protector that was fitted on some people."""

    people: int
    told: FloatArray


def people_curve(
    fit: Callable[[Embeddings], Any],
    roles: Roles,
    attribute: str,
    *,
    classifiers: Sequence[str] = ("logistic", "qda"),
    target: float = TARGET,
    seed: int = 0,
    progress: Progress | None = None,
) -> PeopleCurve:
    """Fit a protector on an eighth, a quarter, a half and all of the people of each class, and attack it.

    Parameters
    ----------
    fit
        Gives a fitted protector for embeddings.
    roles, attribute, classifiers
        Who is used for what; the attribute; attackers, of which the people that attackers learn from choose one for
        each point of the curve.
    target, seed, progress
        The D_ECE that may be left; seed of all draws; called with the number of fits done and target.

    Examples
    --------
    >>> from zeroevidence.protect import LinearNuller
    >>> people, sex = np.repeat(np.arange(72), 4).astype(str), np.repeat(np.tile(["f", "m"], 36), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(288, 6)) + 2.0 * (sex == "f")[:, None]
    >>> roles = Roles.split(Embeddings(vectors, np.arange(288).astype(str), people, {"sex": sex}), "sex")
    >>> def fit(some):
    ...     return LinearNuller().fit(some.vectors, some.attributes["sex"], speakers=some.speakers)
    >>> people_curve(fit, roles, "sex", classifiers=["logistic"]).people
    (4, 6, 12, 24)
    """
    kinds = [CLASSIFIERS.find(name) for name in classifiers]
    subsets = list(_subsets(roles.train, attribute, seed))
    points: list[_Point] = []
    for number, rows in enumerate(subsets, 1):
        some = roles.train.take(rows)
        protector = fit(some)
        _, attack, test = attacked_samples(
            protected(roles.attack, protector), protected(roles.test, protector), attribute
        )
        learned = list(train_classifiers(kinds, attack, seed))
        best = max(learned, key=lambda one: one.strength)
        points.append(_Point(len(np.unique(require_speakers(some))), predict_all(learned, test)[best.kind.name][1]))
        if progress is not None:
            progress(number, len(subsets))
    sizes, evidence, replicates = _resampled(points, test, seed)
    needed = people_needed(sizes, evidence, replicates, target)
    return PeopleCurve(tuple(map(int, sizes)), tuple(map(float, evidence)), target, needed)


def add_people_curves(
    rows: Sequence[Evaluation],
    fits: Mapping[str, Callable[[Embeddings], Any]],
    roles: Roles,
    attribute: str,
    *,
    target: float = TARGET,
    seed: int = 0,
    progress: Callable[[str], Progress | None] = lambda _: None,
) -> list[Evaluation]:
    """Rows of `assess` with a curve on the first row of each protector that can be fitted again.

    The two strongest of the attackers that judge single vectors by themselves attack it.
    """
    result = list(rows)
    for name, fit in fits.items():
        own = [
            i
            for i, row in enumerate(rows)
            if row.labels.get("system") == name and row.about.role == "attack" and row.about.attribute == attribute
        ]
        plain = dict.fromkeys(
            rows[i].labels["attacker"]
            for i in own
            if CLASSIFIERS.find(rows[i].labels["attacker"]).learns_from == "vectors"
        )
        curve = people_curve(
            fit,
            roles,
            attribute,
            classifiers=list(plain)[:_ATTACKERS],
            target=target,
            seed=seed,
            progress=progress(name),
        )
        result[own[0]] = _with_curve(rows[own[0]], curve)
    return result


def protector_fits(
    names: Iterable[str],
    attribute: str,
    *,
    keep: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    preset: str | None = None,
    seed: int = 0,
) -> dict[str, Callable[[Embeddings], Any]]:
    """For each kind of protector a function that fits it to embeddings, with the parameters of `fit_protectors`."""

    def fitting(kind: str) -> Callable[[Embeddings], Any]:
        how: dict[str, Any] = {"keep": keep, "parameters": parameters, "seed": seed}
        own = preset if preset in ATTRIBUTE_PROTECTORS.find(kind).presets else None
        return lambda data: fit_protectors([kind], data, attribute, preset=own, **how)[kind]

    return {kind: fitting(kind) for kind in names}


def _with_curve(row: Evaluation, curve: PeopleCurve) -> Evaluation:
    needed, name = curve.needed, row.labels["system"]
    row = replace(row, curves={**row.curves, OVER_PEOPLE: Curve(tuple(map(float, curve.people)), curve.evidence)})
    words = {"protector": name, "target": curve.target}
    if needed.people is None or needed.low is None or needed.high is None:
        if needed.reached:
            return row.with_flags(flag("people-enough", most=curve.people[-1], **words))
        return row.with_flags(flag("people-unknown", why=needed.why, **words))
    about, low, high = (_two_digits(one) for one in (needed.people, needed.low, needed.high))
    row = row.with_metrics({"people_needed": MeasureResult(needed.people, "people", None, needed.low, needed.high)})
    return row.with_flags(flag("people-needed", people=about, low=low, high=high, most=curve.people[-1], **words))


def _two_digits(number: float) -> int:
    return int(float(f"{number:.1e}"))


def _subsets(train: Embeddings, attribute: str, seed: int) -> Iterator[Any]:
    """Rows of more and more people of each class, everybody last; in each draw the fewer are among the more."""
    labels, speakers = attribute_labels(train, attribute), require_speakers(train)
    classes = {k: np.unique(speakers[labels == k]) for k in np.unique(labels)}
    counts = [{k: max(_LEAST, round(share * len(own))) for k, own in classes.items()} for share in _SHARES]
    sizes = [one for i, one in enumerate(counts) if one not in counts[:i] and one != counts[-1]]
    for draw in range(_DRAWS):
        rng = np.random.default_rng([seed, draw])
        shuffled = {k: rng.permutation(own) for k, own in classes.items()}
        for size in sizes:
            yield np.isin(speakers, np.concatenate([shuffled[k][: size[k]] for k in classes]))
    yield np.ones(len(speakers), dtype=bool)


def _resampled(points: Sequence[_Point], test: ClassSample, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Sizes, evidence of each averaged over draws, and the same with tested people and draws drawn again.

    Evidence rises when people are drawn twice; replicates are shifted back to the evidence itself.
    """
    rng = np.random.default_rng(seed)
    sizes = np.unique([one.people for one in points])
    groups = [[one.told for one in points if one.people == size] for size in sizes]
    everyone = np.arange(len(test.y))
    by_draw = [[_evidence(told, test.y, everyone) for told in group] for group in groups]
    evidence = np.array([np.mean(one) for one in by_draw])
    replicates = np.empty((_REPLICATES, len(sizes)))
    for replicate in replicates:
        rows = _people_again(test, rng)
        for place, group in enumerate(groups):
            drawn = rng.integers(0, len(group), len(group))
            replicate[place] = np.mean([_evidence(group[draw], test.y, rows) for draw in drawn])
    replicates += evidence - replicates.mean(axis=0)
    if len(by_draw) > 1:  # other people of the largest number would differ by about what other halves do
        replicates[:, -1] += np.std(by_draw[-2], ddof=1) / np.sqrt(2.0) * rng.standard_normal(_REPLICATES)
    return sizes.astype(float), evidence, replicates


def _people_again(test: ClassSample, rng: np.random.Generator) -> IntArray:
    """Rows of as many people of each class, drawn with replacement."""
    rows: list[IntArray] = []
    for k in range(int(test.y.max()) + 1):
        own = np.unique(test.people[test.y == k])
        rows += [np.flatnonzero(test.people == one) for one in rng.choice(own, len(own))]
    return np.concatenate(rows)


def _evidence(told: FloatArray, y: IntArray, rows: IntArray) -> float:
    return float(np.mean([class_d_ece(told[rows], y[rows], k) for k in evaluated_classes(told.shape[1])]))
