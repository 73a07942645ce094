"""Curves of pairs, searches and tandems, and matrices of similarity with their measures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zeroevidence._scipy import ndtr
from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import Blocks, RankedScores, block_lows
from zeroevidence.data.scores import KINDS, Scores
from zeroevidence.evaluation.rows.curves import POINTS, Curve, Surface, as_curve, bin_edges, binned, histograms, thinned
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.search_task import SearchResult, SearchTask, mean_over_folds
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.pairs import zebra
from zeroevidence.measure.pairs.linkability import ScoreView, local_linkability_of
from zeroevidence.measure.pairs.verification import roc
from zeroevidence.measure.search.disclosure import RowEvidence, ccdf, check_prior, log_ratio_from_lid, total_lid_at
from zeroevidence.measure.search.longitudinal import link_curve, singling_out_curve
from zeroevidence.measure.search.rank import cmc, rank_disclosure
from zeroevidence.measure.similarity import similarity_matrix
from zeroevidence.measure.tandem.cost import adcf_min
from zeroevidence.measure.tandem.tdcf import constrained_rates, tdcf_curve, tdcf_min, tdcf_surface, view_rates
from zeroevidence.measure.tandem.thresholds import TandemView
from zeroevidence.measure.views import SimilarityView

_DEVIATES: FloatArray = np.linspace(-5.0, 5.0, 101)
_LEAST_BITS = 0.2
_SURFACE_POINTS = 60
_DRAWN_SPEAKERS = 100  # more cells than that are no picture
_DRAWN_SCORES = 2_000_000  # a matrix that nothing is compared with is not worth sorting more scores


def one_to_one_curves(view: ScoreView) -> dict[str, Curve]:
    """Profiles that show what the one-to-one measures sum up.

    Everything follows from the sorted scores, their counts and their PAV blocks, which an evaluation has anyway, so
    that the curves cost next to nothing.

    ``ece`` (prior log-odds, bits; baseline: no evidence), ``ece_actual`` of calibrated LLRs or of the scores as
    LLRs, ``det`` (false alarms, misses), ``tippett_target`` and ``tippett_nontarget`` (log10 LR, after PAV unless
    there are calibrated LLRs, share of scores whose LR is larger), ``pav`` (score from which on an LLR
    holds, natural-log LLR), ``histogram_target`` and ``histogram_nontarget`` (bin centre, density) and
    ``local_linkability`` (score from which on a value holds, value).
    """
    ranked, blocks, settings = view.ranked, view.blocks, view.settings
    curves = {"ece": as_curve(zebra.LOG_ODDS_GRID, zebra.ece_min_of(blocks), zebra.ece_default())}
    if len(ranked.target) + len(ranked.nontarget) <= zebra.LLRS_LIMIT:
        curves["ece_actual"] = as_curve(zebra.LOG_ODDS_GRID, zebra.ece_actual(*view.actual), zebra.ece_default())
    curves["det"] = _det(ranked)
    curves |= _tippett(blocks) if view.llrs is None else _tippett_of_llrs(*view.llrs)
    curves["pav"] = _pav(ranked, blocks)
    curves |= histograms({"target": ranked.target, "nontarget": ranked.nontarget})
    local = local_linkability_of(ranked, settings, blocks)
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
        curves[f"tippett_{name}"] = as_curve(blocks.llr[keep] / zebra.LN10, above[keep])
    return curves


def _tippett_of_llrs(target: FloatArray, nontarget: FloatArray) -> dict[str, Curve]:
    """The same of LLRs as they are, on levels that suit both classes."""
    classes = {"target": np.sort(target), "nontarget": np.sort(nontarget)}
    levels = np.unique(np.concatenate([llrs[thinned(len(llrs))] for llrs in classes.values()]))
    return {
        f"tippett_{name}": as_curve(levels / zebra.LN10, 1.0 - np.searchsorted(llrs, levels, "right") / len(llrs))
        for name, llrs in classes.items()
    }


def _pav(ranked: RankedScores, blocks: Blocks) -> Curve:
    lows = block_lows(ranked, blocks)
    keep = thinned(len(lows), POINTS - 1)
    highest = max(ranked.target[-1], ranked.nontarget[-1])
    return as_curve(np.append(lows[keep], highest), np.append(blocks.llr[keep], blocks.llr[-1]))


def evidence_curves(evidence: RowEvidence, prior: FloatArray | None = None) -> dict[str, Curve]:
    """Curves that follow from what is known of each trial, without the scores.

    `prior` is what each trial's true identity had before the trial was heard; one in the number of them unless given.
    """
    identities = evidence.identities
    levels, share = ccdf(evidence.lid)
    keep = thinned(len(levels))
    ranks = np.arange(1, identities + 1)
    if identities > POINTS:
        ranks = np.unique(np.geomspace(1, identities, POINTS).round().astype(int))
    link = link_curve(evidence.greater, evidence.equal, identities)
    return {
        "lid_ccdf": as_curve(levels[keep], share[keep]),
        "lid_histogram": _lid_histogram(evidence.lid),
        "posterior": _posterior(evidence, prior),
        "lid_over_priors": _over_priors(evidence, prior),
        "cmc": as_curve(ranks, cmc(evidence.greater, evidence.equal, identities)[ranks - 1], ranks / identities),
        "rank_disclosure": _rank_disclosure(evidence, ranks),
        "link_probability_over_identities": as_curve(link.x, link.y, link.baseline),
    }


def search_curves(task: SearchTask, result: SearchResult) -> dict[str, Curve]:
    """Curves of a search."""
    evidence, true_prior = result.evidence, None
    if result.prior is not None:
        true_prior = check_prior(result.prior, evidence.identities)[task.speaker_codes]
    singled = [
        (len(part.mated), singling_out_curve(part.scores, part.fold.threshold_scores))
        for part in task.searched_folds(result)
    ]
    return {**evidence_curves(evidence, true_prior), "singling_out_over_identities": mean_over_folds(singled)}


def _lid_histogram(lid: FloatArray) -> Curve:
    """Share of trials around each level in bits."""
    ordered = np.sort(lid)
    finite = ordered[np.isfinite(ordered)]
    edges = bin_edges([finite]) if len(finite) else None
    if edges is None:
        return as_curve(np.empty(0), np.empty(0))
    if edges[-1] - edges[0] < _LEAST_BITS:  # as good as all equal
        edges = (edges[0] + edges[-1]) / 2.0 + np.linspace(-0.5, 0.5, 21)
    # An edge at 0, so that no bin holds both what points to the person and what misleads.
    width = edges[1] - edges[0]
    edges = width * np.arange(np.floor(edges[0] / width), np.floor(edges[-1] / width) + 2.0)
    return as_curve((edges[1:] + edges[:-1]) / 2.0, binned(finite, edges) / len(lid))


def _posterior(evidence: RowEvidence, prior: FloatArray | None) -> Curve:
    """Probability of the true identity, trials from the least to the most exposed (x is their share), and before."""
    before = np.full(len(evidence.lid), 1.0 / evidence.identities) if prior is None else prior
    after = np.exp2(evidence.lid) * before
    order = np.argsort(after, kind="stable")
    keep = thinned(len(order))
    return as_curve((keep + 1.0) / len(order), after[order][keep], before[order][keep])


def _over_priors(evidence: RowEvidence, prior: FloatArray | None) -> Curve:
    """ALID over the prior log-odds of the true identity, the others sharing the rest; a prior tells nothing at all."""
    ratio = log_ratio_from_lid(evidence.lid, 1.0 / evidence.identities if prior is None else prior)
    mean = total_lid_at(ratio, zebra.LOG_ODDS_GRID) / len(ratio)
    return as_curve(zebra.LOG_ODDS_GRID, mean, np.zeros(len(zebra.LOG_ODDS_GRID)))


def _rank_disclosure(evidence: RowEvidence, ranks: IntArray) -> Curve:
    """Bits that each rank discloses; ranks where no trial stands are left out, those that disclose most are not."""
    gamma = rank_disclosure(evidence.greater, evidence.equal, evidence.identities).gamma
    chosen = np.union1d(ranks, [int(gamma.argmax()) + 1])
    chosen = chosen[gamma[chosen - 1] > 0.0]
    return as_curve(chosen, np.log2(evidence.identities * gamma[chosen - 1]))


def tandem_curves(view: TandemView) -> dict[str, Curve]:
    """Cost of the tandem over the countermeasure's threshold, its minimum among the points."""
    rates = constrained_rates(view)
    if rates is None or view.cm is None:
        return {}
    cost = tdcf_curve(*view.cm, rates, view.model)
    keep = np.union1d(thinned(len(cost.tdcf)), [int(cost.tdcf.argmin())])
    return {"t_dcf": as_curve(cost.threshold[keep], cost.tdcf[keep])}


