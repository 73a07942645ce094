"""Disclosure of evidence: ZEBRA's expected and worst case, and the power means and norms in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import Blocks, RankedScores, block_lows, count, pool, pool_laplace
from zeroevidence.measure.measures import ScoreCost, pair_measure
from zeroevidence.measure.softplus import LN2, mean_softplus_shifted, softplus
from zeroevidence.measure.views import PairView, describe_llrs, takes_scores

LN10 = float(np.log(10.0))
D_ECE_MAX = 0.5 / LN2  # classes fully separated
LOG_ODDS_GRID: FloatArray = np.linspace(-10.0, 10.0, 201)
LOG_ODDS_GRID.flags.writeable = False
LLRS_LIMIT = 1_000_000  # scores; beyond, one more pass over all of them as LLRs would be felt

Scale = Sequence[tuple[str, float]]
# Tag and the log10 of the likelihood ratio from which on it holds [table 1]; "0" is kept for exactly no evidence.
ZEBRA_SCALE: Scale = (("A", 0.0), ("B", 1.0), ("C", 2.0), ("D", 4.0), ("E", 5.0), ("F", 6.0))


@dataclass(frozen=True, slots=True, eq=False)
class EceProfile:
    """Empirical cross-entropy in bits over prior log-odds: of the scores as LLRs, at best, and without evidence."""

    log_odds: FloatArray
    actual: FloatArray
    minimum: FloatArray
    default: FloatArray

    @property
    def area(self) -> float:
        """Area between default and minimum over the log-odds axis, as drawn."""
        return float(np.trapezoid(self.default - self.minimum, self.log_odds))


@takes_scores
def ece_profile(target: FloatArray, nontarget: FloatArray, *, log_odds: FloatArray = LOG_ODDS_GRID) -> EceProfile:
    """Actual, minimum and default empirical cross-entropy over a grid of prior log-odds (within -20..20) [eq. 4].

    Examples
    --------
    >>> profile = ece_profile([2.0, 3.0], [-2.0, -3.0])
    >>> round(float(profile.default[100]), 3), round(float(profile.minimum[100]), 3)
    (1.0, 0.0)
    """
    actual = ece_actual(target, nontarget, log_odds)
    return EceProfile(log_odds, actual, ece_min_of(pool(count(target, nontarget)), log_odds), ece_default(log_odds))


def ece_actual(target: FloatArray, nontarget: FloatArray, log_odds: FloatArray = LOG_ODDS_GRID) -> FloatArray:
    """Cross-entropy profile of an adversary who takes the scores as LLRs."""
    prior = 1.0 / (1.0 + np.exp(-log_odds))
    miss = mean_softplus_shifted(-target, -log_odds)
    false_alarm = mean_softplus_shifted(nontarget, log_odds)
    with np.errstate(invalid="ignore"):
        return (prior * miss + (1.0 - prior) * false_alarm) / LN2


def ece_default(log_odds: FloatArray = LOG_ODDS_GRID) -> FloatArray:
    """Cross-entropy of an adversary who learns nothing: the entropy of the prior."""
    prior = 1.0 / (1.0 + np.exp(-log_odds))
    return (prior * softplus(-log_odds) + (1.0 - prior) * softplus(log_odds)) / LN2


def ece_min_of(blocks: Blocks, log_odds: FloatArray = LOG_ODDS_GRID) -> FloatArray:
    """Minimum cross-entropy profile of PAV blocks."""
    prior = 1.0 / (1.0 + np.exp(-log_odds))
    tar, non = blocks.target > 0, blocks.nontarget > 0
    miss = blocks.target[tar] @ softplus(-(blocks.llr[tar][:, None] + log_odds))
    false_alarm = blocks.nontarget[non] @ softplus(blocks.llr[non][:, None] + log_odds)
    profile: FloatArray = prior * miss / blocks.target.sum() + (1.0 - prior) * false_alarm / blocks.nontarget.sum()
    return profile / LN2


@takes_scores
def d_ece(target: FloatArray, nontarget: FloatArray) -> float:
    """Expected disclosure in bits: 0 is perfect privacy, 1 / (2 ln 2) = 0.7213 none [eq. 6].

    An adversary with an unknown prior sees oracle-calibrated scores. Expected disclosure (D_ECE) is the area between
    the empirical cross-entropy of no evidence and of these scores, over all priors; worst-case disclosure is the
    strongest LLR that any score carries.

    Examples
    --------
    >>> round(d_ece([2.0, 3.0], [0.0, 1.0]), 4)
    0.7213
    """
    return d_ece_of(pool(count(target, nontarget)))


def d_ece_of(blocks: Blocks) -> float:
    """Expected disclosure of PAV blocks."""
    tar, non = blocks.target > 0, blocks.nontarget > 0
    mated_llr = blocks.llr[tar]
    gains = evidence_gain(np.concatenate((mated_llr, -blocks.llr[non])))
    mated = blocks.target[tar] @ gains[: len(mated_llr)] / blocks.target.sum()
    nonmated = blocks.nontarget[non] @ gains[len(mated_llr) :] / blocks.nontarget.sum()
    return float((mated + nonmated) / LN2)


def evidence_gain(llr: FloatArray) -> FloatArray:
    r"""Z of eq. 6 as a function of the LLR: the expected gain, over uniform priors, of one score that tells the truth.

    .. math:: Z(e^a) = \tfrac14 + \frac{a - b}{2 b^2}, \quad b = e^a - 1

    The quotient cancels near a = 0, where the series takes over; the limit at infinity is 1/4. Relative error is below
    1e-12 everywhere.
    """
    a = np.asarray(llr, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        b = np.expm1(a)
        value = np.asarray(0.25 + (a / b - 1.0) / (2.0 * b))
    value[a == np.inf] = 0.25
    small = np.abs(a) < 0.05
    near = a[small]
    series = np.zeros_like(near)
    for coefficient in _SERIES:
        series = (series + coefficient) * near
    value[small] = series
    return value


_SERIES = tuple(
    1.0 / d for d in (2419200.0, 302400.0, -60480.0, -10080.0, 1440.0, 360.0, -24.0, 6.0)
)  # of a^8 down to a^1


@takes_scores
def d_ece_actual(target: FloatArray, nontarget: FloatArray) -> float:
    """Expected disclosure to an adversary who takes the scores as LLRs; below 0 where they mislead.

    Examples
    --------
    >>> round(d_ece_actual([2.0, 3.0], [-2.0, -3.0]), 4)
    0.6119
    >>> round(d_ece_actual([-2.0, -3.0], [2.0, 3.0]), 4)
    -2.0117
    """
    mated = evidence_gain(target.astype(np.float64)).mean()
    return float((mated + evidence_gain(-nontarget.astype(np.float64)).mean()) / LN2)


@takes_scores
def worst_case(target: FloatArray, nontarget: FloatArray) -> float:
    """Worst-case disclosure: log10 of the strongest likelihood ratio, for or against, after Laplace's rule.

    Examples
    --------
    >>> round(worst_case([2.0, 3.0, 4.0], [0.0, 1.0, 3.5]), 4)
    0.4771
    """
    return worst_case_of(pool_laplace(pool(count(target, nontarget))))


def worst_case_of(laplace: Blocks) -> float:
    """Worst case of blocks pooled with Laplace's rule."""
    return float(np.abs(laplace.llr).max() / LN10)


