"""Quick attackers that choose a protector and its strength, on single vectors or on several of one person."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.protect.assessment.class_attacks import attacked_samples
from zeroevidence.protect.assessment.class_learning import ClassSample, class_d_ece, evaluated_classes, fitted
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS, Classifier, training_environment
from zeroevidence.protect.attributes.moments import group_means

ATTACKERS = ("logistic", "qda", "kernel", "neighbours")  # of `CLASSIFIERS`, with their usual settings
_OF_DIFFERENCES = ("qda", "kernel")
_SEED = 0  # of the groups of vectors


def quick_attacks(
    attack: Embeddings, test: Embeddings, attribute: str, names: Sequence[str] = ATTACKERS, *, vectors: int | None = 1
) -> dict[str, float]:
    """Return the D_ECE on test people by the name of the attacker; the largest over classes.

    Attackers with several vectors of a person classify the mean of these, average the log-posteriors of single vectors,
    or classify the differences between vectors. Reported results come from `assessment`, which has more attackers, and
    stronger ones.

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
    vectors
        How many vectors of a person an attacker has at once, None for all; with several of them there are further
        attackers, who pool log-posteriors or use differences.

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
    >>> sorted(quick_attacks(data.take(odd), data.take(~odd), "sex", ["qda"], vectors=None))
    ['qda', 'qda of differences', 'qda, pooled']
    """
    return attacks_by_count(attack, test, attribute, names, [vectors])[vectors]


def attacks_by_count(
    attack: Embeddings,
    test: Embeddings,
    attribute: str,
    names: Sequence[str] = ATTACKERS,
    counts: Sequence[int | None] = (1, None),
) -> dict[int | None, dict[str, float]]:
    """Return what `quick_attacks` does for several numbers of vectors; classifiers of vectors are trained once."""
    classes, learned, tested = attacked_samples(attack, test, attribute)

    def disclosed(log_posteriors: FloatArray, truth: IntArray) -> float:
        return max(class_d_ece(log_posteriors, truth, k) for k in evaluated_classes(len(classes)))

    def by_several(count: int | None) -> dict[str, float]:
        rows, groups = _groups(learned.people, count)
        tested_rows, tested_groups = _groups(tested.people, count)
        means, tested_means = _grouped(learned, rows, groups), _grouped(tested, tested_rows, tested_groups)
        d_eces = {}
        for name in names:
            d_eces[name] = disclosed(_trained(name, means).log_posteriors(tested_means.x), tested_means.y)
            pooled = group_means(log_posteriors[name][tested_rows], tested_groups)
            d_eces[f"{name}, pooled"] = disclosed(pooled, tested_means.y)
        for name in (name for name in names if name in _OF_DIFFERENCES):
            differences = learned.x[rows] - means.x[groups]
            attacker = _trained(name, ClassSample(differences, learned.y[rows], learned.people[rows]))
            logs = attacker.log_posteriors(tested.x[tested_rows] - tested_means.x[tested_groups])
            d_eces[f"{name} of differences"] = disclosed(group_means(logs, tested_groups), tested_means.y)
        return d_eces

    with training_environment():
        log_posteriors = {name: _trained(name, learned).log_posteriors(tested.x) for name in names}
        single = {name: disclosed(logs, tested.y) for name, logs in log_posteriors.items()}
        return {count: single if count == 1 else by_several(count) for count in counts}


def _trained(name: str, sample: ClassSample) -> Classifier:
    return fitted(CLASSIFIERS.find(name).candidates(0)[0], sample)


def _groups(people: IntArray, size: int | None) -> tuple[IntArray, IntArray]:
    """Return rows in groups of this many of one person (all of those who have fewer), and the group of each row."""
    rng = np.random.default_rng(_SEED)
    groups: list[IntArray] = []
    for person in range(int(people.max()) + 1):
        rows = rng.permutation(np.flatnonzero(people == person))
        per_group = len(rows) if size is None else min(size, len(rows))
        count = len(rows) // per_group
        groups += np.split(rows[: count * per_group], count)
    return np.concatenate(groups), np.repeat(np.arange(len(groups)), [len(group) for group in groups])


def _grouped(sample: ClassSample, rows: IntArray, groups: IntArray) -> ClassSample:
    """Return the mean of each group, with its class and person."""
    first = np.unique(groups, return_index=True)[1]
    return ClassSample(group_means(sample.x[rows], groups), sample.y[rows[first]], sample.people[rows[first]])
