"""Every classifier against every protector's output, beside unprotected vectors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import BoolArray, FloatArray, StrArray
from zeroevidence.data.embeddings import Embeddings, speaker_names
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.data.threat import UNPROTECTED
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import About, Evaluation, Flag, Measured, Options, Points, evaluate, together
from zeroevidence.evaluation.finding import chances, strongest
from zeroevidence.evaluation.flags import flag
from zeroevidence.evaluation.results import measured
from zeroevidence.measure.registry import MEASURES, battery
from zeroevidence.measure.views import AttributeView
from zeroevidence.protect.assessment.classifiers import CLASSIFIERS, Classifier, find_classifier
from zeroevidence.protect.assessment.maps import MapMethod, draw_maps
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.assessment.utility import verification as verified
from zeroevidence.protect.transformers import balanced_weights

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
    verification: bool = True,
    mapped: MapMethod = "pca",
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
    verification, mapped, options, seed, dataset, progress
        Whether to verify speakers too; how to draw test vectors, and to measure; seed of the attackers; a label; called
        with the number of attacks done and wanted.

    Each system (``unprotected`` first), attribute and class gets a row for each classifier, the strongest first; then
    the same classifier on what it was trained on; then a row of verification.

    Examples
    --------
    >>> from zeroevidence.protect import LinearNuller
    >>> people, sex = np.repeat(np.arange(24), 4).astype(str), np.repeat(np.tile(["f", "m"], 12), 4)
    >>> vectors = np.random.default_rng(0).normal(size=(96, 6)) + 2.0 * (sex == "f")[:, None]
    >>> roles = Roles.split(Embeddings(vectors, np.arange(96).astype(str), people, {"sex": sex}), "sex")
    >>> nuller = LinearNuller().fit(roles.train.vectors, roles.train.attributes["sex"])
    >>> rows = assess({"linear": nuller}, roles, "sex", classifiers=["logistic"], options=Options(intervals=0, null=0))
    >>> [row.about.role for row in rows]
    ['control', 'training', 'utility', 'attack', 'training', 'utility']
    """
    names = _chosen(protectors, classifiers)
    systems: dict[str, Any] = {UNPROTECTED: None, **protectors}
    done = _Counter(len(systems) * (len((attribute, *keep)) * len(names) + verification), progress)
    rows: list[Evaluation] = []
    groups: list[tuple[slice, Mapping[str, Points]]] = []  # rows on one attribute in one system's vectors, and maps
    for name, protector in systems.items():
        sides = {side: _protected(getattr(roles, side), protector) for side in ("attack", "test")}
        words = {"system": name, **({"dataset": dataset} if dataset else {})}
        for one in (attribute, *keep):
            target = _Target(sides["attack"], sides["test"], one, seed, options or Options(seed=seed), words)
            start = len(rows)
            for classifier in names:
                rows += target.attacked(classifier)
                done.advance()
            maps = draw_maps(sides["test"], one, mapped, seed, protector if one == attribute else None, roles.test)
            groups.append((slice(start, len(rows)), maps))
        if verification:
            rows.append(verified(roles.train, sides, options or Options(seed=seed), words))
            done.advance()
    return together(_strongest_first(rows, groups))


def _chosen(protectors: Mapping[str, Any], classifiers: Sequence[str] | None) -> tuple[str, ...]:
    """Names of the classifiers, checked, as are those of the protectors."""
    names = tuple(CLASSIFIERS) if classifiers is None else tuple(classifiers)
    if not names:
        raise UsageError(f"expected at least one classifier of {', '.join(CLASSIFIERS)}")
    for name in names:
        find_classifier(name)
    if UNPROTECTED in protectors:
        raise UsageError(f"{UNPROTECTED!r} is the name of unprotected vectors; call the protector something else")
    return names


