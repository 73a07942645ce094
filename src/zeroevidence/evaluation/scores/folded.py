"""A search that was cross-validated over people: every fold with its own calibration, all trials in one result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.folded_scores import FoldedScores, column_speakers
from zeroevidence.evaluation.rows.curves import Curve, as_curve
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.trials import People
from zeroevidence.evaluation.scores.people import exposure_by_person
from zeroevidence.evaluation.scores.search import (
    Fold,
    Search,
    calibrated,
    check_disjoint,
    evidence_curves,
    search,
    search_metrics,
    trial_table,
)
from zeroevidence.measure.search.disclosure import join_evidence, row_evidence
from zeroevidence.measure.search.longitudinal import FusedEvidence, fuse_recordings, recording_counts
from zeroevidence.measure.search.singling import firing_counts, firing_threshold, singling_out_curve
from zeroevidence.uncertainty.null import HypotheticalEvidence


def search_folds(scores: FoldedScores, options: Options) -> Search:
    """Measure the searches of all folds as one, each calibrated on the development people of its fold."""
    apart, folds, first = [], [], 0
    for part, dev in zip(scores.parts, scores.dev, strict=True):
        check_disjoint(part, dev)
        apart.append(search(part, dev, options))
        rows = np.arange(first, first + len(part.mated))
        folds.append(replace(apart[-1].folds[0], rows=rows))
        first += len(rows)
    supposed = supposed_folds(scores, folds, options)
    evidence = join_evidence([one.evidence(one.mated, scores.identities) for one in supposed])
    searched = searched_rows(scores)
    singled = np.concatenate([_singled(rows, fold) for rows, fold in zip(searched, folds, strict=True)])
    setup = replace(apart[0].setup, folds=scores.sizes)
    return Search(
        metrics=search_metrics(evidence, singled, setup),
        curves=evidence_curves(evidence) | _singling_out(searched, folds),
        trials=trial_table(scores.trials, np.concatenate([part.mated_names for part in scores.parts]), evidence),
        evidence=evidence,
        singled=singled,
        folds=folds,
        setup=setup,
        prior=None,
    )


def searched_rows(scores: FoldedScores) -> list[FloatArray]:
    """For each fold its trials against the identities that each is searched among, the true one first."""
    return [_compared(part.scores, scores.candidates(fold)[part.mated]) for fold, part in enumerate(scores.parts)]


def _compared(scores: FloatArray, columns: IntArray) -> FloatArray:
    compared: FloatArray = np.take_along_axis(scores, columns, axis=1)
    return compared


def supposed_folds(scores: FoldedScores, folds: Sequence[Fold], options: Options) -> list[HypotheticalEvidence]:
    """What each trial would show if another person of its fold were the true one, searched among that one's company."""
    found = []
    for number, (part, fold) in enumerate(zip(scores.parts, folds, strict=True)):
        own = np.zeros(len(part.mated), dtype=np.int64)  # each candidate's own column comes first
        columns = [
            row_evidence(part.scores[:, company], own, fold.calibration, ddof=options.ddof)
            for company in scores.candidates(number)
        ]
        lid, greater, equal = (
            np.column_stack([getattr(one, name) for one in columns]) for name in ("lid", "greater", "equal")
        )
        found.append(HypotheticalEvidence(part.mated, lid, greater, equal))
    return found


def _singled(rows: FloatArray, fold: Fold) -> IntArray:
    fires = firing_counts(rows, firing_threshold(fold.others, rows.shape[1]))
    singled: IntArray = (fires == 1).astype(np.int64)
    return singled


def _singling_out(searched: Sequence[FloatArray], folds: Sequence[Fold]) -> dict[str, Curve]:
    parts = [singling_out_curve(rows, fold.others) for rows, fold in zip(searched, folds, strict=True)]
    share = np.average([one.y for one in parts], axis=0, weights=[len(rows) for rows in searched])
    return {"singling_out_over_identities": as_curve(parts[0].x, share, parts[0].baseline)}


def people_of_folds(scores: FoldedScores, found: Search) -> People:
    """What was learned about each person; a name can only come up where it is one of those that are compared."""
    on_top, names_compared = [], []
    for fold, (part, rows) in enumerate(zip(scores.parts, searched_rows(scores), strict=True)):
        names = column_speakers(part)[scores.candidates(fold)[part.mated]]
        names_compared.append(names[:, 1:].ravel())
        on_top.append(_names_on_top(rows, names))
    names, times = np.unique(np.concatenate(names_compared), return_counts=True)
    compared = dict(zip(names.tolist(), times.tolist(), strict=True))
    return exposure_by_person(found.trials, np.concatenate(on_top), compared)


def _names_on_top(rows: FloatArray, names: StrArray) -> StrArray:
    alone = np.count_nonzero(rows == rows.max(axis=1, keepdims=True), axis=1) == 1
    best: StrArray = np.take_along_axis(names, rows.argmax(axis=1)[:, None], axis=1)[:, 0]
    return np.where(alone, best, "")


def held_in_folds(scores: FoldedScores, found: Search, options: Options) -> list[FusedEvidence]:
    """What attackers learn who hold several recordings of a person, for numbers that development people have too."""
    ks = sorted(
        set(recording_counts(name_codes(found.trials.speaker))).intersection(
            *(recording_counts(dev.mated) for dev in scores.dev)
        )
    )
    if ks == [1]:
        return []
    tried: list[list[FusedEvidence]] = []
    places: list[IntArray] = []
    for fold, rows in enumerate(searched_rows(scores)):
        for own in _companies(scores.parts[fold].mated, scores.identities):
            places.append(found.folds[fold].rows[own])
            tried.append(_held(scores, found.folds[fold], fold, rows[own], own, ks, options))
    order = np.argsort(np.concatenate(places))
    return [_together(parts, order) for parts in list(zip(*tried, strict=True))[1:]]


def name_codes(names: StrArray) -> IntArray:
    """A number from 0 on for each name, in their order."""
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _companies(mated: IntArray, size: int) -> list[IntArray]:
    """Trials of at most so many people each: people who are fused together need a column each."""
    return [own for part in range(int(mated.max()) // size + 1) if len(own := np.flatnonzero(mated // size == part))]


def _held(
    scores: FoldedScores, fold: Fold, number: int, rows: FloatArray, own: IntArray, ks: Sequence[int], options: Options
) -> list[FusedEvidence]:
    column = scores.parts[number].mated[own] % scores.identities
    turned = (np.arange(scores.identities) - column[:, None]) % scores.identities  # the true one, first, goes there
    llrs = _compared(calibrated(rows, fold.calibration, options.ddof), turned)
    dev = scores.dev[number]
    others = calibrated(dev.scores, fold.calibration, options.ddof), dev.mated
    return fuse_recordings(llrs, column, ks=ks, dev=others, seed=options.seed)


def _together(parts: Sequence[FusedEvidence], order: IntArray) -> FusedEvidence:
    """The same number of recordings in all folds, in the order of the trials."""
    columns = {
        name: np.concatenate([getattr(one, name) for one in parts])[order]
        for name in ("lid", "greater", "equal", "singled")
    }
    worth = np.average([one.worth for one in parts], weights=[len(one.lid) for one in parts])
    return FusedEvidence(parts[0].k, float(worth), **columns)
