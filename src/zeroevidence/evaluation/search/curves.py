"""Curves of a search: from the evidence of each trial alone, and over the number of identities from its scores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import METHODS, fit_rows
from zeroevidence.evaluation.rows.curves import POINTS, Curve, as_curve, bin_edges, binned, thinned
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.search.task import Fold, mean_over_folds
from zeroevidence.measure.pairs.zebra import LOG_ODDS_GRID
from zeroevidence.measure.search.disclosure import RowEvidence, ccdf
from zeroevidence.measure.search.priors import log_ratio_from_lid, total_lid_at
from zeroevidence.measure.search.rank import cmc, rank_disclosure
from zeroevidence.measure.search.singling import SizeCurve, link_curve
from zeroevidence.measure.search.sizes import MATRIX_LIMIT, alid_curve

_LEAST_BITS = 0.2


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


@dataclass(frozen=True, slots=True, eq=False)
class SearchedFold:
    """Trials that share one calibration, with their scores.

    Parameters
    ----------
    scores
        Scores of the trials against the identities that they are searched among.
    mated
        The column of each trial's true identity.
    fold
        Their calibration, and the scores of the people whom it was fitted on.
    mated_elsewhere
        The mated columns of those.
    """

    scores: FloatArray
    mated: IntArray
    fold: Fold
    mated_elsewhere: IntArray


def alid_over_identities(
    size: int, parts: Iterable[SearchedFold], options: Options, prior: FloatArray | None = None
) -> dict[str, Curve]:
    """``alid_over_identities`` of so many scores, where they are few enough to draw smaller searches from."""
    if size > MATRIX_LIMIT:
        return {}
    curves = [(len(part.mated), _sizes(part, options, prior)) for part in parts]
    return {"alid_over_identities": mean_over_folds(curves)}


def _sizes(part: SearchedFold, options: Options, prior: FloatArray | None) -> SizeCurve:
    fold = part.fold
    fit = partial(
        fit_rows,
        method=next(method for method in METHODS if fold.calibration.name.endswith(method)),  # also after "auto:"
        scaling=fold.calibration.scaling,
        ddof=options.ddof,
        l2=options.l2,
        balanced=options.balanced,
        seed=options.seed,
    )
    return alid_curve(
        part.scores,
        part.mated,
        fold.calibration,
        (fold.threshold_scores, part.mated_elsewhere),
        fit,
        ddof=options.ddof,
        prior=prior,
        seed=options.seed,
    )


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
    before = 1.0 / evidence.identities if prior is None else prior
    ratio = log_ratio_from_lid(evidence.lid, before)
    mean = total_lid_at(ratio, LOG_ODDS_GRID) / len(ratio)
    return as_curve(LOG_ODDS_GRID, mean, np.zeros(len(LOG_ODDS_GRID)))


def _rank_disclosure(evidence: RowEvidence, ranks: IntArray) -> Curve:
    """Bits that each rank discloses; ranks where no trial stands are left out, those that disclose most are not."""
    gamma = rank_disclosure(evidence.greater, evidence.equal, evidence.identities).gamma
    chosen = np.union1d(ranks, [int(gamma.argmax()) + 1])
    chosen = chosen[gamma[chosen - 1] > 0.0]
    return as_curve(chosen, np.log2(evidence.identities * gamma[chosen - 1]))
