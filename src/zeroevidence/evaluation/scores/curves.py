"""Curves of one-to-one scores, for figures: exact values, thinned to a few hundred points.

Everything follows from the sorted scores, their counts and their PAV blocks, which an evaluation has anyway, so
that the curves cost next to nothing.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import Blocks, RankedScores, block_lows, pool_laplace
from zeroevidence.evaluation.rows.curves import POINTS, Curve, as_curve, histograms, thinned
from zeroevidence.measure.pairs.linkability import local_linkability_of
from zeroevidence.measure.pairs.norms import INVERSE_ORDERS, lp_disclosure_of
from zeroevidence.measure.pairs.verification import roc
from zeroevidence.measure.pairs.zebra import LLRS_LIMIT, LN10, LOG_ODDS_GRID, ece_actual, ece_default, ece_min_of
from zeroevidence.measure.views import PairSettings

_DEVIATES: FloatArray = np.linspace(-5.0, 5.0, 101)


def one_to_one_curves(ranked: RankedScores, blocks: Blocks, settings: PairSettings | None = None) -> dict[str, Curve]:
    """Profiles that show what the one-to-one measures sum up.

    ``ece`` (prior log-odds, bits; baseline: no evidence), ``ece_actual`` of the scores as LLRs, ``det``
    (false alarms, misses), ``tippett_target`` and ``tippett_nontarget`` (log10 LR, after PAV unless the scores are
    LLRs, share of scores whose LR is larger), ``lp_disclosure`` (1 / p from 1, the mean, to 0, the worst case; the Lp
    norm of log10 LR, after PAV and Laplace's rule), ``pav`` (score from which on an LLR holds, natural-log LLR),
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
    curves["lp_disclosure"] = _norms(blocks)
    curves["pav"] = _pav(ranked, blocks)
    curves |= histograms({"target": ranked.target, "nontarget": ranked.nontarget})
    local = local_linkability_of(ranked, blocks, method=settings.linkability, omega=settings.omega)
    keep = thinned(len(local.score))
    curves["local_linkability"] = as_curve(local.score[keep], local.value[keep])
    return curves


def _det(ranked: RankedScores) -> Curve:
    miss, false_alarm = roc(ranked.counts)
    # Even on the probit axes that a DET is drawn on, for either rate.
    levels = ndtr(_DEVIATES)
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
    levels = np.unique(np.concatenate([scores[thinned(len(scores))] for scores in classes.values()]))
    return {
        f"tippett_{name}": as_curve(levels / LN10, 1.0 - np.searchsorted(scores, levels, "right") / len(scores))
        for name, scores in classes.items()
    }


def _norms(blocks: Blocks) -> Curve:
    laplace = pool_laplace(blocks)
    with np.errstate(divide="ignore"):
        orders = 1.0 / INVERSE_ORDERS
    return as_curve(INVERSE_ORDERS, np.array([lp_disclosure_of(laplace, float(p)) for p in orders]))


def _pav(ranked: RankedScores, blocks: Blocks) -> Curve:
    lows = block_lows(ranked, blocks)
    keep = thinned(len(lows), POINTS - 1)
    highest = max(ranked.target[-1], ranked.nontarget[-1])
    return as_curve(np.append(lows[keep], highest), np.append(blocks.llr[keep], blocks.llr[-1]))
