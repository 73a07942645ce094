"""The base class of attribute protectors: checks, labels, noise, storage, and the scikit-learn interface."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from zeroevidence import __version__
from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, check_finite
from zeroevidence.data.scores import as_array
from zeroevidence.data.writing import refuse_used_folder, write_file
from zeroevidence.errors import InputError, UsageError
from zeroevidence.optional import optional
from zeroevidence.protect.attributes import moments


def number_people(speakers: Any, rows: int) -> IntArray:
    """Return the number of the person of each row."""
    names = np.asarray(speakers).astype(np.str_)
    if names.shape != (rows,):
        raise InputError(f"speakers: expected {rows}, one per row, got shape {names.shape}")
    return np.unique(names, return_inverse=True)[1]


SCHEMA = "zeroevidence/protector/1"
DESCRIPTION, NUMBERS = "model.json", "model.safetensors"
CANDIDATES = "candidates"  # in the folder of a model that is being chosen: a kind of entries of a store
_LARGEST = 1e100  # squares of larger entries, and sums of them, may overflow
_NOISE, _ROTATED = "noise.root", "rotation.centre"  # the latter in models of earlier versions


class LabelledTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A transformer that is fitted to vectors and labels; messages of scikit-learn's checks are for users too."""

    def _labelled(self, X: Any, y: Any, **options: Any) -> Any:
        """Return vectors and labels, checked."""
        if y is None:
            raise InputError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; expected the attribute to "
                "conceal, one label per row"
            )
        return self._validated(X, y, **options)

    def _validated(self, *data: Any, **options: Any) -> Any:
        X, *labels = data
        if isinstance(X, (Embeddings, np.ma.MaskedArray)) or hasattr(X, "detach"):
            X = X.vectors if isinstance(X, Embeddings) else as_array(X, "X")
        try:
            checked = validate_data(self, X, *labels, dtype=np.float64, ensure_all_finite=False, **options)
        except ValueError as error:
            raise InputError(str(error)) from None
        check_finite(checked[0] if labels else checked)
        return checked

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class EmbeddingProtector(LabelledTransformer, ABC):
    """A transformer that removes the evidence about an attribute from embeddings.

    `fit` takes vectors and one label for each. With `speakers`, every speaker has the same weight however many vectors
    there are of each, and held-out vectors come from other speakers. `transform` returns vectors of the same dimension
    without the evidence that the model sees, and `llr` returns that evidence.

    A new protector implements `_fit`, `_transform` and `_llr`, which get checked data. It is saved and loaded by the
    arrays that `array_names` and `record_types` name, or by `_arrays` and `_restore` of its own. If it has parameters,
    it is a dataclass with a keyword-only field for each.

    Parameters
    ----------
    noise
        Level of the noise on protected vectors, relative to how much vectors of one speaker differ (vectors of a class,
        where speakers are not given), and shaped like these differences; it can be changed after fitting.
    noise_seed
        Draws the same noise in each call, for experiments: whoever knows it can subtract the noise. Without it the
        noise is drawn anew.
    """

    kind: ClassVar[str]  # its name
    registered: ClassVar[type[EmbeddingProtector] | None] = None  # the class that this name stands for
    array_names: ClassVar[tuple[str, ...]] = ()  # fitted arrays, stored in attributes of these names and an underscore
    # dataclasses of fitted arrays, likewise
    record_types: ClassVar[tuple[tuple[str, type[moments.StoredArrays]], ...]] = ()

    noise: float = 0.0
    noise_seed: int | None = None

    def sizes(self, people: int, dimension: int) -> dict[str, int]:  # noqa: ARG002
        """Return the parameters that depend on the number of people, as they are for so many.

        A choice fits with half of the people, and so asks for the sizes that all of them give.
        """
        return {}

    def fit(self, X: Any, y: Any, *, speakers: Any = None) -> Self:
        """Fit to vectors (n x d) and their labels."""
        self._fit(self._training(X, y, speakers))
        return self._learned()

    def transform(self, X: Any, *, speakers: Any = None) -> FloatArray:
        """Return vectors of the same dimension without the evidence that the model sees, with noise if there is any.

        Parameters
        ----------
        X
            Vectors, n x d.
        speakers
            The speaker of each vector. With them people are protected as a whole: the mean of a person's vectors by
            what was learned from means, the difference of each vector from it by what was learned from vectors, and
            noise is drawn for each person and for each vector, so that it does not average out. Without them each
            vector is protected by itself, and many vectors of a person tell more than one.
        """
        x = self._checked(X)
        person = None if speakers is None else number_people(speakers, len(x))
        return self._released(x, person, self._transform if person is None else self._transform_people)

    def llr(self, X: Any) -> FloatArray:
        """Return the evidence that the model sees, as natural logarithms of likelihood ratios.

        For two classes it is in favour of ``classes_[1]``, one number for each vector; for more classes it is that of
        each class against the others, n x K.
        """
        return self._finite("log-likelihood ratios", self._llr, self._checked(X))

    @abstractmethod
    def _fit(self, data: moments.LabelledVectors) -> None:
        """Fit to checked data."""

    @abstractmethod
    def _transform(self, x: FloatArray) -> FloatArray:
        """Return protected vectors."""

    def _transform_means(self, means: FloatArray) -> FloatArray:
        """Return protected means of people."""
        return self._transform(means)

    def _transform_people(self, x: FloatArray, person: IntArray) -> FloatArray:
        """Return protected vectors of people, given the number of the person of each."""
        protected = self._transform(x)
        means = self._transform_means(moments.group_means(x, person))
        return protected + (means - moments.group_means(protected, person))[person]

    @abstractmethod
    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence."""

    def _arrays(self) -> dict[str, FloatArray]:
        """Return the arrays of the fitted model by name; see `models`."""
        arrays = {name: getattr(self, f"{name}_") for name in self.array_names}
        for name, _ in self.record_types:
            arrays |= getattr(self, f"{name}_").arrays(name)
        return arrays

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        """Become the fitted model that has these arrays."""
        for name in self.array_names:
            setattr(self, f"{name}_", arrays[name])
        for name, record_type in self.record_types:
            setattr(self, f"{name}_", record_type.of(arrays, name))

    def save(self, folder: str | Path, *, attribute: str = "", overwrite: bool = False) -> None:
        """Write the fitted protector into a folder, from which `zeroevidence.load` reads it.

        The folder does not say whom the protector was fitted to; `save_model` writes that, too.

        Parameters
        ----------
        folder
            A new or empty folder, or with `overwrite` one that holds an earlier model.
        attribute
            What it conceals; without it, only vectors without labels can be protected on the command line.
        overwrite
            Whether to replace a model.
        """
        write_model(self, {"attribute": attribute, "trained_on": {}, "speakers": []}, folder, overwrite=overwrite)

    def numbers(self) -> dict[str, FloatArray]:
        """Return all arrays of the fitted protector by name, those of its noise included."""
        return {**self._arrays(), _NOISE: self.noise_root_}

    def restore(self, numbers: dict[str, FloatArray]) -> None:
        """Become the fitted protector that has these arrays."""
        if _ROTATED in numbers:
            raise InputError("an earlier version fitted it for vectors that a key rotates; fit it again")
        if self.noise > 0.0 and _NOISE not in numbers:
            raise InputError("the model has no noise; fit it again")
        self.noise_root_ = numbers.get(_NOISE, np.zeros((self.n_features_in_, self.n_features_in_)))
        self._restore({name: array for name, array in numbers.items() if name != _NOISE})

    def _released(self, x: FloatArray, person: IntArray | None, protect: Callable[..., FloatArray]) -> FloatArray:
        """Return what a function makes of vectors, and of their people where these are named, with noise."""
        self._check_noise()
        people = () if person is None else (person,)
        protected = self._finite("protected vectors", lambda rows: protect(rows, *people), x)
        if self.noise == 0.0:
            return protected
        rng, size = np.random.default_rng(self.noise_seed), len(self.noise_root_)
        noise = rng.standard_normal((len(x), size))
        if person is not None:
            noise += rng.standard_normal((int(person.max()) + 1, size))[person]
        return protected + self.noise * (noise @ self.noise_root_)

    def _training(self, X: Any, y: Any, speakers: Any, keep: Any = None) -> moments.LabelledVectors:
        """Check training data, and compute the shape of the noise."""
        self._check_noise()
        X, y = self._labelled(X, y, ensure_min_samples=2, ensure_min_features=2)
        largest = float(np.abs(X).max())
        if largest > _LARGEST:
            raise InputError(f"vectors: entries as large as {largest:.3g} cannot be squared; scale the vectors first")
        people = np.arange(len(X)) if speakers is None else number_people(speakers, len(X))
        self.classes_, labels = _labels("y", y, len(X))
        columns = [labels]
        if keep is not None:
            self.kept_classes_, kept_labels = _labels("keep", keep, len(X))
            columns.append(kept_labels)
        stacked = np.stack(columns, axis=1)
        data = moments.LabelledVectors(X, stacked, moments.balanced_weights(stacked, people), people)
        # a level means the same for any encoder: it is relative to the variance within people
        self.noise_root_ = moments.symmetric_roots(moments.within_covariance(data))[0]
        return data

    def _learned(self) -> Self:
        """Return the protector itself if its arrays are finite."""
        if not all(np.isfinite(array).all() for array in self._arrays().values()):
            raise self._diverged("the model's numbers are not finite")
        return self

    def _diverged(self, reason: str) -> InputError:
        """Return the error to raise after fitting that failed."""
        rate = self.get_params().get("learning_rate")
        if rate is None:
            return InputError(f"fitting failed: {reason}; scale the vectors")
        return InputError(f"training diverged: {reason}; lower learning_rate (it is {rate!r}), or scale the vectors")

    def _check_noise(self) -> None:
        if not (np.isfinite(self.noise) and self.noise >= 0.0):
            raise UsageError(f"noise: expected a number from 0 on, got {self.noise!r}")

    def _check_at_least(self, **least: int) -> None:
        """Refuse parameters below these numbers; ``auto`` is accepted."""
        for name, number in least.items():
            value = getattr(self, name)
            if value != "auto" and value < number:
                raise UsageError(f"{name}: expected at least {number}, got {value!r}")

    def _check_shares(self, *names: str, below: bool = False) -> None:
        """Refuse parameters that are no share from 0 to 1, or to `below` it; ``auto`` is accepted."""
        for name in names:
            value = getattr(self, name)
            if value != "auto" and not (0.0 <= value < 1.0 or (value == 1.0 and not below)):
                raise UsageError(f"{name}: expected a share from 0 to {'below ' if below else ''}1, got {value!r}")

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self, "classes_")
        return np.asarray(self._validated(X, reset=False))

    def _finite(self, what: str, function: Callable[[FloatArray], FloatArray], x: FloatArray) -> FloatArray:
        """Return what a function gives for vectors, if all of it is finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            result = function(x)
        lost = int(np.count_nonzero(~np.isfinite(result.reshape(len(x), -1)).all(axis=1)))
        if lost:
            raise InputError(
                f"{lost} of {len(x)} {what} would not be finite: the input (entries as large as "
                f"{np.abs(x).max():.3g}) is too far from what the protector was fitted on"
            )
        return result


