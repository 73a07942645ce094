r"""Tandem detection costs of a verifier (ASV) behind a spoofing countermeasure (CM).

ASV-constrained t-DCF, legacy [ASVspoof 2019 evaluation plan] and revised, and the unconstrained t-DCF
[Kinnunen et al., "Tandem assessment of spoofing countermeasures and automatic speaker verification:
fundamentals", TASLP 2020, doi 10.1109/TASLP.2020.3009494]. The cost model and the costs of single systems
(a-DCF, CM) are in `measure.tandem.cost`.

Higher scores speak for acceptance (target, bona fide); a score is accepted when it is **at least** the
threshold, and the threshold ``inf`` rejects everything. Equal scores are accepted or rejected together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import tandem_measure
from zeroevidence.measure.tandem.cost import CostModel, as_model, best_measure, cost_weights, eer_measure, relative_cost
from zeroevidence.measure.tandem.thresholds import (
    Convention,
    TandemView,
    accepted_share,
    cheapest_threshold,
    cheapest_thresholds,
    check_convention,
    equal_error_point,
    operating_points,
    rejected_share,
    sorted_countermeasure,
    sorted_verifier,
    spaced_indices,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AsvRates:
    """Error rates of a verifier at one threshold, and its EER; made by hand where only rates are known."""

    p_miss: float
    p_fa: float
    p_fa_spoof: float
    threshold: float = math.nan
    eer: float = math.nan

    def __post_init__(self) -> None:
        for name in ("p_miss", "p_fa", "p_fa_spoof"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} of the ASV must lie in [0, 1], found {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TandemCost:
    """Minimum ASV-constrained t-DCF, the CM's operating point there, and the weights that led to it."""

    tdcf_min: float
    threshold: float
    p_miss: float
    p_fa: float
    c0: float
    c1: float
    c2: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TandemCurve:
    """Normalised ASV-constrained t-DCF at every operating point of the CM, by rising threshold."""

    threshold: FloatArray
    p_miss: FloatArray
    p_fa: FloatArray
    tdcf: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class JointCost:
    """Minimum unconstrained t-DCF and both thresholds, the ASV's free or fixed."""

    tdcf_min: float
    threshold_cm: float
    threshold_asv: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TandemSurface:
    """Normalised unconstrained t-DCF on a grid; ``tdcf[i, j]`` belongs to the i-th CM, j-th ASV threshold."""

    threshold_cm: FloatArray
    threshold_asv: FloatArray
    tdcf: FloatArray


def asv_rates(
    target: ArrayLike,
    nontarget: ArrayLike,
    spoof: ArrayLike,
    *,
    threshold: float | None = None,
    convention: Convention = "pooled",
) -> AsvRates:
    r"""Error rates of a verifier at its equal-error threshold, or at the given one.

    :math:`P_{miss} = P(target < \tau)`, :math:`P_{fa} = P(nontarget \ge \tau)`,
    :math:`P_{fa,spoof} = P(spoof \ge \tau)`.

    The equal-error threshold is, for ``pooled``, the one where the two rates differ least. ``challenge`` does
    as the public ASVspoof scripts: tied trials are walked singly, and the threshold is the score just
    rejected at the equal-error point, which ``>=`` accepts again; so the rates are those one trial below that
    point. The EER reported beside them is always the linear interpolation on the ROC.
    """
    check_convention(convention)
    tar, non, spf = sorted_verifier(target, nontarget, spoof)
    if threshold is None:
        threshold = equal_error_point(tar, non, convention).threshold
    elif math.isnan(threshold):
        raise InputError("the ASV threshold is NaN")
    return AsvRates(
        p_miss=rejected_share(tar, threshold),
        p_fa=accepted_share(non, threshold),
        p_fa_spoof=accepted_share(spf, threshold),
        threshold=threshold,
        eer=equal_error_point(tar, non).eer,
    )


