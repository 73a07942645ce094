"""Fitting of protectors to labelled embeddings, and saved protectors for an assessment."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.applying import check_dimension
from zeroevidence.protect.assessment.numbers import attribute_numbers, with_bands
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, protectors_of
from zeroevidence.protect.attributes.shared.bands import Bands
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector
from zeroevidence.protect.models import ProtectorModel, fit_kind, load_model, new_model
from zeroevidence.protect.tradeoff.folds import PARTS, searched_people, split_people
from zeroevidence.protect.tradeoff.search import Choice, search
from zeroevidence.protect.tradeoff.strengths import (
    Limit,
    choose_tradeoff,
    measure_tradeoffs,
    quick_protectors,
)
from zeroevidence.uncertainty.resampling.draws import Progress

DEFAULT_LIMIT = Limit("eer", 0.01, added=True)  # of the default protector
PLAIN_PROTECTOR = "transport"  # the default where nobody can be verified
NUMBER_PROTECTOR = "conditional"  # the default for a number
KEEPING_PROTECTOR = "flow"  # the default with a second attribute to keep, or with a preset
MANY_PEOPLE = 200  # from so many on, a flow with a covariance for each class can do better than linear maps


def protectors_that_keep() -> list[str]:
    """Return the names of the attribute protectors that can keep a second attribute."""
    return [kind.name for kind in ATTRIBUTE_PROTECTORS.values() if "keep" in kind.fit_options]


def fit(
    data: Embeddings,
    attribute: str,
    kind: str | None = None,
    *,
    number: bool = False,
    keep: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    preset: str | None = None,
    limit: Limit | str | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ProtectorModel:
    """Fit a protector to embeddings: the strongest that costs at most one point of EER, unless told otherwise.

    Parameters
    ----------
    data
        The embeddings, with the attribute among their columns.
    attribute
        What to conceal.
    kind
        Name of an attribute protector. Unless given, it is the best of `default_candidates` within the limit;
        `conditional` for a number; `flow` with a second attribute to keep or a preset; and `transport` without noise
        where nobody can be verified (see `why_not_verified`).
    number
        Whether the attribute is a number.
    keep
        A second attribute that must survive, for a protector that supports it.
    parameters
        Parameters of the protector that is named.
    preset
        Parameters to start from, by name.
    limit
        A limit on EER or D_ECE, as in ``eer=+1%``: protector and noise are chosen by cross-validation over the people
        of the embeddings, with attackers trained on protected vectors (see `search`). Where no protector is named it
        is one point of EER above that of unprotected vectors.
    seed
        Seed of all random choices of fitting and choosing; noise is drawn anew when it is applied.
    progress
        Called with the number of steps done and to be done.

    Returns
    -------
    The model; `choice` says what was chosen within which limit, and what is left.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import Embeddings
    >>> sex = np.repeat(["f", "m"], 20)
    >>> vectors = np.random.default_rng(0).normal(size=(40, 4)) + 2.0 * (sex == "m")[:, None]
    >>> model = fit(Embeddings(vectors, attributes={"sex": sex}), "sex", "linear")
    >>> bool(np.allclose(model.protector.llr(model.protector.transform(vectors)), 0.0))
    True
    """
    data = sort_by_name(data)
    limit = Limit.parse(limit) if isinstance(limit, str) else limit
    if limit is not None and (keep is not None or preset is not None):
        raise UsageError("a limit chooses the strength; it goes with neither a second attribute nor a preset")
    plain = kind is None and keep is None and preset is None
    if parameters and plain and not number:
        raise UsageError(f"{', '.join(parameters)}: name the protector that the parameters are for")
    choice = None
    if limit is not None or (plain and why_not_verified(data, attribute, number) is None):
        settings = dict(parameters or {})
        if kind is not None or number:
            candidates = {kind or NUMBER_PROTECTOR: settings}
        else:
            candidates = default_candidates(data, attribute)
        choice = _choose(data, attribute, limit, candidates, seed, progress)
        kind = choice.chosen.protector
        parameters = {**candidates[kind], ATTRIBUTE_PROTECTORS.find(kind).cls.dial: choice.chosen.strength}
        progress = None
    elif kind is None:
        kind = KEEPING_PROTECTOR if not plain else NUMBER_PROTECTOR if number else PLAIN_PROTECTOR
    registered = ATTRIBUTE_PROTECTORS.find(kind)
    if keep is not None and "keep" not in registered.fit_options:
        raise UsageError(f"{kind} cannot keep a second attribute; {', '.join(protectors_that_keep())} can")
    protector = fit_kind(
        kind,
        data.vectors,
        (attribute_numbers if registered.conceals == "number" else attribute_labels)(data, attribute),
        parameters=parameters,
        preset=preset,
        seed=seed,
        speakers=data.speakers,
        keep=None if keep is None else attribute_labels(data, keep),
        progress=progress,
    )
    return new_model(protector, attribute, keep=keep, speakers=data.speakers, choice=choice)


def default_candidates(data: Embeddings, attribute: str) -> dict[str, dict[str, Any]]:
    """Return the protectors that the default is chosen from, with their parameters.

    They are those of `quick_protectors` and, for two classes of many people, a flow with a covariance for each class
    where torch is installed.
    """
    candidates: dict[str, dict[str, Any]] = {kind: {} for kind in quick_protectors()}
    people = len(np.unique(require_speakers(data)))
    two = len(np.unique(attribute_labels(data, attribute))) == 2
    if people >= MANY_PEOPLE and two and find_spec("torch") is not None:
        candidates["flow"] = {"covariances": "classes"}
    return candidates


def why_not_verified(data: Embeddings, attribute: str, number: bool = False) -> str | None:
    """Return why the EER cannot be measured by cross-validation over people; None where it can."""
    if data.speakers is None:
        return "no people are named"
    _, rows = np.unique(data.speakers, return_counts=True)
    if 2 * np.count_nonzero(rows > 1) < len(rows):
        return "most people have one vector"
    if number:
        return None if len(rows) >= 3 * PARTS else f"there are fewer than {3 * PARTS} people"
    labels = attribute_labels(data, attribute)
    for label in np.unique(labels):
        if len(np.unique(data.speakers[labels == label])) < PARTS:
            return f"{attribute} {str(label)!r} has fewer than {PARTS} people"
    return None


def _choose(
    data: Embeddings,
    attribute: str,
    limit: Limit | None,
    candidates: Mapping[str, Mapping[str, Any]],
    seed: int,
    progress: Progress | None,
) -> Choice:
    """Return the best candidate within a limit, or the nearest to the default limit where none is given."""
    own = [kind for kind in candidates if ATTRIBUTE_PROTECTORS.find(kind).cls.dial != "noise"]
    if own and limit is not None:  # a dial that needs another fit for each strength; the one protector that is named
        points = measure_tradeoffs(data, attribute, own, parameters=candidates[own[0]], seed=seed, progress=progress)
        people = len(np.unique(require_speakers(data)))
        searched = searched_people(split_people(data, attribute, seed=seed))
        return Choice(limit, points[0], choose_tradeoff(points, limit), True, people, searched)
    nearest = limit is None
    return search(data, attribute, limit or DEFAULT_LIMIT, candidates, nearest=nearest, seed=seed, progress=progress)


def fit_protectors(
    names: Sequence[str] | None,
    data: Embeddings,
    attribute: str,
    *,
    keep: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    preset: str | None = None,
    seed: int = 0,
    progress: Callable[[str], Progress | None] = lambda _: None,
) -> dict[str, EmbeddingProtector]:
    """Return several kinds of protectors, all of classes unless named, fitted to the same embeddings.

    Parameters are those of `fit`. Protectors that can keep a second attribute do, and those that have the
    preset start from it; `progress` is called with the name of a protector. Noise is drawn by the seed, so that an
    assessment can be repeated.
    """
    chosen = names or [kind.name for kind in protectors_of("classes")]
    if preset is not None and not any(preset in ATTRIBUTE_PROTECTORS.find(kind).presets for kind in chosen):
        raise UsageError(f"none of {', '.join(chosen)} has a preset {preset!r}")
    fixed = {"noise_seed": seed, **(parameters or {})}
    return {
        kind: fit(
            data,
            attribute,
            kind,
            keep=keep if kind in protectors_that_keep() else None,
            parameters=fixed,
            preset=preset if preset in ATTRIBUTE_PROTECTORS.find(kind).presets else None,
            seed=seed,
            progress=progress(kind),
        ).protector
        for kind in chosen
    }


def fit_number_protectors(
    names: Sequence[str] | None,
    data: Embeddings,
    attribute: str,
    *,
    bands: Bands | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 0,
    progress: Callable[[str], Progress | None] = lambda _: None,
) -> dict[str, EmbeddingProtector]:
    """Return protectors fitted against attackers of a number; those of classes conceal bands of it.

    Unless named, all that conceal a number are fitted and, with bands, all others too.
    """
    default = (*protectors_of("number"), *(protectors_of("classes") if bands else ()))
    chosen = [ATTRIBUTE_PROTECTORS.find(name) for name in names] if names else default
    protectors: dict[str, EmbeddingProtector] = {}
    for kind in chosen:
        labelled = data
        if kind.conceals == "classes":
            if bands is None:
                usable = ", ".join(kind.name for kind in protectors_of("number"))
                raise UsageError(f"{kind.name} conceals classes; give bands of {attribute} for it, or use {usable}")
            labelled = with_bands(data, attribute, bands)
        protectors |= fit_protectors(
            [kind.name], labelled, attribute, parameters=parameters, seed=seed, progress=progress
        )
    return protectors


def protector_fits(
    names: Iterable[str],
    attribute: str,
    *,
    keep: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    preset: str | None = None,
    seed: int = 0,
) -> dict[str, Callable[[Embeddings], EmbeddingProtector]]:
    """Return for each kind of protector a function that fits it to embeddings, as `fit_protectors` does."""

    def fitting(kind: str) -> Callable[[Embeddings], EmbeddingProtector]:
        start = preset if preset in ATTRIBUTE_PROTECTORS.find(kind).presets else None
        return lambda data: fit_protectors(
            [kind], data, attribute, keep=keep, parameters=parameters, preset=start, seed=seed
        )[kind]

    return {kind: fitting(kind) for kind in names}


def load_protectors(folders: Sequence[str | Path], roles: Roles, attribute: str) -> dict[str, EmbeddingProtector]:
    """Return saved protectors by the names of their folders, and refuse those that do not suit an assessment.

    A model must be for vectors of this dimension, conceal this attribute, and have been trained on none of the people
    that attackers are trained and tested on.
    """
    protectors: dict[str, EmbeddingProtector] = {}
    people = sorted({*require_speakers(roles.attack).tolist(), *require_speakers(roles.test).tolist()})
    for folder in folders:
        model = load_model(folder)
        check_dimension(model, roles.test, folder)
        if model.attribute != attribute:
            raise InputError(f"conceals {model.attribute!r}, not {attribute!r}", path=folder)
        trained = model.seen(people)
        if trained:
            raise InputError(f"was trained on {len(trained)} of these speakers, among them {trained[0]!r}", path=folder)
        name = Path(folder).name
        if name in protectors:
            raise UsageError(f"two models are called {name!r}; expected different folder names")
        protectors[name] = model.protector
    return protectors
