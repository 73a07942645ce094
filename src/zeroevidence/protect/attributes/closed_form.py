"""Protectors in closed form: linear, LEACE, and the transport of classes to a common Gaussian."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes import moments, register_protector
from zeroevidence.protect.attributes.protector import EmbeddingProtector


@register_protector("Moves vectors along the linear discriminants until the evidence of Gaussian classes vanishes.")
@dataclass(kw_only=True, eq=False, repr=False)
class LinearNuller(EmbeddingProtector):
    r"""Remove the evidence of Gaussian classes with one covariance, which is linear.

    For two classes it is eq. 8 of [Noé et al. 2022]: with :math:`w = \Sigma_W^{-1}(\mu_1 - \mu_0)` the log-likelihood
    ratio of Gaussian classes with one covariance is :math:`w'x - c`, :math:`c = \tfrac{1}{2} w'(\mu_0 + \mu_1)`, and
    vectors move along w until it is zero. (The paper prints :math:`\Sigma_W` in c where its inverse belongs.) For more
    classes w becomes a matrix of K - 1 columns, and vectors move to the circumcentre of the class means.

    The covariance :math:`\Sigma_W` is balanced: the mean of the covariances of the classes, each the same whatever its
    number of vectors, with every person of a class counted once. A likelihood ratio has no prior, so that it must not
    depend on how many of each class were recorded; pooled over vectors, :math:`\Sigma_W` would be that of the larger
    class where the two differ. The paper does not say which it takes.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    shrinkage
        Share of the covariance within classes that is replaced by a multiple of the identity with the same trace;
        ``auto`` takes the share of Ledoit & Wolf. The published baseline has none (0).

    Attributes
    ----------
    shrinkage_
        The share that was replaced.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import LinearNuller
    >>> x = np.array([[-3.0, 1.0], [-1.0, 0.0], [-2.0, -1.0], [2.0, 1.0], [1.0, 0.0], [3.0, -1.0]])
    >>> sex = ["f", "f", "f", "m", "m", "m"]
    >>> nuller = LinearNuller().fit(x, sex)
    >>> nuller.llr(x).round(1).tolist()
    [-20.0, -8.0, -20.0, 20.0, 8.0, 20.0]
    >>> protected = nuller.transform(x)
    >>> bool(np.allclose(nuller.llr(protected), 0.0))
    True
    """

    kind = "linear"
    record_types = (("discriminants", moments.LinearDiscriminants), ("people", moments.LinearDiscriminants))

    shrinkage: moments.Shrinkage = 0.0

    def _fit(self, data: moments.LabelledVectors) -> None:
        self.discriminants_, self.shrinkage_ = moments.linear_discriminants(data, self.shrinkage)
        self.people_, _ = moments.linear_discriminants(data.means(), self.shrinkage)

    @property
    def directions_(self) -> FloatArray:
        """The discriminants, d x (K - 1)."""
        return self.discriminants_.directions

    def _llr(self, x: FloatArray) -> FloatArray:
        return self.discriminants_.llr(x)

    def _transform(self, x: FloatArray) -> FloatArray:
        return self.discriminants_.set_to_zero(x)

    def _transform_means(self, means: FloatArray) -> FloatArray:
        return self.people_.set_to_zero(means)


@register_protector("Removes all correlation with the class by the smallest change (LEACE).")
@dataclass(kw_only=True, eq=False, repr=False)
class Leace(EmbeddingProtector):
    r"""Erase what any linear classifier could learn, and change vectors as little as possible.

    It is least-squares concept erasure [Belrose et al. 2023]. With the whitening :math:`W = \Sigma_{xx}^{-1/2}` and P
    the orthogonal projection onto the columns of :math:`W \Sigma_{xz}`, where z indicates the class, vectors become
    :math:`x - W^+ P W (x - \bar x)`. Then no entry is correlated with the class, and no linear classifier can learn it.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    shrinkage
        Share of the covariance that is replaced by a multiple of the identity with the same trace; ``auto`` takes the
        share of Ledoit & Wolf. The correlation vanishes with any share.

    Attributes
    ----------
    eraser_
        Vectors become ``x - (x - mean) @ right @ left``.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Leace
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0, 1], 50)
    >>> x = rng.normal(size=(100, 4)) + np.outer(sex, [2.0, 1.0, 0.0, 0.0])
    >>> protected = Leace().fit(x, sex).transform(x)
    >>> bool(np.allclose(protected[sex == 0].mean(axis=0), protected[sex == 1].mean(axis=0)))
    True
    """

    kind = "leace"
    record_types = (
        ("eraser", moments.Eraser),
        ("people", moments.Eraser),
        ("discriminants", moments.LinearDiscriminants),
    )

    shrinkage: moments.Shrinkage = "auto"

    def _fit(self, data: moments.LabelledVectors) -> None:
        self.eraser_ = moments.fit_eraser(data, self.shrinkage)
        self.people_ = moments.fit_eraser(data.means(), self.shrinkage)
        self.discriminants_, _ = moments.linear_discriminants(data, self.shrinkage)

    def _transform(self, x: FloatArray) -> FloatArray:
        return self.eraser_(x)

    def _transform_means(self, means: FloatArray) -> FloatArray:
        return self.people_(means)

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence of Gaussian classes with one covariance."""
        return self.discriminants_.llr(x)


