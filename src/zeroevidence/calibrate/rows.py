"""Row calibration: scores of one trial against all identities to LLRs [Šterns et al., sec. 5.1].

A row is standardised by its own mean and deviation, because what counts in a search is how far an identity stands out
among the others; the standardised score is then mapped to an LLR by a calibration fitted on other speakers. Rows may
also keep their deviation (``centre``) or stay as they are (``none``): then scores must mean the same in every row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.logistic import LogisticFit, PooledLogistic, density_shares, fit_logistic, newton, tabulate
from zeroevidence.calibrate.pav import block_lows, pool, pool_laplace, rank
from zeroevidence.errors import InputError, UsageError

CalibrationMethod = Literal["logistic", "pav", "density", "temperature", "auto"]
METHODS: tuple[CalibrationMethod, ...] = ("logistic", "temperature", "pav", "density")
RowScaling: TypeAlias = Literal["standardise", "centre", "none"]
RowScalingChoice: TypeAlias = Literal["standardise", "centre", "none", "auto"]
ROW_SCALINGS: tuple[RowScaling, ...] = get_args(RowScaling)
_BLOCK = 1 << 18  # scores worked on at a time: fits a second-level cache
_PART = 1000  # terms of a row that are added up in the precision of the scores
_FOLDS = 5
_ROUNDING = 1e-9  # of a sum of scores
_TABLE = 33  # values that a table takes at most
_LARGEST = 256  # binary exponent beyond which squares of scores that keep their scale may overflow or vanish


@dataclass(frozen=True, slots=True)
class AffineCalibration:
    """``LLR = weight * z + bias - prior_log_odds`` [eq. 3], of rows that were scaled so, and how it was fitted."""

    name: str
    weight: float
    bias: float
    prior_log_odds: float
    separable: bool = False
    scaling: RowScaling = "standardise"
    ddof: int = 0
    fit: RowFit | None = None

    def llr(self, z: FloatArray) -> FloatArray:
        """LLR of scaled scores."""
        return self.weight * z + (self.bias - self.prior_log_odds)


@dataclass(frozen=True, slots=True, eq=False)
class TabulatedCalibration:
    """LLRs at knots, straight lines between them, constant beyond, of rows that were scaled so; how it was fitted."""

    name: str
    knots: FloatArray
    values: FloatArray
    scaling: RowScaling = "standardise"
    ddof: int = 0
    fit: RowFit | None = None

    def llr(self, z: FloatArray) -> FloatArray:
        """LLR of scaled scores."""
        return np.interp(z, self.knots, self.values)


RowCalibration: TypeAlias = AffineCalibration | TabulatedCalibration
FitFunction: TypeAlias = Callable[[FloatArray, IntArray], RowCalibration]  # of scores and mated columns


@dataclass(frozen=True, slots=True)
class RowFit:
    """How a calibration of rows is fitted.

    Parameters
    ----------
    method
        ``logistic``: affine, maximum likelihood over single pairs [eq. 3]; ``temperature``: affine, maximum likelihood
        of the true identity under the softmax over its row; ``pav``: any increasing map; ``density``: any map;
        ``auto``: the one of these with the least held-out log-loss over speakers.
    scaling
        ``standardise``: each row minus its mean, over its deviation [eq. 2]; ``centre``: minus its mean; ``none``: as
        it is; ``auto``: the one of these with the least held-out log-loss over speakers.
    ddof
        Taken off the divisor of the row variance: 0 or 1.
    l2
        Penalty of ``logistic``.
    balanced
        Whether ``logistic`` weighs both classes half.
    seed
        Seed of random folds.
    """

    method: CalibrationMethod = "logistic"
    scaling: RowScalingChoice = "standardise"
    ddof: int = 0
    l2: float = 0.0
    balanced: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, choices in (
            ("calibration", self.method, (*METHODS, "auto")),
            ("row scaling", self.scaling, (*ROW_SCALINGS, "auto")),
        ):
            if value not in choices:
                raise UsageError(f"unknown {name} {value!r}; expected {', '.join(choices)}")
        if self.ddof not in (0, 1):
            raise UsageError(f"expected ddof 0 or 1, got {self.ddof}")

    @property
    def candidates(self) -> list[RowFit]:
        """What ``auto`` chooses among."""
        methods = METHODS if self.method == "auto" else (self.method,)
        scalings = ROW_SCALINGS if self.scaling == "auto" else (self.scaling,)
        return [replace(self, method=method, scaling=scaling) for scaling in scalings for method in methods]


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows that share one calibration, and those that it was fitted on.

    Parameters
    ----------
    rows
        Which rows they are.
    calibration
        Fitted on other people.
    scores
        The scores that hold those it was fitted on, and that a threshold may be set on.
    mated
        The column of the true identity in each row of `scores`.
    rest
        Which rows of `scores` it was fitted on, where these are of the people who are searched; else all of them.
    """

    rows: IntArray
    calibration: RowCalibration
    scores: FloatArray
    mated: IntArray
    rest: IntArray | None = None

    @property
    def threshold_scores(self) -> FloatArray:
        """The scores of other people, taken anew each time: kept, they would be a second matrix."""
        return self.scores if self.rest is None else self.scores[self.rest]

    @property
    def mated_elsewhere(self) -> IntArray:
        """The mated columns of these."""
        return self.mated if self.rest is None else self.mated[self.rest]


