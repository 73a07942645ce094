"""Fitting of protectors to labelled embeddings, and protection of embeddings."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings, require_speakers
from zeroevidence.data.preparing.name_order import sort_by_name
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.assessment.numbers import attribute_numbers, with_bands
from zeroevidence.protect.assessment.roles import Roles, attribute_labels
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, protectors_of
from zeroevidence.protect.attributes.shared.bands import Bands
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector
from zeroevidence.protect.models import ProtectorModel, fit_kind, load_model, new_model
from zeroevidence.protect.tradeoff.strengths import Limit, choose_tradeoff, measure_tradeoffs
from zeroevidence.uncertainty.resampling.draws import Progress

DEFAULT_PROTECTOR = "flow"
DEFAULT_NUMBER_PROTECTOR = "conditional"


def protectors_that_keep() -> list[str]:
    """Return the names of the attribute protectors that can keep a second attribute."""
    return [kind.name for kind in ATTRIBUTE_PROTECTORS.values() if "keep" in kind.fit_options]


def fit_protector(
    data: Embeddings,
    attribute: str,
    kind: str | None = None,
    *,
    keep: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    preset: str | None = None,
    limit: Limit | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ProtectorModel:
    """Fit a protector to embeddings.

    Parameters
    ----------
    data
        The embeddings, with the attribute among their columns.
    attribute
        What to conceal.
    kind
        Name of an attribute protector. Unless given, it is the best of `quick_protectors` within the limit, or the flow
        without a limit.
    keep
        A second attribute that must survive, for a protector that supports it.
    parameters
        Parameters of the protector.
    preset
        Parameters to start from, by name.
    limit
        A limit on EER or D_ECE: the strength is chosen by cross-validation over the people of the embeddings, with
        attackers trained on protected vectors (see `tradeoff`).
    seed
        Seed of all random choices of fitting and choosing; noise is drawn anew when it is applied.
    progress
        Called with the number of epochs done and the largest number, by a protector that trains in epochs.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence import Embeddings
    >>> sex = np.repeat(["f", "m"], 20)
    >>> vectors = np.random.default_rng(0).normal(size=(40, 4)) + 2.0 * (sex == "m")[:, None]
    >>> model = fit_protector(Embeddings(vectors, attributes={"sex": sex}), "sex", "linear")
    >>> bool(np.allclose(model.protector.llr(model.protector.transform(vectors)), 0.0))
    True
    """
    data = sort_by_name(data)
    if limit is not None:
        if keep is not None or preset is not None:
            raise UsageError("a limit chooses the strength; it goes with neither a second attribute nor a preset")
        best = choose_tradeoff(
            measure_tradeoffs(data, attribute, kind and [kind], parameters=parameters, seed=seed), limit
        )
        kind = best.protector
        parameters = {**(parameters or {}), ATTRIBUTE_PROTECTORS.find(kind).cls.dial: best.strength}
    kind = kind or DEFAULT_PROTECTOR
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
    return new_model(protector, attribute, keep=keep, speakers=data.speakers)


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

    Parameters are those of `fit_protector`. Protectors that can keep a second attribute do, and those that have the
    preset start from it; `progress` is called with the name of a protector. Noise is drawn by the seed, so that an
    assessment can be repeated.
    """
    chosen = names or [kind.name for kind in protectors_of("classes")]
    if preset is not None and not any(preset in ATTRIBUTE_PROTECTORS.find(kind).presets for kind in chosen):
        raise UsageError(f"none of {', '.join(chosen)} has a preset {preset!r}")
    fixed = {"noise_seed": seed, **(parameters or {})}
    return {
        kind: fit_protector(
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
        _check_dimension(model, roles.test, folder)
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


def protect_embeddings(
    model: ProtectorModel,
    data: Embeddings,
    *,
    llr: float | None = None,
    noise_key: bytes | None = None,
    noise_seed: int | None = None,
) -> Embeddings:
    """Return embeddings without the evidence about the model's attribute, and without its labels.

    Parameters
    ----------
    model
        A fitted protector, and the attribute that it conceals.
    data
        The embeddings; identifiers, speakers and other attributes stay.
    llr
        Evidence to set instead of none, as a natural logarithm; for a protector of two classes that can set it.
    noise_key
        Makes noise the same for all vectors of a person, drawn from this key; it must be kept secret.
    noise_seed
        Seed of the noise, for experiments; drawn anew otherwise.
    """
    _check_dimension(model, data, None)
    vectors = np.asarray(data.vectors, dtype=np.float64)
    protector = model.protector
    if llr is None:
        if noise_seed is not None:
            protector = copy.copy(protector).set_params(noise_seed=noise_seed)
        people = None if noise_key is None else require_speakers(data)
        protected = protector.transform(vectors, speakers=people, noise_key=noise_key)
    elif hasattr(protector, "set_evidence") and len(protector.classes_) == 2:
        protected = protector.set_evidence(vectors, llr)
    else:
        raise UsageError("only a flow over two classes sets evidence to a value")
    precision = np.promote_types(data.vectors.dtype, np.float32)
    # the label itself would disclose what was removed from the vectors
    attributes = {name: values for name, values in data.attributes.items() if name != model.attribute}
    with np.errstate(over="ignore"):  # what does not fit is refused as not finite
        protected = protected.astype(precision)
    return Embeddings(protected, data.ids, data.speakers, attributes)


def _check_dimension(model: ProtectorModel, data: Embeddings, folder: str | Path | None) -> None:
    expected, dimension = model.protector.n_features_in_, data.vectors.shape[1]
    if dimension != expected:
        raise InputError(f"the model is for vectors of {expected} entries; these have {dimension}", path=folder)


def read_noise_key(path: str | Path) -> bytes:
    """Return the key in a file, without white space around it; an empty one is refused."""
    try:
        secret = Path(path).read_bytes().strip()
    except OSError as error:
        raise InputError(f"no key: {error.strerror}", path=path) from None
    if not secret:
        raise InputError("the key is empty", path=path)
    return secret