def tandem_surfaces(view: TandemView) -> dict[str, Surface]:
    """Cost over both thresholds, the countermeasure's (x) and the verifier's (y)."""
    if view.asv is None or view.cm is None:
        return {}
    surface = tdcf_surface(*view.asv, *view.cm, view.model, points=_SURFACE_POINTS)
    cm, asv = tuple(surface.threshold_cm.tolist()), tuple(surface.threshold_asv.tolist())
    return {"t_dcf": Surface(cm, asv, tuple(tuple(line) for line in surface.tdcf.tolist()))}


def tandem_profiles(view: TandemView) -> dict[str, Curve]:
    """Densities ``histogram_SIDE_KIND`` on common bins of a side, and ``threshold_SIDE`` with the rates there.

    A threshold is the one that was set beforehand, else that of the measures: the equal-error point of a verifier, the
    best of a countermeasure or a single system. The curve has one point for each kind of trial: the threshold, and the
    share of such trials that is accepted.
    """
    curves: dict[str, Curve] = {}
    for side, kinds in KINDS.items():
        if f"{side}_spoof" not in view.scores:
            continue
        classes = {f"{side}_{kind}": view.scores[f"{side}_{kind}"] for kind in kinds}
        curves |= histograms(classes)
        threshold = _threshold(view, side)
        if threshold is not None:
            shares = tuple(float((scores >= threshold).mean()) for scores in classes.values())
            curves[f"threshold_{side}"] = Curve((threshold,) * len(shares), shares)
    return curves


