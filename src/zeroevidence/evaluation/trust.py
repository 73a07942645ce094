"""Intervals and nulls for the measures of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import Ranked
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.options import Options
from zeroevidence.evaluation.replicates import Replicates
from zeroevidence.evaluation.results import Measured
from zeroevidence.evaluation.search import Search, lid_of_everyone
from zeroevidence.measure.disclosure import RowEvidence
from zeroevidence.measure.registry import MEASURES, IntervalRule
from zeroevidence.uncertainty.draws import Progress, run_batches
from zeroevidence.uncertainty.null import ROWS_LIMIT, PairNull, SearchNull, nulls
from zeroevidence.uncertainty.pairs import PairResampler, find_owners
from zeroevidence.uncertainty.search import SearchResampler

_HALVES = 128
_MOST_CLUSTERS = 1000  # groups of that many speakers show the spread as well, at a cost that does not grow


def replicate(
    scores: Scores,
    ranked: Ranked,
    rows: ScoreMatrix | None,
    found: Search | None,
    options: Options,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> Replicates:
    """Bootstrap replicates of all measures, by speaker where speakers are known."""
    pairs = PairResampler(scores, ranked, options.pairs)
    values = _gathered(pairs.draw, options.intervals, workers, progress)
    jackknife = pairs.jackknife() or {}
    halves = pairs.halves(_HALVES) or {}
    if found is not None and rows is not None:
        trials = SearchResampler(found.evidence, found.singled, rows.mated, seed=options.seed)
        values |= _gathered(trials.draw, options.intervals)
        jackknife |= trials.jackknife()
    return Replicates(pairs.unit, pairs.n_with_targets, values, jackknife, halves, scores)


def search_replicates(
    evidence: RowEvidence,
    singled: IntArray | None,
    speakers: IntArray | StrArray,
    options: Options,
    trials: StrArray,
) -> Replicates:
    """Bootstrap replicates of the measures of a search alone, by speaker, or by groups of them beyond a thousand."""
    _, who = np.unique(speakers, return_inverse=True)
    unit, people = "speaker", int(who.max()) + 1
    if people > _MOST_CLUSTERS:
        unit = "speaker-group"
        who = np.random.default_rng((options.seed, people)).permutation(people)[who] % _MOST_CLUSTERS
    drawn = SearchResampler(evidence, singled, who, seed=options.seed)
    values = _gathered(drawn.draw, options.intervals)
    identified = trials, evidence.identities
    return Replicates(unit, drawn.n_clusters, values, drawn.jackknife(), {}, trials=identified)


def _gathered(
    draw: Callable[[int, int], dict[str, FloatArray]],
    total: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[str, FloatArray]:
    parts = list(run_batches(draw, total, workers=workers, progress=progress))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def with_intervals(
    metrics: Mapping[str, Measured], rules: Mapping[str, IntervalRule], replicates: Replicates, options: Options
) -> dict[str, Measured]:
    """The measures with the bounds of their intervals."""
    result = dict(metrics)
    for name, one in metrics.items():
        if name in replicates.values and name in rules and isinstance(one.value, float):
            low, high = replicates.bounds(name, one.value, rules[name], options)
            if not np.isnan(low):
                result[name] = replace(one, low=low, high=high)
    return result


def with_nulls(
    metrics: Mapping[str, Measured],
    scores: Scores,
    rows: ScoreMatrix | None,
    found: Search | None,
    options: Options,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[str, Measured]:
    """The measures with what they would be if the scores told nothing."""
    observed = {name: one.value for name, one in metrics.items() if isinstance(one.value, float)}
    tested = frozenset(name for name in observed if MEASURES[name].tested)
    pairs = PairNull(scores.target, scores.nontarget, rows, options.pairs, people=find_owners(scores))
    found_nulls = nulls(observed, _gathered(pairs.draw, options.null, workers, progress), tested)
    if found is not None and rows is not None and rows.scores.size <= ROWS_LIMIT:
        lid = lid_of_everyone(rows, found, options)
        drawn = _gathered(SearchNull(rows, lid, options.seed).draw, options.null)
        found_nulls |= nulls(observed, drawn, tested)
    return {**metrics, **{name: replace(metrics[name], null=null) for name, null in found_nulls.items()}}