def strength_of(scores: FloatArray, ranked: RankedScores, laplace: Blocks) -> FloatArray:
    """Strength of the evidence of some of the ranked scores: log10 of their likelihood ratio, for or against.

    `laplace` are the blocks of the ranked scores, pooled with Laplace's rule.
    """
    lows = block_lows(ranked, laplace)
    block = np.clip(np.searchsorted(lows, scores, "right") - 1, 0, len(lows) - 1)
    return np.abs(laplace.llr[block]) / LN10


@takes_scores
def tag(target: FloatArray, nontarget: FloatArray, *, scale: Scale = ZEBRA_SCALE) -> str:
    """Category of the worst case: "0" for exactly no evidence, then A (less than 10 to 1) to F (a million to 1).

    Examples
    --------
    >>> tag([2.0, 3.0, 4.0], [0.0, 1.0, 3.5])
    'A'
    """
    return tag_of(worst_case.unchecked(target, nontarget), scale=scale)


def tag_of(strength: float, *, scale: Scale = ZEBRA_SCALE) -> str:
    """Category of a strength of evidence, log10 of a likelihood ratio of at least 1."""
    return ("0", *(name for name, _ in scale))[int(_tag_index(np.array([strength]), scale)[0])]


def tag_odds(scale: Scale = ZEBRA_SCALE) -> dict[str, str]:
    """Return how often an attacker with even prior odds is wrong, by category [table 1].

    Examples
    --------
    >>> tag_odds()["C"]
    'one wrong in 100 to 10 000'
    """
    lows = [f"{round(10.0**low):,}".replace(",", " ") for _, low in scale]
    descriptions = {"0": "50:50", scale[0][0]: "more disclosure than 50:50"}
    between = zip(scale[1:-1], lows[1:-1], lows[2:], strict=True)
    descriptions |= {name: f"one wrong in {low} to {high}" for (name, _), low, high in between}
    return descriptions | {scale[-1][0]: f"one wrong in at least {lows[-1]}"}


