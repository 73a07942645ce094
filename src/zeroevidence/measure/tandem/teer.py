"""Tandem measures at one pair of thresholds: the equal error rate, and the actual cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import tandem_measure
from zeroevidence.measure.tandem.cost import CostModel, relative_cost
from zeroevidence.measure.tandem.tdcf import AsvRates, constrained_rates, describe_verifier, tdcf_weights
from zeroevidence.measure.tandem.thresholds import (
    Convention,
    TandemView,
    accepted_share,
    check_convention,
    operating_points,
    ratio,
    rejected_share,
    sorted_countermeasure,
    sorted_verifier,
    surviving,
)

_STEP = 512  # ASV operating points in a block of `teer`
_EQUAL = 1e-12  # differences that rounding could have made or hidden count as none


@dataclass(frozen=True, slots=True, kw_only=True)
class TandemEqualError:
    """Concurrent t-EER: thresholds and the three tandem error rates, which agree up to the trials at hand."""

    teer: float
    threshold_asv: float
    threshold_cm: float
    p_miss: float
    p_fa: float
    p_fa_spoof: float


class _Curves(NamedTuple):
    tau_asv: FloatArray
    hit: FloatArray
    non: FloatArray
    spf: FloatArray
    tau_cm: FloatArray
    u: FloatArray
    v: FloatArray
    rho: float

    def allowed(self) -> int:
        """How many ASV points, from the lowest threshold on, have a point on the path."""
        return int(np.count_nonzero(1.0 - self.hit < (1.0 - self.rho) * self.non + self.rho * self.spf))

    def gap(self, j: IntArray, i: IntArray) -> FloatArray:
        """Tandem miss minus false-alarm rate."""
        return 1.0 - self.u[i] * (self.hit[j] + (1.0 - self.rho) * self.non[j]) - self.rho * self.v[i] * self.spf[j]

    def first_above(self, j: IntArray) -> IntArray:
        """Lowest CM point whose gap is not negative, for each rising ASV point j; falls as j rises."""
        high, low = np.full(j.size, self.u.size - 1), np.zeros(j.size, np.int64)  # rejecting all has gap 1
        if j.size > 64 * 64:  # every 64th first: its neighbours enclose the rest, and bisection is short
            coarse = self.first_above(j[::64])
            high = np.repeat(coarse, 64)[: j.size]
            low[: 64 * (coarse.size - 1)] = np.repeat(coarse[1:], 64)
        weight_u, weight_v = self.hit[j] + (1.0 - self.rho) * self.non[j], self.rho * self.spf[j]
        for _ in range(int(np.max(high - low, initial=0)).bit_length()):
            middle = (low + high) >> 1
            above = weight_u * self.u[middle] + weight_v * self.v[middle] <= 1.0
            high, low = np.where(above, middle, high), np.where(above, low, np.minimum(middle + 1, high))
        return high

    def nearest(self, j: IntArray, above: IntArray) -> IntArray:
        """CM point with the smallest absolute gap: the first not below zero, or the one before it."""
        before = np.maximum(above - 1, 0)
        return np.where(np.abs(self.gap(j, before)) <= np.abs(self.gap(j, above)) + _EQUAL, before, above)

    def mismatch(self, j: IntArray, i: IntArray) -> FloatArray:
        """How far from the concurrent point: abs(P_non / P_spf - v / u), inf where a ratio has none."""
        left, right = ratio(self.non[j], self.spf[j]), ratio(self.v[i], self.u[i])
        apart = np.full(j.shape, np.inf)
        both = np.isfinite(left) & np.isfinite(right)
        apart[both] = np.abs(left[both] - right[both])
        return apart


def teer(
    asv_target: ArrayLike,
    asv_nontarget: ArrayLike,
    asv_spoof: ArrayLike,
    cm_bonafide: ArrayLike,
    cm_spoof: ArrayLike,
    *,
    rho: float = 0.5,
    convention: Convention = "pooled",
) -> TandemEqualError:
    r"""Concurrent t-EER, in [0, 1]: the t-EER that does not depend on the share of spoofs.

    Kinnunen, Lee, Tak, Evans, Nautsch, "t-EER: parameter-free tandem evaluation of countermeasures and biometric
    comparators", TPAMI 2023, doi 10.1109/TPAMI.2023.3313648.

    With the CM accepting a share u of bona fide and v of spoofed speech, and the ASV missing :math:`P_m` of the targets
    and accepting :math:`P_{non}`, :math:`P_{spf}` of the others, the tandem errs at the rates

    .. math::
        P_{miss} = 1 - u (1 - P_m), \qquad P_{fa} = (1 - \rho) u P_{non} + \rho v P_{spf}

    where :math:`\rho` is the share of spoofs among impostors. For each ASV threshold with :math:`P_m < (1 - \rho)
    P_{non} + \rho P_{spf}` some CM threshold makes both equal: the t-EER path. One point of it, the concurrent t-EER,
    does not depend on :math:`\rho`: where :math:`P_{non} / P_{spf} = v / u`.

    Scores are accepted when they are at least the threshold. Both sweeps are merges of sorted scores; the CM threshold
    of an ASV threshold is a binary search, since the gap :math:`P_{miss} - P_{fa} = 1 - u (1 - P_m + (1 - \rho)
    P_{non}) - \rho v P_{spf}` rises with either threshold.

    The point of the t-EER path where :math:`|P_{non} / P_{spf} - v / u|` is smallest (of equals the one with
    the lowest ASV threshold); its value is the tandem's spoof acceptance rate :math:`v P_{spf}` there. With
    finitely many trials :math:`\rho` still chooses among neighbouring points, hence the argument.
    ``cm_bonafide`` holds the CM scores of target and non-target speech together. ``challenge`` walks equal
    scores one trial at a time, as the public scripts; without equal scores there is no difference.
    """
    check_convention(convention)
    if not 0.0 <= rho <= 1.0:
        raise InputError(f"rho must lie in [0, 1], found {rho}")
    asv = sorted_verifier(asv_target, asv_nontarget, asv_spoof, "ASV ")
    cm = sorted_countermeasure(cm_bonafide, cm_spoof, "CM ")
    tau_asv, (hit, non, spf) = operating_points(*asv, convention=convention)
    tau_cm, (bona, faked) = operating_points(*cm, convention=convention)
    curves = _Curves(tau_asv, hit, non, spf, tau_cm, bona, faked, rho)
    j = _concurrent_candidates(curves, curves.allowed())
    i = curves.nearest(j, curves.first_above(j))
    mismatch = curves.mismatch(j, i)
    best = int(np.argmax(mismatch <= mismatch.min() + _EQUAL))  # the first of equals
    a, c = int(j[best]), int(i[best])
    u, v = float(curves.u[c]), float(curves.v[c])
    spoofed = v * float(curves.spf[a])
    return TandemEqualError(
        teer=spoofed,
        threshold_asv=float(curves.tau_asv[a]),
        threshold_cm=float(curves.tau_cm[c]),
        p_miss=1.0 - u * float(curves.hit[a]),
        p_fa=u * float(curves.non[a]),
        p_fa_spoof=spoofed,
    )


def _concurrent_candidates(curves: _Curves, allowed: int) -> IntArray:
    """ASV points that can be the concurrent one.

    Between two ASV points all rates lie between those at the two, and so does the first CM point with a gap
    not below zero; the nearest CM point is that or the one before. This encloses both ratios and bounds their
    distance from below; a block whose bound exceeds what the edges reach cannot hold the concurrent point.
    """
    if allowed <= 4 * _STEP:
        return np.arange(allowed)
    edges = np.append(np.arange(0, allowed - 1, _STEP), allowed - 1)
    above = curves.first_above(edges)
    reached = curves.mismatch(edges, curves.nearest(edges, above)).min()
    first, last = edges[:-1], edges[1:]
    i_high, i_low = above[:-1], np.maximum(above[1:] - 1, 0)
    left = ratio(curves.non[last], curves.spf[first]), ratio(curves.non[first], curves.spf[last])
    low_u, high_v = curves.u[i_low], curves.v[i_high]
    right = np.where(low_u > 0, ratio(high_v, low_u), 0.0), ratio(curves.v[i_low], curves.u[i_high])
    apart = np.maximum(_excess(left[0], right[1]), _excess(right[0], left[1]))
    return surviving(edges, apart <= reached + 2.0 * _EQUAL)


def _excess(low: FloatArray, high: FloatArray) -> FloatArray:
    """How far a lower end lies above an upper end; an infinite upper end excludes nothing."""
    bounded = np.isfinite(high)
    return np.where(bounded, low - np.where(bounded, high, 0.0), 0.0)


@tandem_measure(
    "teer",
    "t-EER",
    unit="rate",
    place=30,
    headline=160,
    strength=50,
    method=lambda view: f"concurrent ({view.model.convention})",
    references=("kinnunen2023",),
)
def _teer(view: TandemView) -> float | None:
    """The equal rate at which the tandem rejects targets, accepts non-targets and accepts spoofs."""
    if view.asv is None or view.cm is None:
        return None
    return teer(*view.asv, *view.cm, convention=view.model.convention).teer


@dataclass(frozen=True, slots=True, kw_only=True)
class ActualCost:
    """Normalised t-DCF at given thresholds, and the rates of the four errors there."""

    tdcf: float
    p_a: float
    p_b: float
    p_c: float
    p_d: float


def tdcf_act(
    bonafide: ArrayLike, spoof: ArrayLike, rates: AsvRates, threshold: float, model: CostModel | str = "2021"
) -> ActualCost:
    r"""Normalised t-DCF of a countermeasure at its threshold, before a verifier with these error rates.

    There are four kinds of errors. With the rates of the countermeasure (CM) and of the verifier (ASV),

    - :math:`P_a = (1 - P_{miss}^{cm}) P_{miss}^{asv}`: the ASV rejects a target that the CM let pass,
    - :math:`P_b = (1 - P_{miss}^{cm}) P_{fa}^{asv}`: the ASV accepts another speaker that the CM let pass,
    - :math:`P_c = P_{fa}^{cm} P_{fa,spoof}^{asv}`: both accept a spoof,
    - :math:`P_d = P_{miss}^{cm}`: the CM rejects a target.

    .. math:: \frac{C_0 + C_1 P_{miss}^{cm}(\tau) + C_2 P_{fa}^{cm}(\tau)}{C_0 + \min(C_1, C_2)}

    with the weights of `tdcf_weights`. The scale is that of `tdcf_min`, which is the least that any threshold of the
    countermeasure would cost; above 1, accepting all or rejecting all would cost less. In the revised
    form the numerator is
    :math:`C_{miss} \pi_{tar} (P_a + P_d) + C_{fa} \pi_{non} P_b + C_{fa,spoof} \pi_{spoof} P_c`.

    Examples
    --------
    >>> rates = AsvRates(p_miss=0.1, p_fa=0.2, p_fa_spoof=0.5)
    >>> cost = tdcf_act([1.0, 2.0, 3.0, -1.0], [-2.0, 0.5], rates, 0.0)
    >>> cost.p_a, cost.p_b, cost.p_c, cost.p_d
    (0.07500000000000001, 0.15000000000000002, 0.25, 0.25)
    """
    if math.isnan(threshold):
        raise InputError("the CM threshold is NaN")
    bona, spf = sorted_countermeasure(bonafide, spoof)
    miss, fa = rejected_share(bona, threshold), accepted_share(spf, threshold)
    p_a, p_b, p_c, p_d = (1.0 - miss) * rates.p_miss, (1.0 - miss) * rates.p_fa, fa * rates.p_fa_spoof, miss
    c0, c1, c2 = tdcf_weights(rates, model)
    cost = relative_cost(c0 + c1 * miss + c2 * fa, c0 + min(c1, c2))
    return ActualCost(tdcf=float(cost), p_a=p_a, p_b=p_b, p_c=p_c, p_d=p_d)


def _actual_cost(view: TandemView) -> ActualCost | None:
    """The cost at the thresholds of the model; None where it sets none for the countermeasure."""
    rates, threshold, cm = constrained_rates(view), view.model.cm_threshold, view.cm
    if rates is None or cm is None or threshold is None:
        return None
    return view.cached("tdcf_act", lambda: tdcf_act(*cm, rates, threshold, view.model))


def _describe_thresholds(view: TandemView) -> str:
    return f"CM at {view.model.cm_threshold:g}, {describe_verifier(view)}"


@tandem_measure(
    "tdcf_act",
    "act t-DCF (constrained)",
    unit="relative cost",
    place=12,
    headline=152,
    method=lambda view: f"{view.model.form}, {_describe_thresholds(view)}",
    references=("kinnunen2020",),
)
def _tdcf_act(view: TandemView) -> float | None:
    """Cost of a fixed verifier with the countermeasure at its threshold; 1 or more means that it does not help."""
    cost = _actual_cost(view)
    return None if cost is None else cost.tdcf


@tandem_measure(
    "tdcf_errors",
    "tandem errors",
    unit="rate",
    discloses="none",
    place=14,
    interval=None,
    method=_describe_thresholds,
    references=("kinnunen2020",),
    parts=("a", "b", "c", "d"),
)
def _tdcf_errors(view: TandemView) -> dict[str, float] | None:
    """Error rates: a ASV rejects a target, b it accepts a non-target, c both accept a spoof, d CM rejects a target."""
    cost = _actual_cost(view)
    return None if cost is None else {"a": cost.p_a, "b": cost.p_b, "c": cost.p_c, "d": cost.p_d}
