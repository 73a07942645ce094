"""Disclosure to attackers who hold several recordings of one person, by their number, with intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.replicates import Replicates
from zeroevidence.evaluation.rows.trials import Recordings
from zeroevidence.evaluation.scores.resampling import search_replicates
from zeroevidence.evaluation.search.task import SearchResult, SearchTask, search_metrics
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.longitudinal import FusedEvidence, make_nondecreasing

SHOWN = (1, 3, 10)  # numbers of recordings that tables show
MEASURED = ("alid", "top1", "lid_max", "link_probability", "singling_out")
_WITH_INTERVALS = ("alid", "top1")
_LIMIT = 20_000_000  # scores; beyond, fused rows would not fit beside the matrix


def several_recordings(
    task: SearchTask, search: SearchResult, metrics: Mapping[str, MeasureResult], options: Options
) -> Recordings | None:
    """What is learned from several recordings of a person; None where there are too many scores to try.

    Parameters
    ----------
    task
        What was searched.
    search
        The result of the search with one recording.
    metrics
        Its measures with their intervals.
    options
        How to measure.
    """
    if task.size > _LIMIT:
        return None
    fused, speakers = task.fuse_recordings(search, options), task.speaker_codes
    values = {
        name: _nondecreasing([metrics[name].number, *(_number(evidence, name, search) for evidence in fused)])
        for name in MEASURED
    }
    numbers = [1, *(evidence.k for evidence in fused)]
    available = np.bincount(speakers)
    columns: dict[str, Any] = {name: tuple(value.tolist()) for name, value in values.items()}
    return Recordings(
        held=tuple(numbers),
        people=tuple(int(np.count_nonzero(available >= number)) for number in numbers),
        worth=(1.0, *(evidence.worth for evidence in fused)),
        **columns,
        **_intervals(speakers, search, fused, values, metrics, options),
    )


def _evidence(fused: FusedEvidence, search: SearchResult) -> RowEvidence:
    return RowEvidence(fused.lid, fused.greater, fused.equal, search.evidence.identities)


def _number(fused: FusedEvidence, name: str, search: SearchResult) -> float | None:
    return search_metrics(_evidence(fused, search), fused.singled, search.setup)[name].number


def _nondecreasing(values: Sequence[float | None]) -> FloatArray:
    return make_nondecreasing(np.array(values, dtype=np.float64))


def _intervals(
    speakers: IntArray,
    search: SearchResult,
    fused: Sequence[FusedEvidence],
    values: Mapping[str, FloatArray],
    metrics: Mapping[str, MeasureResult],
    options: Options,
) -> dict[str, tuple[Any, ...]]:
    """Return interval ends by measure; replicates do not fall with the number of recordings either."""
    bounds: dict[str, tuple[Any, ...]] = {}
    if not options.intervals or any(metrics[name].low is None for name in _WITH_INTERVALS):
        return bounds
    numbers = [(search.evidence, search.singled), *((_evidence(part, search), part.singled) for part in fused)]
    drawn = [
        search_replicates(evidence, singled, speakers, options, search.trials.trial) for evidence, singled in numbers
    ]
    for name in _WITH_INTERVALS:
        together = _rising_replicates(drawn, name)
        results = [
            replicates.with_interval(MeasureResult.of(name, float(value)), name, options.level)
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
        for sides in ([one.left_out for one in drawn], [replicates.halves for replicates in drawn])
    )
    return [
        replace(
            replicates,
            left_out=replicates.left_out if without is None else {name: without[:, place]},
            halves=replicates.halves if halves is None else {name: halves[:, place]},
        )
        for place, replicates in enumerate(drawn)
    ]