def row_blocks(rows: int, columns: int) -> Iterator[slice]:
    """Row blocks small enough to stay in cache while several passes go over them."""
    step = max(1, _BLOCK // max(1, columns))
    for start in range(0, rows, step):
        yield slice(start, min(rows, start + step))


def row_sums(x: FloatArray, *, squared: bool = False) -> FloatArray:
    """Return the sum of each row, or of its squares, in double precision; parts of a row are added up in their own.

    This is faster than `np.sum`, and as exact: a part has few terms.
    """
    whole = x.shape[1] // _PART * _PART
    parts = x[:, :whole].reshape(len(x), whole // _PART, _PART), x[:, None, whole:]
    sums = [np.einsum("ijk,ijk->ij", part, part) if squared else np.einsum("ijk->ij", part) for part in parts]
    return np.asarray(sums[0].sum(axis=1, dtype=np.float64) + sums[1][:, 0])


def count_rows(compare: np.ufunc, x: FloatArray, limit: FloatArray | float) -> IntArray:
    """Return how many entries of each row compare so with a limit.

    Eight results are added at a time, as the bytes of one number, which hold up to 255.

    Examples
    --------
    >>> count_rows(np.greater, np.array([[0.5, 2.0, 1.0], [3.0, 4.0, 5.0]]), 1.0).tolist()
    [1, 3]
    """
    eights = -(-x.shape[1] // 8)
    marks = np.empty((len(x), 8 * eights), dtype=bool)
    marks[:, x.shape[1] :] = False
    compare(x, limit, out=marks[:, : x.shape[1]])
    sums = np.add.reduceat(marks.view(np.uint64), np.arange(0, eights, 255), axis=1)
    return np.asarray(sums.view(np.uint8).sum(axis=1, dtype=np.int64))


def rescale_extreme_rows(scores: FloatArray, largest: FloatArray | None = None) -> FloatArray:
    """Return the same rows; those whose squares would overflow or underflow are divided by a power of two.

    `largest` is the largest absolute value of each row, where the caller has it at hand.

    Nothing is rounded by that, and a standardised row does not depend on its scale.

    Examples
    --------
    >>> rescale_extreme_rows(np.array([[2.0**600, 2.0**599], [3.0, 4.0]])).tolist()
    [[0.5, 0.25], [3.0, 4.0]]
    """
    if largest is None:
        largest = np.maximum(scores.max(axis=1), -scores.min(axis=1))
    exponent = np.frexp(largest)[1]
    limit = np.finfo(scores.dtype).maxexp // 4
    extreme = np.isfinite(largest) & (np.abs(exponent) > limit)
    if not extreme.any():
        return scores
    return np.ldexp(scores, -np.where(extreme, exponent, 0)[:, None])


def standardise(scores: FloatArray, *, ddof: int = 0) -> FloatArray:
    """Each row minus its mean, over its deviation; a row of equal scores becomes zeros [eq. 2]."""
    scores = rescale_extreme_rows(scores)
    with np.errstate(all="ignore"):
        mean = scores.mean(axis=1, keepdims=True)
    check_finite(scores, mean, 0)
    z: FloatArray = scores - mean
    spread = np.sqrt(np.einsum("ij,ij->i", z, z) / (scores.shape[1] - ddof))
    flat = scores.max(axis=1) == scores.min(axis=1)
    z /= np.where(flat, np.inf, spread)[:, None]
    return z


def scale_rows(scores: FloatArray, scaling: RowScaling, *, ddof: int = 0) -> FloatArray:
    """Each row as a calibration takes it: standardised, or minus its mean, or as it is.

    Examples
    --------
    >>> rows = np.array([[0.9, 0.1, 0.1], [0.5, 0.45, 0.45]])
    >>> scale_rows(rows, "standardise").round(2).tolist()
    [[1.41, -0.71, -0.71], [1.41, -0.71, -0.71]]
    >>> scale_rows(rows, "centre").round(2).tolist()
    [[0.53, -0.27, -0.27], [0.03, -0.02, -0.02]]
    """
    if scaling == "standardise":
        return standardise(scores, ddof=ddof)
    with np.errstate(all="ignore"):
        mean = scores.mean(axis=1, keepdims=True)
    check_finite(scores, mean, 0)
    return scores if scaling == "none" else scores - mean


def row_llrs(scores: FloatArray, calibration: RowCalibration) -> FloatArray:
    """LLRs of whole rows, in double precision."""
    return calibration.llr(scale_rows(scores.astype(np.float64), calibration.scaling, ddof=calibration.ddof))


def check_scale(scores: FloatArray, scaling: RowScaling) -> None:
    """Refuse scores so large or small that only standardised rows can be computed with."""
    if scaling == "standardise":
        return
    largest = max(float(scores.max()), -float(scores.min()))
    if largest > 0.0 and abs(int(np.frexp(largest)[1])) > _LARGEST:
        raise InputError(
            f"row scaling {scaling}: expected scores between {2.0**-_LARGEST:.0e} and {2.0**_LARGEST:.0e}, "
            f"the largest is {largest:.3g}; standardised rows may be of any size"
        )


def check_searchable(scores: FloatArray, mated: IntArray) -> None:
    """Refuse scores that are no search."""
    if scores.shape[1] < 2:
        raise InputError(f"a search needs at least two enrolled identities, got {scores.shape[1]}")
    if (mated < 0).any():
        raise InputError(f"trial {int(np.argmax(mated < 0))}: its speaker is not enrolled; leave it out of the search")


def check_finite(scores: FloatArray, sums: FloatArray, first_row: int) -> None:
    """Refuse infinite scores in a block of rows, whose sums the caller has at hand."""
    if np.isfinite(sums).all():
        return
    bad = np.argwhere(~np.isfinite(scores))
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"trial {first_row + row}, identity {column}: a search needs finite scores, got {scores[row, column]}"
        )


def fit_rows(
    scores: FloatArray,
    mated: IntArray,
    how: RowFit = RowFit(),
    speakers: IntArray | None = None,
    near: RowCalibration | None = None,
) -> RowCalibration:
    """Fit a calibration on the rows of a development matrix.

    Parameters
    ----------
    scores
        Scores of trials (rows) against identities (columns).
    mated
        The column of the true identity of each trial.
    how
        Method and scaling.
    speakers
        The speaker of each trial, for the folds of ``auto``; the mated column unless given.
    near
        A fit to nearly the same rows: from a ``logistic`` one this is quicker, and no jump. Classes that do not overlap
        are fitted with soft labels, which make the line flatter; where its labels were soft, so are these.
    """
    check_searchable(scores, mated)
    if "auto" in (how.method, how.scaling):
        fits = [partial(fit_rows, how=candidate) for candidate in how.candidates]
        losses = [held_out_loss(scores, mated, fit, speakers=speakers, seed=how.seed) for fit in fits]
        chosen = fits[int(np.argmin(np.round(losses, 12)))](scores, mated)  # the first of equals
        return replace(chosen, name=f"auto:{chosen.name}") if how.method == "auto" else chosen
    scaling: Any = how.scaling
    check_scale(scores, scaling)
    scaled = {"scaling": scaling, "ddof": how.ddof, "fit": how}
    at = np.arange(len(mated)), mated
    if how.method == "temperature":
        z = _shifted_rows(scores, how)
        return _fit_temperature(z, float(z[at].sum()), how)
    z = scale_rows(scores, scaling, ddof=how.ddof)
    target = z[at]
    other = np.ones(z.shape, dtype=bool)
    other[at] = False
    nontarget = z[other]
    del z, other  # as large as the scores
    if how.method == "logistic":
        start = None
        if isinstance(near, AffineCalibration):
            start = LogisticFit(near.weight, near.bias, near.prior_log_odds, near.separable)
        fit = fit_logistic(target, nontarget, l2=how.l2, balanced=how.balanced, start=start)
        return AffineCalibration("logistic", fit.weight, fit.bias, fit.prior_log_odds, fit.separable, **scaled)
    if how.method == "pav":
        return TabulatedCalibration("pav", *_fit_pav(target, nontarget), **scaled)
    knots, share = density_shares(rank(target, nontarget), seed=how.seed)
    return TabulatedCalibration("density", knots.astype(np.float64), np.log(share) - np.log1p(-share), **scaled)


def _fit_pav(target: FloatArray, nontarget: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Knots and LLRs of Laplace PAV, so that none is infinite: flat over each block, straight lines between blocks."""
    ranked = rank(target, nontarget)
    blocks = pool_laplace(pool(ranked.counts))
    lows = block_lows(ranked, blocks)
    last_target = np.where(blocks.target > 0, ranked.target[np.maximum(np.cumsum(blocks.target) - 1, 0)], -np.inf)
    last_other = np.where(
        blocks.nontarget > 0, ranked.nontarget[np.maximum(np.cumsum(blocks.nontarget) - 1, 0)], -np.inf
    )
    knots = np.column_stack((lows, np.maximum(last_target, last_other))).ravel()
    return knots, np.repeat(blocks.llr, 2)


def _shifted_rows(scores: FloatArray, how: RowFit) -> FloatArray:
    """Rows as ``temperature`` takes them: their mean is zero whatever the scaling."""
    scaling: RowScaling = "standardise" if how.scaling == "standardise" else "centre"
    return scale_rows(scores.astype(np.float64), scaling, ddof=how.ddof)


def _fit_temperature(z: FloatArray, true: float, how: RowFit) -> AffineCalibration:
    """The slope under which the softmax over each row gives the true identities the highest likelihood.

    A softmax does not change when a row is shifted, so that rows as they are have the slope of centred ones, `z`. The
    likelihood depends on the true identities through the sum of their scores, `true`, alone.
    Where every true identity stands first, the likelihood has no maximum; the label then keeps 1 / (T + 2) for all
    identities alike, as Platt (1999) does for two classes.
    """
    n_rows, n_columns = z.shape
    highest = float(z.max(axis=1).sum())
    at_top = true >= highest - _ROUNDING * abs(highest)
    deviation = float(np.sqrt(np.einsum("ij,ij->", z, z) / z.size))
    unit = deviation if how.scaling != "standardise" and deviation > 0.0 else 1.0  # the search starts at slope 1
    kept = true / unit * (1.0 - 1.0 / (n_rows + 2.0) if at_top else 1.0)  # the mean of a row is zero

    def loss_and_slopes(theta: FloatArray) -> tuple[float, FloatArray, FloatArray]:
        loss, gradient, curvature = -float(theta[0]) * kept, -kept, 0.0
        for rows in row_blocks(n_rows, n_columns):
            x = z[rows] / unit
            logit = theta[0] * x
            top = logit.max(axis=1, keepdims=True)
            p = np.exp(logit - top)
            total = p.sum(axis=1, keepdims=True)
            p /= total
            mean = np.einsum("ij,ij->i", p, x)
            loss += float((top[:, 0] + np.log(total[:, 0])).sum())
            gradient += float(mean.sum())
            curvature += float((np.einsum("ij,ij,ij->i", p, x, x) - mean**2).sum())
        return loss, np.array([gradient]), np.array([[max(curvature, 1e-12)]])

    weight = float(newton(loss_and_slopes, np.array([1.0]))[0]) / unit
    scaling: Any = how.scaling
    return AffineCalibration("temperature", weight, 0.0, 0.0, at_top, scaling, how.ddof, how)


def refit_rows(scores: FloatArray, mated: IntArray, exchanges: IntArray, how: RowFit) -> list[RowCalibration]:
    """Fit a calibration again for each exchange of people: trials of column `j` are taken for those of `exchange[j]`.

    Rows and their scaled scores stay as they are. An affine calibration that weighs both classes alike depends on the
    true identities through the mean of their scores alone, so that a few fits give those of all exchanges.
    """
    if how.method in ("pav", "density") or (how.balanced and how.method == "logistic"):
        return [fit_rows(scores, exchange[mated], how) for exchange in exchanges]
    scaling: Any = how.scaling
    z = _shifted_rows(scores, how) if how.method == "temperature" else scale_rows(scores, scaling, ddof=how.ddof)
    order = np.argsort(mated, kind="stable")
    people, first = np.unique(mated[order], return_index=True)
    by_person = np.add.reduceat(z[order], first, axis=0, dtype=np.float64)  # the sum of each against every identity
    means = by_person[np.arange(len(people)), exchanges[:, people]].sum(axis=1) / len(mated)
    scaled = {"scaling": scaling, "ddof": how.ddof, "fit": how}
    if how.method == "temperature":
        weights = _quick(lambda mean: np.array([_fit_temperature(z, mean * len(mated), how).weight]), means)
        return [AffineCalibration("temperature", float(weight[0]), 0.0, 0.0, **scaled) for weight in weights]
    pooled = PooledLogistic(z.ravel(), len(mated), l2=how.l2)
    lines = _quick(lambda mean: np.array([(fit := pooled.fit(mean)).weight, fit.bias]), means)
    return [
        AffineCalibration("logistic", float(weight), float(bias), pooled.prior_log_odds, **scaled)
        for weight, bias in lines
    ]


def _quick(function: Callable[[float], FloatArray], points: FloatArray) -> list[FloatArray]:
    """Values of a smooth function at these points, by a table where many differ."""
    distinct, place = np.unique(points, return_inverse=True)
    quick = tabulate(function, *distinct[[0, -1]].tolist()) if len(distinct) > _TABLE else function
    values = [quick(point) for point in distinct.tolist()]
    return [values[at] for at in place.tolist()]


def speaker_folds(speakers: IntArray, *, seed: int = 0) -> list[IntArray]:
    """Row numbers of each fold; all rows of a speaker are in one.

    Folds follow the numbers of the speakers: number them by name, so that the order of a file does not matter.
    """
    people = np.unique(speakers)
    if len(people) < 2:
        raise InputError(f"all trials are of {len(people)} speaker; expected at least two speakers to cross-fit over")
    order = np.random.default_rng(seed).permutation(people)
    return [np.flatnonzero(np.isin(speakers, part)) for part in np.array_split(order, min(_FOLDS, len(people)))]


def held_out_loss(
    scores: FloatArray, mated: IntArray, fit: FitFunction, *, speakers: IntArray | None = None, seed: int = 0
) -> float:
    """Return the mean of -ln(posterior of the true identity), each trial calibrated without those of its speaker."""
    total = 0.0
    for fold in speaker_folds(mated if speakers is None else speakers, seed=seed):
        rest = np.setdiff1d(np.arange(len(mated)), fold)
        llr = row_llrs(scores[fold], fit(scores[rest], mated[rest]))
        top = llr.max(axis=1, keepdims=True)
        log_total = top[:, 0] + np.log(np.exp(llr - top).sum(axis=1))
        total += float((log_total - llr[np.arange(len(fold)), mated[fold]]).sum())
    return total / len(mated)
