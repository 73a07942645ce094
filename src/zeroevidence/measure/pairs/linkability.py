"""Linkability of mated pairs, and all scores of both classes as a view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import get_args

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.logistic import atom_cells, best_width, cell_lows, mated_shares, rank_cells, split_folds
from zeroevidence.calibrate.pav import Blocks, Counts, RankedScores, block_lows, pool, rank
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import MEASURES, pair_measure
from zeroevidence.measure.views import LinkabilityMethod, Llrs, PairSettings, PairView, takes_scores

_FAR = 40.0  # log-odds beyond which no share is told from 0 or 1


@dataclass(frozen=True, slots=True, eq=False)
class LocalLinkability:
    """Local linkability over the score axis: `value` holds from each score to the next.

    Its mean over mated scores is the linkability.
    """

    score: FloatArray
    value: FloatArray


@partial(takes_scores, directed=False)
def linkability(
    target: FloatArray,
    nontarget: FloatArray,
    *,
    method: LinkabilityMethod = "density",
    omega: float = 1.0,
    seed: int = 0,
) -> float:
    r"""Global linkability, 0 (mated pairs look like any other) to 1 (each gives itself away).

    Local linkability of a score is how much more likely a mated pair is behind it than a non-mated one,

    .. math:: D(s) = \max\left(0, \frac{\omega LR(s) - 1}{\omega LR(s) + 1}\right),

    and the global one is its mean over mated scores. The likelihood ratio has to be estimated, in three ways:

    ``density``
        No shape assumed, cross-fitted: scores of no evidence come out near 0 (the default).
    ``pav``
        Exact when the ratio rises with the score; no bins, no parameters; never negative, so biased upwards on few
        scores.
    ``histogram``
        As the VoicePrivacy 2020 and 2022 tools, for comparison with their tables. It reports 0.05 to 0.12 where 500
        mated scores carry no evidence, and 0.5 for two separated constants.

    `omega` is the ratio of the prior probabilities of mated and non-mated; `seed` draws the folds of ``density``.

    Examples
    --------
    >>> linkability([2.0, 3.0], [0.0, 1.0])
    1.0
    >>> linkability([1.0, 1.0], [1.0, 1.0], method="pav")
    0.0
    """
    return linkability_of(rank(target, nontarget), PairSettings(method, omega=omega, seed=seed))


def linkability_of(ranked: RankedScores, settings: PairSettings, blocks: Blocks | None = None) -> float:
    """The same from ranked scores and, where the caller has them, their PAV blocks."""
    if settings.linkability == "histogram":
        return _histogram(ranked.target, ranked.nontarget, settings.omega)[0]
    return linkability_of_counts(ranked.counts, settings, blocks)


def linkability_of_counts(counts: Counts, settings: PairSettings, blocks: Blocks | None = None) -> float:
    """The same from counts alone, which are enough for all estimators but ``histogram``."""
    _check(settings.omega)
    if settings.linkability not in get_args(LinkabilityMethod):
        expected = ", ".join(get_args(LinkabilityMethod))
        raise UsageError(f"unknown linkability method {settings.linkability!r}; expected one of {expected}")
    blocks = pool(counts) if blocks is None else blocks
    if settings.linkability == "pav":
        return linkability_of_blocks(blocks, omega=settings.omega)
    if _are_separated(blocks):
        return 1.0  # the kernel below would blur the one boundary that matters
    return _cross_fitted(*rank_cells(counts), settings.omega, np.random.default_rng(settings.seed))


def nonmated_linkability_of(ranked: RankedScores, settings: PairSettings) -> float:
    """How surely a non-mated pair shows that it is one, 0 to 1: `linkability_of` with the classes exchanged.

    Examples
    --------
    >>> nonmated_linkability_of(rank(np.array([1.0, 2.0]), np.array([0.0, 1.0])), PairSettings("pav"))
    0.5
    """
    _check(settings.omega)
    counts = Counts(ranked.counts.nontarget[::-1], ranked.counts.target[::-1])  # of negated scores
    exchanged = replace(settings, omega=1.0 / settings.omega)
    if settings.linkability != "histogram":
        return linkability_of_counts(counts, exchanged)
    return linkability_of(RankedScores(-ranked.nontarget[::-1], -ranked.target[::-1], counts), exchanged)


@partial(takes_scores, directed=False)
def local_linkability(
    target: FloatArray,
    nontarget: FloatArray,
    *,
    method: LinkabilityMethod = "density",
    omega: float = 1.0,
    seed: int = 0,
) -> LocalLinkability:
    """The curve D(s), for reading off which scores link; its mean over mated scores is the `linkability`.

    ``density``
        From the share of mated pairs near s, averaged over the models of all folds. The kernel blurs steps, so the
        likelihood ratio is multiplied by the one factor at which the mean is the linkability.
    ``pav``
        D of the block in which s lies.
    ``histogram``
        D of the bin in which s lies, and half of it in the first and in the last bin: the tools integrate by the
        trapezoid rule over the centres of bins, which counts these half.

    Examples
    --------
    >>> curve = local_linkability([2.0, 3.0], [0.0, 1.0], method="pav")
    >>> curve.score.tolist(), curve.value.tolist()
    ([0.0, 2.0], [0.0, 1.0])
    """
    return local_linkability_of(rank(target, nontarget), PairSettings(method, omega=omega, seed=seed))


def local_linkability_of(
    ranked: RankedScores, settings: PairSettings, blocks: Blocks | None = None
) -> LocalLinkability:
    """The same from ranked scores and, where the caller has them, their PAV blocks."""
    _check(settings.omega)
    if settings.linkability == "histogram":
        _, value, edges = _histogram(ranked.target, ranked.nontarget, settings.omega)
        return LocalLinkability(edges[:-1], value)
    blocks = pool(ranked.counts) if blocks is None else blocks
    if settings.linkability == "pav" or _are_separated(blocks):
        return LocalLinkability(block_lows(ranked, blocks), _local(blocks.llr, settings.omega))
    return _local_density(ranked, settings)


def _local_density(ranked: RankedScores, settings: PairSettings) -> LocalLinkability:
    cells = rank_cells(ranked.counts)
    folds, width, gain, loss = _tangents(*cells, settings.omega, np.random.default_rng(settings.seed))
    training = folds.sum(axis=1, keepdims=True) - folds
    share = mated_shares(training, (width,), settings.omega, added=0.0)[0].mean(axis=0)
    lows, used = cell_lows(ranked, *cells)
    last = np.append(lows[1:] != lows[:-1], True)  # of cells with the same score
    with np.errstate(divide="ignore"):
        log_odds = np.log(share[used[last]]) - np.log1p(-share[used[last]])
    mated = np.diff(np.searchsorted(ranked.target, lows[last]), append=len(ranked.target))
    return LocalLinkability(lows[last], _scaled(log_odds, mated, _mean_tangent(folds, gain, loss, settings.omega)))


def _scaled(log_odds: FloatArray, mated: IntArray, linkability: float) -> FloatArray:
    """D, the odds multiplied by the factor at which its mean over mated scores is the linkability."""
    low, high = -_FAR, _FAR
    for _ in range(60):
        middle = (low + high) / 2.0
        local = _local(log_odds + middle, 1.0)
        low, high = (middle, high) if mated @ local < linkability * mated.sum() else (low, middle)
    return local


def _are_separated(blocks: Blocks) -> bool:
    """Return whether every mated score is above every other."""
    return len(blocks.llr) == 2 and bool(np.isinf(blocks.llr).all())


def _check(omega: float) -> None:
    if not 0.0 < omega < np.inf:
        raise UsageError(f"expected a positive, finite omega, got {omega}")


def _local(llr: FloatArray, omega: float) -> FloatArray:
    # tanh(x / 2) = (e^x - 1) / (e^x + 1), without overflow
    return np.asarray(np.maximum(0.0, np.tanh((llr + np.log(omega)) / 2.0)))


def _cross_fitted(target: IntArray, nontarget: IntArray, omega: float, rng: np.random.Generator) -> float:
    r"""Mean of D over mated scores, each score judged by a model that has not seen it.

    With :math:`\eta` the share of mated pairs at a score, D_sys is the mean of the convex function
    :math:`\phi(\eta) = \eta \max(0, 2\eta - 1)` over the mixture. Plugging an estimate into it would be biased
    upwards; its tangent at the estimate, taken at the held-out label, is an unbiased lower bound that is tight where
    the estimate is right.
    """
    folds, _, gain, loss = _tangents(target, nontarget, omega, rng)
    return _mean_tangent(folds, gain, loss, omega)


def _mean_tangent(folds: IntArray, gain: FloatArray, loss: FloatArray, omega: float) -> float:
    target, nontarget = folds.sum(axis=(1, 2))
    value = (folds[0] * gain).sum() / target - (folds[1] * loss).sum() / (omega * nontarget)
    return float(min(1.0, max(0.0, value)))


def _tangents(
    target: IntArray, nontarget: IntArray, omega: float, rng: np.random.Generator
) -> tuple[IntArray, float, FloatArray, FloatArray]:
    """Held-out counts per (class, fold, cell), kernel width, and what mated and other scores count for and against."""
    folds = np.stack((split_folds(target, rng), split_folds(nontarget, rng)))
    training = folds.sum(axis=1, keepdims=True) - folds
    width, share = best_width(folds, omega)
    # A fold without training scores of one class shows no link.
    trained = training.sum(axis=-1).all(axis=0)[:, None]
    return folds, width, *_gain_and_loss(np.where(trained, share, 0.0))


def _gain_and_loss(share: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return what a mated and a non-mated score count for and against where mated pairs have this share."""
    links = share > 0.5
    return np.where(links, 4.0 * share - 1.0 - 2.0 * share**2, 0.0), np.where(links, 2.0 * share**2, 0.0)