def tdcf_weights(rates: AsvRates, model: CostModel | str = "2021") -> tuple[float, float, float]:
    r"""Weights :math:`C_0, C_1, C_2` that a fixed verifier gives to the CM's errors.

    Revised: :math:`C_0 = \pi_{tar} C_{miss} P_{miss} + \pi_{non} C_{fa} P_{fa}`,
    :math:`C_1 = \pi_{tar} C_{miss} - C_0`, :math:`C_2 = \pi_{spoof} C_{fa,spoof} P_{fa,spoof}`.
    Legacy: :math:`C_0 = 0`,
    :math:`C_1 = \pi_{tar} (C_{miss,cm} - C_{miss} P_{miss}) - \pi_{non} C_{fa} P_{fa}`,
    :math:`C_2` the same. A legacy :math:`C_1 < 0` (a verifier that costs more than rejecting everyone) has no
    meaning and is an `InputError`; the revised form covers it.
    """
    model = as_model(model)
    asv = model.pi_tar * model.c_miss * rates.p_miss + model.pi_non * model.c_fa * rates.p_fa
    c2 = model.pi_spoof * model.c_fa_spoof * rates.p_fa_spoof
    if model.form == "revised":
        return asv, model.pi_tar * model.c_miss - asv, c2
    c1 = model.pi_tar * model.c_miss_cm - asv
    if c1 < 0:
        raise InputError(
            f"legacy t-DCF is undefined: the ASV alone costs {asv:.6g}, more than a CM that rejects everyone "
            f"({model.pi_tar * model.c_miss_cm:.6g}); use the revised form"
        )
    return 0.0, c1, c2


def tdcf_min(bonafide: ArrayLike, spoof: ArrayLike, rates: AsvRates, model: CostModel | str = "2021") -> TandemCost:
    r"""Minimum over the CM threshold of the normalised ASV-constrained t-DCF.

    .. math:: \frac{C_0 + C_1 P_{miss}^{cm}(\tau) + C_2 P_{fa}^{cm}(\tau)}{C_0 + \min(C_1, C_2)}

    1 is a countermeasure that is no better than accepting or rejecting everything; the floor is
    :math:`C_0 / (C_0 + \min(C_1, C_2))` (0 in the legacy form, where :math:`C_0 = 0`). If no spoof passes the
    verifier (:math:`C_2 = 0`) there is nothing to gain and the result is 1.
    """
    c0, c1, c2 = tdcf_weights(rates, model)
    bona, spf = sorted_countermeasure(bonafide, spoof)
    # Where C1 <= 0 every rejection saves money, so rejecting all is optimal.
    threshold = cheapest_threshold(bona, [spf], c1, [c2]) if c1 > 0 else math.inf
    miss, fa = rejected_share(bona, threshold), accepted_share(spf, threshold)
    value = float(relative_cost(c0 + c1 * miss + c2 * fa, c0 + min(c1, c2)))
    return TandemCost(tdcf_min=value, threshold=threshold, p_miss=miss, p_fa=fa, c0=c0, c1=c1, c2=c2)


def tdcf_curve(bonafide: ArrayLike, spoof: ArrayLike, rates: AsvRates, model: CostModel | str = "2021") -> TandemCurve:
    """Normalised ASV-constrained t-DCF (formula in `tdcf_min`) at each distinct CM score and at ``inf``."""
    c0, c1, c2 = tdcf_weights(rates, model)
    threshold, (hit, fa) = operating_points(*sorted_countermeasure(bonafide, spoof))
    cost = c0 + c1 * (1.0 - hit) + c2 * fa
    return TandemCurve(threshold=threshold, p_miss=1.0 - hit, p_fa=fa, tdcf=relative_cost(cost, c0 + min(c1, c2)))


