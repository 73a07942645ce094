"""Protectors on disk: numbers as safetensors, everything else as JSON; nothing in them is ever run.

A model is a folder with `model.json` (what it is, for which attribute, classes and dimension, how it was made) and
`model.safetensors`. Training speakers are kept as digests, so that an evaluation can refuse people the model has seen
without the file naming them; short or guessable names can still be guessed.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence._version import __version__
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.protect.adversarial import AdversarialAutoencoder
from zeroevidence.protect.flow import ZeroEvidenceFlow
from zeroevidence.protect.linear import LinearNuller
from zeroevidence.protect.transformers import EmbeddingProtector

SCHEMA = "zeroevidence/protector/1"
PROTECTORS: dict[str, type[EmbeddingProtector]] = {
    one.kind: one for one in (LinearNuller, AdversarialAutoencoder, ZeroEvidenceFlow)
}
_DESCRIPTION, _NUMBERS = "model.json", "model.safetensors"


@dataclass(frozen=True, slots=True)
class Model:
    """A fitted protector and what it is for."""

    protector: EmbeddingProtector
    attribute: str
    keep: str | None = None
    trained_on: dict[str, int] = field(default_factory=dict)  # vectors, speakers
    speakers: frozenset[str] = frozenset()  # digests

    def seen(self, names: Iterable[str]) -> list[str]:
        """Which of these people the model was trained on."""
        return [name for name in names if _digest(name) in self.speakers]


def make_protector(kind: str, parameters: dict[str, Any]) -> EmbeddingProtector:
    """An unfitted protector of a kind with some of its parameters set."""
    try:
        made = PROTECTORS[kind]()
    except KeyError:
        raise UsageError(f"unknown protector {kind!r}; expected one of {', '.join(PROTECTORS)}") from None
    known = made.get_params()
    for name in parameters:
        if name not in known:
            raise UsageError(f"{kind} has no parameter {name!r}; it has {', '.join(sorted(known))}")
    return made.set_params(**parameters)  # type: ignore[no-any-return]


def new_model(protector: EmbeddingProtector, attribute: str, *, keep: str | None = None, speakers: Any = None) -> Model:
    """A model around a protector that was just fitted on the vectors of these speakers (one name per vector)."""
    names = [] if speakers is None else np.unique(np.asarray(speakers)).tolist()
    counts = {} if speakers is None else {"vectors": len(speakers), "speakers": len(names)}
    return Model(protector, attribute, keep, counts, frozenset(_digest(name) for name in names))


def save_model(model: Model, folder: str | Path) -> None:
    """Write a model into a folder, which must be new or empty."""
    tensors = _safetensors()
    path = Path(folder)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path}: exists; expected a new folder for the model")
    protector = model.protector
    arrays = {name: np.ascontiguousarray(array) for name, array in protector._arrays().items()}
    numbers = tensors.save(arrays)
    description = {
        "schema": SCHEMA,
        "version": __version__,
        "protector": protector.kind,
        "parameters": protector.get_params(),
        "attribute": model.attribute,
        "classes": protector.classes_.tolist(),
        "keep": model.keep,
        "kept_classes": getattr(protector, "kept_classes_", np.array([])).tolist(),
        "dimension": int(protector.n_features_in_),
        "trained_on": model.trained_on,
        "speakers": sorted(model.speakers),
        "sha256": hashlib.sha256(numbers).hexdigest(),
    }
    path.mkdir(parents=True, exist_ok=True)
    _write(path / _NUMBERS, numbers)
    # last, so that a folder without it is seen to be incomplete
    _write(path / _DESCRIPTION, (json.dumps(description, indent=1, ensure_ascii=False) + "\n").encode())


def load_model(folder: str | Path) -> Model:
    """Read a model that `save_model` wrote."""
    path = Path(folder)
    try:
        description = json.loads((path / _DESCRIPTION).read_text(encoding="utf-8"))
        numbers = (path / _NUMBERS).read_bytes()
    except OSError as error:
        raise InputError(f"no model: {error.strerror} ({Path(str(error.filename)).name})", path=path) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", path=path / _DESCRIPTION) from None
    found = description.get("schema") if isinstance(description, dict) else None
    if found != SCHEMA:
        raise InputError(f"expected a model with schema {SCHEMA!r}, got {found!r}", path=path / _DESCRIPTION)
    if hashlib.sha256(numbers).hexdigest() != description.get("sha256"):
        raise InputError("does not belong to the model.json beside it (another digest)", path=path / _NUMBERS)
    tensors = _safetensors()
    try:
        protector = make_protector(description["protector"], description["parameters"])
        protector.classes_ = np.array(description["classes"])
        if description["kept_classes"]:
            protector.kept_classes_ = np.array(description["kept_classes"])
        protector.n_features_in_ = int(description["dimension"])
        protector._restore(tensors.load(numbers))
        return Model(
            protector,
            description["attribute"],
            description["keep"],
            description["trained_on"],
            frozenset(description["speakers"]),
        )
    except (KeyError, TypeError, ValueError, RuntimeError, UsageError) as error:
        raise InputError(f"a model that cannot be used: {error}", path=path) from None


def _digest(name: str) -> str:
    return hashlib.sha256(f"zeroevidence speaker {name}".encode()).hexdigest()[:16]


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError as error:
        raise MissingExtra("flow", "a saved protector") from error
    return safetensors.numpy


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