class _Counter:
    """Counts what is done, and tells."""

    def __init__(self, total: int, progress: Callable[[int, int], None] | None) -> None:
        self.total, self.progress, self.done = total, progress, 0

    def advance(self) -> None:
        self.done += 1
        if self.progress is not None:
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
        self.attack, self.test, self.attribute, self.seed = attack, test, attribute, seed
        self.options, self.words = options, words
        self.attack_labels, self.test_labels = attribute_labels(attack, attribute), attribute_labels(test, attribute)
        self.classes = np.unique(self.attack_labels)
        if len(self.classes) < 2 or not np.array_equal(self.classes, np.unique(self.test_labels)):
            raise InputError(
                f"{attribute}: attackers are trained on {', '.join(self.classes)} and tested on "
                f"{', '.join(np.unique(self.test_labels))}; expected the same two or more classes"
            )
        self.flags = point_mass_flags(attack.vectors)
        view = AttributeView(np.asarray(test.vectors), self.test_labels, seed)
        self.told: dict[str, Measured] = {
            name: measured(name, value, MEASURES[name].method(view))
            for name, value in battery("attribute", view).items()
        }

    def attacked(self, classifier: str) -> list[Evaluation]:
        """A row for each class (one for two classes) on the test people, then on the people trained on."""
        model = self._trained(classifier)
        test = [
            self._measured(classifier, one, self.options).with_metrics(self.told).with_flags(*self.flags)
            for one in self._scored(model, self.test, self.test_labels)
        ]
        without = replace(self.options, intervals=0, null=0)
        training = [
            self._measured(classifier, one, without, training=True)
            for one in self._scored(model, self.attack, self.attack_labels)
        ]
        return test + training

    def _trained(self, classifier: str) -> Classifier:
        _, y = np.unique(self.attack_labels, return_inverse=True)
        _, people = np.unique(speaker_names(self.attack), return_inverse=True)
        model = find_classifier(classifier).make(self.seed)
        # One thread: sums keep their order, and for so few vectors threads wait more than they work. A warning that
        # training did not converge does not matter: an attacker who stops early is still an attacker.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(np.asarray(self.attack.vectors), y, balanced_weights(y[:, None], people))
        return model

    def _scored(self, model: Classifier, side: Embeddings, labels: StrArray) -> Iterator[tuple[str | None, Scores]]:
        """For each class, named where there are more than two, the scores for it against the rest."""
        told = model.log_posteriors(np.asarray(side.vectors))
        for k in range(1 if len(self.classes) == 2 else 0, len(self.classes)):
            others = np.delete(told, k, axis=1)
            scores = told[:, k] - np.logaddexp.reduce(others, axis=1)
            name = str(self.classes[k]) if len(self.classes) > 2 else None
            yield name, attribute_scores(scores, labels == self.classes[k], side.ids, speaker_names(side))

    def _measured(
        self, classifier: str, one: tuple[str | None, Scores], options: Options, *, training: bool = False
    ) -> Evaluation:
        of_class, scores = one
        unprotected = self.words["system"] == UNPROTECTED
        return evaluate(
            scores,
            labels={**self.words, "split": "train" if training else "test", "attacker": classifier},
            about=About(
                question="attribute",
                role="training" if training else "control" if unprotected else "attack",
                attribute=self.attribute,
                of_class=of_class,
            ),
            options=options,
        )


def point_mass_flags(vectors: FloatArray) -> tuple[Flag, ...]:
    """A warning where many entries are exactly zero, as behind a ReLU."""
    share = float(np.mean(np.asarray(vectors) == 0.0))
    return (flag("zeros", percent=100 * share),) if share >= _POINT_MASS else ()


def _protected(embeddings: Embeddings, protector: Any) -> Embeddings:
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    if protector is not None:
        vectors = np.asarray(protector.transform(vectors), dtype=np.float64)
    return Embeddings(vectors, embeddings.ids, embeddings.speakers, embeddings.attributes)


def _strongest_first(
    rows: Sequence[Evaluation], groups: Sequence[tuple[slice, Mapping[str, Points]]]
) -> list[Evaluation]:
    """Each group by attacker, the strongest of those left first, and its maps with the first row.

    The rows of one attacker stay together. Chance is that of all rows, so that the finding names the same attackers.
    """
    result, chance = list(rows), chances(rows)
    for place, maps in groups:
        left: dict[str, list[int]] = {}
        for i in range(place.start, place.stop):
            left.setdefault(rows[i].labels["attacker"], []).append(i)
        ordered: list[int] = []
        while left:
            tested = [i for own in left.values() for i in own if rows[i].about.role != "training"]
            ordered += left.pop(rows[strongest(rows, tested, chance)].labels["attacker"])
        first, *others = (rows[i] for i in ordered)
        result[place] = [replace(first, maps=maps), *others]
    return result
