r"""A number is concealed: what it does to the mean and to the covariance of vectors is removed, smoothly over it.

People are sorted by their number and cut into bands of nearly equal size. With the normal score t of a band and
polynomials b in it, vectors are taken to be

.. math:: x = \bar x + M b(t) + R\, e^{t Q / 2} z, \qquad z \mbox{ independent of } t .

A shift along the columns of M is undone by removing these directions, after those that ridge regression of b uses. The
second part is a group too: with the most likely score :math:`\hat t`, given the rest u of a vector alone,
:math:`e^{-\hat t Q / 2} u` is the same whatever t was, because :math:`\hat t` grows by as much as t does. So nothing is
left of t where vectors are as assumed, though t is not known when they are protected.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import ndtri

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.bands import as_numbers
from zeroevidence.protect.attributes.shared.discriminants import Quadratic, evidence, quadratic_discriminants
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import shrinkage_share, shrunk
from zeroevidence.protect.attributes.shared.noise import NoiseShape
from zeroevidence.protect.attributes.shared.protector import EmbeddingProtector, Target

_PER_BAND = 8  # people
_MOST_BANDS = 12
_PER_PERSON = 3  # components that one more person to learn from makes worth keeping
_FEWEST = 16
_STEPS = 200
_LOOKS = 8
_FLOOR = 1e-9  # of the largest variance, or singular value: less counts as none


@register_protector("Removes what a number does to the mean and the covariance of vectors.")
class Conditional(EmbeddingProtector):
    """Conceal a number, such as age: conditional means and covariances are made the same for all its values.

    Parameters
    ----------
    degree
        Of the polynomials in the normal score of the number that conditional means are made of.
    directions
        How many directions that ridge regression of these uses are removed first; ``auto`` is d^2 / 3(d + S) for d
        dimensions and S people: a third of them for few people, none for very many.
    components
        Principal components of the rest that are kept; ``auto`` is three for each person.
    complement
        Factor of what lies outside these components: 0 removes it, 1 leaves it as it is.
    rounds
        How often what the number does to covariances is looked for in these components and removed; with 0 only
        conditional means are, and nothing is dropped.
    noise, noise_shape, noise_seed
        See `EmbeddingProtector`; the noise stays within what is kept.

    Attributes
    ----------
    classes_
        Mean number of each band; `llr` has a column for each of them, one for two.
    removed_, basis_
        The directions that are removed, d x m, and the components that are kept, d x r.
    axes_, rates_
        For each round the coordinates (r x r) in which spreads grow with the score, and how fast.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.protect import Conditional
    >>> rng = np.random.default_rng(0)
    >>> age = rng.uniform(20.0, 70.0, 1000)
    >>> x = rng.normal(size=(1000, 5)) + np.outer(age, [0.1, 0.05, 0.0, 0.0, 0.0])
    >>> protected = Conditional().fit(x, age).transform(x)
    >>> bool(np.abs(np.corrcoef(np.column_stack([protected @ [1.0, 0.5, 0.0, 0.0, 0.0], x[:, 0], age]).T)[0, 2]) < 0.05)
    True
    """

    kind: ClassVar[str] = "conditional"
    conceals: ClassVar[Target] = "number"

    def __init__(
        self,
        *,
        degree: int = 2,
        directions: int | Literal["auto"] = "auto",
        components: int | Literal["auto"] = "auto",
        complement: float = 0.0,
        rounds: int = 1,
        noise: float = 0.0,
        noise_shape: NoiseShape = "within",
        noise_seed: int | None = None,
    ) -> None:
        super().__init__(noise=noise, noise_shape=noise_shape, noise_seed=noise_seed)
        self.degree = degree
        self.directions = directions
        self.components = components
        self.complement = complement
        self.rounds = rounds

    def _labels(self, y: Any, people: IntArray) -> tuple[FloatArray, IntArray]:
        """The mean number of each band, and the band of each row."""
        numbers = as_numbers(y, "y")
        if numbers.shape != people.shape:
            raise InputError(f"y: expected {len(people)} numbers, one per row, got shape {numbers.shape}")
        if np.ptp(numbers) == 0.0:
            raise InputError(f"y: every number is {numbers[0]:g}; expected at least two")
        each = numbers[np.unique(people, return_index=True)[1]]
        count = int(np.clip(len(each) // _PER_BAND, 2, _MOST_BANDS))
        limits = np.unique(np.quantile(each, np.arange(1, count) / count, method="higher"))
        _, bands = np.unique(np.searchsorted(limits[limits > each.min()], numbers, side="right"), return_inverse=True)
        centres = np.bincount(bands, weights=numbers) / np.bincount(bands)
        return centres, bands.astype(np.int64)

    def _fit(self, data: LabelledVectors) -> None:
        self._check_parameters()
        people, dimension = len(np.unique(data.people)), data.x.shape[1]
        scores, shares = _band_scores(data)
        wanted = min(self.degree, len(scores) - 1)
        powers = _polynomials(scores, shares, wanted)[data.labels[:, 0]]
        share = _person_shares(data.people)
        self.mean_: FloatArray = share @ data.x
        many = round(dimension**2 / (3 * (dimension + people))) if self.directions == "auto" else self.directions
        self.removed_ = _predictable(data.x - self.mean_, powers, share, min(many, dimension - 1 - wanted))
        rest = self._rest(data.x)
        self.quadratic_ = quadratic_discriminants(data)
        kept = np.eye(dimension) - self.removed_ @ self.removed_.T
        self.basis_: FloatArray = np.zeros((dimension, 0))
        self.axes_: FloatArray = np.zeros((0, 0, 0))
        self.rates_: FloatArray = np.zeros((0, 0))
        if self.rounds:
            self._fit_spreads(rest, scores[data.labels[:, 0]], share, people)
            kept = self.basis_ @ self.basis_.T if self.complement == 0.0 else kept
        self.noise_root_ = self.noise_root_ @ kept

    def _fit_spreads(self, rest: FloatArray, scores: FloatArray, share: FloatArray, people: int) -> None:
        """The components that are kept, and what the number does to their spreads, one round after another."""
        values, axes = np.linalg.eigh((rest * share[:, None]).T @ rest)
        width = max(_FEWEST, _PER_PERSON * people) if self.components == "auto" else self.components
        width = min(width, int(np.sum(values > _FLOOR * max(values[-1], 0.0))))
        if width < 1:
            raise InputError("vectors do not vary beside what is removed; nothing would be left")
        self.basis_ = axes[:, ::-1][:, :width]
        z: FloatArray = rest @ self.basis_
        axes_found, rates_found = [], []
        for _ in range(self.rounds):
            one, rates = _growing(z, scores, share)
            z = _settled(z, one, rates)
            axes_found.append(one)
            rates_found.append(rates)
        self.axes_, self.rates_ = np.stack(axes_found), np.stack(rates_found)

    def _check_parameters(self) -> None:
        if not 0.0 <= self.complement <= 1.0:
            raise UsageError(f"complement: expected a share from 0 to 1, got {self.complement!r}")
        for name, least in (("degree", 1), ("directions", 0), ("components", 1), ("rounds", 0)):
            value = getattr(self, name)
            if value != "auto" and value < least:
                raise UsageError(f"{name}: expected at least {least}, got {value!r}")

    def _rest(self, x: FloatArray) -> FloatArray:
        """Vectors around the mean, without the directions that are removed."""
        centred = x - self.mean_
        rest: FloatArray = centred - (centred @ self.removed_) @ self.removed_.T
        return rest

    def _transform(self, x: FloatArray) -> FloatArray:
        rest = self._rest(x)
        if not self.rounds:
            return np.asarray(self.mean_ + rest)
        z: FloatArray = rest @ self.basis_
        settled = z
        for axes, rates in zip(self.axes_, self.rates_, strict=True):
            settled = _settled(settled, axes, rates)
        protected: FloatArray = self.mean_ + settled @ self.basis_.T
        if self.complement > 0.0:
            protected = protected + self.complement * (rest - z @ self.basis_.T)
        return protected

    def _llr(self, x: FloatArray) -> FloatArray:
        """Of each band against the others, by Gaussians with covariances mixed with the shared one."""
        return evidence(self.quadratic_.log_likelihoods(x))

    def _arrays(self) -> dict[str, FloatArray]:
        own = {"mean": self.mean_, "removed": self.removed_, "basis": self.basis_}
        return own | {"axes": self.axes_, "rates": self.rates_} | self.quadratic_.arrays()

    def _restore(self, arrays: dict[str, FloatArray]) -> None:
        self.mean_, self.removed_ = arrays["mean"], arrays["removed"]
        self.basis_, self.axes_, self.rates_ = arrays["basis"], arrays["axes"], arrays["rates"]
        self.quadratic_ = Quadratic.of(arrays)


def _person_shares(people: IntArray) -> FloatArray:
    """Weights that add up to one, the same for all people."""
    counts = np.bincount(people)
    found: FloatArray = 1.0 / (counts[people] * np.count_nonzero(counts))
    return found


def _band_scores(data: LabelledVectors) -> tuple[FloatArray, FloatArray]:
    """The normal score of the middle of each band, and the share of people in it."""
    bands = data.labels[np.unique(data.people, return_index=True)[1], 0]
    shares = np.bincount(bands) / len(bands)
    scores: FloatArray = ndtri(np.cumsum(shares) - 0.5 * shares)
    return scores, shares


def _polynomials(scores: FloatArray, shares: FloatArray, degree: int) -> FloatArray:
    """Polynomials of degree 1 and more (K x degree) with mean zero and uncorrelated over people."""
    powers = np.vander(scores, degree + 1, increasing=True)
    root = np.sqrt(shares)[:, None]
    orthogonal, _ = np.linalg.qr(powers * root)
    found: FloatArray = (orthogonal / root)[:, 1:]
    return found


def _predictable(x: FloatArray, powers: FloatArray, share: FloatArray, most: int) -> FloatArray:
    """Orthonormal directions that tell of the polynomials (d x m).

    These are about `most` that ridge regression uses, each time on what the last have left, and then those in which the
    conditional means of what is left still differ: after these no linear regression finds anything in these people.
    """
    found: FloatArray = np.zeros((x.shape[1], 0))
    left = x
    while found.shape[1] < most:
        covariance = (left * share[:, None]).T @ left
        ridge = shrunk(covariance, shrinkage_share(left, "auto"))
        together = (left * share[:, None]).T @ powers
        new = _orthonormal(np.linalg.lstsq(ridge, together, rcond=None)[0], found)[:, : most - found.shape[1]]
        if not new.shape[1]:
            break
        found = np.hstack([found, new])
        left = x - (x @ found) @ found.T
    means = _orthonormal((left * share[:, None]).T @ powers, found, float(np.abs(x).max()))
    return np.hstack([found, means])


def _orthonormal(columns: FloatArray, found: FloatArray, size: float = 0.0) -> FloatArray:
    """Orthonormal directions of columns outside those found before; columns shorter than rounding have none."""
    away = columns - found @ (found.T @ columns)
    away -= found @ (found.T @ away)
    directions, sizes, _ = np.linalg.svd(away, full_matrices=False)
    least = _FLOOR * max(float(np.linalg.norm(columns)), size, np.finfo(float).tiny)
    return np.asarray(directions[:, sizes > least])


def _growing(z: FloatArray, scores: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Coordinates (columns) in which variances are exp(rate t) of the score t, and the rates: nearly most likely.

    In sphered vectors the mean of t z z' is Q, by Stein's lemma. Undoing what was found with the known scores, and
    looking again, refines it: the first look is dominated by the few widest vectors.
    """
    covariance = (z * share[:, None]).T @ z
    sphering = _inverse_root(shrunk(covariance, shrinkage_share(z, "auto")))
    slope = np.zeros_like(covariance)
    spread = float(share @ scores**2)
    for _ in range(_LOOKS):
        rates, axes = np.linalg.eigh(slope)
        settled = (z @ sphering @ axes) * np.exp(-0.5 * np.outer(scores, rates)) @ axes.T
        again = _inverse_root((settled * share[:, None]).T @ settled)
        sphering, settled = sphering @ again, settled @ again
        slope = slope + (settled * (share * scores / spread)[:, None]).T @ settled
    rates, axes = np.linalg.eigh(slope)
    return sphering @ axes, rates