def write_model(
    protector: EmbeddingProtector, about: Mapping[str, Any], folder: str | Path, *, overwrite: bool = False
) -> None:
    """Write a fitted protector, and what is known about it, into a folder."""
    tensors = safetensors()
    path = check_new(folder, overwrite=overwrite)
    check_is_fitted(protector, "classes_")
    if protector.registered is not type(protector):
        reason = "not registered" if protector.registered is None else "another class"
        raise UsageError(f"{type(protector).__name__}: the protector called {protector.kind!r} is {reason}")
    arrays = {name: np.ascontiguousarray(array) for name, array in protector.numbers().items()}
    check_numbers(arrays)
    numbers = tensors.save(arrays)
    description = {
        "schema": SCHEMA,
        "version": __version__,
        "protector": protector.kind,
        "parameters": protector.get_params(),
        "classes": protector.classes_.tolist(),
        "kept_classes": getattr(protector, "kept_classes_", np.array([])).tolist(),
        "dimension": int(protector.n_features_in_),
        "sha256": hashlib.sha256(numbers).hexdigest(),
        **about,
    }
    (path / DESCRIPTION).unlink(missing_ok=True)
    write_file(path / NUMBERS, numbers)
    # last, so that a folder without it is seen to be incomplete
    write_file(path / DESCRIPTION, json.dumps(description, indent=1, ensure_ascii=False) + "\n")


