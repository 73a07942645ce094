"""How much of an attribute is left in protected embeddings, and how much of the speaker [Noé et al. 2022, sec. 4].

The attacker's classifiers are trained on *protected* vectors of people that the protector has not seen, and tested on
others again; the strongest counts. Utility is speaker verification with a PLDA trained on unprotected vectors, both
sides protected.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from threadpoolctl import threadpool_limits

from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.attack.plda import Plda
from zeroevidence.data.embeddings import Embeddings, mated_rows
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.evaluation import Evaluation, Metric, Options, evaluate
from zeroevidence.evaluation.results import Points
from zeroevidence.measure.attribute import mutual_information
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.protect.transformers import balanced_weights

CLASSIFIERS = ("logistic", "perceptron", "boosting")
UNPROTECTED = "none"
MapMethod = Literal["pca", "umap", "none"]
_MAPPED_POINTS = 2000
_LEVELS = 64
_POINT_MASS = 0.01  # share of zeros from which a protector cannot do its work


@dataclass(frozen=True, slots=True, eq=False)
class Roles:
    """Three groups of people: to train protectors (and the PLDA), to train attackers, and to test."""

    train: Embeddings
    attack: Embeddings
    test: Embeddings

    def __post_init__(self) -> None:
        for one, other in (("train", "attack"), ("train", "test"), ("attack", "test")):
            common = np.intersect1d(speakers_of(getattr(self, one), one), speakers_of(getattr(self, other), other))
            if len(common):
                raise InputError(
                    f"{one} and {other} share {len(common)} speaker(s), among them {str(common[0])!r}; expected other "
                    "people, or a classifier recognises them instead of the attribute"
                )

    @classmethod
    def split(cls, embeddings: Embeddings, attribute: str, *, seed: int = 0) -> Roles:
        """Thirds of the speakers of each class, at random."""
        speakers, labels = speakers_of(embeddings), labels_of(embeddings, attribute)
        rng = np.random.default_rng(seed)
        part = np.zeros(len(speakers), dtype=np.int64)
        start = 0
        for label in np.unique(labels):
            names = np.unique(speakers[labels == label])
            if len(names) < 3:
                raise InputError(
                    f"{attribute} {str(label)!r}: {len(names)} speaker(s); thirds of people need at least three"
                )
            for number, name in enumerate(rng.permutation(names)):
                # classes of few people do not all fill the same third
                part[speakers == name] = (start + number) % 3
            start += len(names)
        return cls(*(embeddings.take(part == number) for number in range(3)))


def speakers_of(embeddings: Embeddings, name: str = "embeddings") -> StrArray:
    """Speakers, which must be known."""
    if embeddings.speakers is None:
        raise InputError(f"{name}: speakers are not known; they must be, so that nobody is in two groups")
    return embeddings.speakers


def labels_of(embeddings: Embeddings, attribute: str) -> StrArray:
    """Labels of an attribute, one per vector and the same for all vectors of a speaker."""
    try:
        labels = embeddings.attributes[attribute]
    except KeyError:
        known = ", ".join(embeddings.attributes) or "none"
        raise InputError(f"no attribute {attribute!r} comes with the embeddings; there is {known}") from None
    empty = np.flatnonzero(labels == "")
    if len(empty):
        raise InputError(f"row {empty[0]} ({str(embeddings.ids[empty[0]])!r}): no {attribute}; expected a label")
    if embeddings.speakers is not None:
        pairs = np.unique(np.stack([embeddings.speakers, labels], axis=1), axis=0)
        twice = np.flatnonzero(pairs[1:, 0] == pairs[:-1, 0])
        if len(twice):
            raise InputError(f"speaker {str(pairs[twice[0], 0])!r} has more than one {attribute}; expected one")
    return labels


def attribute_scores(scores: FloatArray, positive: BoolArray, ids: StrArray, speakers: StrArray) -> Scores:
    """Scores for a class as `Scores` that know whose they are, so that people are resampled and permuted."""
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
    classifiers: Sequence[str] = CLASSIFIERS,
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
    protectors
        Fitted transformers by name. They must have been fitted on other people than those of `roles.attack` and
        `roles.test`.
    roles
        Who is used for what.
    attribute
        The attribute that should be concealed.
    keep
        Further attributes to report: what was to be kept.
    classifiers
        Of ``logistic``, ``perceptron`` and ``boosting``; each gets a row, and the strongest is what counts.
    verification
        Whether to verify speakers too.
    mapped
        How to draw test vectors in two dimensions.
    options
        How to measure.

    Returns
    -------
    list
        For each system (``none`` first), attribute and class a row for each classifier, the strongest first: tests with
        intervals and null, then the same classifier on what it was trained on; then a row of verification.
    """
    unknown = [name for name in classifiers if name not in CLASSIFIERS]
    if unknown or not classifiers:
        raise UsageError(f"unknown classifier {unknown[0] if unknown else ''!r}; expected {', '.join(CLASSIFIERS)}")
    if UNPROTECTED in protectors:
        raise UsageError(f"{UNPROTECTED!r} is the name of unprotected vectors; call the protector something else")
    systems: dict[str, Any] = {UNPROTECTED: None, **protectors}
    attributes = (attribute, *keep)
    total, done = len(systems) * (len(attributes) * len(classifiers) + verification), 0
    rows: list[Evaluation] = []

    def advance() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    for name, protector in systems.items():
        sides = {side: _protected(getattr(roles, side), protector) for side in ("attack", "test")}
        words = {"system": name, **({"dataset": dataset} if dataset else {})}
        for one in attributes:
            attack = _Attack(sides["attack"], sides["test"], one, seed, options or Options(seed=seed), words)
            found = []
            for classifier in classifiers:
                found += attack.rows(classifier)
                advance()
            maps = _maps(sides["test"], one, mapped, seed, protector if one == attribute else None, roles.test)
            rows += _strongest_first(found, maps)
        if verification:
            rows.append(_verified(roles.train, sides, options or Options(seed=seed), words))
            advance()
    return rows


