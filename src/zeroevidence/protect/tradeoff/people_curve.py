"""Learning curves of protectors: evidence left after a fit on fewer people, and how many people a target needs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.evaluation import Curve, Evaluation, MeasureResult
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.protect.assessment.class_attacks import attacked_samples
from zeroevidence.protect.assessment.class_learning import (
    ClassSample,
    mean_d_ece,
    predict_all,
    train_classifiers,
)
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.assessment.systems import protect
from zeroevidence.protect.tradeoff.extrapolation import PeopleEstimate, people_needed
from zeroevidence.uncertainty.level import LEVEL, percent
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
    """Evidence about an attribute that a protector leaves, over the number of people it was fitted on.

    Parameters
    ----------
    people
        Numbers of people.
    evidence
        D_ECE of the strongest attacker, averaged over draws of that many people.
    target
        The D_ECE that may be left.
    needed
        How many people it would take.
    level
        Confidence level of that.
    """

    people: tuple[int, ...]
    evidence: tuple[float, ...]
    target: float
    needed: PeopleEstimate
    level: float


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Log-posteriors of the tested people after a protector that was fitted on some people."""

    people: int
    log_posteriors: FloatArray


def people_curve(
    fit: Callable[[Embeddings], Any],
    roles: Roles,
    attribute: str,
    *,
    classifiers: Sequence[str] = ("logistic", "qda"),
    target: float = TARGET,
    level: float = LEVEL,
    seed: int = 0,
    progress: Progress | None = None,
) -> PeopleCurve:
    """Fit a protector on an eighth, a quarter, a half and all of the people of each class, and attack it.

    Parameters
    ----------
    fit
        Gives a fitted protector for embeddings.
    roles
        Who is used for what.
    attribute
        The attribute to conceal.
    classifiers
        Names of attackers; the strongest in cross-validation is taken for each point of the curve.
    target
        The D_ECE that may be left.
    level
        Confidence level of the number of people that it needs.
    seed
        Seed of all draws.
    progress
        Called with the number of fits done and to be done.

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
        _, attack, test = attacked_samples(protect(roles.attack, protector), protect(roles.test, protector), attribute)
        attackers = list(train_classifiers(kinds, attack, seed))
        best = max(attackers, key=lambda attacker: attacker.strength)
        points.append(_Point(len(np.unique(require_speakers(some))), predict_all(attackers, test)[best.kind.name][1]))
        if progress is not None:
            progress(number, len(subsets))
    sizes, evidence, replicates = _resampled(points, test, seed)
    needed = people_needed(sizes, evidence, replicates, target, level)
    return PeopleCurve(tuple(map(int, sizes)), tuple(map(float, evidence)), target, needed, level)


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
    """Return rows of `assess` with a curve on the first row of each protector that can be fitted again.

    The two strongest of the attackers that judge single vectors attack it.
    """
    result = list(rows)
    for name, fit in fits.items():
        members = [
            i
            for i, row in enumerate(rows)
            if row.labels.get("system") == name and row.about.role == "attack" and row.about.attribute == attribute
        ]
        attackers = dict.fromkeys(
            rows[i].labels["attacker"]
            for i in members
            if CLASSIFIERS.find(rows[i].labels["attacker"]).learns_from == "vectors"
        )
        curve = people_curve(
            fit,
            roles,
            attribute,
            classifiers=list(attackers)[:_ATTACKERS],
            target=target,
            level=rows[members[0]].setup.level,
            seed=seed,
            progress=progress(name),
        )
        result[members[0]] = with_curve(rows[members[0]], curve)
    return result


def with_curve(row: Evaluation, curve: PeopleCurve) -> Evaluation:
    """Return the row with the curve, and a note on how many people it would take."""
    needed, name = curve.needed, row.labels["system"]
    row = replace(row, curves={**row.curves, OVER_PEOPLE: Curve(tuple(map(float, curve.people)), curve.evidence)})
    facts: dict[str, Any] = {"protector": name, "target": curve.target}
    if needed.people is None or needed.low is None or needed.high is None:
        if needed.reached:
            return row.with_flags(flag("people-enough", most=curve.people[-1], **facts))
        return row.with_flags(flag("people-unknown", why=needed.why, **facts))
    about, low, high = (_two_digits(number) for number in (needed.people, needed.low, needed.high))
    estimate = MeasureResult(needed.people, "people", low=needed.low, high=needed.high, level=curve.level)
    row = row.with_metrics({"people_needed": estimate})
    facts["level"] = percent(curve.level)
    return row.with_flags(flag("people-needed", people=about, low=low, high=high, most=curve.people[-1], **facts))


def _two_digits(number: float) -> int:
    return int(float(f"{number:.1e}"))


def _subsets(train: Embeddings, attribute: str, seed: int) -> Iterator[Any]:
    """Yield rows of increasing numbers of people of each class, everybody last; in each draw the sets are nested."""
    labels, speakers = attribute_labels(train, attribute), require_speakers(train)
    classes = {k: np.unique(speakers[labels == k]) for k in np.unique(labels)}
    counts = [{k: max(_LEAST, round(share * len(names))) for k, names in classes.items()} for share in _SHARES]
    sizes = [count for i, count in enumerate(counts) if count not in counts[:i] and count != counts[-1]]
    for draw in range(_DRAWS):
        rng = np.random.default_rng([seed, draw])
        shuffled = {k: rng.permutation(names) for k, names in classes.items()}
        for size in sizes:
            yield np.isin(speakers, np.concatenate([shuffled[k][: size[k]] for k in classes]))
    yield np.ones(len(speakers), dtype=bool)


def _resampled(points: Sequence[_Point], test: ClassSample, seed: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return sizes, the evidence of each averaged over draws, and bootstrap replicates over tested people and draws.

    Evidence rises when people are drawn twice; replicates are shifted back to the evidence itself.
    """
    rng = np.random.default_rng(seed)
    sizes = np.unique([point.people for point in points])
    groups = [[point.log_posteriors for point in points if point.people == size] for size in sizes]
    by_draw = [[mean_d_ece(log_posteriors, test.y) for log_posteriors in group] for group in groups]
    evidence = np.array([np.mean(values) for values in by_draw])
    replicates = np.empty((_REPLICATES, len(sizes)))
    for replicate in replicates:
        rows = _resampled_people(test, rng)
        for place, group in enumerate(groups):
            draws = rng.integers(0, len(group), len(group))
            replicate[place] = np.mean([mean_d_ece(group[draw][rows], test.y[rows]) for draw in draws])
    replicates += evidence - replicates.mean(axis=0)
    if len(by_draw) > 1:  # other people of the largest number would differ by about what other halves do
        replicates[:, -1] += np.std(by_draw[-2], ddof=1) / np.sqrt(2.0) * rng.standard_normal(_REPLICATES)
    return sizes.astype(float), evidence, replicates


def _resampled_people(test: ClassSample, rng: np.random.Generator) -> IntArray:
    """Return the rows of as many people of each class, drawn with replacement."""
    rows: list[IntArray] = []
    for k in range(int(test.y.max()) + 1):
        people = np.unique(test.people[test.y == k])
        rows += [np.flatnonzero(test.people == person) for person in rng.choice(people, len(people))]
    return np.concatenate(rows)