@takes_scores
def tag_counts(target: FloatArray, nontarget: FloatArray, *, scale: Scale = ZEBRA_SCALE) -> dict[str, int]:
    """Number of scores, targets and non-targets together, in each category [Noé et al. 2022, table 2].

    Examples
    --------
    >>> tag_counts([1.0, 1.0], [1.0, 1.0])["0"]
    4
    """
    return tag_counts_of(pool_laplace(pool(count(target, nontarget))), scale=scale)


def tag_counts_of(laplace: Blocks, *, scale: Scale = ZEBRA_SCALE) -> dict[str, int]:
    """The same from blocks pooled with Laplace's rule."""
    index = _tag_index(np.abs(laplace.llr) / LN10, scale)
    per_tag = np.bincount(index, weights=laplace.target + laplace.nontarget, minlength=len(scale) + 1)
    return {name: int(n) for name, n in zip(("0", *(name for name, _ in scale)), per_tag, strict=True)}


def _tag_index(strength: FloatArray, scale: Scale) -> FloatArray:
    # ln(1000) / ln(10) is 2.9999999999999996: the last digits must not decide a category.
    index = np.searchsorted([low for _, low in scale], np.round(strength, 12), "right")
    return np.where(strength == 0.0, 0, index)


_zebra_measure = partial(pair_measure, discloses="up", references=("nautsch2020",))


@_zebra_measure(
    "d_ece",
    "D_ECE",
    unit="bit",
    limits=(0.0, D_ECE_MAX),
    place=80,
    headline=18,
    strength=20,
    interval="oracle",
    estimated=True,
    null=True,
    tested=True,
    method="pav",
    meaning_of_attribute="Expected disclosure: what a recording reveals about the attribute; 0 is perfect privacy.",
)
def _d_ece(view: PairView) -> float:
    """Expected disclosure: what one comparison reveals on average about the speaker; 0 is perfect privacy."""
    return d_ece_of(view.blocks)


@_zebra_measure(
    "d_ece_actual",
    "actual D_ECE",
    unit="bit",
    limits=(-np.inf, D_ECE_MAX),
    place=82,
    interval=lambda view: "smooth" if view.counts.n_target + view.counts.n_nontarget <= LLRS_LIMIT else None,
    method=describe_llrs,
    per_score=ScoreCost(lambda llrs, _: evidence_gain(llrs), lambda llrs, _: evidence_gain(-llrs), most=LLRS_LIMIT),
)
def _d_ece_actual(view: PairView) -> float | None:
    """Expected disclosure of LLRs calibrated on other people, or of scores taken as LLRs; below 0 they mislead."""
    means = view.class_means("d_ece_actual")
    return None if means is None else sum(means) / LN2


@_zebra_measure(
    "d_ece_loss",
    "D_ECE loss",
    unit="bit",
    limits=(-D_ECE_MAX, np.inf),
    discloses="none",
    place=84,
    method=describe_llrs,
)
def _d_ece_loss(view: PairView) -> float | None:
    """What poor calibration costs the attacker: expected disclosure after optimal calibration less the actual one."""
    actual = _d_ece_actual(view)
    return None if actual is None else d_ece_of(view.blocks) - actual


@_zebra_measure(
    "worst_case",
    "worst case",
    unit="log10 LR",
    place=90,
    headline=40,
    null=True,
    method="pav, laplace",
    meaning_of_attribute="The strongest evidence in any single recording, as a power of ten.",
)
def _worst_case(view: PairView) -> float:
    """The strongest evidence in any single comparison, as a power of ten."""
    return worst_case_of(view.laplace)


@_zebra_measure(
    "tag",
    "tag",
    unit="category",
    limits=(0.0, 6.0),
    high_note="0, A to F",
    place=100,
    headline=50,
    method="zebra",
    categories=tag_odds(),
)
def _tag(view: PairView) -> str:
    """Category of the worst case: 0 none, A below 10 to 1, B below 100, C below 10 000, ... F over a million to 1."""
    return tag_of(worst_case_of(view.laplace))


@pair_measure(
    "tag_counts",
    "scores per tag",
    unit="count",
    high_note="n",
    discloses="none",
    place=110,
    method="zebra",
    references=("noe2022",),
    parts=tuple(tag_odds()),
)
def _tag_counts(view: PairView) -> dict[str, int]:
    """Number of comparisons whose evidence is of each category."""
    return tag_counts_of(view.laplace)
