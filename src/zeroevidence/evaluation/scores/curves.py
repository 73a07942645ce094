"""Curves of one-to-one scores, for figures: exact values, thinned to a few hundred points.

Everything follows from the sorted scores, their counts and their PAV blocks, which an evaluation has anyway, so
that the curves cost next to nothing.
"""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.normal import normal_share
from zeroevidence.calibrate.pav import Blocks, RankedScores, block_lows
from zeroevidence.evaluation.rows.evaluation import Curve
from zeroevidence.measure.pairs.linkability import local_linkability_of
from zeroevidence.measure.pairs.verification import roc
from zeroevidence.measure.pairs.zebra import LLRS_LIMIT, LN10, LOG_ODDS_GRID, ece_actual, ece_default, ece_min_of
from zeroevidence.measure.views import PairSettings

POINTS = 200
_FEWEST_BINS, _MOST_BINS = 20, 100
_DEVIATES: FloatArray = np.linspace(-5.0, 5.0, 101)


def one_to_one_curves(ranked: RankedScores, blocks: Blocks, settings: PairSettings | None = None) -> dict[str, Curve]:
    """Profiles that show what the one-to-one measures sum up.

    ``ece`` (prior log-odds, bits; baseline: no evidence), ``ece_actual`` of the scores as LLRs, ``det``
    (false alarms, misses), ``tippett_target`` and ``tippett_nontarget`` (log10 LR, after PAV unless the scores are
    LLRs, share of scores whose LR is larger), ``pav`` (score from which on an LLR holds, natural-log LLR),
    ``histogram_target`` and ``histogram_nontarget`` (bin centre, density) and ``local_linkability`` (score from which
    on a value holds, value).
    """
    settings = settings or PairSettings()
    curves = {"ece": as_curve(LOG_ODDS_GRID, ece_min_of(blocks), ece_default())}
    size = len(ranked.target) + len(ranked.nontarget)
    if size <= LLRS_LIMIT:
        actual = ece_actual(settings.llrs(ranked.target), settings.llrs(ranked.nontarget))
        curves["ece_actual"] = as_curve(LOG_ODDS_GRID, actual, ece_default())
    curves["det"] = _det(ranked)
    curves |= _tippett_of_llrs(ranked) if settings.llr else _tippett(blocks)
    curves["pav"] = _pav(ranked, blocks)
    curves |= histograms({"target": ranked.target, "nontarget": ranked.nontarget})
    local = local_linkability_of(ranked, blocks, method=settings.linkability, omega=settings.omega)
    keep = thinned(len(local.score))
    curves["local_linkability"] = as_curve(local.score[keep], local.value[keep])
    return curves


def thinned(number: int, points: int = POINTS) -> IntArray:
    """Positions of at most that many of some points, evenly by rank, both ends among them."""
    return np.unique(np.linspace(0, number - 1, min(points, number)).round().astype(np.int64))


def as_curve(x: FloatArray | IntArray, y: FloatArray, baseline: FloatArray | None = None) -> Curve:
    """A curve as plain numbers."""
    return Curve(
        tuple(np.asarray(x, dtype=np.float64).tolist()),
        tuple(np.asarray(y, dtype=np.float64).tolist()),
        None if baseline is None else tuple(np.asarray(baseline, dtype=np.float64).tolist()),
    )


def _det(ranked: RankedScores) -> Curve:
    miss, false_alarm = roc(ranked.counts)
    # Even on the probit axes that a DET is drawn on, for either rate.
    levels = normal_share(_DEVIATES)
    chosen = np.concatenate((np.searchsorted(miss, levels), np.searchsorted(-false_alarm, -levels)))
    crossing = int(np.argmax(miss >= false_alarm))  # so that the equal error rate lies on the line that is drawn
    keep = np.unique(np.clip(np.concatenate((chosen, [0, crossing - 1, crossing])), 0, len(miss) - 1))
    return as_curve(false_alarm[keep], miss[keep])


def _tippett(blocks: Blocks) -> dict[str, Curve]:
    keep = thinned(len(blocks.llr))
    curves = {}
    for name, held in (("target", blocks.target), ("nontarget", blocks.nontarget)):
        above = 1.0 - np.cumsum(held) / held.sum()
        curves[f"tippett_{name}"] = as_curve(blocks.llr[keep] / LN10, above[keep])
    return curves


def _tippett_of_llrs(ranked: RankedScores) -> dict[str, Curve]:
    """The same of LLRs as they are, on levels that suit both classes."""
    classes = {"target": ranked.target, "nontarget": ranked.nontarget}
    levels = np.unique(np.concatenate([one[thinned(len(one))] for one in classes.values()]))
    return {
        f"tippett_{name}": as_curve(levels / LN10, 1.0 - np.searchsorted(one, levels, "right") / len(one))
        for name, one in classes.items()
    }


def _pav(ranked: RankedScores, blocks: Blocks) -> Curve:
    lows = block_lows(ranked, blocks)
    keep = thinned(len(lows), POINTS - 1)
    highest = max(ranked.target[-1], ranked.nontarget[-1])
    return as_curve(np.append(lows[keep], highest), np.append(blocks.llr[keep], blocks.llr[-1]))


def histograms(sorted_scores: dict[str, FloatArray]) -> dict[str, Curve]:
    """Densities of sorted scores on common bins, ``histogram_`` and the name; infinite scores lie in no bin."""
    finite = {
        name: scores[np.searchsorted(scores, -np.inf, "right") : np.searchsorted(scores, np.inf)]
        for name, scores in sorted_scores.items()
    }
    edges = bin_edges([scores for scores in finite.values() if len(scores)])
    if edges is None:
        return {}
    curves = {}
    for name, scores in finite.items():
        share = binned(scores, edges) / len(sorted_scores[name])
        curves[f"histogram_{name}"] = as_curve((edges[1:] + edges[:-1]) / 2.0, share / (edges[1] - edges[0]))
    return curves


def binned(sorted_scores: FloatArray, edges: FloatArray) -> IntArray:
    """Number of scores from each edge to the next, the last edge included."""
    below = np.searchsorted(sorted_scores, edges)
    below[-1] = np.searchsorted(sorted_scores, edges[-1], "right")
    return np.diff(below)


def bin_edges(classes: list[FloatArray]) -> FloatArray | None:
    """Even bins over the range of sorted scores, as wide as the class that asks for wider ones (Freedman and Diaconis).

    None where there is no score, or a range that no bin can divide.
    """
    if not classes:
        return None
    low, high = min(float(scores[0]) for scores in classes), max(float(scores[-1]) for scores in classes)
    reach = high - low
    if reach <= 1e-9 * max(abs(low), abs(high), 1e-9):  # all equal, or as good as
        return np.array([low - 0.5, high + 0.5])
    if not np.isfinite(reach):
        return None
    spreads = [2.0 * (float(x[(3 * len(x)) // 4]) - float(x[len(x) // 4])) / float(np.cbrt(len(x))) for x in classes]
    bins = int(np.clip(np.ceil(reach / max(*spreads, reach / _MOST_BINS)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)