_PER_PERSON = 2  # components that one more person to learn from makes worth keeping
_FEWEST, _MOST = 16, 70
_FLOOR = 1e-9  # of the largest variance: a direction with less counts as having none


@register_protector("Moves each class to a common Gaussian, covariances included, and drops weak components.")
@dataclass(kw_only=True, eq=False, repr=False)
class Transport(EmbeddingProtector):
    r"""Make means and covariances of all classes equal, so that quadratic classifiers do not see them either.

    Each class is a Gaussian; the common one has the middle of the means and the barycentre of the covariances in the
    sense of optimal transport. The optimal transport map of class c is :math:`z \mapsto A_c (z - m_c)` with

    .. math:: A_c = C_c^{-1/2} (C_c^{1/2} M C_c^{1/2})^{1/2} C_c^{-1/2} .

    The class of a vector is not known when it is protected, so the maps of all classes are mixed by the posterior
    probability of each class, which is that of a person where people are named. With few people their covariances are
    estimated badly, so the directions that linear classifiers use are removed first, and only the leading principal
    components of the rest are kept. What remains of the differences between class means is erased in any case (see
    `Eraser`): a mixture of maps by posterior probabilities can be inverted, and so cannot remove the evidence of means
    by itself.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    directions
        How many directions of least-squares classifiers are removed first; ``auto`` is d^2 / 8(d + S) for d dimensions
        and S people: an eighth of them for few people, none for very many.
    components
        Principal components (of people and their vectors within classes) that are kept. The covariance of a class
        cannot be learned in many more directions than there are people: ``auto`` is two for each person, at most 70,
        because the noise of people in directions where they hardly differ would mark them.
    shrinkage
        Share of each class's covariance that is taken from all classes together; ``auto`` is r / (r + 2 S) for r
        components and S people.

    Attributes
    ----------
    removed_
        The directions that are removed, d x m.
    basis_
        The components that are kept, d x r; noise stays within them.
    entry_
        The map that removes the directions and what linear classifiers could still use, d x d.
    offset_
        The constant of that map.
    maps_
        One matrix for each class, K x r x r.
    quadratic_
        The model of the posterior probability of each class.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Transport
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat([0, 1], 500)
    >>> x = rng.normal(size=(1000, 5)) * np.where(sex, 3.0, 1.0)[:, None]
    >>> people = np.arange(1000) // 10  # of whom ten vectors tell the class
    >>> protected = Transport().fit(x, sex).transform(x, speakers=people)
    >>> [round(float(protected[sex == label].std()), 1) for label in (0, 1)]
    [1.7, 1.8]
    """

    kind = "transport"
    array_names = ("mean", "removed", "entry", "offset", "basis", "starts", "maps")
    record_types = (("quadratic", moments.QuadraticDiscriminants),)

    directions: int | Literal["auto"] = "auto"
    components: int | Literal["auto"] = "auto"
    shrinkage: moments.Shrinkage = "auto"

    def sizes(self, people: int, dimension: int) -> dict[str, int]:
        """Return the numbers of directions and components."""
        few = round(dimension**2 / (8 * (dimension + people))) if self.directions == "auto" else self.directions
        usual = min(max(_FEWEST, _PER_PERSON * people), _MOST)
        return {"directions": few, "components": usual if self.components == "auto" else self.components}

    def _fit(self, data: moments.LabelledVectors) -> None:
        self._check_shares("shrinkage")
        self._check_at_least(directions=0, components=1)
        people, dimension = len(np.unique(data.people)), data.x.shape[1]
        sizes = self.sizes(people, dimension)
        self.removed_, self.mean_ = moments.regression_directions(data, min(sizes["directions"], dimension - 1))
        centred = data.x - self.mean_
        rest = centred - (centred @ self.removed_) @ self.removed_.T
        # Mixed by probabilities, the maps can be inverted: means must be removed by one that cannot.
        erase = moments.fit_eraser(replace(data, x=rest).means(), "auto")
        classes = moments.class_moments(replace(data, x=erase(rest)))
        values, axes = np.linalg.eigh(classes.all())
        width = min(sizes["components"], int(np.sum(values > _FLOOR * max(values[-1], 0.0))))
        if width < 1:
            raise InputError("vectors do not vary beside what is removed; nothing would be left")
        self.basis_: FloatArray = axes[:, ::-1][:, :width]  # the leading principal components
        outside = np.eye(dimension) - self.removed_ @ self.removed_.T
        self.entry_: FloatArray = outside @ (np.eye(dimension) - erase.right @ erase.left)
        self.offset_: FloatArray = erase.mean @ erase.right @ erase.left
        share = width / (width + 2 * people) if self.shrinkage == "auto" else float(self.shrinkage)
        covariances = np.einsum("dr,kde,es->krs", self.basis_, classes.classes(share), self.basis_, optimize=True)
        common = moments.barycentre(covariances)
        self.maps_ = np.stack([moments.transport_map(covariance, common) for covariance in covariances])
        self.starts_ = classes.means @ self.basis_
        self.quadratic_ = moments.quadratic_discriminants(data)
        self.noise_root_ = self.noise_root_ @ self.basis_ @ self.basis_.T

    def _transform_people(self, x: FloatArray, person: IntArray) -> FloatArray:
        return self._moved(x, moments.group_means(self.quadratic_.log_likelihoods(x), person)[person])

    def _transform(self, x: FloatArray) -> FloatArray:
        return self._moved(x, self.quadratic_.log_likelihoods(x))

    def _moved(self, x: FloatArray, log_likelihoods: FloatArray) -> FloatArray:
        """Return vectors that moved by the maps of all classes, mixed by their likelihoods."""
        from scipy.special import softmax

        z = ((x - self.mean_) @ self.entry_ + self.offset_) @ self.basis_
        moved = np.zeros_like(z)
        for probability, start, matrix in zip(
            softmax(log_likelihoods, axis=1).T, self.starts_, self.maps_, strict=True
        ):
            moved += probability[:, None] * ((z - start) @ matrix)
        return np.asarray(self.mean_ + moved @ self.basis_.T)

    def _llr(self, x: FloatArray) -> FloatArray:
        """Return the evidence of Gaussian classes whose covariances are mixed with the shared one."""
        return moments.evidence(self.quadratic_.log_likelihoods(x))
