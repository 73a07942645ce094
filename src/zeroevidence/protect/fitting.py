"""Fitting of protectors to labelled embeddings, by default of the strongest within a limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from zeroevidence._typing import FloatArray
from zeroevidence.data.embeddings import Embeddings, require_embeddings, require_speakers
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.assessment.labels import Roles, attribute_labels, cut_number, is_number, quantile_boundaries
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, fit_protector, seeded_protector
from zeroevidence.protect.attributes.protector import EmbeddingProtector, LabelledTransformer
from zeroevidence.protect.choice import ATTACKER_PEOPLE, PARTS, search
from zeroevidence.protect.models import ProtectorModel, check_dimension, new_model
from zeroevidence.protect.strengths import Limit
from zeroevidence.run import Run, no_step

DEFAULT_LIMIT = Limit("eer", 0.01, added=True)  # of the default protector
PLAIN_PROTECTOR = "transport"  # the default where nobody can be verified
KEEPING_PROTECTOR = "flow"  # the default with a second attribute to keep, or with a preset


def protectors_that_keep() -> list[str]:
    """Return the names of the attribute protectors that can keep a second attribute."""
    return [kind.name for kind in ATTRIBUTE_PROTECTORS.values() if "keep" in kind.fit_options]


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Which protector is fitted, or how it is chosen.

    Parameters
    ----------
    kind
        Name of an attribute protector. Unless given, it is the best of `quick_protectors` within the limit; `flow`
        with a second attribute to keep or a preset; and `transport` without noise where nobody can be verified (see
        `why_not_verified`).
    parameters
        Parameters of the protector that is named.
    preset
        Parameters to start from, by name.
    keep
        A second attribute that must survive, for a protector that supports it.
    classes
        How many classes an attribute that is a number is cut into, at quantiles of these people; the model's
        `boundaries` say where. Unless given, every label is a class.
    limit
        A limit on EER or D_ECE, as in ``eer=+1%``: protector and noise are chosen by cross-validation over the people
        of the embeddings, with attackers trained on protected vectors (see `search`). Where no protector is named it
        is one point of EER above that of unprotected vectors.
    attacker_people
        Number of people that an attacker learns from, whom the D_ECE of a choice is for.

    Examples
    --------
    >>> from zeroevidence.protect import FitOptions
    >>> FitOptions(parameters={"shrinkage": 0.1})
    Traceback (most recent call last):
    ...
    zeroevidence.errors.UsageError: shrinkage: name the protector that the parameters are for
    """

    kind: str | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    preset: str | None = None
    keep: str | None = None
    classes: int | None = None
    limit: Limit | str | None = None
    attacker_people: int = ATTACKER_PEOPLE

    def __post_init__(self) -> None:
        """Refuse what does not go together."""
        if self.limit is not None and (self.keep is not None or self.preset is not None):
            raise UsageError("a limit chooses the strength; it goes with neither a second attribute nor a preset")
        if self.parameters and self.plain:
            raise UsageError(f"{', '.join(self.parameters)}: name the protector that the parameters are for")

    @property
    def plain(self) -> bool:
        """Whether nothing is said that decides about the kind."""
        return self.kind is None and self.keep is None and self.preset is None