def tdcf_joint_min(
    asv_target: ArrayLike,
    asv_nontarget: ArrayLike,
    asv_spoof: ArrayLike,
    cm_bonafide: ArrayLike,
    cm_spoof: ArrayLike,
    model: CostModel | str = "2021",
) -> JointCost:
    r"""Minimum over both thresholds of the normalised unconstrained t-DCF.

    .. math::
        \frac{C_{miss} \pi_{tar} [P_m^{cm} + (1 - P_m^{cm}) P_m^{asv}]
        + C_{fa} \pi_{non} (1 - P_m^{cm}) P_{fa}^{asv}
        + C_{fa,spoof} \pi_{spoof} P_{fa}^{cm} P_{fa,spoof}^{asv}}
        {\min(C_{miss} \pi_{tar}, C_{fa} \pi_{non} + C_{fa,spoof} \pi_{spoof})}

    In [0, 1]. CM and ASV decisions are taken as independent given the kind of trial, as in the t-DCF itself.
    ``cm_bonafide`` holds the CM scores of target and non-target speech together. The form and convention of
    the model do not matter here.
    """
    model = as_model(model)
    detected = sorted_countermeasure(cm_bonafide, cm_spoof, "CM ")
    verified = sorted_verifier(asv_target, asv_nontarget, asv_spoof, "ASV ")
    cm, asv = cheapest_thresholds(detected, verified, cost_weights(model))
    bona, spf = (np.asarray(accepted_share(of_class, cm)) for of_class in detected)
    cost = _joint_cost(bona, spf, [np.asarray(accepted_share(of_class, asv)) for of_class in verified], model)
    return JointCost(tdcf_min=float(cost), threshold_cm=cm, threshold_asv=asv)


def tdcf_fixed_joint(
    cm_bonafide: ArrayLike, cm_spoof: ArrayLike, rates: AsvRates, model: CostModel | str = "2021"
) -> JointCost:
    """Minimum over the CM threshold of the unconstrained t-DCF (formula in `tdcf_joint_min`), the ASV fixed.

    What `tdcf_min` measures on the scale of `tdcf_joint_min`, which is never the larger of the two for the same
    verifier. Above 1 at an ASV threshold where deciding blindly would cost less.

    Examples
    --------
    >>> rates = AsvRates(p_miss=0.1, p_fa=0.2, p_fa_spoof=0.5)
    >>> round(tdcf_fixed_joint([1.0, 2.0, 3.0, -1.0], [-2.0, 0.5], rates).tdcf_min, 4)
    0.4001
    """
    # Without its divisor the revised form is the unconstrained one, so both have their minimum at one threshold.
    model = replace(as_model(model), form="revised")
    best = tdcf_min(cm_bonafide, cm_spoof, rates, model)
    accepted = [np.asarray(share) for share in (1.0 - rates.p_miss, rates.p_fa, rates.p_fa_spoof)]
    cost = _joint_cost(np.asarray(1.0 - best.p_miss), np.asarray(best.p_fa), accepted, model)
    return JointCost(tdcf_min=float(cost), threshold_cm=best.threshold, threshold_asv=rates.threshold)


def tdcf_surface(
    asv_target: ArrayLike,
    asv_nontarget: ArrayLike,
    asv_spoof: ArrayLike,
    cm_bonafide: ArrayLike,
    cm_spoof: ArrayLike,
    model: CostModel | str = "2021",
    *,
    points: int = 201,
) -> TandemSurface:
    """Normalised unconstrained t-DCF (formula in `tdcf_joint_min`) on at most ``points`` thresholds a side.

    The thresholds are operating points equally spaced by rank, ends included. For drawing: the minimum of the
    grid is an upper bound of `tdcf_joint_min`.
    """
    if points < 2:
        raise InputError(f"a surface needs at least 2 points a side, found {points}")
    cm, (bona, spf) = operating_points(*sorted_countermeasure(cm_bonafide, cm_spoof, "CM "))
    asv, rates = operating_points(*sorted_verifier(asv_target, asv_nontarget, asv_spoof, "ASV "))
    i, j = spaced_indices(cm.size, points), spaced_indices(asv.size, points)
    tdcf = _joint_cost(bona[i, None], spf[i, None], [r[None, j] for r in rates], as_model(model))
    return TandemSurface(threshold_cm=cm[i], threshold_asv=asv[j], tdcf=tdcf)


