"""Every classifier against every protector's output, beside unprotected vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray, StrArray
from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import About, Evaluation, Flag, Options, evaluate, together
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import MEASURES, compute_family
from zeroevidence.measure.views import AttributeView
from zeroevidence.protect.assessment.choice import add_choice_flags, order_by_strength
from zeroevidence.protect.assessment.class_learning import (
    ClassSample,
    TrainedClassifier,
    evaluated_classes,
    log_odds,
    predict_all,
    speaker_folds,
    train_classifiers,
)
from zeroevidence.protect.assessment.classifiers.classifier import CLASSIFIERS, ClassifierKind
from zeroevidence.protect.assessment.intervals import class_measures, negative_bits_flags
from zeroevidence.protect.assessment.maps import FigureData, MapMethod, drawn
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.assessment.verification import verification as verified

_POINT_MASS = 0.01  # share of zeros from which a protector cannot do its work


def attribute_scores(scores: FloatArray, positive: BoolArray, ids: StrArray, speakers: StrArray) -> Scores:
    """Scores for a class as `Scores` that know whose they are, so that people are left out and permuted."""
    names, who = np.unique(speakers, return_inverse=True)
    at = np.arange(len(scores))
    return Scores(
        scores[positive],
        scores[~positive],
        Pairs(who[positive], at[positive]),
        Pairs(who[~positive], at[~positive]),
        names,
        ids,
        names,
        speakers,
    )


def assess(
    protectors: Mapping[str, Any],
    roles: Roles,
    attribute: str,
    *,
    keep: Sequence[str] = (),
    classifiers: Sequence[str] | None = None,
    cross_validated: bool = True,
    verification: bool = True,
    map_method: MapMethod = "pca",
    options: Options | None = None,
    seed: int = 0,
    dataset: str = "",
    progress: Callable[[int, int], None] | None = None,
) -> list[Evaluation]:
    """Attack every protector's output, beside unprotected vectors.

    Parameters
    ----------
    protectors, roles
        Transformers by name, fitted on other people than those who attack and are tested; who is used for what.
    attribute, keep, classifiers
        The attribute that should be concealed; further ones to report; names of registered classifiers.
    cross_validated
        Whether the people that attackers learn from choose settings and the strongest. Otherwise settings are the usual
        ones, nobody combines others, and the strongest on the tested people comes first, as in tables of three.
    verification, map_method, options, seed, dataset, progress
        Whether to verify speakers too; how to draw test vectors, and to measure; seed of the attackers; a label; called
        with the number of attacks done and wanted.

    Each system (``unprotected`` first), attribute and class gets a row for each classifier, the strongest first and
    those that judge whole people last; then the same classifier on what it was trained on; then a row of verification.

    Examples
    --------
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> roles = Roles.split(Embeddings(vectors, np.arange(96).astype(str), people, {"sex": sex}), "sex")
    >>> rows = assess({}, roles, "sex", classifiers=["logistic"], options=Options(intervals=0, null=0))
    >>> [row.about.role for row in rows]
    ['control', 'training', 'utility']
    """
    kinds, options = _chosen(protectors, classifiers), options or Options(seed=seed)
    systems: dict[str, Any] = {UNPROTECTED: None, **protectors}
    done = ProgressCounter(len(systems) * (len((attribute, *keep)) * len(kinds) + verification), progress)
    rows: list[Evaluation] = []
    groups: list[tuple[slice, FigureData]] = []  # rows on one attribute in one system's vectors, and figures
    for name, protector in systems.items():
        sides = {side: protected(getattr(roles, side), protector) for side in ("attack", "test")}
        words = {"system": name, **({"dataset": dataset} if dataset else {})}
        for one in (attribute, *keep):
            start = len(rows)
            target = _Target(sides["attack"], sides["test"], one, seed, options, words)
            rows += target.attacked(kinds, cross_validated, done)
            own = protector if one == attribute else None
            groups.append((slice(start, len(rows)), drawn(sides["test"], one, map_method, seed, own, roles.test)))
        if verification:
            rows.append(verified(roles.train, sides, options, words))
            done.advance()
    return add_choice_flags(together(order_by_strength(rows, groups)), [place for place, _ in groups])


def _chosen(protectors: Mapping[str, Any], classifiers: Sequence[str] | None) -> list[ClassifierKind]:
    """The classifiers; their names are checked, as are those of the protectors."""
    names = tuple(CLASSIFIERS) if classifiers is None else tuple(classifiers)
    if not names:
        raise UsageError(f"expected at least one classifier of {', '.join(CLASSIFIERS)}")
    kinds = [CLASSIFIERS.find(name) for name in dict.fromkeys(names)]
    combining = [kind.name for kind in kinds if kind.combines]
    if combining and not any(kind.learns_from == "vectors" for kind in kinds):
        raise UsageError(f"{combining[0]} combines classifiers of vectors; name some of these too")
    if UNPROTECTED in protectors:
        raise UsageError(f"{UNPROTECTED!r} is the name of unprotected vectors; call the protector something else")
    return kinds


class ProgressCounter:
    """Counts what is done, and tells."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.total, self.progress, self.done = total, progress, 0

    def advance(self, count: int = 1) -> None:
        """So many more."""
        self.done += count
        if self.progress is not None and count:
            self.progress(self.done, self.total)