def _threshold(view: TandemView, side: str) -> float | None:
    if side == "asv":
        tandem_rates = view_rates(view)
        return None if tandem_rates is None else tandem_rates.threshold
    if side == "sasv":
        return None if view.sasv is None else adcf_min(*view.sasv, view.model).threshold
    rates, given = constrained_rates(view), view.model.cm_threshold
    if given is not None or rates is None or view.cm is None:
        return None if given is None else float(given)
    return tdcf_min(*view.cm, rates, view.model).threshold


def add_similarity(rows: Sequence[tuple[Evaluation, Scores]]) -> list[Evaluation]:
    """DeID on original-against-anonymised rows and G_VD on anonymised-against-anonymised ones; matrices for figures.

    Each is compared with the original-against-original row that agrees in all labels except enrolment, trial
    and the attacker's name; a row without such a partner, or without speakers, gets neither. The matrix itself goes
    along as the surface ``similarity`` where it is small enough to look at.
    """
    threats = {number: row.about.threat for number, (row, _) in enumerate(rows) if row.about.threat is not None}
    settings = [_setting(row) for row, _ in rows]
    original = {
        settings[number]: number for number, threat in threats.items() if threat.enrolment == threat.trial == "original"
    }
    compared = {
        number: original[settings[number]]
        for number, threat in threats.items()
        if threat.trial == "anonymised" and settings[number] in original
    }
    wanted = {*compared, *compared.values()}
    matrices = [_matrix(scores, drawn_only=number not in wanted) for number, (_, scores) in enumerate(rows)]
    result = []
    for number, (row, _) in enumerate(rows):
        after = matrices[number]
        before = matrices[compared[number]] if number in compared else None
        if before is not None and after is not None and before[1] == after[1]:
            view = SimilarityView(before[0], after[0], threats[number].enrolment)
            # Without interval: that of leaving people out of the matrices holds the truth in three of four simulations.
            values = compute_family("similarity", view)
            row = row.with_metrics({name: MeasureResult.of(name, value) for name, value in values.items()})
        if after is not None and len(after[1]) <= _DRAWN_SPEAKERS:
            names, lines = tuple(after[1]), tuple(map(tuple, after[0].tolist()))
            row = replace(row, surfaces={**row.surfaces, "similarity": Surface(names, names, lines)})
        result.append(row)
    return result


def _setting(row: Evaluation) -> tuple[str | None, ...]:
    """Return the labels that agree in rows of the same people under the same verifier."""
    trained_on = None if row.about.threat is None else row.about.threat.trained_on
    return (*(row.labels.get(name) for name in ("dataset", "split", "sex")), trained_on)


def _matrix(scores: Scores, *, drawn_only: bool) -> tuple[FloatArray, list[str]] | None:
    """Return the similarity matrix and its speakers; None where there is none, or it is only drawn and too large."""
    if scores.target_pairs is None or scores.enrolment_speakers is None or scores.trial_speakers is None:
        return None
    if drawn_only and len(scores) > _DRAWN_SCORES:
        return None
    speakers = len(set(scores.enrolment_speakers.tolist()) & set(scores.trial_speakers.tolist()) - {""})
    return None if speakers < 2 or (drawn_only and speakers > _DRAWN_SPEAKERS) else similarity_matrix(scores)