class _Attack:
    """Classifiers of one attribute on one system's vectors."""

    def __init__(
        self,
        attack: Embeddings,
        test: Embeddings,
        attribute: str,
        seed: int,
        options: Options,
        words: Mapping[str, str],
    ) -> None:
        self.attack, self.test, self.attribute, self.seed, self.options = attack, test, attribute, seed, options
        self.words = {**words, "attribute": attribute}
        self.attack_labels, self.test_labels = labels_of(attack, attribute), labels_of(test, attribute)
        self.classes = np.unique(self.attack_labels)
        if len(self.classes) < 2 or not np.array_equal(self.classes, np.unique(self.test_labels)):
            raise InputError(
                f"{attribute}: attackers are trained on {', '.join(self.classes)} and tested on "
                f"{', '.join(np.unique(self.test_labels))}; expected the same two or more classes"
            )
        self.flags = point_mass_flags(attack.vectors)
        told = mutual_information(test.vectors, self.test_labels, seed=seed).mean()
        entry = CATALOGUE["mutual_information"]
        self.information = {entry.name: Metric(float(told), entry.unit, "k nearest neighbours")}

    def rows(self, classifier: str) -> list[Evaluation]:
        """A row for each class (one for two classes) on the test people, then on the people trained on."""
        _, y = np.unique(self.attack_labels, return_inverse=True)
        _, people = np.unique(speakers_of(self.attack), return_inverse=True)
        model = _classifier(classifier, self.seed)
        # One thread: sums keep their order, and for so few vectors threads wait more than they work. A warning that
        # training did not converge does not matter: an attacker who stops early is still an attacker.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(np.asarray(self.attack.vectors), y, balanced_weights(y[:, None], people))
        rows = []
        for split, side, labels in (("test", self.test, self.test_labels), ("train", self.attack, self.attack_labels)):
            told = model.log_posteriors(side.vectors)
            for k in range(1 if len(self.classes) == 2 else 0, len(self.classes)):
                others = np.delete(told, k, axis=1)
                scores = told[:, k] - np.logaddexp.reduce(others, axis=1)
                words = {**self.words, "split": split, "attacker": classifier}
                if len(self.classes) > 2:
                    words["class"] = str(self.classes[k])
                row = evaluate(
                    attribute_scores(scores, labels == self.classes[k], side.ids, speakers_of(side)),
                    labels=words,
                    options=self.options if split == "test" else replace(self.options, intervals=0, null=0),
                )
                if split == "test":
                    row = replace(row.with_metrics(self.information), flags=(*row.flags, *self.flags))
                rows.append(row)
        return rows


def point_mass_flags(vectors: FloatArray) -> tuple[str, ...]:
    """A warning where many entries are exactly zero, as behind a ReLU."""
    share = float(np.mean(np.asarray(vectors) == 0.0))
    if share < _POINT_MASS:
        return ()
    return (
        f"zeros: {100 * share:.0f} % of the entries are exactly zero; which ones they are can tell the attribute by "
        "itself, and no smooth map hides it. Use embeddings from before the rectifier.",
    )


class _Classifier:
    """A scikit-learn classifier behind standardisation, or behind `levels` of equal size for trees, weighted."""

    def __init__(self, model: Any, levels: int = 0) -> None:
        self.model, self.levels = model, levels

    def fit(self, x: FloatArray, y: IntArray, weights: FloatArray) -> None:
        self.mean, spread = x.mean(axis=0, dtype=float), x.std(axis=0, dtype=float)
        self.scale = np.where(spread > 0.0, spread, 1.0)
        if self.levels:
            # beforehand: the library's own bins of weighted data take a minute for a few hundred dimensions
            self.edges = np.quantile(x, np.arange(1, self.levels) / self.levels, axis=0)
        self.model.fit(self._input(x), y, sample_weight=weights)

    def _input(self, x: FloatArray) -> FloatArray:
        if not self.levels:
            return (x - self.mean) / self.scale  # type: ignore[no-any-return]
        columns = [np.searchsorted(edges, column) for edges, column in zip(self.edges.T, x.T, strict=True)]
        return np.stack(columns, axis=1).astype(np.float64)

    def log_posteriors(self, x: FloatArray) -> FloatArray:
        logs: FloatArray = np.log(np.maximum(self.model.predict_proba(self._input(x)), 1e-300))
        return logs