def linkability_terms(counts: Counts, omega: float, seed: int) -> tuple[FloatArray, FloatArray]:
    """What one target and one non-target in each atom add to ``density`` linkability, the model held fixed.

    The tangent makes the estimate insensitive to small errors of the model, so resampling these terms shows nearly all
    of its spread.
    """
    _, _, gain, loss = _tangents(*rank_cells(counts), omega, np.random.default_rng(seed))
    at = atom_cells(counts)
    return gain.mean(axis=0)[at], -loss.mean(axis=0)[at] / omega


def linkability_of_blocks(blocks: Blocks, *, omega: float = 1.0) -> float:
    """``pav`` linkability of PAV blocks."""
    return float(blocks.target @ _local(blocks.llr, omega) / blocks.target.sum())


def histogram_edges(target: FloatArray, nontarget: FloatArray) -> FloatArray | None:
    """Bin edges as the VoicePrivacy tools set them; None where they make no bin.

    Fewer than 10 mated scores make no bin, and scores that are all equal no width.
    """
    low = float(min(target.min(), nontarget.min()))
    high = float(max(target.max(), nontarget.max()))
    if not np.isfinite([low, high]).all():
        raise UsageError("histogram linkability needs finite scores; use density or pav")
    bins = min(len(target) // 10, 100)
    return None if bins == 0 or low == high else np.linspace(low, high, bins + 1)


def histogram_linkability(mated: FloatArray, other: FloatArray, omega: float) -> tuple[float, FloatArray]:
    """Global and local values from the numbers of scores in each bin.

    The tools integrate by the trapezoid rule over the centres of bins; it counts the first and the last bin half, and
    so do the local values, whose mean over mated scores is the global one.
    """
    p, q = mated / mated.sum(), other / other.sum()
    ratio = omega * np.divide(p, q, out=np.ones_like(p), where=q > 0)
    local = np.where(ratio > 1.0, 2.0 * ratio / (1.0 + ratio) - 1.0, 0.0)
    local[q == 0] = 1.0
    ends = np.zeros(len(p))
    ends[0] += 0.5
    ends[-1] += 0.5
    local *= 1.0 - ends
    return float(p @ local), local


def _histogram(target: FloatArray, nontarget: FloatArray, omega: float) -> tuple[float, FloatArray, FloatArray]:
    """Global value, local values and bin edges."""
    _check(omega)
    edges = histogram_edges(target, nontarget)
    if edges is None:
        low = float(min(target.min(), nontarget.min()))
        return 0.0, np.zeros(1), np.array([low, low])
    mated, other = (np.histogram(scores, edges)[0].astype(np.float64) for scores in (target, nontarget))
    value, local = histogram_linkability(mated, other, omega)
    return value, local, edges


_linkability_measure = partial(
    pair_measure,
    unit="fraction",
    discloses="up",
    method=lambda view: str(view.settings.linkability),
    references=("gomezbarrero2018", "maouche2020"),
)


@_linkability_measure(
    "linkability",
    "linkability",
    place=120,
    headline=60,
    interval=lambda view: "kernel" if view.settings.linkability == "density" else "oracle",
    null=True,
    meaning_of_attribute="How reliably the class can be recognised; 0 means that both classes look alike.",
)
def _linkability(view: PairView) -> float:
    """How reliably a mated pair can be recognised as one; 0 means that mated and non-mated pairs look alike."""
    return view.linkability()


@_linkability_measure(
    "linkability_nonmated",
    "non-mated linkability",
    place=122,
    meaning_of_attribute="How reliably the other class can be recognised; 0 means that both classes look alike.",
)
def _linkability_nonmated(view: PairView) -> float | None:
    """How reliably a non-mated pair can be recognised as one; 0 means that mated and non-mated pairs look alike."""
    return view.nonmated_linkability()


class ScoreView(PairView):
    """All scores of both classes."""

    def __init__(
        self,
        ranked: RankedScores,
        settings: PairSettings | None = None,
        closed_set: Counts | None = None,
        llrs: Llrs | None = None,
        *,
        given: bool = False,
    ) -> None:
        super().__init__(ranked.counts, settings or PairSettings(), closed_set)
        self.ranked, self.llrs, self.given = ranked, llrs, given

    @property
    def actual(self) -> Llrs:
        """What an attacker acts on: calibrated LLRs, or scores taken as LLRs."""
        return (self.ranked.target, self.ranked.nontarget) if self.llrs is None else self.llrs

    def class_means(self, name: str) -> tuple[float, float] | None:
        """Means over all scores of each class."""
        cost = MEASURES[name].per_score
        target, nontarget = self.actual
        if cost is None or len(target) + len(nontarget) > cost.most:
            return None
        if cost.mean is not None:
            return cost.mean(target, nontarget, self.settings)
        return (
            float(np.mean(cost.target(target, self.settings))),
            float(np.mean(cost.nontarget(nontarget, self.settings))),
        )

    def linkability(self) -> float:
        """Linkability of the scores."""
        return linkability_of(self.ranked, self.settings, self.blocks)

    def nonmated_linkability(self) -> float | None:
        """Linkability of non-mated pairs."""
        return nonmated_linkability_of(self.ranked, self.settings)
