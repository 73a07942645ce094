"""Training of classifiers: settings, calibration and strength by cross-validation over people.

Nothing here sees the people that attackers are tested on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.measure.pairs.zebra import d_ece
from zeroevidence.protect.assessment.classifiers import Classifier, ClassifierKind, training_environment
from zeroevidence.protect.assessment.classifiers.estimators import LogLinear
from zeroevidence.protect.attributes.moments import balanced_weights, group_means

_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ClassSample:
    """Rows of numbers, and the class and speaker of each as numbers from zero.

    Examples
    --------
    >>> sample = ClassSample(np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))
    >>> sample.means().x
    array([[1., 2.],
           [4., 5.],
           [6., 7.]])
    """

    x: FloatArray
    y: IntArray
    people: IntArray

    @property
    def weights(self) -> FloatArray:
        """Weights that make classes equal, and people in a class."""
        return balanced_weights(self.y[:, None], self.people)

    def take(self, rows: BoolArray) -> ClassSample:
        """Return some of the rows, with people numbered from zero."""
        return ClassSample(self.x[rows], self.y[rows], np.unique(self.people[rows], return_inverse=True)[1])

    def means(self) -> ClassSample:
        """Return one row for each person: the mean of their rows."""
        first = np.unique(self.people, return_index=True)[1]
        return ClassSample(group_means(self.x, self.people), self.y[first], np.arange(len(first)))

    def statistics(self) -> ClassSample:
        """Return one row for each person: mean and log standard deviation of their rows."""
        mean = self.means()
        away = ClassSample((self.x - mean.x[self.people]) ** 2, self.y, self.people).means().x
        usual = np.maximum(away.mean(axis=0), 1e-12)
        return ClassSample(np.hstack([mean.x, 0.5 * np.log(away / usual + 1e-2)]), mean.y, mean.people)


@dataclass(frozen=True, slots=True, eq=False)
class TrainedClassifier:
    """A trained classifier, its calibration, and its results on the people it learned from.

    Parameters
    ----------
    kind
        Its registered kind.
    classifier
        The classifier, trained on all of these people.
    calibration
        Calibrates its log-posteriors; None without cross-validation.
    rows
        What it learned from.
    held_out
        Calibrated log-posteriors of the same rows, each person's by a classifier that had not seen them; None where
        people are too few to hold any out.
    """

    kind: ClassifierKind
    classifier: Classifier
    calibration: LogLinear | None
    rows: ClassSample
    held_out: FloatArray | None

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        """Return the calibrated log-posterior of each class for each row."""
        logs = self.classifier.log_posteriors(x)
        return logs if self.calibration is None else self.calibration.log_posteriors(logs)

    def evidence(self, of_class: int) -> float | None:
        """Return the D_ECE of a class among the people it learned from, all held out in turn."""
        return None if self.held_out is None else class_d_ece(self.held_out, self.rows.y, of_class)

    @property
    def strength(self) -> tuple[float, float]:
        """What attackers are ordered by: held-out D_ECE over all classes, then cross-entropy."""
        return (0.0, 0.0) if self.held_out is None else strength(self.held_out, self.rows)


def class_d_ece(log_posteriors: FloatArray, y: IntArray, of_class: int) -> float:
    """Return the D_ECE of one class against the rest."""
    scores = log_odds(log_posteriors, of_class)
    return d_ece.unchecked(scores[y == of_class], scores[y != of_class])


def log_odds(log_posteriors: FloatArray, of_class: int) -> FloatArray:
    """Return the log-odds of one class against the rest."""
    rest = np.logaddexp.reduce(np.delete(log_posteriors, of_class, axis=1), axis=1)
    return np.asarray(log_posteriors[:, of_class] - rest)


def evaluated_classes(classes: int) -> range:
    """Return the classes that get a row each: of two, only the second."""
    return range(1 if classes == 2 else 0, classes)


def speaker_folds(y: IntArray, people: IntArray, seed: int) -> IntArray | None:
    """Return the fold of each speaker, stratified by class; None where a class has a single speaker.

    Examples
    --------
    >>> speaker_folds(np.array([0, 0, 1, 1]), np.array([0, 1, 2, 3]), seed=0).tolist()
    [0, 1, 0, 1]
    """
    first = np.unique(people, return_index=True)[1]
    classes = y[first]
    count = min(_FOLDS, int(np.bincount(classes).min()))
    if count < 2:
        return None
    rng = np.random.default_rng(seed)
    folds = np.empty(len(first), dtype=np.int64)
    for k in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == k))
        folds[members] = np.arange(len(members)) % count
    return folds


def train_classifiers(
    kinds: Sequence[ClassifierKind], rows: ClassSample, seed: int, *, cross_validated: bool = True
) -> Iterator[TrainedClassifier]:
    """Train attackers, those that combine others last; without cross-validation none combines others."""
    folds = speaker_folds(rows.y, rows.people, seed) if cross_validated else None
    attackers: list[TrainedClassifier] = []
    for kind in sorted(kinds, key=lambda kind: kind.combines):  # a stable order
        if kind.combines and folds is None:
            continue
        scores = [each.held_out for each in attackers if each.kind.learns_from == "vectors"]
        attackers.append(train(kind, input_rows(kind, rows, scores), folds, seed))
        yield attackers[-1]


def input_rows(kind: ClassifierKind, rows: ClassSample, scores: Sequence[FloatArray | None]) -> ClassSample:
    """Return the input of an attacker of this kind, from vectors and the log-posteriors of other classifiers."""
    if kind.learns_from == "people":
        return rows.statistics()
    if kind.combines:
        rows = ClassSample(np.hstack([logs for logs in scores if logs is not None]), rows.y, rows.people)
    return rows.means() if kind.pools else rows


def train(kind: ClassifierKind, rows: ClassSample, folds: IntArray | None, seed: int) -> TrainedClassifier:
    """Choose among the candidates of a kind by their strength on held-out people, then train on everybody."""
    with training_environment():
        if folds is None:
            return TrainedClassifier(kind, fitted(kind.candidates(seed)[0], rows), None, rows, None)
        tried = [_held_out(kind, number, rows, folds, seed) for number in range(len(kind.candidates(seed)))]
        best = max(range(len(tried)), key=lambda number: tried[number][1])
        calibration, _, logs = tried[best]
        return TrainedClassifier(kind, fitted(kind.candidates(seed)[best], rows), calibration, rows, logs)


def fitted(classifier: Classifier, rows: ClassSample) -> Classifier:
    """Return a classifier after training."""
    classifier.fit(rows.x, rows.y, rows.weights, rows.people)
    return classifier


def _held_out(
    kind: ClassifierKind, number: int, rows: ClassSample, folds: IntArray, seed: int
) -> tuple[LogLinear, tuple[float, float], FloatArray]:
    """Return the calibration of held-out log-posteriors, their strength, and the calibrated log-posteriors."""
    logs = np.empty((len(rows.x), int(rows.y.max()) + 1))
    of_row = folds[rows.people]
    for fold in range(int(folds.max()) + 1):
        held = of_row == fold
        logs[held] = fitted(kind.candidates(seed)[number], rows.take(~held)).log_posteriors(rows.x[held])
    calibration = LogLinear()
    calibration.fit(logs, rows.y, rows.weights, rows.people)
    calibrated = calibration.log_posteriors(logs)
    return calibration, strength(calibrated, rows), calibrated


def strength(log_posteriors: FloatArray, rows: ClassSample) -> tuple[float, float]:
    """Return the D_ECE averaged over classes, and the mean log-posterior: with few people D_ECE is often equal."""
    mean = float(np.average(log_posteriors[np.arange(len(rows.y)), rows.y], weights=rows.weights))
    d_eces = [class_d_ece(log_posteriors, rows.y, k) for k in evaluated_classes(log_posteriors.shape[1])]
    return float(np.mean(d_eces)), mean


def predict_all(
    attackers: Sequence[TrainedClassifier], test: ClassSample
) -> Mapping[str, tuple[ClassSample, FloatArray]]:
    """Return for each attacker the tested rows (vectors, or people) and their log-posteriors."""
    by_name = {
        attacker.kind.name: attacker.log_posteriors(test.x)
        for attacker in attackers
        if attacker.kind.learns_from == "vectors"
    }
    results = {}
    for attacker in attackers:
        name, rows = attacker.kind.name, input_rows(attacker.kind, test, [*by_name.values()])
        results[name] = rows, by_name[name] if name in by_name else attacker.log_posteriors(rows.x)
    return results
