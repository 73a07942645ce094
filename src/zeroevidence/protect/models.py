"""Saved models of attribute protectors, arrays as safetensors and the rest as JSON, and what they protect."""

from __future__ import annotations

import copy
import hashlib
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import error_reason, reading_file, unchanged
from zeroevidence.data.json_values import read_json, typed
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.protect.attributes import make_protector
from zeroevidence.protect.attributes.protector import (
    DESCRIPTION,
    NUMBERS,
    SCHEMA,
    EmbeddingProtector,
    check_numbers,
    safetensors,
    write_model,
)

if TYPE_CHECKING:
    from zeroevidence.protect.choice import Choice


@dataclass(frozen=True, slots=True)
class ProtectorModel:
    """A fitted protector, the attribute that it conceals, and the speakers that it was trained on.

    A model is a folder with `model.json` (protector, attribute, classes, dimension, parameters) and
    `model.safetensors`; reading it executes nothing. Training speakers are stored as digests, so that an evaluation can
    refuse people that the model was trained on, and the file does not name them. Short names can still be guessed.

    Examples
    --------
    >>> from zeroevidence.protect import ProtectorModel, make_protector
    >>> nuller = make_protector("linear").fit([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]], ["f", "f", "m", "m"])
    >>> model = ProtectorModel(nuller, "sex", trained_on={"vectors": 4})
    >>> model.attribute, model.seen(["ada"])
    ('sex', [])
    """

    protector: EmbeddingProtector
    attribute: str
    keep: str | None = None
    trained_on: dict[str, int] = field(default_factory=dict)  # vectors, speakers
    speakers: frozenset[str] = frozenset()  # digests
    boundaries: tuple[float, ...] = ()  # of the classes that a number was cut into
    choice: Choice | None = None  # how it was chosen within a limit; not read back from files

    def seen(self, names: Iterable[str]) -> list[str]:
        """Return those of the speakers that the model was trained on."""
        return [name for name in names if _digest(name) in self.speakers]


def new_model(
    protector: EmbeddingProtector,
    attribute: str,
    *,
    keep: str | None = None,
    boundaries: tuple[float, ...] = (),
    speakers: Any = None,
    choice: Choice | None = None,
) -> ProtectorModel:
    """Return the model of a protector that was just fitted.

    Parameters
    ----------
    protector
        The fitted protector.
    attribute
        What it conceals.
    keep
        The second attribute that it keeps.
    boundaries
        Boundaries of the classes that the attribute's numbers were cut into.
    speakers
        The speakers of the training vectors, one name for each vector.
    choice
        How protector and strength were chosen within a limit.

    Examples
    --------
    >>> from zeroevidence.protect import make_protector, new_model
    >>> nuller = make_protector("linear").fit([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]], ["f", "f", "m", "m"])
    >>> model = new_model(nuller, "sex", speakers=["ada", "eve", "bob", "dan"])
    >>> model.trained_on
    {'vectors': 4, 'speakers': 4}
    >>> model.seen(["eve", "zoe"])
    ['eve']
    """
    names = [] if speakers is None else np.unique(np.asarray(speakers)).tolist()
    counts = {} if speakers is None else {"vectors": len(speakers), "speakers": len(names)}
    digests = frozenset(_digest(name) for name in names)
    return ProtectorModel(protector, attribute, keep, counts, digests, boundaries, choice)


def save_model(model: ProtectorModel, folder: str | Path, *, overwrite: bool = False) -> None:
    """Write a model into a folder, which must be new or empty, or with `overwrite` hold an earlier model.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from zeroevidence.protect import make_protector, new_model, save_model
    >>> nuller = make_protector("linear").fit([[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]], ["f", "f", "m", "m"])
    >>> with TemporaryDirectory() as folder:
    ...     save_model(new_model(nuller, "sex"), folder)
    ...     sorted(path.name for path in Path(folder).iterdir())
    ['model.json', 'model.safetensors']
    """
    about = {
        "attribute": model.attribute,
        "boundaries": list(model.boundaries),
        "keep": model.keep,
        "trained_on": model.trained_on,
        "speakers": sorted(model.speakers),
        "choice": None if model.choice is None else model.choice.to_dict(),
    }
    write_model(model.protector, about, folder, overwrite=overwrite)


def load(folder: str | Path) -> EmbeddingProtector:
    """Return a protector that its method `save`, or `save_model`, wrote.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import zeroevidence as ze
    >>> x, sex = np.random.default_rng(0).normal(size=(40, 4)), np.repeat(["f", "m"], 20)
    >>> protector = ze.protect.Leace().fit(x, sex)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     protector.save(folder, attribute="sex")
    ...     bool(np.allclose(ze.load(folder).transform(x), protector.transform(x)))
    True
    """
    return load_model(folder).protector