def check_new(folder: str | Path, *, overwrite: bool = False) -> Path:
    """Return the folder of a model to be written, which is refused unless it is new, empty or holds part of a model.

    With `overwrite` it may hold a whole model.
    """
    path = Path(folder)
    if (path / DESCRIPTION).exists() and not overwrite:
        raise UsageError(f"{folder}: exists and holds a model; --overwrite replaces it")
    refuse_used_folder(path, unfinished=(NUMBERS, DESCRIPTION, CANDIDATES))
    return path


def check_numbers(arrays: Mapping[str, Any]) -> None:
    """Refuse arrays that hold anything but finite numbers."""
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub" or not np.isfinite(array).all():
            raise InputError(f"{name} has entries that are not finite numbers")


def safetensors() -> Any:
    """Return the module that writes and reads arrays, without running code."""
    return optional("safetensors.numpy", "flow", "a saved protector")


def _labels(name: str, values: Any, rows: int) -> tuple[StrArray, IntArray]:
    labels = as_array(values, name)
    if labels.shape != (rows,):
        raise InputError(f"{name}: expected {rows} labels, one per row, got shape {labels.shape}")
    if labels.dtype.kind == "f" and (fractions := labels[labels != np.rint(labels)]).size:
        expected = "the class of each row (a number is cut into classes first, such as np.digitize(age, [30, 50]))"
        raise InputError(f"{name}: {fractions[0]:g} is a number and no class; expected {expected}")
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise InputError(f"{name}: every label is {str(classes[0])!r}; expected at least two classes")
    return classes, numbers.astype(np.int64)


def check_scale(scale: FloatArray, mean: FloatArray) -> None:
    """Refuse standard deviations of a stored model that are not positive."""
    if scale.shape != mean.shape or not (scale > 0.0).all():
        raise InputError(f"scale: expected {len(mean)} positive numbers")