def _joint_cost(u: FloatArray, v: FloatArray, asv: list[FloatArray], model: CostModel) -> FloatArray:
    """Normalised unconstrained t-DCF of the shares that the CM (bona fide u, spoof v) and the ASV accept."""
    tar, non, spf = asv
    w_miss, w_fa, w_spoof = cost_weights(model)
    cost = w_miss * (1.0 - u * tar) + w_fa * u * non + w_spoof * v * spf
    return relative_cost(cost, min(w_miss, w_fa + w_spoof))


def constrained_rates(view: TandemView) -> AsvRates | None:
    """Error rates of the verifier behind the countermeasure: those that the model fixes, else `view_rates`."""
    return fixed_rates(view.model) or view_rates(view)


def fixed_rates(model: CostModel) -> AsvRates | None:
    """Error rates of the verifier that the model fixes; None where it fixes none."""
    names = ("p_miss", "p_fa", "p_fa_spoof")
    return None if model.asv is None else AsvRates(**dict(zip(names, model.asv, strict=True)))


def view_rates(view: TandemView) -> AsvRates | None:
    """Error rates of the verifier at its threshold, or its equal-error point; None where there is no verifier."""
    asv = view.asv
    if asv is None:
        return None
    return view.cached(
        "asv_rates", lambda: asv_rates(*asv, threshold=view.model.asv_threshold, convention=view.model.convention)
    )


def _describe_threshold(view: TandemView) -> str:
    if view.model.asv_threshold is not None:
        return f"ASV at {view.model.asv_threshold:g}"
    return f"ASV at its equal-error point ({view.model.convention})"


def describe_verifier(view: TandemView) -> str:
    """The verifier behind the countermeasure: its threshold, or whose it is."""
    return _describe_threshold(view) if view.model.asv is None else "ASV of the organisers"


@best_measure(
    "tdcf_min",
    "min t-DCF (constrained)",
    place=10,
    headline=150,
    strength=30,
    method=lambda view: f"{view.model.form}, {describe_verifier(view)}",
    references=("kinnunen2020",),
)
def _tdcf_min(view: TandemView) -> float | None:
    """Cost of a fixed verifier with the countermeasure at its best threshold; 1 means that it does not help."""
    rates = constrained_rates(view)
    if rates is None or view.cm is None:
        return None
    return tdcf_min(*view.cm, rates, view.model).tdcf_min


@best_measure(
    "tdcf_fixed_joint",
    "fixed min t-DCF (unconstrained)",
    place=18,
    headline=240,
    limits=None,
    method=lambda view: f"unconstrained, {_describe_threshold(view)}",
    references=("kinnunen2020",),
)
def _tdcf_fixed_joint(view: TandemView) -> float | None:
    """Cost of a fixed verifier on the scale of the joint minimum, to compare with it; 1 is deciding blindly."""
    rates = view_rates(view)
    if rates is None or view.cm is None:
        return None
    return tdcf_fixed_joint(*view.cm, rates, view.model).tdcf_min


@best_measure(
    "tdcf_joint_min",
    "joint min t-DCF (unconstrained)",
    place=20,
    headline=250,
    method="unconstrained, best thresholds",
    references=("kinnunen2020",),
)
def _tdcf_joint_min(view: TandemView) -> float | None:
    """Cost of verifier and countermeasure with both thresholds optimised together; 1 is deciding blindly."""
    if view.asv is None or view.cm is None:
        return None
    return tdcf_joint_min(*view.asv, *view.cm, view.model).tdcf_min


@eer_measure("asv_eer", "ASV EER", place=40, headline=180, references=("kinnunen2020",))
def _asv_eer(view: TandemView) -> float | None:
    """Equal error rate of the verifier alone between targets and non-targets."""
    rates = view_rates(view)
    return None if rates is None else rates.eer


@tandem_measure(
    "p_fa_spoof",
    "spoofs past ASV",
    unit="rate",
    place=50,
    headline=190,
    method=_describe_threshold,
    references=("kinnunen2020",),
)
def _p_fa_spoof(view: TandemView) -> float | None:
    """Share of spoofs that the verifier alone accepts, and that a countermeasure could stop."""
    rates = view_rates(view)
    return None if rates is None else rates.p_fa_spoof
