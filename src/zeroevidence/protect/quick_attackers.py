"""Quick attackers that choose a protector and its strength, on single vectors or on all vectors of a person."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.protect.assessment.class_attacks import attacked_samples
from zeroevidence.protect.assessment.class_learning import ClassSample, class_d_ece, evaluated_classes, fitted
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS, training_environment
from zeroevidence.protect.assessment.labels import attribute_labels, stratified_parts
from zeroevidence.protect.attributes.moments import group_means

ATTACKERS = ("logistic", "qda", "kernel", "neighbours")  # of `CLASSIFIERS`, with their usual settings
_OF_DIFFERENCES = ("qda", "kernel")
_GROUPS = 4  # of people, each held out in turn


def quick_attacks(
    attack: Embeddings, test: Embeddings, attribute: str, names: Sequence[str] = ATTACKERS, *, pooled: bool = False
) -> dict[str, float]:
    """Return the D_ECE on test people by the name of the attacker; the largest over classes.

    Reported results come from `assessment`, which has more attackers, and stronger ones.

    Parameters
    ----------
    attack
        Protected embeddings that attackers are trained on.
    test
        Protected embeddings of other people.
    attribute
        The attribute in question.
    names
        Classifiers.
    pooled
        Whether an attacker has all vectors of a person: it classifies their mean, averages the log-posteriors of
        single vectors, or classifies the differences between vectors.

    Examples
    --------
    >>> sex = np.repeat(["f", "m"], 40)
    >>> vectors = np.random.default_rng(0).normal(size=(80, 3)) + 3.0 * (sex == "m")[:, None]
    >>> people = np.repeat([f"p{i}" for i in range(20)], 4)
    >>> data = Embeddings(vectors, None, people, {"sex": sex})
    >>> odd = np.arange(80) // 4 % 2 == 1
    >>> d_eces = quick_attacks(data.take(odd), data.take(~odd), "sex", ["logistic", "qda"])
    >>> sorted(d_eces), min(d_eces.values()) > 0.5
    (['logistic', 'qda'], True)
    >>> sorted(quick_attacks(data.take(odd), data.take(~odd), "sex", ["qda"], pooled=True))
    ['qda', 'qda of differences', 'qda, pooled']
    """
    _, learned, tested = attacked_samples(attack, test, attribute)
    with training_environment():
        logs = _predictions(learned, tested, names)
        if not pooled:
            return {name: _largest_d_ece(log_posteriors, tested.y) for name, log_posteriors in logs.items()}
        of_people = _person_predictions(learned, tested, logs)
    return {name: _largest_d_ece(log_posteriors, tested.means().y) for name, log_posteriors in of_people.items()}


@dataclass(frozen=True, slots=True)
class Disclosure:
    """What the strongest quick attackers learned.

    Parameters
    ----------
    people
        How many people they learned from.
    d_ece
        D_ECE of the strongest attacker of single vectors.
    person_d_ece
        D_ECE of the strongest attacker who has all vectors of a person.
    """

    people: float
    d_ece: float
    person_d_ece: float


def held_out_attacks(
    data: Embeddings, attribute: str, names: Sequence[str] = ATTACKERS, *, share: float = 1.0
) -> Disclosure:
    """Return what attackers learn about people who are held out in turn, from a share of the others of each class.

    Examples
    --------
    >>> sex = np.repeat(["f", "m"], 40)
    >>> vectors = np.random.default_rng(0).normal(size=(80, 3)) + 3.0 * (sex == "m")[:, None]
    >>> data = Embeddings(vectors, None, np.repeat([f"p{i}" for i in range(20)], 4), {"sex": sex})
    >>> learned = held_out_attacks(data, "sex", ["logistic"])
    >>> learned.people, learned.d_ece > 0.5, learned.person_d_ece > 0.5
    (15.0, True, True)
    >>> held_out_attacks(data, "sex", ["logistic"], share=0.5).people
    8.0
    """
    classes, y = np.unique(attribute_labels(data, attribute), return_inverse=True)
    person = np.unique(require_speakers(data), return_inverse=True)[1]
    sample = ClassSample(np.asarray(data.vectors, dtype=np.float64), y, person)
    label = sample.means().y
    part = stratified_parts(data, attribute, min(_GROUPS, int(np.bincount(label).min())), 0)
    rng, groups, learners = np.random.default_rng(0), [], []
    with training_environment():
        for group in range(int(part.max()) + 1):
            others = np.setdiff1d(np.arange(len(label)), person[part == group])
            by_class = [rng.permutation(others[label[others] == k]) for k in range(len(classes))]
            chosen = np.concatenate([some[: max(1, round(share * len(some)))] for some in by_class])
            learned, tested = sample.take(np.isin(person, chosen)), sample.take(part == group)
            logs = _predictions(learned, tested, names)
            groups.append(((logs, tested.y), (_person_predictions(learned, tested, logs), tested.means().y)))
            learners.append(len(chosen))
    return Disclosure(float(np.mean(learners)), *map(_strongest, zip(*groups, strict=True)))


def _strongest(groups: Sequence[tuple[Mapping[str, FloatArray], IntArray]]) -> float:
    """Return the largest D_ECE of an attacker, given log-posteriors by attacker, and truth, of groups of people."""
    truth = np.concatenate([each for _, each in groups])
    names = groups[0][0]
    return max(_largest_d_ece(np.concatenate([logs[name] for logs, _ in groups]), truth) for name in names)


def _largest_d_ece(log_posteriors: FloatArray, truth: IntArray) -> float:
    return max(class_d_ece(log_posteriors, truth, k) for k in evaluated_classes(log_posteriors.shape[1]))


def _predictions(learned: ClassSample, tested: ClassSample, names: Iterable[str]) -> dict[str, FloatArray]:
    """Return the log-posteriors of attackers of single rows."""
    attackers = {name: fitted(CLASSIFIERS.find(name).candidates(0)[0], learned) for name in names}
    return {name: attacker.log_posteriors(tested.x) for name, attacker in attackers.items()}


def _person_predictions(
    learned: ClassSample, tested: ClassSample, logs: Mapping[str, FloatArray]
) -> dict[str, FloatArray]:
    """Return the log-posteriors of attackers who have all vectors of a person, given those of single vectors."""
    means, tested_means = learned.means(), tested.means()
    differences = ClassSample(learned.x - means.x[learned.people], learned.y, learned.people)
    tested_differences = ClassSample(tested.x - tested_means.x[tested.people], tested.y, tested.people)
    of_differences = _predictions(differences, tested_differences, [name for name in logs if name in _OF_DIFFERENCES])
    averaged = {f"{name}, pooled": log_posteriors for name, log_posteriors in logs.items()}
    averaged |= {f"{name} of differences": log_posteriors for name, log_posteriors in of_differences.items()}
    averaged = {name: group_means(log_posteriors, tested.people) for name, log_posteriors in averaged.items()}
    return _predictions(means, tested_means, logs) | averaged
