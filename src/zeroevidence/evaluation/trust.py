"""Intervals and nulls for the measures of an evaluation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import Ranked
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.one_to_n import Search, lid_of_everyone
from zeroevidence.evaluation.results import Metric, Options
from zeroevidence.measure.disclosure import RowEvidence
from zeroevidence.measure.zebra import D_ECE_MAX
from zeroevidence.uncertainty.draws import Progress, run_batches
from zeroevidence.uncertainty.intervals import IntervalMethod, interval, isotonic_bias
from zeroevidence.uncertainty.null import ROWS_LIMIT, OneToOneNull, SearchNull, nulls
from zeroevidence.uncertainty.one_to_n import SearchResampler
from zeroevidence.uncertainty.one_to_one import OneToOneResampler, owners_of

_HALVES = 128
_MOST_CLUSTERS = 1000  # groups of that many speakers show the spread as well, at a cost that does not grow
# Measures after oracle calibration: PAV flatters them on few speakers, so their intervals are centred.
_ORACLE = {"eer_rocch": (0.0, 0.5), "cllr_min": (0.0, 1.0), "dcf_min": (0.0, 1.0), "d_ece": (0.0, D_ECE_MAX)}
_RATES = ("eer", "linkability", "pdr", "ndr", "top1", "identification_rate", "link_probability", "singling_out")
_LIMITS = {**_ORACLE, **dict.fromkeys(_RATES, (0.0, 1.0)), "cllr": (0.0, np.inf), "dcf_act": (0.0, np.inf)}
# Extremes: the largest of the observed values cannot be exceeded by resampling them, so BCa has nothing to correct.
_EXTREMES = ("worst_case", "lid_max", "max_rank_disclosure")


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Bootstrap values of every scalar measure, and what an interval needs beside them."""

    unit: str
    clusters: int  # that have targets
    values: Mapping[str, FloatArray]
    jackknife: Mapping[str, FloatArray]
    halves: Mapping[str, FloatArray]

    def bounds(self, name: str, value: float, options: Options) -> tuple[float, float]:
        """Interval of one measure."""
        method: IntervalMethod = "bca"
        bias, limits = 0.0, (-np.inf, np.inf)
        if options.interval_method != "auto":
            method = options.interval_method
        elif name in _EXTREMES:
            method = "percentile"
        elif name in _ORACLE or (name == "linkability" and options.linkability == "pav"):
            method = "centred"
            limits = _ORACLE.get(name, (0.0, 1.0))
            if name in self.halves:
                bias = isotonic_bias(value, self.halves[name])
        drawn = self.values[name]
        if self.clusters > 1 and name not in _EXTREMES:
            # Means of n draws out of n spread a little less than means of n new speakers.
            with np.errstate(invalid="ignore"):
                centre = np.nanmean(drawn) if np.isfinite(drawn).any() else 0.0
                drawn = centre + (drawn - centre) * np.sqrt(self.clusters / (self.clusters - 1.0))
            drawn = np.clip(drawn, *_LIMITS.get(name, (-np.inf, np.inf)))
        low, high = interval(value, drawn, self.jackknife.get(name), method=method, bias=bias, limits=limits)
        if name in _EXTREMES:  # what was seen was possible, whatever resampling left out
            low, high = min(low, value), max(high, value)
        return low, high


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
    pairs = OneToOneResampler(
        scores, ranked, linkability=options.linkability, dcf_prior=options.dcf_prior, seed=options.seed
    )
    values = _gathered(pairs.draw, options.intervals, workers, progress)
    jackknife = pairs.jackknife() or {}
    halves = pairs.halves(_HALVES) or {}
    if found is not None and rows is not None:
        trials = SearchResampler(found.evidence, found.singled, rows.mated, seed=options.seed)
        values |= _gathered(trials.draw, options.intervals)
        jackknife |= trials.jackknife()
    return Replicates(pairs.unit, pairs.n_with_targets, values, jackknife, halves)


def search_replicates(
    evidence: RowEvidence, singled: IntArray, speakers: IntArray | StrArray, options: Options
) -> Replicates:
    """Bootstrap replicates of the one-to-N measures alone, by speaker, or by groups of them beyond a thousand."""
    _, who = np.unique(speakers, return_inverse=True)
    unit, people = "speaker", int(who.max()) + 1
    if people > _MOST_CLUSTERS:
        unit = "speaker-group"
        who = np.random.default_rng((options.seed, people)).permutation(people)[who] % _MOST_CLUSTERS
    trials = SearchResampler(evidence, singled, who, seed=options.seed)
    values = _gathered(trials.draw, options.intervals)
    return Replicates(unit, trials.n_clusters, values, trials.jackknife(), {})


def _gathered(
    draw: Callable[[int, int], dict[str, FloatArray]],
    total: int,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[str, FloatArray]:
    parts = list(run_batches(draw, total, workers=workers, progress=progress))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def with_intervals(metrics: Mapping[str, Metric], replicates: Replicates, options: Options) -> dict[str, Metric]:
    """The measures with the bounds of their intervals."""
    result = dict(metrics)
    for name, metric in metrics.items():
        if name in replicates.values and isinstance(metric.value, float):
            low, high = replicates.bounds(name, metric.value, options)
            if not np.isnan(low):
                result[name] = replace(metric, low=low, high=high)
    return result


def with_nulls(
    metrics: Mapping[str, Metric],
    scores: Scores,
    rows: ScoreMatrix | None,
    found: Search | None,
    options: Options,
    prior: FloatArray | None,
    *,
    workers: int = 1,
    progress: Progress | None = None,
) -> dict[str, Metric]:
    """The measures with what they would be if the scores told nothing."""
    observed: dict[str, Any] = {name: m.value for name, m in metrics.items() if isinstance(m.value, float)}
    pairs = OneToOneNull(
        scores.target,
        scores.nontarget,
        rows,
        people=owners_of(scores),
        linkability=options.linkability,
        seed=options.seed,
    )
    found_nulls = nulls(observed, _gathered(pairs.draw, options.null, workers, progress))
    if found is not None and rows is not None and rows.scores.size <= ROWS_LIMIT:
        lid = lid_of_everyone(rows, found, options, prior)
        found_nulls |= nulls(observed, _gathered(SearchNull(rows, lid, options.seed).draw, options.null))
    result = dict(metrics)
    for name, null in found_nulls.items():
        summary = {"mean": null.mean, "q95": null.q95, "corrected": null.corrected}
        result[name] = replace(metrics[name], null=summary, p_value=null.p_value)
    return result
