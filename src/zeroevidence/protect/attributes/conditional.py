r"""Conditional protector: removes the effect of a number on the mean and covariance of vectors.

People are sorted by their number and split into bands of nearly equal size. With the normal score t of a band and
polynomials b in it, vectors are modelled as

.. math:: x = \bar x + M b(t) + R\, e^{t Q / 2} z, \qquad z \mbox{ independent of } t .

A shift along the columns of M is undone by removing these directions, after those that ridge regression of b uses. The
second part is a group too: with the maximum-likelihood score :math:`\hat t`, given the rest u of a vector alone,
:math:`e^{-\hat t Q / 2} u` is the same for every t, because :math:`\hat t` grows by as much as t does. So nothing of t
is left where vectors are as modelled, though t is not known when they are protected.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import ndtri

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.protect.attributes import register_protector
from zeroevidence.protect.attributes.shared.bands import as_numbers
from zeroevidence.protect.attributes.shared.components import ComponentProtector
from zeroevidence.protect.attributes.shared.discriminants import quadratic_discriminants
from zeroevidence.protect.attributes.shared.labelled import LabelledVectors
from zeroevidence.protect.attributes.shared.moments import shrinkage_share, shrunk
from zeroevidence.protect.attributes.shared.protector import Target

_PER_BAND = 8  # people
_MOST_BANDS = 12
_NEWTON_STEPS = 200
_REFINEMENTS = 8
_FLOOR = 1e-9  # of the largest variance, or singular value: less counts as none


@register_protector("Removes the effect of a number on the mean and the covariance of vectors.")
@dataclass(kw_only=True, eq=False, repr=False)
class Conditional(ComponentProtector):
    """Conceal a number, such as age: conditional means and covariances are made the same for all its values.

    The parameters of noise are those of `EmbeddingProtector`.

    Parameters
    ----------
    degree
        Of the polynomials in the normal score of the number that conditional means consist of.
    directions
        How many directions that ridge regression of these uses are removed first; ``auto`` is d^2 / 3(d + S) for d
        dimensions and S people: a third of them for few people, none for very many.
    components
        Principal components of the rest that are kept; ``auto`` is three for each person.
    complement
        Factor of what lies outside these components: 0 removes it, 1 leaves it as it is.
    rounds
        How often the effect of the number on covariances is estimated in these components and removed; with 0 only
        conditional means are removed, and no components are dropped.

    Attributes
    ----------
    classes_
        Mean number of each band; `llr` has a column for each of them, one for two.
    removed_
        The directions that are removed, d x m.
    basis_
        The components that are kept, d x r; noise stays within them unless there is a complement.
    axes_
        For each round the coordinates (r x r) in which variances grow with the score.
    rates_
        For each round how fast they grow.

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

    kind = "conditional"
    conceals: ClassVar[Target] = "number"
    array_names = ("mean", "removed", "basis", "axes", "rates")

    degree: int = 2
    rounds: int = 1

    def _labels(self, y: Any, people: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the mean number of each band, and the band of each row."""
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
        self._check_shares("complement")
        self._check_at_least(degree=1, directions=0, components=1, rounds=0)
        people, dimension = len(np.unique(data.people)), data.x.shape[1]
        scores, shares = _band_scores(data)
        degree = min(self.degree, len(scores) - 1)
        powers = _polynomials(scores, shares, degree)[data.labels[:, 0]]
        share = _person_shares(data.people)
        self.mean_: FloatArray = share @ data.x
        count = min(self._direction_count(dimension, people), dimension - 1 - degree)
        self.removed_ = _predictive_directions(data.x - self.mean_, powers, share, count)
        rest = self._rest(data.x)
        self.quadratic_ = quadratic_discriminants(data)
        self.basis_: FloatArray = np.zeros((dimension, 0))
        self.axes_: FloatArray = np.zeros((0, 0, 0))
        self.rates_: FloatArray = np.zeros((0, 0))
        if self.rounds:
            self.basis_ = self._leading_components((rest * share[:, None]).T @ rest, people)
            self._fit_covariances(rest @ self.basis_, scores[data.labels[:, 0]], share)
        self._restrict_noise(whole=not self.rounds or self.complement > 0.0)

    def _fit_covariances(self, z: FloatArray, scores: FloatArray, share: FloatArray) -> None:
        """Estimate the effect of the number on the variances of the components, one round after another."""
        rounds = []
        for _ in range(self.rounds):
            axes, rates = _growing_axes(z, scores, share)
            z = _at_common_score(z, axes, rates)
            rounds.append((axes, rates))
        self.axes_, self.rates_ = (np.stack(part) for part in zip(*rounds, strict=True))

    def _rest(self, x: FloatArray) -> FloatArray:
        """Return vectors around the mean, without the directions that are removed."""
        centred = x - self.mean_
        rest: FloatArray = centred - (centred @ self.removed_) @ self.removed_.T
        return rest

    def _transform(self, x: FloatArray) -> FloatArray:
        rest = self._rest(x)
        if not self.rounds:
            return np.asarray(self.mean_ + rest)
        z: FloatArray = rest @ self.basis_
        moved = z
        for axes, rates in zip(self.axes_, self.rates_, strict=True):
            moved = _at_common_score(moved, axes, rates)
        return self._joined(moved, z, rest)


def _person_shares(people: IntArray) -> FloatArray:
    """Return weights that add up to one, the same for all people."""
    counts = np.bincount(people)
    shares: FloatArray = 1.0 / (counts[people] * np.count_nonzero(counts))
    return shares


def _band_scores(data: LabelledVectors) -> tuple[FloatArray, FloatArray]:
    """Return the normal score of the middle of each band, and the share of people in it."""
    bands = data.labels[np.unique(data.people, return_index=True)[1], 0]
    shares = np.bincount(bands) / len(bands)
    scores: FloatArray = ndtri(np.cumsum(shares) - 0.5 * shares)
    return scores, shares


def _polynomials(scores: FloatArray, shares: FloatArray, degree: int) -> FloatArray:
    """Return polynomials of degree 1 and more (K x degree) with mean zero and uncorrelated over people."""
    powers = np.vander(scores, degree + 1, increasing=True)
    root = np.sqrt(shares)[:, None]
    orthogonal, _ = np.linalg.qr(powers * root)
    polynomials: FloatArray = (orthogonal / root)[:, 1:]
    return polynomials


def _predictive_directions(x: FloatArray, powers: FloatArray, share: FloatArray, most: int) -> FloatArray:
    """Return orthonormal directions that predict the polynomials (d x m).

    About `most` of them are those that ridge regression uses, each time on what the last have left. Then follow those
    in which the conditional means of the rest still differ: after these no linear regression finds anything in these
    people.
    """
    directions: FloatArray = np.zeros((x.shape[1], 0))
    left = x
    while directions.shape[1] < most:
        covariance = (left * share[:, None]).T @ left
        ridge = shrunk(covariance, shrinkage_share(left, "auto"))
        together = (left * share[:, None]).T @ powers
        slopes, *_ = np.linalg.lstsq(ridge, together, rcond=None)
        new = _orthonormal(slopes, directions)[:, : most - directions.shape[1]]
        if not new.shape[1]:
            break
        directions = np.hstack([directions, new])
        left = x - (x @ directions) @ directions.T
    means = _orthonormal((left * share[:, None]).T @ powers, directions, float(np.abs(x).max()))
    return np.hstack([directions, means])


def _orthonormal(columns: FloatArray, basis: FloatArray, size: float = 0.0) -> FloatArray:
    """Return orthonormal directions of columns outside a basis; columns shorter than rounding have none."""
    away = columns - basis @ (basis.T @ columns)
    away -= basis @ (basis.T @ away)
    directions, sizes, _ = np.linalg.svd(away, full_matrices=False)
    least = _FLOOR * max(float(np.linalg.norm(columns)), size, np.finfo(float).tiny)
    return np.asarray(directions[:, sizes > least])


def _growing_axes(z: FloatArray, scores: FloatArray, share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return coordinates (columns) in which variances are exp(rate t) of the score t, and the rates.

    In sphered vectors the mean of t z z' is Q, by Stein's lemma. The estimate is refined by undoing it with the known
    scores and estimating again: the first estimate is dominated by the few widest vectors.
    """
    covariance = (z * share[:, None]).T @ z
    sphering = _inverse_root(shrunk(covariance, shrinkage_share(z, "auto")))
    slope = np.zeros_like(covariance)
    spread = float(share @ scores**2)
    for _ in range(_REFINEMENTS):
        rates, axes = np.linalg.eigh(slope)
        settled = (z @ sphering @ axes) * np.exp(-0.5 * np.outer(scores, rates)) @ axes.T
        again = _inverse_root((settled * share[:, None]).T @ settled)
        sphering, settled = sphering @ again, settled @ again
        slope = slope + (settled * (share * scores / spread)[:, None]).T @ settled
    rates, axes = np.linalg.eigh(slope)
    return sphering @ axes, rates


def _inverse_root(covariance: FloatArray) -> FloatArray:
    """Return the symmetric inverse root of a covariance."""
    values, directions = np.linalg.eigh(covariance)
    sides = np.sqrt(np.maximum(values, _FLOOR * max(float(values[-1]), np.finfo(float).tiny)))
    root: FloatArray = (directions / sides) @ directions.T
    return root


def _at_common_score(z: FloatArray, axes: FloatArray, rates: FloatArray) -> FloatArray:
    """Return vectors with the variances of one score: that at which the maximum-likelihood score is zero."""
    size = float(np.abs(rates).max(initial=0.0))
    if size <= _FLOOR:
        return z
    u = z @ axes
    u *= np.exp(-0.5 * np.outer(_likely_scores(u**2, rates / size), rates / size))
    moved: FloatArray = np.linalg.solve(axes.T, u.T).T
    return moved


def _likely_scores(squares: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the maximum-likelihood score of each row of sphered squares that grow as exp(rate t); rates up to one.

    The log-likelihood is concave in t, so Newton's steps converge if long ones are shortened.
    """
    scores = np.zeros(len(squares))
    for _ in range(_NEWTON_STEPS):
        settled = squares * np.exp(-np.outer(scores, rates))
        step = (settled @ rates - rates.sum()) / np.maximum(settled @ rates**2, np.finfo(float).tiny)
        step = np.clip(step, -1.0, 1.0)
        scores += step
        if np.abs(step).max(initial=0.0) < 1e-10:
            break
    return scores
