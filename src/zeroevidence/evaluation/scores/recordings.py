"""Attackers who hold several recordings of one person: their disclosure, with intervals, over the number of these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.data.folded_scores import FoldedScores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.replicates import Replicates
from zeroevidence.evaluation.rows.trials import Recordings
from zeroevidence.evaluation.scores.folded import held_in_folds, name_codes
from zeroevidence.evaluation.scores.resampling import search_replicates
from zeroevidence.evaluation.scores.search import Search, calibrated, calibrated_rows, search_metrics, search_rules
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.longitudinal import (
    FusedEvidence,
    fuse_recordings,
    make_nondecreasing,
    recording_counts,
)

SHOWN = (1, 3, 10)  # numbers of recordings that tables show
MEASURED = ("alid", "top1", "lid_max", "link_probability", "singling_out")
_WITH_INTERVALS = ("alid", "top1")
_LIMIT = 20_000_000  # scores; beyond, fused rows would not fit beside the matrix


def several_recordings(
    matrix: ScoreMatrix | FoldedScores,
    dev: ScoreMatrix | None,
    found: Search,
    metrics: Mapping[str, MeasureResult],
    options: Options,
) -> Recordings | None:
    """What is learned from several recordings of a person; None where there are too many scores to try.

    Parameters
    ----------
    matrix, dev
        The rows that were searched, and those of development people.
    found, metrics
        The search, and its measures with their intervals: what one recording tells.
    """
    if sum(part.scores.size for part in matrix.parts) > _LIMIT:
        return None
    if isinstance(matrix, FoldedScores):
        held, speakers = held_in_folds(matrix, found, options), name_codes(found.trials.speaker)
    else:
        held, speakers = _held(matrix, dev, found, options), matrix.mated
    values = {name: _risen([metrics[name].number, *(_number(one, name, found) for one in held)]) for name in MEASURED}
    ks = [1, *(one.k for one in held)]
    own = np.bincount(speakers)
    columns: dict[str, Any] = {name: tuple(value.tolist()) for name, value in values.items()}
    return Recordings(
        held=tuple(ks),
        people=tuple(int(np.count_nonzero(own >= k)) for k in ks),
        worth=(1.0, *(one.worth for one in held)),
        **columns,
        **_intervals(speakers, found, held, values, metrics, options),
    )


def _held(matrix: ScoreMatrix, dev: ScoreMatrix | None, found: Search, options: Options) -> list[FusedEvidence]:
    """The same for each number of recordings above one that enough people have."""
    ks = recording_counts(matrix.mated)
    if ks == [1] or len(np.unique(matrix.mated)) < 2:
        return []
    llrs = calibrated_rows(matrix, found.folds, options)
    other = None if dev is None else (calibrated(dev.scores, found.folds[0].calibration, options.ddof), dev.mated)
    log_prior = None if found.prior is None else np.log(found.prior)
    return fuse_recordings(llrs, matrix.mated, ks=ks, dev=other, log_prior=log_prior, seed=options.seed)[1:]


def _evidence(held: FusedEvidence, found: Search) -> RowEvidence:
    return RowEvidence(held.lid, held.greater, held.equal, found.evidence.identities)


def _number(held: FusedEvidence, name: str, found: Search) -> float | None:
    return search_metrics(_evidence(held, found), held.singled, found.setup)[name].number


def _risen(values: Sequence[float | None]) -> FloatArray:
    return make_nondecreasing(np.array(values, dtype=np.float64))


def _intervals(
    speakers: IntArray,
    found: Search,
    held: Sequence[FusedEvidence],
    values: Mapping[str, FloatArray],
    metrics: Mapping[str, MeasureResult],
    options: Options,
) -> dict[str, tuple[Any, ...]]:
    """Bounds by measure; people are drawn once for all numbers of recordings, and every draw rises like the values."""
    bounds: dict[str, tuple[Any, ...]] = {}
    if not options.intervals or any(metrics[name].low is None for name in _WITH_INTERVALS):
        return bounds
    everything = [(found.evidence, found.singled), *((_evidence(one, found), one.singled) for one in held)]
    drawn = [
        search_replicates(evidence, singled, speakers, options, found.trials.trial) for evidence, singled in everything
    ]
    rules = search_rules()
    for name in _WITH_INTERVALS:
        together = _rising_replicates(drawn, name)
        results = [
            replicates.with_interval(MeasureResult.of(name, float(value)), name, rules[name], options.level)
            for replicates, value in zip(together, values[name], strict=True)
        ]
        ends = [(result.low, result.high) for result in (metrics[name], *results[1:])]
        if all(low is not None and high is not None for low, high in ends):
            bounds[f"{name}_low"], bounds[f"{name}_high"] = (tuple(side) for side in zip(*ends, strict=True))
    return bounds


def _rising_replicates(drawn: Sequence[Replicates], name: str) -> list[Replicates]:
    without, halves = (
        make_nondecreasing(np.stack([side[name] for side in sides], axis=-1))
        if all(name in side for side in sides)
        else None
        for sides in ([one.left_out for one in drawn], [one.halves for one in drawn])
    )
    return [
        replace(
            one,
            left_out=one.left_out if without is None else {name: without[:, place]},
            halves=one.halves if halves is None else {name: halves[:, place]},
        )
        for place, one in enumerate(drawn)
    ]
