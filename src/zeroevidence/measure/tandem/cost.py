r"""Cost model of decisions, and detection costs of systems with one score per trial.

The a-DCF of a single spoofing-robust verifier [Shim et al., "a-DCF: an architecture agnostic metric with
application to spoofing-robust speaker verification", Odyssey 2024] and the costs of a countermeasure (CM) on
its own [ASVspoof 5 evaluation plan]. `measure.tandem` has the costs of a verifier and a CM together.

Higher scores speak for acceptance (target, bona fide); a score is accepted when it is **at least** the
threshold, and the threshold ``inf`` rejects everything. Equal scores are accepted or rejected together. Costs
are divided by that of the best decision without scores; where that is already 0, a cost of 0 counts as 1, no better
than ignoring the scores, and any other as ``inf``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray
from zeroevidence.data.scores import check_scores
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import tandem_measure
from zeroevidence.measure.pairs.verification import cllr, eer
from zeroevidence.measure.tandem.thresholds import (
    Convention,
    TandemView,
    accepted_share,
    cheapest_threshold,
    check_convention,
    equal_error_point,
    rejected_share,
    sorted_countermeasure,
    sorted_verifier,
)

# Misses, false alarms and accepted spoofs of the organisers' verifier on the evaluation set of ASVspoof 5.
_ASVSPOOF5 = (0.01880141010575793, 0.01881016557566423, 0.4607082907604729)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostModel:
    """Priors of the three kinds of trial, what each wrong decision costs, and how the costs are put together.

    ``asv_threshold`` and ``cm_threshold`` are those that the systems are used with, where they are set beforehand: the
    verifier's is its equal-error point unless given, the countermeasure's the best.

    ``form`` chooses the legacy (2019) or revised (2021) ASV-constrained t-DCF; ``c_miss_cm``, the cost of the
    CM rejecting a target, is used by the legacy form only. ``convention`` says how the equal-error point of
    the ASV is found (see `asv_rates`). ``asv`` fixes the verifier's rates of misses, false alarms and accepted
    spoofs in the ASV-constrained t-DCF, whatever verifier is measured beside it.
    """

    pi_tar: float
    pi_non: float
    pi_spoof: float
    c_miss: float = 1.0
    c_fa: float = 10.0
    c_fa_spoof: float = 10.0
    c_miss_cm: float = 1.0
    asv_threshold: float | None = None
    cm_threshold: float | None = None
    form: Literal["legacy", "revised"] = "revised"
    convention: Convention = "pooled"
    asv: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        for name in ("asv_threshold", "cm_threshold"):
            if getattr(self, name) is not None and math.isnan(getattr(self, name)):
                raise InputError(f"{name} is NaN")
        for name in ("pi_tar", "pi_non", "pi_spoof"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} must lie in [0, 1], found {getattr(self, name)}")
        if abs(self.pi_tar + self.pi_non + self.pi_spoof - 1.0) > 1e-9:
            raise InputError(f"the priors sum to {self.pi_tar + self.pi_non + self.pi_spoof}, not to 1")
        for name in ("c_miss", "c_fa", "c_fa_spoof", "c_miss_cm"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise InputError(f"{name} must be positive and finite, found {getattr(self, name)}")
        if self.form not in ("legacy", "revised"):
            raise InputError(f"unknown form {self.form!r}; known: legacy, revised")
        for rate in self.asv or ():
            if not 0.0 <= rate <= 1.0:
                raise InputError(f"rates of the ASV must lie in [0, 1], found {rate}")
        check_convention(self.convention)

    @classmethod
    def preset(cls, name: str) -> CostModel:
        """The model of an evaluation: ``2019``, ``2021``, ``asvspoof5``, ``adcf`` or ``adcf-paper``."""
        if name not in PRESETS:
            raise InputError(f"unknown cost model {name!r}; known: {', '.join(PRESETS)}")
        return PRESETS[name]


# The tables of 2019 and 2021 were made with the public scripts' equal-error point, so their presets keep it.
PRESETS: dict[str, CostModel] = {
    "2019": CostModel(pi_tar=0.9405, pi_non=0.0095, pi_spoof=0.05, form="legacy", convention="challenge"),
    "2021": CostModel(pi_tar=0.9405, pi_non=0.0095, pi_spoof=0.05, convention="challenge"),
    "asvspoof5": CostModel(pi_tar=0.9405, pi_non=0.0095, pi_spoof=0.05, asv=_ASVSPOOF5),
    "adcf": CostModel(pi_tar=0.9405, pi_non=0.0095, pi_spoof=0.05),
    "adcf-paper": CostModel(pi_tar=0.9, pi_non=0.05, pi_spoof=0.05, c_fa_spoof=20.0),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AgnosticCost:
    """a-DCF of a single verifier at one threshold."""

    adcf: float
    threshold: float
    p_miss: float
    p_fa: float
    p_fa_spoof: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CmCost:
    """Normalised detection cost of a countermeasure at one threshold."""

    dcf: float
    threshold: float
    p_miss: float
    p_fa: float


def adcf(
    target: ArrayLike, nontarget: ArrayLike, spoof: ArrayLike, threshold: float, model: CostModel | str = "adcf"
) -> AgnosticCost:
    """a-DCF (formula in `adcf_min`) of a spoofing-robust verifier at the threshold it is used with."""
    if math.isnan(threshold):
        raise InputError("the threshold is NaN")
    return _adcf_at(*sorted_verifier(target, nontarget, spoof), threshold, as_model(model))


def adcf_min(
    target: ArrayLike, nontarget: ArrayLike, spoof: ArrayLike, model: CostModel | str = "adcf"
) -> AgnosticCost:
    r"""Minimum over the threshold of the normalised a-DCF of a single spoofing-robust verifier.

    .. math::
        \frac{C_{miss} \pi_{tar} P_{miss} + C_{fa} \pi_{non} P_{fa} + C_{fa,spoof} \pi_{spoof} P_{fa,spoof}}
        {\min(C_{miss} \pi_{tar}, C_{fa} \pi_{non} + C_{fa,spoof} \pi_{spoof})}

    In [0, 1]. With :math:`\pi_{spoof} = 0` it is the plain minimum DCF of targets against non-targets.
    """
    model = as_model(model)
    tar, non, spf = sorted_verifier(target, nontarget, spoof)
    w_miss, w_fa, w_spoof = cost_weights(model)
    return _adcf_at(tar, non, spf, cheapest_threshold(tar, [non, spf], w_miss, [w_fa, w_spoof]), model)


def cm_dcf(
    bonafide: ArrayLike, spoof: ArrayLike, model: CostModel | str = "asvspoof5", *, threshold: float | None = None
) -> CmCost:
    r"""Actual normalised detection cost of a countermeasure whose scores are taken as LLRs.

    :math:`(w P_{miss} + P_{fa}) / \min(w, 1)` with
    :math:`w = C_{miss} (1 - \pi_{spoof}) / (C_{fa,spoof} \pi_{spoof})`, at the Bayes threshold :math:`-\ln w`
    (1.9 and -0.642 in ASVspoof 5), or at the given one.
    """
    model = as_model(model)
    if threshold is None:
        w_miss, w_fa = _cm_weights(model)
        threshold = -math.inf if w_fa == 0 else math.inf if w_miss == 0 else math.log(w_fa / w_miss)
    elif math.isnan(threshold):
        raise InputError("the CM threshold is NaN")
    return _cm_at(*sorted_countermeasure(bonafide, spoof), threshold, model)


def cm_dcf_min(bonafide: ArrayLike, spoof: ArrayLike, model: CostModel | str = "asvspoof5") -> CmCost:
    """Minimum over the threshold of the normalised detection cost (formula in `cm_dcf`); in [0, 1]."""
    model = as_model(model)
    bona, spf = sorted_countermeasure(bonafide, spoof)
    w_miss, w_fa = _cm_weights(model)
    return _cm_at(bona, spf, cheapest_threshold(bona, [spf], w_miss, [w_fa]), model)


def cm_eer(bonafide: ArrayLike, spoof: ArrayLike, *, convention: Convention = "pooled") -> float:
    """Equal error rate of bona fide against spoofed speech, interpolated on the ROC.

    ``challenge`` gives what the public ASVspoof scripts print: the mean of the two rates where they differ
    least, tied trials walked singly with bona fide ones first.
    """
    check_convention(convention)
    return equal_error_point(*sorted_countermeasure(bonafide, spoof), convention).eer


def cm_cllr(bonafide: ArrayLike, spoof: ArrayLike) -> float:
    r"""Log-likelihood-ratio cost in bits, the CM scores taken as natural-log LLRs for bona fide speech.

    :math:`\frac{1}{2 \ln 2} [\text{mean} \ln(1 + e^{-s_{bona}}) + \text{mean} \ln(1 + e^{s_{spoof}})]`; 0 is
    perfect, 1 no information, ``inf`` an infinite LLR on the wrong side.
    """
    return cllr.unchecked(check_scores(bonafide, "bona fide scores"), check_scores(spoof, "spoof scores"))


def as_model(model: CostModel | str) -> CostModel:
    """Return a cost model, or the preset of that name."""
    return CostModel.preset(model) if isinstance(model, str) else model


def cost_weights(model: CostModel) -> tuple[float, float, float]:
    """Return the costs of missing all targets, of accepting all non-targets and of accepting all spoofs."""
    return model.c_miss * model.pi_tar, model.c_fa * model.pi_non, model.c_fa_spoof * model.pi_spoof


def _cm_weights(model: CostModel) -> tuple[float, float]:
    return model.c_miss * (1.0 - model.pi_spoof), model.c_fa_spoof * model.pi_spoof


def _adcf_at(tar: FloatArray, non: FloatArray, spf: FloatArray, threshold: float, model: CostModel) -> AgnosticCost:
    miss, fa, fs = rejected_share(tar, threshold), accepted_share(non, threshold), accepted_share(spf, threshold)
    w_miss, w_fa, w_spoof = cost_weights(model)
    value = relative_cost(w_miss * miss + w_fa * fa + w_spoof * fs, min(w_miss, w_fa + w_spoof))
    return AgnosticCost(adcf=float(value), threshold=threshold, p_miss=miss, p_fa=fa, p_fa_spoof=fs)


def _cm_at(bona: FloatArray, spf: FloatArray, threshold: float, model: CostModel) -> CmCost:
    miss, fa = rejected_share(bona, threshold), accepted_share(spf, threshold)
    w_miss, w_fa = _cm_weights(model)
    value = relative_cost(w_miss * miss + w_fa * fa, min(w_miss, w_fa))
    return CmCost(dcf=float(value), threshold=threshold, p_miss=miss, p_fa=fa)


def relative_cost(cost: FloatArray | float, default: float) -> FloatArray:
    """Cost over the default cost; a free default makes 0 count as 1 and anything else as inf."""
    cost = np.asarray(cost, dtype=np.float64)
    with np.errstate(over="ignore"):
        return cost / default if default > 0 else np.where(cost > 0, np.inf, 1.0)


# equal error rates, and costs at the best threshold
eer_measure = partial(tandem_measure, unit="rate", method="interpolated")
best_measure = partial(tandem_measure, unit="relative cost", limits=(0.0, 1.0), method="best threshold")


@best_measure("adcf_min", "min a-DCF", place=60, headline=170, strength=40, references=("shim2024",))
def _adcf_min(view: TandemView) -> float | None:
    """Cost of a single spoofing-robust verifier at its best threshold; 1 is deciding blindly."""
    return None if view.sasv is None else adcf_min(*view.sasv, view.model).adcf


@eer_measure("sv_eer", "SV-EER", place=70, headline=200, references=("jung2022",))
def _sv_eer(view: TandemView) -> float | None:
    """Equal error rate of a single spoofing-robust verifier between targets and non-targets."""
    return None if view.sasv is None else eer.unchecked(view.sasv[0], view.sasv[1])


@eer_measure("spf_eer", "SPF-EER", place=80, headline=210, references=("jung2022",))
def _spf_eer(view: TandemView) -> float | None:
    """Equal error rate of a single spoofing-robust verifier between targets and spoofs."""
    return None if view.sasv is None else eer.unchecked(view.sasv[0], view.sasv[2])


@eer_measure("cm_eer", "CM EER", place=90, headline=220, strength=60, references=("wang2024",))
def _cm_eer(view: TandemView) -> float | None:
    """Equal error rate of the countermeasure alone between bona fide and spoofed speech."""
    return None if view.cm is None else cm_eer(*view.cm)


@tandem_measure("cm_cllr", "CM Cllr", unit="bit", place=100, references=("brummer2006",))
def _cm_cllr(view: TandemView) -> float | None:
    """Cost of taking the countermeasure's scores as LLRs; 1 is no information, more than 1 misleads."""
    return None if view.cm is None else cm_cllr(*view.cm)


@tandem_measure(
    "cm_dcf", "act CM DCF", unit="relative cost", place=110, method="scores as LLRs", references=("wang2024",)
)
def _cm_dcf(view: TandemView) -> float | None:
    """Cost of the countermeasure's decisions, scores taken as log-likelihood ratios; 1 is deciding blindly."""
    return None if view.cm is None else cm_dcf(*view.cm, view.model).dcf


@best_measure("cm_dcf_min", "min CM DCF", place=120, headline=230, references=("wang2024",))
def _cm_dcf_min(view: TandemView) -> float | None:
    """Cost of the countermeasure's decisions at the best threshold; 1 means that it does not help."""
    return None if view.cm is None else cm_dcf_min(*view.cm, view.model).dcf
