"""Verification: error rates and costs of telling mated from non-mated pairs by one score.

Error rates, detection costs and the log-likelihood-ratio cost of Brümmer & du Preez (2006). A threshold accepts scores
strictly above it; equal scores are accepted or rejected together.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from functools import partial
from typing import Literal, get_args

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.calibrate.pav import Blocks, Counts, count, pool
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import ScoreCost, pair_measure, speaker_measure
from zeroevidence.measure.softplus import LN2, mean_softplus, softplus, softplus_blockwise
from zeroevidence.measure.views import PairSettings, PairView, describe_llrs, takes_scores

FPR_LEVELS = (1e-2, 1e-3, 1e-4)
_CHORD = 2.0  # standard errors of the difference of both error rates, either way: how far the slope of a ROC is taken

EerMethod = Literal["interpolated", "rocch", "speechbrain", "kaldi"]


def roc(counts: Counts | Blocks) -> tuple[FloatArray, FloatArray]:
    """Miss and false-alarm rates when the lowest 0, 1, ..., all atoms are rejected."""
    rejected_tar = np.concatenate(([0], np.cumsum(counts.target)))
    rejected_non = np.concatenate(([0], np.cumsum(counts.nontarget)))
    return rejected_tar / rejected_tar[-1], 1.0 - rejected_non / rejected_non[-1]


@takes_scores
def eer(target: FloatArray, nontarget: FloatArray, *, method: EerMethod = "interpolated") -> float:
    """Equal error rate: where the miss rate and the false-alarm rate cross.

    `interpolated` joins the points of the empirical ROC by straight lines; `rocch` uses its convex hull and equals the
    largest minimum Bayes error over priors; `speechbrain` and `kaldi` reproduce what these tools print.

    Examples
    --------
    >>> eer([0.9, 0.8, 0.3], [0.7, 0.2, 0.1])
    0.3333333333333333
    """
    if method == "interpolated":
        return eer_of(count(target, nontarget))
    if method == "rocch":
        return eer_of(pool(count(target, nontarget)))
    if method == "speechbrain":
        return _eer_speechbrain(target, nontarget)
    if method == "kaldi":
        return _eer_kaldi(target, nontarget)
    raise UsageError(f"unknown EER method {method!r}; expected one of {', '.join(get_args(EerMethod))}")


def eer_of(counts: Counts | Blocks) -> float:
    """EER by linear interpolation on the ROC of counts; on PAV blocks this is the ROCCH-EER."""
    tar, non = np.cumsum(counts.target), np.cumsum(counts.nontarget)
    n_tar, n_non = int(tar[-1]), int(non[-1])

    def gap(atoms: int) -> int:
        # miss - false alarm, times both class sizes: whole numbers, so the crossing is found exactly
        if atoms == 0:
            return -n_tar * n_non
        return int(tar[atoms - 1]) * n_non + int(non[atoms - 1]) * n_tar - n_tar * n_non

    # the fewest rejected atoms at which misses are not the rarer error; none rejected, there are no misses
    after = bisect.bisect_left(range(len(tar) + 1), 0, key=gap)
    missed = int(tar[after - 2]) if after > 1 else 0
    if gap(after) == 0:
        return float(tar[after - 1] / n_tar)
    share = -gap(after - 1) / (gap(after) - gap(after - 1))
    return float((missed + share * (int(tar[after - 1]) - missed)) / n_tar)


def eer_atom_costs(counts: Counts, people: float) -> tuple[FloatArray, FloatArray]:
    """Costs of targets and non-targets in each atom whose class means move as the EER does when people change.

    Where misses or false alarms become more frequent, the threshold moves along the ROC until both are equal again. So
    they count by the slope of the ROC there, taken over as much of it as so many people leave open.

    Examples
    --------
    >>> counts = count(np.array([0.5, 2.0]), np.array([0.0, 1.0]))
    >>> [costs.tolist() for costs in eer_atom_costs(counts, 3.0)]
    [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
    """
    miss, false_alarm = roc(counts)
    gap = miss - false_alarm
    rate = eer_of(counts)
    reach = min(1.0, _CHORD * float(np.sqrt(2.0 * rate * (1.0 - rate) / people)))
    missed = np.interp((-reach, reach), gap, miss)
    accepted = np.interp((-reach, reach), gap, false_alarm)
    change = float(missed[1] - missed[0] + accepted[0] - accepted[1])
    miss_weight = float(accepted[0] - accepted[1]) / change if change > 0.0 else 0.5
    # The share of each atom that is rejected: all below the threshold, part of the atom that it lies in.
    steps = np.diff(gap)
    rejected = np.clip(np.divide(0.0 - gap[:-1], steps, out=np.zeros_like(steps), where=steps > 0.0), 0.0, 1.0)
    return miss_weight * rejected, (1.0 - miss_weight) * (1.0 - rejected)


def _eer_speechbrain(target: FloatArray, nontarget: FloatArray) -> float:
    """Mean of the two rates at the distinct score where they differ least; the lower one of two equally good.

    The tool also tries the midpoints between scores, which give the rates of the score below them.
    """
    thresholds = np.unique(np.concatenate((target, nontarget)))
    miss, correct = (np.searchsorted(np.sort(scores), thresholds, "right") for scores in (target, nontarget))
    gap = miss * len(nontarget) + correct * len(target) - len(target) * len(nontarget)  # whole numbers are exact
    best = int(np.argmin(np.abs(gap)))
    return float((miss[best] / len(target) + 1.0 - correct[best] / len(nontarget)) / 2.0)


def _eer_kaldi(target: FloatArray, nontarget: FloatArray) -> float:
    """Kaldi's compute-eer: the first target position whose score exceeds the non-target at the same error rate."""
    tar, non = np.sort(target), np.sort(nontarget)
    position = np.arange(len(tar) - 1)
    opposite = np.maximum(0, len(non) - 1 - len(non) * position // len(tar))
    crossed = np.flatnonzero(non[opposite] < tar[:-1])
    return float((crossed[0] if len(crossed) else len(tar) - 1) / len(tar))


@takes_scores
def cllr(target: FloatArray, nontarget: FloatArray) -> float:
    r"""Log-likelihood-ratio cost in bits, the scores taken as natural-log LLRs.

    .. math:: \tfrac12 \langle \log_2(1 + e^{-s}) \rangle_{tar} + \tfrac12 \langle \log_2(1 + e^{s}) \rangle_{non}

    0 is perfect, 1 is what a system without evidence gets, more than 1 misleads; infinite when an infinite LLR is
    wrong.

    Examples
    --------
    >>> cllr([0.0], [0.0])
    1.0
    """
    return (mean_softplus(-target) + mean_softplus(nontarget)) / (2.0 * LN2)


@takes_scores
def cllr_min(target: FloatArray, nontarget: FloatArray) -> float:
    """Cllr after oracle calibration: the cost of poor discrimination alone, between 0 and 1.

    Examples
    --------
    >>> cllr_min([2.0, 3.0], [0.0, 1.0])
    0.0
    """
    return cllr_of(pool(count(target, nontarget)))


def cllr_of(blocks: Blocks) -> float:
    """Cllr of PAV blocks."""
    tar, non = blocks.target > 0, blocks.nontarget > 0
    miss = blocks.target[tar] @ softplus(-blocks.llr[tar]) / blocks.target.sum()
    false_alarm = blocks.nontarget[non] @ softplus(blocks.llr[non]) / blocks.nontarget.sum()
    return float((miss + false_alarm) / (2.0 * LN2))


@takes_scores
def dcf_act(
    target: FloatArray, nontarget: FloatArray, *, prior: float = 0.05, c_miss: float = 1.0, c_fa: float = 1.0
) -> float:
    """Actual detection cost at the Bayes threshold, the scores taken as LLRs.

    Normalised by the better of accepting all and rejecting all, so 1 is what no system at all costs.

    Examples
    --------
    >>> dcf_act([5.0, 1.0], [-5.0, -4.0])
    0.5
    """
    threshold = bayes_threshold(prior, c_miss, c_fa)
    miss = np.count_nonzero(target <= threshold) / len(target)
    false_alarm = np.count_nonzero(nontarget > threshold) / len(nontarget)
    return float(dcf_of_rates(miss, false_alarm, prior, c_miss, c_fa))


def bayes_threshold(prior: float, c_miss: float = 1.0, c_fa: float = 1.0) -> float:
    """The LLR above which accepting is the cheaper decision."""
    miss_cost, fa_cost = _costs(prior, c_miss, c_fa)
    return float(np.log(fa_cost / miss_cost))


def dcf_of_rates(
    miss: float | FloatArray, false_alarm: float | FloatArray, prior: float, c_miss: float = 1.0, c_fa: float = 1.0
) -> float | FloatArray:
    """Detection cost of error rates, divided by that of the better blind decision."""
    miss_cost, fa_cost = _costs(prior, c_miss, c_fa)
    return (miss_cost * miss + fa_cost * false_alarm) / min(miss_cost, fa_cost)


@takes_scores
def dcf_min(
    target: FloatArray, nontarget: FloatArray, *, prior: float = 0.05, c_miss: float = 1.0, c_fa: float = 1.0
) -> float:
    """Detection cost at the best threshold for these scores.

    Examples
    --------
    >>> dcf_min([5.0, 1.0], [-5.0, -4.0])
    0.0
    """
    return dcf_min_of(pool(count(target, nontarget)), prior=prior, c_miss=c_miss, c_fa=c_fa)


def dcf_min_of(blocks: Blocks, *, prior: float = 0.05, c_miss: float = 1.0, c_fa: float = 1.0) -> float:
    """Minimum detection cost: a linear cost is least at a corner of the ROC convex hull."""
    return float(np.min(dcf_of_rates(*roc(blocks), prior, c_miss, c_fa)))


def dcf_atom_costs(counts: Counts, prior: float) -> tuple[FloatArray, FloatArray]:
    """Costs of targets and non-targets in each atom at the best threshold for all of them.

    Examples
    --------
    >>> counts = count(np.array([0.5, 2.0]), np.array([0.0, 1.0]))
    >>> [costs.tolist() for costs in dcf_atom_costs(counts, 0.5)]
    [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]]
    """
    miss_cost, fa_cost = _costs(prior, 1.0, 1.0)
    miss, false_alarm = roc(counts)
    rejected = np.arange(len(counts.target)) < int(np.argmin(miss_cost * miss + fa_cost * false_alarm))
    blind = min(miss_cost, fa_cost)
    return miss_cost / blind * rejected, fa_cost / blind * ~rejected


def dcf_min_untied(
    scores: FloatArray, is_target: BoolArray, *, prior: float = 0.05, c_miss: float = 1.0, c_fa: float = 1.0
) -> float:
    """Minimum detection cost as scripts print it that walk scores one by one: ties are split in the order of the file.

    No threshold can do that, so on tied scores the value is too low and depends on the order of the lines. It is here
    to check published figures (VoxSRC, NIST SRE scoring scripts); `dcf_min` is the right one.
    """
    labels = np.asarray(is_target, dtype=bool)[np.argsort(scores, kind="stable")]
    miss = np.cumsum(labels) / np.count_nonzero(labels)
    false_alarm = 1.0 - np.cumsum(~labels) / np.count_nonzero(~labels)
    return float(np.min(dcf_of_rates(miss, false_alarm, prior, c_miss, c_fa)))


def _costs(prior: float, c_miss: float, c_fa: float) -> tuple[float, float]:
    if not 0.0 < prior < 1.0 or c_miss <= 0.0 or c_fa <= 0.0:
        raise UsageError(f"expected 0 < prior < 1 and positive costs, got {prior}, {c_miss}, {c_fa}")
    return prior * c_miss, (1.0 - prior) * c_fa


@takes_scores
def tpr_at_fpr(
    target: FloatArray, nontarget: FloatArray, *, levels: Sequence[float] = FPR_LEVELS
) -> dict[float, float]:
    """Share of targets found while at most a share `level` of the non-targets is let through, for each level.

    Examples
    --------
    >>> tpr_at_fpr([0.9, 0.8, 0.3], [0.7, 0.2], levels=[0.0, 0.5])
    {0.0: 0.6666666666666666, 0.5: 1.0}
    """
    return tpr_at_fpr_of(count(target, nontarget), levels=levels)


def tpr_at_fpr_of(counts: Counts, *, levels: Sequence[float] = FPR_LEVELS) -> dict[float, float]:
    """The same from counts."""
    tar = np.cumsum(counts.target[::-1])
    non = np.cumsum(counts.nontarget[::-1])
    rates = {}
    for level in levels:
        if not 0.0 <= level <= 1.0:
            raise UsageError(f"expected a false-positive rate between 0 and 1, got {level}")
        # The small term keeps 0.01 * 100 from being 0.99999...; a gap of non-targets entered in part adds no target.
        allowed = int(level * int(non[-1]) + 1e-9)
        atoms = int(np.searchsorted(non, allowed, "right"))
        rates[level] = float(tar[atoms - 1] / tar[-1]) if atoms else 0.0
    return rates


_eer_measure = partial(
    pair_measure, unit="rate", discloses="down", atom_costs=lambda counts, _, people: eer_atom_costs(counts, people)
)
_cllr_measure = partial(pair_measure, unit="bit", discloses="down", references=("brummer2006",))
_dcf_measure = partial(pair_measure, unit="relative cost", discloses="down", references=("vanleeuwen2007",))


@_eer_measure(
    "eer",
    "EER",
    place=10,
    headline=10,
    strength=70,
    interval="smooth",
    method=lambda view: "interpolated" if view.closed_set is None else "interpolated, all pairs",
    references=("vanleeuwen2007",),
    meaning_of_attribute="Error rate of an attacker who guesses the class of single recordings; 50 % is guessing.",
)
def _eer(view: PairView) -> float:
    """Error rate of an attacker who accepts or rejects single comparisons at equal error rates; 50 % is guessing."""
    return eer_of(view.counts)


@_eer_measure(
    "eer_closed_set",
    "closed-set EER",
    place=15,
    interval=lambda view: None if view.closed_set is None else "smooth",
    method="interpolated, pairs of the search",
    references=("vanleeuwen2007",),
)
def _eer_closed_set(view: PairView) -> float | None:
    """EER over the pairs of the search alone, given where the search leaves trials out; 50 % is guessing."""
    # a key may list trials of people who are not enrolled: non-targets here, left out of a closed-set search
    return None if view.closed_set is None else eer_of(view.closed_set)


@speaker_measure(
    "eer_speaker_mean", "mean speaker EER", unit="rate", limits=(0.0, 0.5), place=10, references=("vanleeuwen2007",)
)
def _eer_speaker_mean(eers: FloatArray) -> float:
    """Mean over speakers of the EER of their own comparisons, none counted above 50 %; 50 % is guessing for everybody.

    Somebody whose comparisons point the wrong way is no better protected than by scores that say nothing, and makes up
    for nobody else.
    """
    return float(np.minimum(eers, 0.5).mean())


@_eer_measure("eer_rocch", "ROCCH-EER", limits=(0.0, 0.5), place=20, interval="oracle", references=("brummer2006",))
def _eer_rocch(view: PairView) -> float:
    """Equal error rate of an attacker who chooses thresholds optimally, on the convex hull of the ROC."""
    return eer_of(view.blocks)


@_cllr_measure(
    "cllr",
    "Cllr",
    place=30,
    interval="smooth",
    method=describe_llrs,
    per_score=ScoreCost(
        lambda llrs, _: softplus_blockwise(-llrs),
        lambda llrs, _: softplus_blockwise(llrs),
        mean=lambda target, nontarget, _: (mean_softplus(-target), mean_softplus(nontarget)),
    ),
)
def _cllr(view: PairView) -> float | None:
    """Cost of LLRs calibrated on other people, or of scores taken as LLRs; 1 is no information, more misleads."""
    means = view.class_means("cllr")
    return None if means is None else sum(means) / (2.0 * LN2)


@_cllr_measure(
    "cllr_min", "min Cllr", limits=(0.0, 1.0), place=40, headline=20, interval="oracle", estimated=True, method="pav"
)
def _cllr_min(view: PairView) -> float:
    """Cost of the scores after optimal calibration; 1 is no information."""
    return cllr_of(view.blocks)


@_dcf_measure(
    "dcf_act",
    "act DCF",
    place=50,
    interval="smooth",
    method=lambda view: f"prior {view.settings.dcf_prior:g}, {describe_llrs(view)}",
    per_score=ScoreCost(
        lambda llrs, settings: (llrs <= _threshold(settings)).astype(np.float64),
        lambda llrs, settings: (llrs > _threshold(settings)).astype(np.float64),
        limits=(0.0, 1.0),
        mean=lambda target, nontarget, settings: (
            np.count_nonzero(target <= _threshold(settings)) / len(target),
            np.count_nonzero(nontarget > _threshold(settings)) / len(nontarget),
        ),
    ),
)
def _dcf_act(view: PairView) -> float | None:
    """Cost of decisions by LLRs calibrated on other people, or by scores taken as LLRs; 1 is deciding blindly."""
    rates = view.class_means("dcf_act")
    return None if rates is None else float(dcf_of_rates(*rates, view.settings.dcf_prior))


def _threshold(settings: PairSettings) -> float:
    return bayes_threshold(settings.dcf_prior)


@_dcf_measure(
    "dcf_min",
    "min DCF",
    limits=(0.0, 1.0),
    place=60,
    interval="oracle",
    method=lambda view: f"prior {view.settings.dcf_prior:g}",
    atom_costs=lambda counts, settings, _: dcf_atom_costs(counts, settings.dcf_prior),
)
def _dcf_min(view: PairView) -> float:
    """Cost of decisions at the best threshold; 1 means that the scores do not help."""
    return dcf_min_of(view.blocks, prior=view.settings.dcf_prior)


@pair_measure(
    "tpr_at_fpr",
    "TPR at FPR",
    unit="rate",
    discloses="up",
    place=70,
    references=("carlini2022",),
    parts=tuple(f"{level:g}" for level in FPR_LEVELS),
)
def _tpr_at_fpr(view: PairView) -> dict[str, float]:
    """Share of mated pairs found by an attacker who tolerates at most this share of false alarms."""
    return {f"{level:g}": rate for level, rate in tpr_at_fpr_of(view.counts).items()}
