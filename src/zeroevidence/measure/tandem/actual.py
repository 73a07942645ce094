r"""Actual cost of a tandem whose thresholds are both set beforehand [Kinnunen et al. 2020].

There are four kinds of errors. With the rates of the countermeasure (CM) and of the verifier (ASV),

- :math:`P_a = (1 - P_{miss}^{cm}) P_{miss}^{asv}`: the ASV rejects a target that the CM let pass,
- :math:`P_b = (1 - P_{miss}^{cm}) P_{fa}^{asv}`: the ASV accepts another speaker that the CM let pass,
- :math:`P_c = P_{fa}^{cm} P_{fa,spoof}^{asv}`: both accept a spoof,
- :math:`P_d = P_{miss}^{cm}`: the CM rejects a target.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from zeroevidence.errors import InputError
from zeroevidence.measure.measures import tandem_measure
from zeroevidence.measure.tandem.cost import CostModel, relative_cost
from zeroevidence.measure.tandem.tdcf import AsvRates, constrained_rates, describe_verifier, tdcf_weights
from zeroevidence.measure.tandem.thresholds import accepted_share, rejected_share, sorted_scores
from zeroevidence.measure.tandem.view import TandemView


@dataclass(frozen=True, slots=True, kw_only=True)
class ActualCost:
    """Normalised t-DCF at given thresholds, and the rates of the four errors there."""

    tdcf: float
    p_a: float
    p_b: float
    p_c: float
    p_d: float


def tdcf_act(
    bonafide: ArrayLike,
    spoof: ArrayLike,
    rates: AsvRates,
    threshold: float,
    model: CostModel | str = "2021",
) -> ActualCost:
    r"""Normalised t-DCF of a countermeasure at its threshold, before a verifier with these error rates.

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
    miss, fa = (
        rejected_share(sorted_scores(bonafide, "bona fide"), threshold),
        accepted_share(sorted_scores(spoof, "spoof"), threshold),
    )
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
    "act t-DCF",
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
