"""What attackers learn from the people they have: settings, calibration and strength by cross-validation over people.

Nothing here sees the people that attackers are tested on.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.measure.pairs.zebra import d_ece
from zeroevidence.protect.assessment.classifiers.classifier import Classifier, ClassifierKind
from zeroevidence.protect.assessment.classifiers.log_linear import LogLinear
from zeroevidence.protect.attributes.shared.labelled import balanced_weights

_FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class ClassSample:
    """Rows of numbers, the class of each and whose each is, as numbers from zero.

    Examples
    --------
    >>> one = ClassSample(np.arange(8.0).reshape(4, 2), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2]))
    >>> one.means().x
    array([[1., 2.],
           [4., 5.],
           [6., 7.]])
    """

    x: FloatArray
    y: IntArray
    people: IntArray

    @property
    def weights(self) -> FloatArray:
        """What makes classes count alike, and people in a class."""
        return balanced_weights(self.y[:, None], self.people)

    def take(self, rows: BoolArray) -> ClassSample:
        """Some of the rows."""
        return ClassSample(self.x[rows], self.y[rows], self.people[rows])

    def means(self) -> ClassSample:
        """One row for each person: the mean of their rows."""
        first = self._first()
        counts = np.bincount(self.people)[:, None]
        sums = np.zeros((len(first), self.x.shape[1]))
        np.add.at(sums, self.people, self.x)
        return ClassSample(sums / counts, self.y[first], np.arange(len(first)))

    def statistics(self) -> ClassSample:
        """One row for each person: mean and logarithm of the spread of their rows."""
        mean = self.means()
        away = ClassSample((self.x - mean.x[self.people]) ** 2, self.y, self.people).means().x
        usual = np.maximum(away.mean(axis=0), 1e-12)
        return ClassSample(np.hstack([mean.x, 0.5 * np.log(away / usual + 1e-2)]), mean.y, mean.people)

    def _first(self) -> IntArray:
        first: IntArray = np.unique(self.people, return_index=True)[1]
        return first


@dataclass(frozen=True, slots=True, eq=False)
class TrainedClassifier:
    """A trained attacker and what is known of it from the people it learned from.

    Parameters
    ----------
    kind, classifier, calibration
        What it is; trained on all of these people; what makes its log-probabilities calibrated, where anything does.
    rows
        What it learned from.
    held_out
        Calibrated log-probabilities of the same rows, each person's by a classifier that had not seen them; None where
        people are too few to hold any out.
    """

    kind: ClassifierKind
    classifier: Classifier
    calibration: LogLinear | None
    rows: ClassSample
    held_out: FloatArray | None

    def told(self, x: FloatArray) -> FloatArray:
        """Log-probability of each class for each row."""
        told = self.classifier.log_posteriors(x)
        return told if self.calibration is None else self.calibration.log_posteriors(told)

    def evidence(self, of_class: int) -> float | None:
        """D_ECE of a class among the people it learned from, all held out in turn."""
        return None if self.held_out is None else class_d_ece(self.held_out, self.rows.y, of_class)

    @property
    def strength(self) -> tuple[float, float]:
        """What attackers are ordered by: the same over all classes, and what tells equals apart."""
        return (0.0, 0.0) if self.held_out is None else strength(self.held_out, self.rows)


def class_d_ece(told: FloatArray, y: IntArray, of_class: int) -> float:
    """D_ECE of log-probabilities for one class against the rest."""
    scores = log_odds(told, of_class)
    return float(d_ece(scores[y == of_class], scores[y != of_class]))


def log_odds(told: FloatArray, of_class: int) -> FloatArray:
    """Log-odds of one class against the rest."""
    rest = np.logaddexp.reduce(np.delete(told, of_class, axis=1), axis=1)
    odds: FloatArray = told[:, of_class] - rest
    return odds


def evaluated_classes(classes: int) -> range:
    """Classes that get a row each: of two, the second speaks for both."""
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
        own = rng.permutation(np.flatnonzero(classes == k))
        folds[own] = np.arange(len(own)) % count
    return folds


def train_classifiers(
    kinds: Sequence[ClassifierKind], rows: ClassSample, seed: int, *, cross_validated: bool = True
) -> Iterator[TrainedClassifier]:
    """Train attackers, those who combine others after these; without cross-validation nobody combines."""
    folds = speaker_folds(rows.y, rows.people, seed) if cross_validated else None
    learned: list[TrainedClassifier] = []
    for kind in sorted(kinds, key=lambda kind: kind.combines):  # a stable order
        if kind.combines and folds is None:
            continue
        learned.append(learn(kind, input_rows(kind, rows, held_out_by(learned)), folds, seed))
        yield learned[-1]


def held_out_by(learned: Sequence[TrainedClassifier]) -> FloatArray | None:
    """What those who judge single vectors say about people that they had not seen, side by side."""
    told = [one.held_out for one in learned if one.kind.learns_from == "vectors" and one.held_out is not None]
    return np.hstack(told) if told else None


def input_rows(kind: ClassifierKind, rows: ClassSample, scores: FloatArray | None) -> ClassSample:
    """The rows that an attacker of this kind gets of vectors, and of what others say of these."""
    if kind.learns_from == "people":
        return rows.statistics()
    if not kind.combines:
        return rows
    assert scores is not None
    said = ClassSample(scores, rows.y, rows.people)
    return said.means() if kind.pools else said


def learn(kind: ClassifierKind, rows: ClassSample, folds: IntArray | None, seed: int) -> TrainedClassifier:
    """Choose among the candidates of a kind by what they tell of people held out, then train on everybody."""
    # One thread: sums keep their order, and for so few vectors threads wait more than they work. A warning that
    # training did not converge does not matter: an attacker who stops early is still an attacker.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if folds is None:
            return TrainedClassifier(kind, fitted(kind.candidates(seed)[0], rows), None, rows, None)
        tried = [
            _calibrated(rows, _held_out(kind, number, rows, folds, seed))
            for number in range(len(kind.candidates(seed)))
        ]
        best = max(range(len(tried)), key=lambda number: tried[number][1])
        calibration, _, told = tried[best]
        return TrainedClassifier(kind, fitted(kind.candidates(seed)[best], rows), calibration, rows, told)


def fitted(classifier: Classifier, rows: ClassSample) -> Classifier:
    """A classifier after training."""
    classifier.fit(rows.x, rows.y, rows.weights, rows.people)
    return classifier


def _held_out(kind: ClassifierKind, number: int, rows: ClassSample, folds: IntArray, seed: int) -> FloatArray:
    told = np.empty((len(rows.x), int(rows.y.max()) + 1))
    of_row = folds[rows.people]
    for fold in range(int(folds.max()) + 1):
        held = of_row == fold
        told[held] = fitted(kind.candidates(seed)[number], rows.take(~held)).log_posteriors(rows.x[held])
    return told


def _calibrated(rows: ClassSample, told: FloatArray) -> tuple[LogLinear, tuple[float, float], FloatArray]:
    """The calibration of log-probabilities, how strong they are, and what they are after it."""
    calibration = LogLinear()
    calibration.fit(told, rows.y, rows.weights, rows.people)
    told = calibration.log_posteriors(told)
    return calibration, strength(told, rows), told


def strength(told: FloatArray, rows: ClassSample) -> tuple[float, float]:
    """D_ECE, averaged over classes, and minus the cross-entropy: few people are often told apart by several."""
    evidence = float(np.mean([class_d_ece(told, rows.y, k) for k in evaluated_classes(told.shape[1])]))
    return evidence, float(np.average(told[np.arange(len(rows.y)), rows.y], weights=rows.weights))


def predict_all(
    learned: Sequence[TrainedClassifier], test: ClassSample
) -> Mapping[str, tuple[ClassSample, FloatArray]]:
    """For each attacker the tested rows (vectors, or people) and the log-probabilities it gives them."""
    said = {one.kind.name: one.told(test.x) for one in learned if one.kind.learns_from == "vectors"}
    scores = np.hstack(list(said.values())) if said else None
    found = {}
    for one in learned:
        rows = input_rows(one.kind, test, scores)
        told = said[one.kind.name] if one.kind.name in said else one.told(rows.x)
        found[one.kind.name] = rows, told
    return found
