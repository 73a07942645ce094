r"""Class-conditional transport: the classes are moved onto a common Gaussian, means and covariances alike.

Each class is a Gaussian; the common one has the middle of the means and the barycentre of the covariances in the sense
of optimal transport. The shortest way from class c there is :math:`z \mapsto A_c (z - m_c)` with

.. math:: A_c = C_c^{-1/2} (C_c^{1/2} M C_c^{1/2})^{1/2} C_c^{-1/2} .

The class of a vector is not known when it is protected, so the ways of all classes are mixed by the probability of
each, given the whole vector. With few people their covariances are known badly, so the directions in which linear
classifiers tell the classes apart are removed first, and only the leading principal components of the rest are kept.
What is left of differences between the class means is erased in any case (see `erasing`): a mixture of ways by
probabilities can be undone, and so cannot take the evidence of means away by itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.discriminants import Quadratic, evidence, quadratic_discriminants
from zeroevidence.protect.attributes.shared.erasing import eraser
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import Shrinkage, barycentre, class_moments, transport_map
from zeroevidence.protect.attributes.shared.noise import NoiseShape
from zeroevidence.protect.attributes.shared.nullspace import classifier_directions
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector

_PER_PERSON = 3  # components that one more person to learn from makes worth keeping
_FEWEST = 16
_FLOOR = 1e-9  # of the largest variance: a direction with less counts as having none


@register_protector("Moves each class to a common Gaussian, covariances included, and drops weak components.")
class Transport(EmbeddingProtector):
    """Make means and covariances of all classes equal, so that quadratic classifiers too find nothing.

    Parameters
    ----------
    directions
        How many directions that linear classifiers use are removed first (see `Inlp`); ``auto`` is d^2 / 3(d + S) for d
        dimensions and S people: a third of them for few people, none for very many.
    components
        Principal components (of people and their vectors within classes) that are kept. What a class is like cannot be
        learned in many more directions than there are people to learn from: ``auto`` is three for each person.
    complement
        Factor of what lies outside these components: 0 removes it, 1 leaves it as it is.
    shrinkage
        Share of each class's covariance that is taken from all classes together; ``auto`` is r / (r + 2 S) for r
        components and S people.
    noise, noise_shape, noise_seed
        See `EmbeddingProtector`; the noise stays within what is kept.

    Attributes
    ----------
    removed_, basis_
        The directions that are removed, d x m, and the components that are kept, d x r.
    entry_, offset_
        What removes these directions and what linear classifiers could still use, d x d, and its constant.
    maps_
        One matrix for each class, K x r x r.
    quadratic_
        The model that gives the probability of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Transport
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0, 1], 500)
    >>> x = rng.normal(size=(1000, 5)) * np.where(sex, 3.0, 1.0)[:, None]
    >>> protected = Transport().fit(x, sex).transform(x, labels=sex)
    >>> [round(float(protected[sex == one].std()), 1) for one in (0, 1)]
    [1.8, 1.8]
    """

    kind: ClassVar[str] = "transport"

    def __init__(
        self,
        *,
        directions: int | Literal["auto"] = "auto",
        components: int | Literal["auto"] = "auto",
        complement: float = 0.0,
        shrinkage: Shrinkage = "auto",
        noise: float = 0.0,
        noise_shape: NoiseShape = "within",
        noise_seed: int | None = None,
    ) -> None:
        super().__init__(noise=noise, noise_shape=noise_shape, noise_seed=noise_seed)
        self.directions = directions
        self.components = components
        self.complement = complement
        self.shrinkage = shrinkage

    def transform(
        self, X: Any, *, labels: Any = None, speakers: Any = None, noise_key: str | bytes | None = None
    ) -> FloatArray:
        """Vectors of the same dimension without the evidence that the model sees, with noise if there is any.

        Parameters
        ----------
        labels
            The class of each vector, where it is known; its probability is estimated from the vector otherwise.
        speakers, noise_key
            With both, the noise is the same for all vectors of a person; see `EmbeddingProtector.transform`.
        """
        x = self._checked(X)
        given = None if labels is None else self._one_hot(labels, len(x))
        moved = self._finite("protected vectors", lambda rows: self._moved(rows, given), x)
        return self._noisy(moved, speakers, noise_key)

    def _one_hot(self, labels: Any, rows: int) -> FloatArray:
        found = np.asarray(labels)
        if found.shape != (rows,):
            raise InputError(f"labels: expected {rows}, one per row, got shape {found.shape}")
        known = found[:, None] == self.classes_
        if not known.any(axis=1).all():
            other = found[~known.any(axis=1)][0]
            raise InputError(f"labels: {str(other)!r} is none of {', '.join(map(str, self.classes_))}")
        return np.asarray(known, dtype=np.float64)

    def _fit(self, data: LabelledVectors) -> None:
        self._check_parameters()
        people, dimension = len(np.unique(data.people)), data.x.shape[1]
        many = round(dimension**2 / (3 * (dimension + people))) if self.directions == "auto" else self.directions
        self.removed_, self.mean_, _ = classifier_directions(data, min(many, dimension - 1))
        centred = data.x - self.mean_
        rest = centred - (centred @ self.removed_) @ self.removed_.T
        # Mixed by probabilities, the ways make a map that can be undone: means must go in one that cannot.
        erase = eraser(replace(data, x=rest), "auto")
        moments = class_moments(replace(data, x=erase(rest)))
        values, axes = np.linalg.eigh(moments.all())
        width = max(_FEWEST, _PER_PERSON * people) if self.components == "auto" else self.components
        width = min(width, int(np.sum(values > _FLOOR * max(values[-1], 0.0))))
        if width < 1:
            raise InputError("vectors do not vary within classes; there is nothing to move")
        self.basis_ = axes[:, ::-1][:, :width]
        outside = np.eye(dimension) - self.removed_ @ self.removed_.T
        self.entry_: FloatArray = outside @ (np.eye(dimension) - erase.right @ erase.left)
        self.offset_: FloatArray = erase.mean @ erase.right @ erase.left
        share = width / (width + 2 * people) if self.shrinkage == "auto" else float(self.shrinkage)
        covariances = np.einsum("dr,kde,es->krs", self.basis_, moments.classes(share), self.basis_, optimize=True)
        common = barycentre(covariances)
        self.maps_ = np.stack([transport_map(one, common) for one in covariances])
        self.starts_ = moments.means @ self.basis_
        self.quadratic_ = quadratic_discriminants(data)
        kept = self.basis_ @ self.basis_.T
        if self.complement > 0.0:
            kept = np.eye(dimension) - self.removed_ @ self.removed_.T
        self.noise_root_ = self.noise_root_ @ kept

    def _check_parameters(self) -> None:
        for name in ("complement", "shrinkage"):
            value = getattr(self, name)
            if value != "auto" and not 0.0 <= value <= 1.0:
                raise UsageError(f"{name}: expected a share from 0 to 1, got {value!r}")
        for name, least in (("directions", 0), ("components", 1)):
            value = getattr(self, name)
            if value != "auto" and value < least:
                raise UsageError(f"{name}: expected at least {least}, got {value!r}")

    def _transform(self, x: FloatArray) -> FloatArray:
        return self._moved(x, None)

    def _moved(self, x: FloatArray, probabilities: FloatArray | None) -> FloatArray:
        given = self.quadratic_.posteriors(x) if probabilities is None else probabilities
        centred = x - self.mean_
        rest = centred @ self.entry_ + self.offset_
        z = rest @ self.basis_
        moved = np.zeros_like(z)
        for share, start, way in zip(given.T, self.starts_, self.maps_, strict=True):
            moved += share[:, None] * ((z - start) @ way)
        protected: FloatArray = self.mean_ + moved @ self.basis_.T
        if self.complement > 0.0:
            protected = protected + self.complement * (rest - z @ self.basis_.T)
        return protected

    def _llr(self, x: FloatArray) -> FloatArray:
        """Of Gaussian classes with covariances of their own, mixed with the shared one."""
        return evidence(self.quadratic_.log_likelihoods(x))

    def _arrays(self) -> dict[str, FloatArray]:
        own: dict[str, FloatArray] = {
            "mean": self.mean_,
            "removed": self.removed_,
            "entry": self.entry_,
            "offset": self.offset_,
            "basis": self.basis_,
            "starts": self.starts_,
            "maps": self.maps_,
        }
        return own | self.quadratic_.arrays()

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.mean_, self.removed_, self.basis_ = arrays["mean"], arrays["removed"], arrays["basis"]
        self.entry_, self.offset_ = arrays["entry"], arrays["offset"]
        self.starts_, self.maps_ = arrays["starts"], arrays["maps"]
        self.quadratic_ = Quadratic.of(arrays)
