"""Scores of a tandem as views, and the sweeps of thresholds that its measures share."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar, get_args

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.data.scores import check_scores
from zeroevidence.errors import InputError

T = TypeVar("T")
ScoreTriple: TypeAlias = tuple[FloatArray, FloatArray, FloatArray]
_BLOCKS = 1024
_SLACK = 1e-12  # bounds are rounded too: never rule out a block for its last digits


class TandemView:
    """Scores of each kind of trial (``asv_target``, ``cm_spoof``, ...) and the costs.

    Parameters
    ----------
    scores
        Ascending scores by kind of trial.
    model
        Priors, costs and conventions: a `CostModel`.
    """

    def __init__(self, scores: Mapping[str, FloatArray], model: Any) -> None:
        self.scores, self.model = scores, model
        self._cache: dict[str, Any] = {}

    def cached(self, name: str, compute: Callable[[], T]) -> T:
        """Return a value that several measures need, computed once."""
        if name not in self._cache:
            self._cache[name] = compute()
        value: T = self._cache[name]
        return value

    @property
    def asv(self) -> ScoreTriple | None:
        """Targets, non-targets and spoofs of the verifier behind the countermeasure."""
        return self._triple("asv")

    @property
    def sasv(self) -> ScoreTriple | None:
        """Targets, non-targets and spoofs of a single spoofing-robust verifier."""
        return self._triple("sasv")

    def _triple(self, side: str) -> ScoreTriple | None:
        if f"{side}_spoof" not in self.scores:
            return None
        return self.scores[f"{side}_target"], self.scores[f"{side}_nontarget"], self.scores[f"{side}_spoof"]

    @property
    def cm(self) -> tuple[FloatArray, FloatArray] | None:
        """Bona fide and spoofed speech of the countermeasure."""
        return (self.scores["cm_bonafide"], self.scores["cm_spoof"]) if "cm_spoof" in self.scores else None


Convention: TypeAlias = Literal["pooled", "challenge"]


def sorted_scores(values: ArrayLike, name: str) -> FloatArray:
    """The scores in ascending order, ``inf`` as the largest float: a threshold of ``inf`` rejects it too."""
    vector = np.sort(check_scores(values, f"{name} scores").astype(np.float64))
    if vector[-1] == np.inf:
        vector[vector == np.inf] = np.finfo(np.float64).max
    return vector


def sorted_verifier(target: ArrayLike, nontarget: ArrayLike, spoof: ArrayLike, before: str = "") -> ScoreTriple:
    """The scores of a verifier in ascending order; messages name the classes with `before` in front."""
    classes = {"target": target, "non-target": nontarget, "spoof": spoof}
    tar, non, spf = (sorted_scores(values, before + name) for name, values in classes.items())
    return tar, non, spf


def sorted_countermeasure(bonafide: ArrayLike, spoof: ArrayLike, before: str = "") -> tuple[FloatArray, FloatArray]:
    """The same of a countermeasure."""
    return sorted_scores(bonafide, f"{before}bona fide"), sorted_scores(spoof, f"{before}spoof")


def check_convention(convention: str) -> None:
    """Refuse a convention that is not one of `Convention`."""
    if convention not in get_args(Convention):
        raise InputError(f"unknown convention {convention!r}; known: {', '.join(get_args(Convention))}")


def rejected_share(ascending: FloatArray, threshold: float) -> float:
    """Share of the scores that are below the threshold."""
    return int(np.searchsorted(ascending, threshold)) / ascending.size


def accepted_share(ascending: FloatArray, threshold: float) -> float:
    """Share of the scores that are at least the threshold."""
    return (ascending.size - int(np.searchsorted(ascending, threshold))) / ascending.size


class EqualError(NamedTuple):
    """Where miss and false-alarm rates meet: the rate, and a threshold near it."""

    eer: float
    threshold: float


def equal_error_point(positive: FloatArray, negative: FloatArray, convention: Convention = "pooled") -> EqualError:
    """Equal error rate of two ascending score vectors, and an operating point at it.

    ``pooled``: the EER interpolates linearly between the two ROC points around the crossing; the threshold is
    the one of these two points where the rates differ less (the lower one if both do equally).

    ``challenge``: as the public ASVspoof scripts, for comparison with their tables. Equal scores are walked
    one trial at a time, positives first; the EER is the mean of the two rates where they differ least; the
    threshold is the score last rejected there, which the rule ``>=`` accepts again: it stands for the
    operating point one trial below.
    """
    n, m = positive.size, negative.size

    def gap(threshold: float) -> int:
        """Miss minus false-alarm rate, times n m to be exact; rises with the threshold."""
        missed = int(np.searchsorted(positive, threshold))
        return m * missed - n * (m - int(np.searchsorted(negative, threshold)))

    above = np.inf
    for side in (positive, negative):
        first = bisect_left(range(side.size), 0, key=lambda k, side=side: gap(side[k]))  # type: ignore[misc]
        if first < side.size:
            above = min(above, float(side[first]))
    # The lowest score accepts everything (gap -n m), so there always is a score below the crossing.
    below = max(_before(positive, above), _before(negative, above))
    low, high = gap(below), gap(above)
    if convention == "pooled":
        threshold = below if -low <= high else above
        miss_low, miss_high = rejected_share(positive, below), rejected_share(positive, above)
        eer = miss_low + (miss_high - miss_low) * (low / (low - high))
    else:
        tied = int(np.searchsorted(positive, below, "right") - np.searchsorted(positive, below))
        walk = low + np.append(m * np.arange(tied), np.arange(m * tied, high - low + 1, n))
        step = int(np.argmin(np.abs(walk)))
        missed = int(np.searchsorted(positive, below)) + min(step, tied)
        passed = m - int(np.searchsorted(negative, below)) - max(step - tied, 0)
        eer = (missed / n + passed / m) / 2
        threshold = below if step else max(_before(positive, below), _before(negative, below))
    return EqualError(eer, threshold)


def _before(ascending: FloatArray, threshold: float) -> float:
    """The largest score below the threshold, or minus infinity."""
    k = int(np.searchsorted(ascending, threshold))
    return float(ascending[k - 1]) if k else -np.inf


def operating_points(*classes: FloatArray, convention: Convention = "pooled") -> tuple[FloatArray, list[FloatArray]]:
    """All operating points of ascending score vectors: thresholds, and each class's share that is accepted.

    ``challenge`` has one point per trial instead of one per distinct score.
    """
    joined = np.concatenate(classes)
    order = np.argsort(joined, kind="stable")  # merges presorted runs in linear time, first class first
    rising = np.append(joined[order], np.inf)
    points: slice | IntArray = slice(None)
    if convention == "pooled":
        new = np.append(True, rising[1:] != rising[:-1])
        points = slice(None) if new.all() else np.flatnonzero(new)
    shares: list[FloatArray] = []
    start = 0
    below = np.zeros(rising.size, np.int64)
    for scores in classes:
        of_class = order < scores.size if start == 0 else (order >= start) & (order < start + scores.size)
        np.cumsum(of_class, out=below[1:])
        shares.append((scores.size - below[points]) / scores.size)
        start += scores.size
    return rising[points], shares


def spaced_indices(size: int, points: int) -> IntArray:
    """At most ``points`` of ``size`` indices, equally spaced, both ends included."""
    return np.linspace(0, size - 1, min(size, points)).round().astype(np.int64)


def _edges(n: int) -> IntArray:
    """Candidates that bound the blocks: all of them when there are few."""
    return np.linspace(0, n, _BLOCKS + 1).astype(np.int64) if n > 4 * _BLOCKS else np.arange(n + 1)


def surviving(edges: IntArray, keep: BoolArray) -> IntArray:
    """The edges and every candidate in a kept block."""
    mask = np.append(np.repeat(keep, np.diff(edges)), True)
    mask[edges] = True
    return np.flatnonzero(mask)


def _rates(positive: FloatArray, negatives: Sequence[FloatArray], k: IntArray) -> tuple[FloatArray, list[FloatArray]]:
    """Miss and false-alarm rates with the k-th lowest positive score as the threshold (k = n: reject all).

    Inside an atom only the first index has the right miss rate and the others overstate it, which leaves
    minima as they are.
    """
    n = positive.size
    thresholds = positive[np.minimum(k, n - 1)]
    return k / n, [np.where(k < n, o.size - np.searchsorted(o, thresholds), 0) / o.size for o in negatives]


def threshold_at(positive: FloatArray, k: int) -> float:
    """The threshold that candidate k stands for."""
    return float(positive[k]) if k < positive.size else np.inf


def cheapest_threshold(
    positive: FloatArray, negatives: Sequence[FloatArray], w_miss: float, w_negatives: Sequence[float]
) -> float:
    """Threshold with the lowest ``w_miss P_miss + sum(w P_fa)``, the lowest of them; all weights >= 0."""

    def cost(miss: FloatArray, alarms: Sequence[FloatArray]) -> FloatArray:
        return w_miss * miss + sum(w * p for w, p in zip(w_negatives, alarms, strict=True))

    k = _edges(positive.size)
    miss, alarms = _rates(positive, negatives, k)
    if k.size <= positive.size:
        bound = cost(miss[:-1], [p[1:] for p in alarms])
        k = surviving(k, bound <= cost(miss, alarms).min() * (1 + _SLACK))
        miss, alarms = _rates(positive, negatives, k)
    return threshold_at(positive, int(k[np.argmin(cost(miss, alarms))]))


def ratio(upper: FloatArray, lower: FloatArray) -> FloatArray:
    """Quotient of two vectors, inf where the lower one is zero (or next to it)."""
    with np.errstate(over="ignore"):
        return np.asarray(np.divide(upper, lower, out=np.full(upper.shape, np.inf), where=lower > 0))


def _hull(x: FloatArray, y: FloatArray) -> tuple[IntArray, FloatArray]:
    """Least concave majorant of x over y: indices of its vertices by rising y, and the falling slopes between them.

    Pooling adjacent violators of the slopes removes inner points.
    """
    order = np.lexsort((-x, y))
    order = order[np.append(True, np.diff(y[order]) > 0)]  # the highest x at each y
    if order.size == 1:
        return order, np.empty(0)
    dy = np.diff(y[order])
    from scipy.optimize import isotonic_regression  # slow to import

    fit = isotonic_regression(np.diff(x[order]) / dy, weights=dy, increasing=False)
    return order[fit.blocks], fit.x[fit.blocks[:-1]]


def _support(a: FloatArray, b: FloatArray, x: FloatArray, y: FloatArray) -> IntArray:
    """For each pair of weights a, b >= 0 the index of a point with the largest ``a x - b y``."""
    vertices, slopes = _hull(x, y)
    return vertices[np.searchsorted(-slopes, -ratio(b, a))]


def cheapest_thresholds(
    cm: tuple[FloatArray, FloatArray], asv: ScoreTriple, weights: tuple[float, float, float]
) -> tuple[float, float]:
    """CM and ASV thresholds that minimise the unconstrained t-DCF, exactly and without visiting all pairs.

    One decision rule everywhere: a score is **accepted when it is at least the threshold**. Equal scores are one atom,
    so an operating point is the state between two distinct scores, named by the lowest accepted one; the threshold
    ``inf`` rejects everything.

    For a minimum, only the scores of the accepted class (targets, bona fide speech) are candidates: raising a threshold
    up to the next such score misses nobody more and accepts no impostor more. Most of them are ruled out block by block
    before anything is counted, because a block of consecutive candidates cannot cost less than its own lowest miss rate
    together with its own lowest false-alarm rates.

    With u = 1 - P_miss and v = P_fa of the CM, and g = w_miss (1 - P_miss) - w_fa P_fa and s = P_fa_spoof of
    the ASV, the cost is ``w_miss - (u g - w_spoof v s)``. It is bilinear, so:

    1. For one CM point the best ASV point maximises a linear function with weights u, w_spoof v >= 0 and is a
       vertex of the concave majorant of g over s: the one whose hull slopes enclose w_spoof v / u. That is
       one binary search per CM point, in place of all M x N pairs.
    2. u g - w_spoof v s rises with u and g and falls with v and s. A block of CM candidates is therefore
       never better than (its highest u, its lowest v) against the most favourable corners of all ASV blocks,
       and likewise the other way round (a block with g < 0 never beats rejecting all). Blocks whose bound is
       below what the edges already reach are dropped; nothing that attains the optimum is.
    """
    (bonafide, spoof), (target, *impostors), (w_miss, w_fa, w_spoof) = cm, asv, weights
    kc, ka = _edges(bonafide.size), _edges(target.size)
    if kc.size <= bonafide.size or ka.size <= target.size:
        (miss_cm, (v,)), (miss, (fa, s)) = _rates(bonafide, [spoof], kc), _rates(target, impostors, ka)
        u, g = 1.0 - miss_cm, w_miss * (1.0 - miss) - w_fa * fa
        reached = np.max(_gain(u, v, g, s, w_spoof, _support(u, w_spoof * v, g, s))) - _SLACK * w_miss
        u, v, s = u[:-1], v[1:], s[1:]
        g = np.maximum(w_miss * (1.0 - miss[:-1]) - w_fa * fa[1:], 0.0)
        kc = surviving(kc, _gain(u, v, g, s, w_spoof, _support(u, w_spoof * v, g, s)) >= reached)
        ka = surviving(ka, _gain(g, s, u, v, w_spoof, _support(g, w_spoof * s, u, v)) >= reached)
    (miss_cm, (v,)), (miss, (fa, s)) = _rates(bonafide, [spoof], kc), _rates(target, impostors, ka)
    u, g = 1.0 - miss_cm, w_miss * (1.0 - miss) - w_fa * fa
    partner = _support(u, w_spoof * v, g, s)
    best = int(np.argmax(_gain(u, v, g, s, w_spoof, partner)))
    return threshold_at(bonafide, int(kc[best])), threshold_at(target, int(ka[partner[best]]))


def _gain(a: FloatArray, b: FloatArray, x: FloatArray, y: FloatArray, weight: float, partner: IntArray) -> FloatArray:
    """``a x - weight b y`` of each point (a, b) with its partner among the points (x, y)."""
    return a * x[partner] - weight * b * y[partner]