def fit(data: Embeddings, attribute: str, options: FitOptions = FitOptions(), run: Run = Run()) -> ProtectorModel:
    """Fit a protector to embeddings: the strongest that costs at most one point of EER, unless told otherwise.

    Parameters
    ----------
    data
        The embeddings, with the attribute among their columns.
    attribute
        What to conceal.
    options
        Which protector, or how it is chosen.
    run
        Seed of all random choices of fitting and choosing, workers, the folder where candidates are kept until one is
        chosen, and the progress; noise is drawn anew when it is applied.

    Returns
    -------
    The model; `choice` says what was chosen within which limit, and what is left.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import Embeddings
    >>> sex = np.repeat(["f", "m"], 20)
    >>> vectors = np.random.default_rng(0).normal(size=(40, 4)) + 2.0 * (sex == "m")[:, None]
    >>> model = fit(Embeddings(vectors, attributes={"sex": sex}), "sex", FitOptions("linear"))
    >>> bool(np.allclose(model.protector.llr(model.protector.transform(vectors)), 0.0))
    True
    """
    data, boundaries = cut_into_classes(sort_by_name(require_embeddings(data)), attribute, options.classes)
    kind, parameters, keep, choice = options.kind, options.parameters, options.keep, None
    if options.limit is not None or (options.plain and why_not_verified(data, attribute) is None):
        limit = Limit.parse(options.limit) if isinstance(options.limit, str) else options.limit
        candidates = None if kind is None else {kind: parameters}  # without a kind there are no parameters
        nearest, most = limit is None, options.attacker_people
        limit = limit or DEFAULT_LIMIT
        choice = search(data, attribute, limit, candidates, nearest=nearest, attacker_people=most, run=run)
        kind, parameters = choice.chosen.protector, {**parameters, "noise": choice.chosen.strength}
    elif kind is None:
        kind = PLAIN_PROTECTOR if options.plain else KEEPING_PROTECTOR
    if keep is not None and "keep" not in ATTRIBUTE_PROTECTORS.find(kind).fit_options:
        raise UsageError(f"{kind} cannot keep a second attribute; {', '.join(protectors_that_keep())} can")
    protector = fit_protector(
        seeded_protector(kind, parameters, run.seed, preset=options.preset),
        data,
        attribute_labels(data, attribute),
        keep=None if keep is None else attribute_labels(data, keep),
        step=run.progress(f"training {kind}", "epochs") if choice is None else no_step,
    )
    return new_model(protector, attribute, keep=keep, boundaries=boundaries, speakers=data.speakers, choice=choice)


def cut_into_classes(data: Embeddings, attribute: str, classes: int | None) -> tuple[Embeddings, tuple[float, ...]]:
    """Return embeddings with so many classes in place of an attribute that is a number, and their boundaries.

    Without a number of classes, or where labels are classes, embeddings stay as they are and there are no boundaries.
    """
    if classes is None or not is_number(attribute_labels(data, attribute)):
        return data, ()
    boundaries = quantile_boundaries(data, attribute, classes)
    return cut_number(data, attribute, boundaries), boundaries


def why_not_verified(data: Embeddings, attribute: str) -> str | None:
    """Return why the EER cannot be measured by cross-validation over people; None where it can."""
    if data.speakers is None:
        return "no people are named"
    _, rows = np.unique(data.speakers, return_counts=True)
    if 2 * np.count_nonzero(rows > 1) < len(rows):
        return "most people have one vector"
    labels = attribute_labels(data, attribute)
    for label in np.unique(labels):
        if len(np.unique(data.speakers[labels == label])) < PARTS:
            return f"{attribute} {str(label)!r} has fewer than {PARTS} people"
    return None


def fit_protectors(
    names: Sequence[str], data: Embeddings, attribute: str, options: FitOptions = FitOptions(), run: Run = Run()
) -> dict[str, EmbeddingProtector]:
    """Return several kinds of protectors, all unless named, fitted to the same embeddings.

    Protectors that can keep a second attribute do, and those that have the preset start from it. Noise is drawn by the
    seed, so that an assessment can be repeated.
    """
    kinds = [ATTRIBUTE_PROTECTORS.find(name) for name in names or ATTRIBUTE_PROTECTORS]
    if options.preset is not None and not any(options.preset in kind.presets for kind in kinds):
        raise UsageError(f"none of {', '.join(kind.name for kind in kinds)} has a preset {options.preset!r}")
    protectors = {}
    for kind in kinds:
        suited = FitOptions(
            kind.name,
            {"noise_seed": run.seed, **options.parameters},
            options.preset if options.preset in kind.presets else None,
            options.keep if "keep" in kind.fit_options else None,
        )
        protectors[kind.name] = fit(data, attribute, suited, run).protector
    return protectors