def _inverse_root(covariance: FloatArray) -> FloatArray:
    """The symmetric inverse root of a covariance."""
    values, directions = np.linalg.eigh(covariance)
    sides = np.sqrt(np.maximum(values, _FLOOR * max(float(values[-1]), np.finfo(float).tiny)))
    root: FloatArray = (directions / sides) @ directions.T
    return root


def _settled(z: FloatArray, axes: FloatArray, rates: FloatArray) -> FloatArray:
    """Vectors with the spreads that they would have at one score: that at which the most likely score is zero."""
    size = float(np.abs(rates).max(initial=0.0))
    if size <= _FLOOR:
        return z
    u = z @ axes
    u *= np.exp(-0.5 * np.outer(_likely_scores(u**2, rates / size), rates / size))
    moved: FloatArray = np.linalg.solve(axes.T, u.T).T
    return moved


def _likely_scores(squares: FloatArray, rates: FloatArray) -> FloatArray:
    """For each row the score that makes sphered squares most likely, if they grow as exp(rate t); rates up to one.

    The logarithm of the likelihood is concave in t, so Newton's steps lead there, long ones being cut.
    """
    found = np.zeros(len(squares))
    for _ in range(_STEPS):
        settled = squares * np.exp(-np.outer(found, rates))
        step = (settled @ rates - rates.sum()) / np.maximum(settled @ rates**2, np.finfo(float).tiny)
        step = np.clip(step, -1.0, 1.0)
        found += step
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return found
