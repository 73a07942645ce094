"""Attacks on an attribute with classes: every classifier against every protector's output; and the utility beside it.

Utility is speaker verification with a PLDA trained on unprotected vectors, both sides protected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, StrArray
from zeroevidence.attack.backends import named_scores
from zeroevidence.attack.backends.plda import Plda
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import About, Evaluation, Options, evaluate
from zeroevidence.evaluation.rows.about import Role
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import MEASURES, compute_family
from zeroevidence.measure.pairs.verification import eer
from zeroevidence.measure.views import AttributeView
from zeroevidence.protect.assessment.class_learning import (
    ClassSample,
    TrainedClassifier,
    evaluated_classes,
    log_odds,
    predict_all,
    speaker_folds,
    train_classifiers,
)
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS, ClassifierKind
from zeroevidence.protect.assessment.labels import Roles, attribute_labels, number_class_flags
from zeroevidence.protect.assessment.rows import (
    Figures,
    MapMethod,
    figure_data,
    measure_class_bits,
    negative_bits_flags,
    ordered_rows,
    protect,
    zero_entry_flags,
)
from zeroevidence.run import Run, StepCounter


def attribute_scores(scores: FloatArray, positive: BoolArray, ids: StrArray, speakers: StrArray) -> Scores:
    """Return scores for a class as `Scores` with speakers, so that people can be left out and permuted."""
    names, speaker_numbers = np.unique(speakers, return_inverse=True)
    rows = np.arange(len(scores))
    mated, nonmated = (Pairs(speaker_numbers[side], rows[side]) for side in (positive, ~positive))
    return Scores(scores[positive], scores[~positive], mated, nonmated, names, ids, names, speakers)


@dataclass(frozen=True, slots=True)
class AttackOptions:
    """Who attacks, and what is reported beside.

    Parameters
    ----------
    classifiers
        Names of registered classifiers; all unless given.
    cross_validated
        Whether cross-validation over the people that attackers learn from chooses settings and the strongest attacker.
        Otherwise settings are the usual ones, no classifier combines others, and the strongest on the tested people
        comes first.
    keep
        Further attributes to report.
    verification
        Whether to verify speakers too.
    map_method
        How to map test vectors to a plane.
    dataset
        A label of all rows.

    Examples
    --------
    >>> from zeroevidence.protect import AttackOptions
    >>> [kind.title for kind in AttackOptions(["lda"]).kinds()]
    ['linear discriminant analysis with one shrunk covariance']
    """

    classifiers: Sequence[str] | None = None
    cross_validated: bool = True
    keep: Sequence[str] = ()
    verification: bool = True
    map_method: MapMethod = "pca"
    dataset: str = ""

    def kinds(self) -> list[ClassifierKind]:
        """Return the classifiers, each once."""
        names = tuple(CLASSIFIERS) if self.classifiers is None else self.classifiers
        if not names:
            raise UsageError(f"expected at least one classifier of {', '.join(CLASSIFIERS)}")
        kinds = [CLASSIFIERS.find(name) for name in dict.fromkeys(names)]
        combining = [kind.name for kind in kinds if kind.combines]
        if combining and not any(kind.learns_from == "vectors" for kind in kinds):
            raise UsageError(f"{combining[0]} combines classifiers of vectors; name some of these too")
        return kinds


def assess(
    protectors: Mapping[str, Any],
    roles: Roles,
    attribute: str,
    attack: AttackOptions = AttackOptions(),
    options: Options = Options(),
    run: Run = Run(),
) -> list[Evaluation]:
    """Attack every protector's output, beside unprotected vectors.

    Parameters
    ----------
    protectors
        Transformers by name, fitted on other people than those who attack and are tested.
    roles
        Who is used for what.
    attribute
        The attribute that should be concealed.
    attack
        Who attacks, and what is reported beside.
    options
        How to measure.
    run
        Seed of the attackers and of the intervals, level of these, and the progress in attacks.

    Returns
    -------
    For each system (``unprotected`` first), attribute and class a row for each classifier, the strongest first and
    those that judge whole people last; then the same classifier on its training data; then a row of verification.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> roles = Roles.split(Embeddings(vectors, np.arange(96).astype(str), people, {"sex": sex}), "sex")
    >>> rows = assess({}, roles, "sex", AttackOptions(["logistic"]), Options(intervals=0, null=0))
    >>> [row.about.role for row in rows]
    ['control', 'training', 'utility']
    """
    kinds = attack.kinds()
    if UNPROTECTED in protectors:
        raise UsageError(f"{UNPROTECTED!r} is the name of unprotected vectors; call the protector something else")
    systems: dict[str, Any] = {UNPROTECTED: None, **protectors}
    total = len(systems) * ((1 + len(attack.keep)) * len(kinds) + attack.verification)
    steps = StepCounter(run.progress("attacking", "attacks"), total)
    rows: list[Evaluation] = []
    groups: list[tuple[slice, Figures]] = []
    for name, protector in systems.items():
        sides = {side: protect(getattr(roles, side), protector) for side in ("attack", "test")}
        labels = {"system": name, **({"dataset": attack.dataset} if attack.dataset else {})}
        system = _System(**sides, labels=labels, steps=steps)
        for target in (attribute, *attack.keep):
            boundaries = roles.boundaries if target == attribute else ()
            group = _Target(system, target, boundaries, options, run).attacked(kinds, attack.cross_validated)
            shown = protector if target == attribute else None
            figures = figure_data(system.test, target, attack.map_method, run.seed, shown, roles.test)
            groups.append((slice(len(rows), len(rows) + len(group)), figures))
            rows += group
        if attack.verification:
            rows.append(verification(roles.train, sides, labels, options, run))
            steps.add()
    return ordered_rows(rows, groups)


@dataclass(frozen=True, slots=True)
class _System:
    """One system under attack: vectors that attackers learn from and are tested on, and the labels of its rows."""

    attack: Embeddings
    test: Embeddings
    labels: Mapping[str, str]
    steps: StepCounter  # attacks


class _Target:
    """One attribute in one system's vectors."""

    def __init__(
        self, system: _System, attribute: str, boundaries: tuple[float, ...], options: Options, run: Run
    ) -> None:
        self.system, self.attribute, self.boundaries = system, attribute, boundaries
        self.options, self.run = options, run
        self.classes, self.attack, self.test = attacked_samples(system.attack, system.test, attribute)
        view = AttributeView(np.asarray(system.test.vectors), attribute_labels(system.test, attribute), run.seed)
        self.metrics = {  # of single vectors
            name: MeasureResult.of(name, value, MEASURES[name].method_of(view))
            for name, value in compute_family("attribute", view).items()
        }

    def attacked(self, kinds: Sequence[ClassifierKind], cross_validated: bool) -> list[Evaluation]:
        """Return, for each classifier, a row for each class (one for two) on test people, then on training data."""
        flags = (*zero_entry_flags(self.system.attack.vectors), *number_class_flags(self.attribute, self.boundaries))
        if cross_validated and speaker_folds(self.attack.y, self.attack.people, self.run.seed) is None:
            flags = (*flags, flag("not-cross-validated"))
        attackers: list[TrainedClassifier] = []
        for attacker in train_classifiers(kinds, self.attack, self.run.seed, cross_validated=cross_validated):
            attackers.append(attacker)
            self.system.steps.add()
        self.system.steps.add(len(kinds) - len(attackers))
        tested = predict_all(attackers, self.test)
        point = replace(self.options, intervals=0, null=0)
        rows: list[Evaluation] = []
        for attacker in sorted(attackers, key=lambda attacker: attacker.strength, reverse=True):  # stable among equals
            sample, posteriors = tested[attacker.kind.name]
            bits = measure_class_bits(sample, posteriors, self.options, self.run)
            metrics = bits if attacker.kind.pools else {**self.metrics, **bits}
            for k, scores in self._scored(self.system.test, sample, posteriors):
                row = self._evaluated(attacker, k, scores, self.options)
                rows.append(row.with_metrics(metrics).with_flags(*flags, *negative_bits_flags(metrics)))
            for k, scores in self._scored(self.system.attack, attacker.rows, attacker.log_posteriors(attacker.rows.x)):
                rows.append(self._evaluated(attacker, k, scores, point, training=True))
        return rows

    def _scored(self, side: Embeddings, rows: ClassSample, log_posteriors: FloatArray) -> Iterator[tuple[int, Scores]]:
        """Yield for each class the scores for it against the rest."""
        names = np.unique(require_speakers(side))
        ids = side.ids if len(rows.y) == len(side.ids) else names
        for k in evaluated_classes(len(self.classes)):
            yield k, attribute_scores(log_odds(log_posteriors, k), rows.y == k, ids, names[rows.people])

    def _evaluated(
        self, attacker: TrainedClassifier, of_class: int, scores: Scores, options: Options, *, training: bool = False
    ) -> Evaluation:
        names = [str(name) for name in self.classes]
        two = len(names) == 2
        role: Role = "control" if self.system.labels["system"] == UNPROTECTED else "attack"
        return evaluate(
            scores,
            labels={**self.system.labels, "split": "train" if training else "test", "attacker": attacker.kind.name},
            about=About(
                question="attribute",
                role="training" if training else role,
                attribute=self.attribute,
                of_class=None if two else names[of_class],
                target_class=names[of_class] if two else None,
                other_class=names[1 - of_class] if two else None,
                boundaries=self.boundaries,
                development=None if training else attacker.evidence(of_class),
                pooled=attacker.kind.pools,
            ),
            options=options,
            run=self.run,
        )