def shared_boundaries(models: Mapping[str, ProtectorModel], attribute: str) -> tuple[float, ...]:
    """Return the boundaries of the classes of an attribute that all models conceal, none unless it is a number."""
    for folder, model in models.items():
        if model.attribute != attribute:
            raise InputError(f"conceals {model.attribute!r}, not {attribute!r}", path=folder)
    boundaries = {model.boundaries for model in models.values()}
    if len(boundaries) > 1:
        raise UsageError(f"{', '.join(models)} cut the attribute into different classes; evaluate each by itself")
    return next(iter(boundaries), ())


def suitable_protectors(models: Mapping[str, ProtectorModel], roles: Roles) -> dict[str, EmbeddingProtector]:
    """Return the protectors of saved models by the names of their folders, and refuse those that do not suit.

    A model must be for vectors of this dimension, and have been trained on none of the people that attackers are
    trained and tested on.
    """
    protectors: dict[str, EmbeddingProtector] = {}
    people = sorted({*require_speakers(roles.attack).tolist(), *require_speakers(roles.test).tolist()})
    for folder, model in models.items():
        check_dimension(model, roles.test, folder)
        trained = model.seen(people)
        if trained:
            raise InputError(f"was trained on {len(trained)} of these speakers, among them {trained[0]!r}", path=folder)
        name = Path(folder).name
        if name in protectors:
            raise UsageError(f"two models are called {name!r}; expected different folder names")
        protectors[name] = model.protector
    return protectors


_ATTRIBUTE = "attribute"


class DefaultProtector(LabelledTransformer):
    """The strongest protection within a limit; see `zeroevidence.protect.fit`.

    Parameters
    ----------
    limit
        A limit on EER or D_ECE, as in ``eer=+1%``; fitting raises an InputError where no protector keeps to it. None:
        one point of EER above that of unprotected vectors, or the nearest to it; without noise where nobody can be
        verified.
    random_state
        Seed of all random choices of fitting.

    Attributes
    ----------
    protector_
        The protector that was chosen and fitted.
    choice_
        How it was chosen; None where nobody can be verified.

    Examples
    --------
    >>> from zeroevidence.protect import DefaultProtector
    >>> x = np.random.default_rng(0).normal(size=(40, 4))
    >>> unnamed = DefaultProtector().fit(x, np.repeat(["f", "m"], 20))  # nobody is named: no EER, no noise
    >>> unnamed.protector_, unnamed.choice_ is None
    (Transport(), True)
    >>> people = np.repeat(np.arange(16), 4)
    >>> rng = np.random.default_rng(0)
    >>> x = np.repeat(3.0 * rng.normal(size=(16, 4)), 4, axis=0) + rng.normal(size=(64, 4))
    >>> fitted = DefaultProtector().fit(x, np.where(people % 2, "m", "f"), speakers=people.astype(str))
    >>> str(fitted.choice_.limit), fitted.transform(x).shape
    ('eer=+1%', (64, 4))
    """

    def __init__(self, limit: str | None = None, random_state: int = 0) -> None:
        self.limit = limit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, speakers: Any = None) -> Self:
        """Choose a protector for vectors (n x d) and their labels, and fit it."""
        vectors, labels = self._labelled(X, y)
        data = Embeddings(vectors, speakers=speakers, attributes={_ATTRIBUTE: labels.astype(np.str_)})
        model = fit(data, _ATTRIBUTE, FitOptions(limit=self.limit), Run(seed=self.random_state))
        self.protector_, self.choice_ = model.protector, model.choice
        self.classes_ = np.unique(labels)
        return self

    def transform(self, X: Any, *, speakers: Any = None) -> FloatArray:
        """Return protected vectors; with `speakers`, people are protected as a whole."""
        check_is_fitted(self, "protector_")
        return self.protector_.transform(self._validated(X, reset=False), speakers=speakers)

    def save(self, folder: str | Path, *, attribute: str = "", overwrite: bool = False) -> None:
        """Write the chosen protector into a folder, from which `zeroevidence.load` reads it."""
        check_is_fitted(self, "protector_")
        self.protector_.save(folder, attribute=attribute, overwrite=overwrite)

    def llr(self, X: Any) -> FloatArray:
        """Return the evidence that the chosen protector sees."""
        check_is_fitted(self, "protector_")
        return self.protector_.llr(self._validated(X, reset=False))