def _classifier(name: str, seed: int) -> _Classifier:
    if name == "logistic":
        from sklearn.linear_model import LogisticRegression

        return _Classifier(LogisticRegression(C=0.1, max_iter=1000))
    if name == "perceptron":
        from sklearn.neural_network import MLPClassifier

        return _Classifier(MLPClassifier((64,), alpha=1.0, max_iter=60, random_state=seed))
    from sklearn.ensemble import HistGradientBoostingClassifier

    trees = HistGradientBoostingClassifier(max_iter=60, random_state=seed, early_stopping=False)
    return _Classifier(trees, levels=_LEVELS)


def _protected(embeddings: Embeddings, protector: Any) -> Embeddings:
    vectors = np.asarray(embeddings.vectors, dtype=np.float64)
    if protector is not None:
        vectors = np.asarray(protector.transform(vectors), dtype=np.float64)
    return Embeddings(vectors, embeddings.ids, embeddings.speakers, embeddings.attributes)


def strength(row: Evaluation) -> float:
    """What the strongest attacker is told by."""
    value = row.metrics["d_ece"].value
    assert isinstance(value, float)
    return value


def _strongest_first(rows: list[Evaluation], maps: dict[str, Points]) -> list[Evaluation]:
    """By test D_ECE, largest over the classes; the maps go with the first row."""
    found: dict[str, list[Evaluation]] = {}
    for row in rows:
        found.setdefault(row.labels["attacker"], []).append(row)
    order = sorted(
        found.values(), key=lambda group: -max(strength(row) for row in group if row.labels["split"] == "test")
    )
    ordered = [row for group in order for row in group]
    return [replace(ordered[0], maps=maps), *ordered[1:]]


def _maps(
    test: Embeddings, attribute: str, method: MapMethod, seed: int, protector: Any, original: Embeddings
) -> dict[str, Points]:
    """Test vectors in two dimensions and, of a flow, its first two latent coordinates."""
    if method == "none":
        return {}
    some = np.random.default_rng(seed).permutation(len(test))[:_MAPPED_POINTS]
    labels = tuple(str(label) for label in labels_of(test, attribute)[some])

    def points(plane: FloatArray) -> Points:
        return Points(tuple(float(v) for v in plane[:, 0]), tuple(float(v) for v in plane[:, 1]), labels)

    maps = {"vectors": points(flat(np.asarray(test.vectors)[some], method, seed))}
    if hasattr(protector, "to_latent"):
        maps["latent"] = points(protector.to_latent(np.asarray(original.vectors, dtype=np.float64)[some])[:, :2])
    return maps


def flat(vectors: FloatArray, method: MapMethod = "pca", seed: int = 0) -> FloatArray:
    """Vectors in two dimensions: their first principal components, or UMAP (30 neighbours, as in the paper)."""
    if method == "umap":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                import umap

                made = umap.UMAP(n_neighbors=min(30, len(vectors) - 1), random_state=seed, n_jobs=1)
                plane: FloatArray = made.fit_transform(vectors).astype(np.float64)
        except ImportError as error:
            raise MissingExtra("umap", "a map by UMAP") from error
        return plane
    centred = vectors - vectors.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    u = u[:, :2] * s[:2]
    signs = np.sign(u[np.abs(u).argmax(axis=0), np.arange(u.shape[1])])  # else the sign is the library's whim
    components: FloatArray = u * np.where(signs == 0.0, 1.0, signs)
    return components


def _verified(
    train: Embeddings, sides: Mapping[str, Embeddings], options: Options, words: Mapping[str, str]
) -> Evaluation:
    """Verification of all people outside the training set: the first half of each one's vectors enrols, by name."""
    backend = Plda().fit(np.asarray(train.vectors, dtype=np.float64), speakers_of(train, "train"))
    ids = np.concatenate([side.ids for side in sides.values()])
    people = np.concatenate([speakers_of(side) for side in sides.values()])
    everyone = Embeddings(np.concatenate([side.vectors for side in sides.values()]), ids, people)
    enrols = np.zeros(len(ids), dtype=bool)
    for name in np.unique(people):
        own = np.flatnonzero(people == name)
        own = own[np.argsort(ids[own], kind="stable")]
        enrols[own[: len(own) // 2]] = True
    tried = ~enrols & np.isin(people, people[enrols])
    profiles, trial = everyone.take(enrols).profiles(), everyone.take(tried)
    matrix = ScoreMatrix(
        backend.score(np.asarray(profiles.vectors), np.asarray(trial.vectors)),
        mated_rows(trial, profiles),
        trials=trial.ids,
        enrolments=profiles.ids,
        trial_speakers=trial.speakers,
        enrolment_speakers=profiles.speakers,
    )
    side = "original" if words["system"] == UNPROTECTED else "protected"
    return evaluate(
        matrix,
        labels={**words, "split": "test", "enrolment": side, "trial": side, "backend": "plda"},
        options=options,
    )