def attacked_samples(attack: Embeddings, test: Embeddings, attribute: str) -> tuple[StrArray, ClassSample, ClassSample]:
    """Return the classes of an attribute, the sample that attackers learn from, and that they are tested on."""
    sides = [(side, attribute_labels(side, attribute)) for side in (attack, test)]
    classes, tested_classes = (np.unique(labels) for _, labels in sides)
    if len(classes) < 2 or not np.array_equal(classes, tested_classes):
        raise InputError(
            f"{attribute}: attackers are trained on {', '.join(classes)} and tested on "
            f"{', '.join(tested_classes)}; expected the same two or more classes"
        )
    learned, tested = (
        ClassSample(
            np.asarray(side.vectors, dtype=np.float64),
            np.searchsorted(classes, labels),
            np.unique(require_speakers(side), return_inverse=True)[1],
        )
        for side, labels in sides
    )
    return classes, learned, tested


@dataclass(frozen=True, slots=True, eq=False)
class Verifier:
    """A PLDA trained on unprotected vectors, and people whom it has not seen.

    Parameters
    ----------
    backend
        The PLDA.
    people
        Embeddings of the people to verify, in the order of speakers and identifiers.
    enrols
        Which of their vectors enrol them: the first half of each person's.
    """

    backend: Plda
    people: Embeddings
    enrols: BoolArray

    @classmethod
    def of(cls, train: Embeddings, people: Embeddings) -> Verifier:
        """Return the verifier of people by a PLDA trained on others."""
        backend = Plda().fit(np.asarray(train.vectors, dtype=np.float64), require_speakers(train, "train"))
        people = sort_by_name(people)
        names = require_speakers(people)
        enrols = np.zeros(len(names), dtype=bool)
        for name in np.unique(names):
            rows = np.flatnonzero(names == name)
            enrols[rows[: len(rows) // 2]] = True
        return cls(backend, people, enrols)

    def matrix(self, enrolment: FloatArray, trial: FloatArray) -> ScoreMatrix:
        """Return the scores of all trials, given all vectors as they enrol people and as they are compared."""
        names = require_speakers(self.people)
        compared = ~self.enrols & np.isin(names, names[self.enrols])
        profiles = self._with(enrolment).take(self.enrols).profiles()
        trials = self._with(trial).take(compared)
        scores = self.backend.score(np.asarray(profiles.vectors), np.asarray(trials.vectors))
        return named_scores(scores, trials, profiles)

    def rates(self, enrolment: FloatArray, trial: FloatArray) -> tuple[float, float]:
        """Return the EER, and how often the right person scores highest."""
        matrix = self.matrix(enrolment, trial)
        scores, mated = np.asarray(matrix.scores), np.asarray(matrix.mated)
        targets = np.zeros(scores.shape, dtype=bool)
        targets[np.arange(len(scores)), mated] = True
        return eer.unchecked(scores[targets], scores[~targets]), float(np.mean(scores.argmax(axis=1) == mated))

    def _with(self, vectors: FloatArray) -> Embeddings:
        return Embeddings(vectors, self.people.ids, self.people.speakers)


def verification(
    train: Embeddings, sides: Mapping[str, Embeddings], labels: Mapping[str, str], options: Options, run: Run
) -> Evaluation:
    """Return the verification of all people outside the training set.

    Parameters
    ----------
    train
        Unprotected embeddings that the PLDA is trained on.
    sides
        Embeddings of other people, of which the first half of each person's vectors enrols.
    labels
        Labels of the row.
    options
        How to measure.
    run
        Seed and level.
    """
    people = list(sides.values())
    vectors = np.concatenate([side.vectors for side in people])
    ids = np.concatenate([side.ids for side in people])
    verifier = Verifier.of(train, Embeddings(vectors, ids, np.concatenate([require_speakers(side) for side in people])))
    vectors = np.asarray(verifier.people.vectors)  # in their order
    matrix = verifier.matrix(vectors, vectors)
    # Both sides are protected or neither is: the system says which.
    labels = {**labels, "split": "test", "backend": verifier.backend.name}
    return evaluate(matrix, labels=labels, about=About(role="utility"), options=options, run=run)
