"""The battery of one-to-N measures of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import RowCalibration, check_searchable, fit_rows, speaker_folds, standardise
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError
from zeroevidence.evaluation.results import Curve, Metric, Options, Trials
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.measure.disclosure import RowEvidence, ccdf, row_evidence, summarise
from zeroevidence.measure.longitudinal import longitudinal, singling_out_over_utterances
from zeroevidence.measure.rank import cmc, rank_disclosure, top_k
from zeroevidence.measure.singling import (
    SINGLING_OUT_BASELINE,
    firing_counts,
    firing_threshold,
    link_curve,
    link_probability,
    singling_out_curve,
)
from zeroevidence.measure.softplus import LN2

_CURVE_POINTS = 200
_FUSION_LIMIT = 20_000_000  # scores; beyond, fused rows would not fit beside the matrix


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """Rows that share one calibration, and the scores a threshold may be set on."""

    rows: IntArray
    calibration: RowCalibration
    others: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Everything a search yields."""

    metrics: dict[str, Metric]
    curves: dict[str, Curve]
    trials: Trials
    evidence: RowEvidence
    singled: IntArray  # 1 where the predicate fired on exactly one identity
    folds: list[Fold]
    calibration: str


def check_disjoint(matrix: ScoreMatrix, dev: ScoreMatrix) -> None:
    """Development speakers must be other people: a calibration fitted on the evaluated ones flatters the attacker."""
    here, there = matrix.speakers, dev.speakers
    if here is None or there is None:
        return
    common = np.intersect1d(here, there)
    if len(common):
        raise InputError(
            f"development and evaluation share {len(common)} speaker(s), among them {str(common[0])!r}; "
            "expected other people in the development scores"
        )


def search(matrix: ScoreMatrix, dev: ScoreMatrix | None, options: Options, prior: FloatArray | None = None) -> Search:
    """Measure a closed-set search; every trial's speaker must be enrolled."""
    scores, mated = matrix.scores, matrix.mated
    check_searchable(scores, mated, ddof=options.ddof)
    folds = _folds(matrix, dev, options)
    lid = np.empty(len(mated))
    greater, equal, singled = (np.empty(len(mated), dtype=np.int64) for _ in range(3))
    for fold in folds:
        part = scores if len(folds) == 1 else scores[fold.rows]
        evidence = row_evidence(part, mated[fold.rows], fold.calibration, ddof=options.ddof, prior=prior)
        lid[fold.rows], greater[fold.rows], equal[fold.rows] = evidence.lid, evidence.greater, evidence.equal
        fires = firing_counts(part, firing_threshold(fold.others, scores.shape[1]))
        singled[fold.rows] = fires == 1
    evidence = RowEvidence(lid, greater, equal, scores.shape[1])
    how = folds[0].calibration.name + ("" if dev is not None else ", cross-fitted by speaker")
    trials = Trials(
        matrix.trial_names,
        matrix.mated_names,
        lid,
        1.0 + greater + equal / 2.0,
        ((greater == 0) & (equal == 0)).astype(np.int64),
    )
    return Search(
        metrics=search_metrics(evidence, singled, how),
        curves=_curves(matrix, dev, folds, evidence, options),
        trials=trials,
        evidence=evidence,
        singled=singled,
        folds=folds,
        calibration=how,
    )


def search_metrics(evidence: RowEvidence, singled: IntArray, how: str) -> dict[str, Metric]:
    """The scalar measures of per-trial evidence."""
    disclosed = summarise(evidence.lid)
    ranks = rank_disclosure(evidence.greater, evidence.equal, evidence.identities)
    chance = f"chance {1.0 / evidence.identities:.4g}"
    values: dict[str, tuple[float, str]] = {
        **{name: (getattr(disclosed, name), how) for name in ("alid", "pdr", "ndr", "lid_pos", "lid_neg", "lid_max")},
        "top1": (top_k(evidence.greater, evidence.equal), chance),
        "mean_rank_disclosure": (ranks.mean, "histogram"),
        "max_rank_disclosure": (ranks.max, "histogram"),
        "identification_rate": (ranks.identification_rate, chance),
        "link_probability": (link_probability(evidence.greater, evidence.equal), chance),
        "singling_out": (float(singled.mean()), f"chance {SINGLING_OUT_BASELINE:.4g}"),
    }
    return {name: Metric(value, CATALOGUE[name].unit, method) for name, (value, method) in values.items()}


