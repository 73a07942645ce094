"""Tandem measures for each spoofing attack.

Targets, non-targets and bona fide speech are shared, so the verifier keeps one threshold; the spoofs of one
attack replace all spoofs, in the ASV's spoof acceptance rate and in the CM's scores alike. Each row uses the
whole spoof prior of the cost model, as if that attack were the only one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError
from zeroevidence.measure.tandem.cost import CostModel, as_model, cm_dcf_min, cm_eer
from zeroevidence.measure.tandem.tdcf import asv_rates, fixed_rates, tdcf_joint_min, tdcf_min
from zeroevidence.measure.tandem.teer import teer
from zeroevidence.measure.tandem.thresholds import checked_scores, sorted_scores


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackMeasures:
    """The measures for one attack, or for all of them together (``attack`` is None)."""

    attack: str | None
    n_asv: int
    n_cm: int
    p_fa_spoof: float
    tdcf_min: float
    tdcf_joint_min: float
    teer: float
    cm_eer: float
    cm_dcf_min: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackBreakdown:
    """All attacks pooled, then each by name."""

    pooled: AttackMeasures
    attacks: tuple[AttackMeasures, ...]


def by_attack(
    asv_target: ArrayLike,
    asv_nontarget: ArrayLike,
    asv_spoof: ArrayLike,
    asv_attack: ArrayLike,
    cm_bonafide: ArrayLike,
    cm_spoof: ArrayLike,
    cm_attack: ArrayLike,
    model: CostModel | str = "2021",
) -> AttackBreakdown:
    """Tandem measures pooled and per attack; the attack arrays label the spoof scores beside them.

    The ASV threshold and the t-EER follow the model's convention; the EER of the CM is the interpolated one.
    An attack that only one of the two systems has scores for is an `InputError`. Pooling is over trials, so a
    pooled figure is not the mean of the rows.
    """
    model = as_model(model)
    tar, non = sorted_scores(asv_target, "ASV target"), sorted_scores(asv_nontarget, "ASV non-target")
    bona = sorted_scores(cm_bonafide, "CM bona fide")
    asv, asv_labels = _labelled(asv_spoof, asv_attack, "ASV")
    cm, cm_labels = _labelled(cm_spoof, cm_attack, "CM")
    for here, there, system, other in (
        (asv_labels, cm_labels, "ASV", "CM"),
        (cm_labels, asv_labels, "CM", "ASV"),
    ):
        lacking = np.setdiff1d(here, there)
        if lacking.size:
            raise InputError(f"attack {lacking[0]!s} has {system} scores but no {other} scores")

    def measures(attack: str | None) -> AttackMeasures:
        asv_spf = asv if attack is None else asv[asv_labels == attack]
        cm_spf = cm if attack is None else cm[cm_labels == attack]
        rates = asv_rates(tar, non, asv_spf, convention=model.convention)
        return AttackMeasures(
            attack=attack,
            n_asv=asv_spf.size,
            n_cm=cm_spf.size,
            p_fa_spoof=rates.p_fa_spoof,
            tdcf_min=tdcf_min(bona, cm_spf, fixed_rates(model) or rates, model).tdcf_min,
            tdcf_joint_min=tdcf_joint_min(tar, non, asv_spf, bona, cm_spf, model).tdcf_min,
            teer=teer(tar, non, asv_spf, bona, cm_spf, convention=model.convention).teer,
            cm_eer=cm_eer(bona, cm_spf),
            cm_dcf_min=cm_dcf_min(bona, cm_spf, model).dcf,
        )

    return AttackBreakdown(
        pooled=measures(None), attacks=tuple(measures(str(attack)) for attack in np.unique(cm_labels))
    )


def _labelled(
    values: ArrayLike, labels: ArrayLike, system: str
) -> tuple[FloatArray, np.ndarray[tuple[int], np.dtype[np.str_]]]:
    vector, names = checked_scores(values, f"{system} spoof"), np.asarray(labels).astype(str)
    if names.shape != vector.shape:
        raise InputError(f"{vector.size} {system} spoof scores but {names.size} attack labels")
    return vector, names