def load_model(folder: str | Path) -> ProtectorModel:
    """Read a model that `save_model` wrote.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from zeroevidence.protect import load_model, make_protector, new_model, save_model
    >>> x, sex = [[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 2.0]], ["f", "f", "m", "m"]
    >>> with TemporaryDirectory() as folder:
    ...     save_model(new_model(make_protector("linear", shrinkage=0.5).fit(x, sex), "sex"), folder)
    ...     model = load_model(folder)
    >>> model.attribute, model.protector
    ('sex', LinearNuller(shrinkage=0.5))
    """
    path = Path(folder)
    try:
        with unchanged(path / DESCRIPTION), unchanged(path / NUMBERS):
            text = (path / DESCRIPTION).read_text(encoding="utf-8")
            numbers = (path / NUMBERS).read_bytes()
    except OSError as error:
        raise InputError(f"no model: {error.strerror} ({Path(str(error.filename)).name})", path=path) from None
    except ValueError as error:
        raise InputError(f"not text: {error}", path=path / DESCRIPTION) from None
    content = read_json(text, path / DESCRIPTION)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != SCHEMA:
        raise InputError(f"expected a model with schema {SCHEMA!r}, got {str(schema)[:40]!r}", path=path / DESCRIPTION)
    with reading_file(path / DESCRIPTION, "a model"):
        description = typed(_Description, content, "model")
    if hashlib.sha256(numbers).hexdigest() != description.sha256:
        raise InputError("does not belong to the model.json beside it (another digest)", path=path / NUMBERS)
    with reading_file(path / NUMBERS, "safetensors"):
        arrays = safetensors().load(numbers)
        check_numbers(arrays)
    protector = _restored(description, arrays, path)
    counts, digests = dict(description.trained_on), frozenset(description.speakers)
    return ProtectorModel(protector, description.attribute, description.keep, counts, digests, description.boundaries)


@dataclass(frozen=True, slots=True)
class _Description:
    """Content of `model.json`."""

    schema: str
    version: str
    protector: str
    parameters: Mapping[str, Any]
    attribute: str
    classes: tuple[str | int | float, ...]
    dimension: int
    sha256: str
    trained_on: Mapping[str, int]
    speakers: tuple[str, ...]
    boundaries: tuple[float, ...] = ()
    keep: str | None = None
    kept_classes: tuple[str | int | float, ...] = ()
    choice: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.dimension < 1:
            raise UsageError(f"dimension: expected at least 1, got {self.dimension}")
        for name, classes in (("classes", self.classes), ("kept_classes", self.kept_classes)):
            if len(set(classes)) < len(classes) or len(classes) == 1 or (name == "classes" and not classes):
                raise UsageError(f"{name}: expected at least two, each once")
            if len({isinstance(label, str) for label in classes}) > 1:
                raise UsageError(f"{name}: expected texts or numbers, got both")
        if any(isinstance(value, (list, Mapping)) for value in self.parameters.values()):
            raise UsageError("parameters: expected numbers and strings")


def _restored(description: _Description, arrays: Mapping[str, Any], path: Path) -> EmbeddingProtector:
    """Return the protector, after a test on two vectors that its arrays fit together."""
    try:
        protector = make_protector(description.protector, description.parameters)
        protector.classes_ = np.array(description.classes)
        if description.kept_classes:
            protector.kept_classes_ = np.array(description.kept_classes)
        protector.n_features_in_ = description.dimension
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            protector.restore(dict(arrays))
            for speakers in (None, ["a", "a"]):  # vectors by themselves, and people as a whole
                with suppress(InputError):  # the vector may be out of range
                    protector.transform(np.ones((2, description.dimension)), speakers=speakers)
    except MissingExtra:
        raise
    except Exception as error:  # arrays of another shape fail wherever they meet
        raise InputError(f"a model that cannot be used: {error_reason(error)}", path=path) from None
    return protector


def _digest(name: str) -> str:
    return hashlib.sha256(f"zeroevidence speaker {name}".encode()).hexdigest()[:16]


def protect_embeddings(
    model: ProtectorModel, data: Embeddings, *, llr: float | None = None, noise_seed: int | None = None
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
    noise_seed
        Seed of the noise, for experiments; drawn anew otherwise.
    """
    check_dimension(model, data, None)
    if data.attributes and not model.attribute:
        raise UsageError("the model does not say what it conceals, so that its labels would stay; save it with a name")
    vectors = np.asarray(data.vectors, dtype=np.float64)
    protector = model.protector
    if llr is None:
        if noise_seed is not None:
            protector = copy.copy(protector).set_params(noise_seed=noise_seed)
        protected = protector.transform(vectors, speakers=data.speakers)
    elif hasattr(protector, "set_evidence") and len(protector.classes_) == 2:
        protected = protector.set_evidence(vectors, llr)
    else:
        raise UsageError("only a flow over two classes sets evidence to a value")
    # the label itself would disclose what was removed from the vectors
    attributes = {name: values for name, values in data.attributes.items() if name != model.attribute}
    with np.errstate(over="ignore"):  # what does not fit is refused as not finite
        rounded = protected.astype(np.promote_types(data.vectors.dtype, np.float32))
    return Embeddings(rounded, data.ids, data.speakers, attributes)


def check_dimension(model: ProtectorModel, data: Embeddings, folder: str | Path | None) -> None:
    """Refuse embeddings of another dimension than the model's."""
    expected, dimension = model.protector.n_features_in_, data.vectors.shape[1]
    if dimension != expected:
        raise InputError(f"the model is for vectors of {expected} entries; these have {dimension}", path=folder)