def _folds(matrix: ScoreMatrix, dev: ScoreMatrix | None, options: Options) -> list[Fold]:
    """One fold calibrated on development data, or several, each calibrated on the other speakers."""

    def fit(scores: FloatArray, mated: IntArray) -> RowCalibration:
        return fit_rows(
            scores,
            mated,
            method=options.calibration,
            ddof=options.ddof,
            l2=options.l2,
            balanced=options.balanced,
            seed=options.seed,
        )

    everyone = np.arange(len(matrix.mated))
    if dev is not None:
        return [Fold(everyone, fit(dev.scores, dev.mated), dev.scores)]
    folds = []
    for rows in speaker_folds(matrix.mated, seed=options.seed):
        rest = np.setdiff1d(everyone, rows)
        others = matrix.scores[rest]
        folds.append(Fold(rows, fit(others, matrix.mated[rest]), others))
    return folds


def evidence_curves(evidence: RowEvidence) -> dict[str, Curve]:
    """Curves that follow from what is known of each trial, without the scores."""
    identities = evidence.identities
    levels, share = ccdf(evidence.lid)
    keep = np.unique(np.linspace(0, len(levels) - 1, min(_CURVE_POINTS, len(levels))).astype(int))
    ranks = np.unique(np.geomspace(1, identities, min(_CURVE_POINTS, identities)).round().astype(int))
    link = link_curve(evidence.greater, evidence.equal, identities)
    return {
        "lid_ccdf": curve_of(levels[keep], share[keep]),
        "cmc": curve_of(ranks, cmc(evidence.greater, evidence.equal, identities)[ranks - 1], ranks / identities),
        "link_probability_over_identities": curve_of(link.x, link.y, link.baseline),
    }


def _curves(
    matrix: ScoreMatrix,
    dev: ScoreMatrix | None,
    folds: Sequence[Fold],
    evidence: RowEvidence,
    options: Options,
) -> dict[str, Curve]:
    curves = evidence_curves(evidence)
    parts = [(len(f.rows), singling_out_curve(matrix.scores[f.rows], f.others)) for f in folds]
    singled = sum(n * curve.y for n, curve in parts) / len(matrix.mated)
    first = parts[0][1]
    curves["singling_out_over_identities"] = curve_of(first.x, np.asarray(singled), first.baseline)
    if matrix.scores.size <= _FUSION_LIMIT:
        curves.update(_over_utterances(matrix, dev, folds, options))
    return curves


def calibrated(scores: FloatArray, calibration: RowCalibration, ddof: int) -> FloatArray:
    """LLRs of whole rows."""
    return calibration.llr(standardise(scores.astype(np.float64), ddof=ddof))


def lid_of_everyone(matrix: ScoreMatrix, found: Search, options: Options, prior: FloatArray | None) -> FloatArray:
    """LID of every identity as if it were the true one, trials x identities."""
    log_prior = -np.log(matrix.scores.shape[1]) if prior is None else np.log(prior)
    lid = np.empty(matrix.scores.shape)
    for fold in found.folds:
        llr = calibrated(matrix.scores[fold.rows], fold.calibration, options.ddof)
        weighed = llr + log_prior
        top = weighed.max(axis=1, keepdims=True)
        lid[fold.rows] = llr - top - np.log(np.exp(weighed - top).sum(axis=1, keepdims=True))
    lid[matrix.scores.max(axis=1) == matrix.scores.min(axis=1)] = 0.0
    return lid / LN2


def _over_utterances(
    matrix: ScoreMatrix, dev: ScoreMatrix | None, folds: Sequence[Fold], options: Options
) -> dict[str, Curve]:
    llrs = np.empty(matrix.scores.shape)
    for fold in folds:
        llrs[fold.rows] = calibrated(matrix.scores[fold.rows], fold.calibration, options.ddof)
    most = int(np.bincount(matrix.mated).max())
    ks = [2**i for i in range(most.bit_length()) if 2**i <= most]
    other = None if dev is None else (calibrated(dev.scores, folds[0].calibration, options.ddof), dev.mated)
    curves = {}
    for temperature in ("sum", "mean", "fitted") if other is not None else ("sum", "mean"):
        fused = longitudinal(llrs, matrix.mated, ks=ks, temperature=temperature, dev=other, seed=options.seed)
        curves[f"alid_over_utterances_{temperature}"] = curve_of(fused.k, fused.alid)
        curves[f"lid_max_over_utterances_{temperature}"] = curve_of(fused.k, fused.lid_max)
    chance = np.full(len(fused.k), 1.0 / matrix.scores.shape[1])
    curves["link_probability_over_utterances"] = curve_of(fused.k, fused.link_probability, chance)
    k, singled = singling_out_over_utterances(llrs, matrix.mated, ks=ks, dev=other, seed=options.seed)
    curves["singling_out_over_utterances"] = curve_of(k, singled, np.full(len(k), SINGLING_OUT_BASELINE))
    return curves


def curve_of(x: FloatArray | IntArray, y: FloatArray, baseline: FloatArray | None = None) -> Curve:
    """A curve as plain numbers."""
    return Curve(
        tuple(float(v) for v in x),
        tuple(float(v) for v in y),
        None if baseline is None else tuple(float(v) for v in baseline),
    )