class _Target:
    """One attribute in one system's vectors."""

    def __init__(
        self,
        attack: Embeddings,
        test: Embeddings,
        attribute: str,
        seed: int,
        options: Options,
        words: Mapping[str, str],
    ) -> None:
        self.attribute, self.seed, self.options, self.words = attribute, seed, options, words
        self.ids = {"attack": attack.ids, "test": test.ids}
        self.names = {side: np.unique(require_speakers(one)) for side, one in (("attack", attack), ("test", test))}
        self.classes, self.attack, self.test = attacked_samples(attack, test, attribute)
        self.flags = zero_entry_flags(attack.vectors)
        view = AttributeView(np.asarray(test.vectors), attribute_labels(test, attribute), seed)
        self.told: dict[str, MeasureResult] = {
            name: MeasureResult.of(name, value, MEASURES[name].method_of(view))
            for name, value in compute_family("attribute", view).items()
        }

    def attacked(
        self, kinds: Sequence[ClassifierKind], cross_validated: bool, done: ProgressCounter
    ) -> list[Evaluation]:
        """Of each classifier, a row for each class (one for two) on the test people, then on those trained on."""
        flags = self.flags
        if cross_validated and speaker_folds(self.attack.y, self.attack.people, self.seed) is None:
            flags = (*flags, flag("not-cross-validated"))
        learned: list[TrainedClassifier] = []
        for one in train_classifiers(kinds, self.attack, self.seed, cross_validated=cross_validated):
            learned.append(one)
            done.advance()
        done.advance(len(kinds) - len(learned))
        tested = predict_all(learned, self.test)
        without = replace(self.options, intervals=0, null=0)
        rows: list[Evaluation] = []
        for one in sorted(learned, key=lambda one: one.strength, reverse=True):  # of equals, the first is chosen
            told = {**self.told, **class_measures(*tested[one.kind.name], self.options)}
            own = (*flags, *negative_bits_flags(told))
            rows += [
                self._measured(one, k, scores, self.options).with_metrics(told).with_flags(*own)
                for k, scores in self._scored("test", *tested[one.kind.name])
            ]
            rows += [
                self._measured(one, k, scores, without, training=True)
                for k, scores in self._scored("attack", one.rows, one.told(one.rows.x))
            ]
        return rows

    def _scored(self, side: str, rows: ClassSample, told: FloatArray) -> Iterator[tuple[int, Scores]]:
        """For each class the scores for it against the rest."""
        names = self.names[side]
        single = len(rows.y) == len(self.ids[side])
        for k in evaluated_classes(len(self.classes)):
            ids = self.ids[side] if single else names
            yield k, attribute_scores(log_odds(told, k), rows.y == k, ids, names[rows.people])

    def _measured(
        self, one: TrainedClassifier, of_class: int, scores: Scores, options: Options, *, training: bool = False
    ) -> Evaluation:
        unprotected = self.words["system"] == UNPROTECTED
        names = [str(name) for name in self.classes]
        two = len(names) == 2
        return evaluate(
            scores,
            labels={**self.words, "split": "train" if training else "test", "attacker": one.kind.name},
            about=About(
                question="attribute",
                role="training" if training else "control" if unprotected else "attack",
                attribute=self.attribute,
                of_class=None if two else names[of_class],
                target_class=names[of_class] if two else None,
                other_class=names[1 - of_class] if two else None,
                development=None if training else one.evidence(of_class),
                pooled=one.kind.pools,
            ),
            options=options,
        )


def attacked_samples(attack: Embeddings, test: Embeddings, attribute: str) -> tuple[StrArray, ClassSample, ClassSample]:
    """The classes of an attribute, and what attackers learn from and are tested on."""
    learned, asked = (attribute_labels(side, attribute) for side in (attack, test))
    classes = np.unique(learned)
    if len(classes) < 2 or not np.array_equal(classes, np.unique(asked)):
        raise InputError(
            f"{attribute}: attackers are trained on {', '.join(classes)} and tested on "
            f"{', '.join(np.unique(asked))}; expected the same two or more classes"
        )
    samples = (
        ClassSample(
            np.asarray(side.vectors, dtype=np.float64),
            np.searchsorted(classes, labels),
            np.unique(require_speakers(side), return_inverse=True)[1],
        )
        for side, labels in ((attack, learned), (test, asked))
    )
    return classes, *samples  # type: ignore[return-value]


def zero_entry_flags(vectors: FloatArray) -> tuple[Flag, ...]:
    """A warning where many entries are exactly zero, as behind a ReLU."""
    share = float(np.mean(np.asarray(vectors) == 0.0))
    return (flag("zeros", percent=100 * share),) if share >= _POINT_MASS else ()


def protected(embeddings: Embeddings, protector: Any) -> Embeddings:
    """Embeddings through a fitted protector; as they are where there is none."""
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    if protector is not None:
        vectors = np.asarray(protector.transform(vectors), dtype=np.float64)
    return Embeddings(vectors, embeddings.ids, embeddings.speakers, embeddings.attributes)
