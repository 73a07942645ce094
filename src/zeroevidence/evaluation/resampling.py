"""Intervals and nulls for the measures of an evaluation, also over several recordings of one person."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.rows.curves import Recordings
from zeroevidence.evaluation.rows.measure_result import (
    MeasureResult,
    Replicates,
    SampledPeople,
    SearchedTrials,
)
from zeroevidence.evaluation.rows.setup import Options, Resampling
from zeroevidence.evaluation.search_task import SearchResult, SearchTask, search_metrics
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.longitudinal import FusedEvidence
from zeroevidence.optional import one_blas_thread
from zeroevidence.parallel import compute_beside, compute_each, compute_in_copies
from zeroevidence.run import Run, Step
from zeroevidence.uncertainty import null
from zeroevidence.uncertainty.groups import BATCH, Groups, batches
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.null import ListNull, MatrixParts, Null, PairNull, permutation_p_value
from zeroevidence.uncertainty.pairs import PairResampler
from zeroevidence.uncertainty.search import SearchNull, SearchResampler

_SHOWN = "measuring", "replicates"  # as progress
_HALVES = 16  # and their complements
_LONG = 1 << 21  # scores from which on threads do not wait for each other most of the time
# Simulated lists, whose mean and quantile are shown; the p-value does not come from them. Fewer are enough, but never
# fewer than a quantile needs, where chance moves their mean by less than a share of the interval. A maximum is not
# waited for: chance decides what it is.
_LISTS, _LEAST_LISTS, _LISTS_AT_ONCE = 50, 20, 10
_PRECISE = 0.1
SHOWN = (1, 3, 10)  # numbers of recordings that tables show
MEASURED = ("alid", "top1", "lid_max", "link_probability", "singling_out")
_WITH_INTERVALS = ("alid", "top1")
_LIMIT = 20_000_000  # scores; beyond, fused rows would not fit beside the matrix


def replicate(
    prepared: PreparedScores,
    view: ScoreView,
    search: tuple[SearchTask, SearchResult] | None,
    closed_set: Scores | None,
    options: Options,
    run: Run = Run(),
    resampled: Collection[str] | None = None,
) -> Replicates:
    """Values of all measures on fewer people: without each of them, and on halves of them.

    Parameters
    ----------
    prepared
        All comparisons.
    view
        The same as the one-to-one measures see them.
    search
        The search, where there is one.
    closed_set
        The comparisons of the search, where it leaves out some.
    options
        How to measure.
    run
        Cores and progress.
    resampled
        Names of the one-to-one measures that get intervals; all of them unless given.
    """
    most = options.intervals
    pairs = PairResampler(prepared, view.settings, most=most, names=resampled)
    parts = [_values_on_fewer(pairs, pairs.groups, run)]
    if closed_set is not None:
        of_search = PairResampler(PreparedScores(closed_set), view.settings, most=most, closed_set=True)
        parts.append(_values_on_fewer(of_search, of_search.groups))
    if search is not None:
        task, result = search
        trials = task.resampler(result)
        most_bits = trials.most_bits if result.prior is None else np.inf
        parts.append(_values_on_fewer(trials, trials, most_bits=most_bits))
    names = ("rules", "people", "left_out", "halves", "unseen", "per_person", "developed", "rivalries")
    joined: dict[str, Any] = {
        name: dict(item for part in parts for item in getattr(part, name).items()) for name in names
    }
    return Replicates(pairs.groups.unit, **joined, scores=prepared.scores)


def search_replicates(
    evidence: RowEvidence,
    singled: IntArray | None,
    speakers: IntArray | StrArray,
    trials: StrArray,
    options: Options,
    seed: int,
) -> Replicates:
    """Values of the measures of a search alone without each of the people; the enrolled identities stay."""
    resampler = SearchResampler(evidence, singled, speakers, seed=seed, most=options.intervals)
    values = _values_on_fewer(resampler, resampler, most_bits=resampler.most_bits)
    return replace(values, search=SearchedTrials(trials, speakers, evidence.identities))


def _values_on_fewer(
    resampler: PairResampler | SearchResampler,
    groups: Groups | SearchResampler,
    run: Run = Run(),
    most_bits: float = np.inf,
) -> Replicates:
    """The values of one kind of measures."""
    tasks = partial(_gathered, resampler.left_out, groups.number, run), partial(resampler.halves, _HALVES)
    is_long = isinstance(resampler, PairResampler) and len(resampler.prepared.scores) >= _LONG
    with one_blas_thread():
        left_out, halves = compute_beside(*tasks) if is_long else [task() for task in tasks]
    sampled = SampledPeople(groups.clusters, groups.people, groups.shares, groups.recordings, most_bits)
    people = dict.fromkeys(left_out, sampled)
    values = resampler.rules, people, left_out, halves, resampler.unseen()
    if not isinstance(resampler, SearchResampler):
        return Replicates("speaker", *values, per_person=resampler.per_person())
    return Replicates(
        "speaker",
        *values,
        per_person=resampler.per_person(),
        developed=resampler.developed(),
        rivalries=resampler.rivalries(),
    )


def _gathered(draw: Callable[[int, int], dict[str, FloatArray]], total: int, run: Run = Run()) -> dict[str, FloatArray]:
    """Return what all batches draw; other processes draw some only where the user asks for them."""
    step, parts = run.progress(*_SHOWN), list[dict[str, FloatArray]]()
    drawn = compute_each(lambda batch: draw(*batch), batches(total), replace(run, cores=run.cores or 1, scheduler=None))
    for part in drawn:
        parts.append(part)
        step(min(total, BATCH * len(parts)), total)
    return _concatenated(parts)


def _concatenated(parts: Sequence[Draws]) -> Draws:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def with_intervals(
    metrics: Mapping[str, MeasureResult], replicates: Replicates, level: float
) -> dict[str, MeasureResult]:
    """The measures with estimates, intervals and bounds."""
    resampled = {name for name, result in metrics.items() if isinstance(result.value, float)}
    resampled &= set(replicates.left_out) & set(replicates.rules)
    return {
        name: replicates.with_interval(result, name, level) if name in resampled else result
        for name, result in metrics.items()
    }


Draws: TypeAlias = dict[str, FloatArray]
# with the first draws of one-to-one measures, and those of the search; () and None where these are still to be drawn
StartedNull: TypeAlias = tuple[PairNull | ListNull, Sequence[Draws], Draws | None]


def begin_null(prepared: PreparedScores, rows: MatrixParts | None, options: Options, seed: int) -> StartedNull:
    """Prepare the null, and draw the first simulated lists of a list."""
    pairs = null.pair_null(prepared, rows, options.pairs(seed))
    return pairs, _draws(pairs, _first_lists(options)) if isinstance(pairs, ListNull) else [], None


def null_by_copies(
    prepared: PreparedScores,
    rows: MatrixParts | None,
    search: tuple[SearchTask, SearchResult] | None,
    options: Options,
    run: Run,
    meanwhile: Callable[[], object],
) -> StartedNull:
    """Do the same, and draw what does not depend on any value, in copies of this process that can be copied."""
    pairs = null.pair_null(prepared, rows, options.pairs(run.seed))
    # what draws lists prepares itself for all of them
    parts = [_first_lists(options)] if isinstance(pairs, ListNull) else [[batch] for batch in batches(options.null)]
    tasks: list[Callable[[], list[Draws]]] = [partial(_draws, pairs, part) for part in parts]
    if search is not None:
        tasks.insert(0, lambda: [_search_draws(*search, options, run)])  # takes the longest
    drawn = list(compute_in_copies(lambda task: task(), tasks, run, meanwhile))
    searched = None if search is None else drawn.pop(0)[0]
    return pairs, [draws for part in drawn for draws in part], searched


def _draws(pairs: PairNull | ListNull, sizes: Iterable[tuple[int, int]]) -> list[Draws]:
    return [pairs.draw(batch, size) for batch, size in sizes]


def _search_draws(task: SearchTask, result: SearchResult, options: Options, run: Run) -> Draws:
    """Measures of a search under permutation; none where it is too large for that."""
    if task.size > null.ROWS_LIMIT:
        return {}
    ranks, identities = task.hypothetical(result.folds), result.evidence.identities
    permuted = SearchNull(ranks, identities, task.exchanged, options.null, run.seed)
    return _gathered(permuted.draw, options.null)


def with_nulls(
    metrics: Mapping[str, MeasureResult],
    begun: StartedNull,
    search: tuple[SearchTask, SearchResult] | None,
    options: Options,
    run: Run,
) -> tuple[dict[str, MeasureResult], Resampling]:
    """The measures with their null and p-value, and what was exchanged for that."""
    observed = {name: float(result) for name, result in metrics.items() if isinstance(result.value, float)}
    pairs, first, searched = begun
    if isinstance(pairs, ListNull):
        draws = _lists(pairs, first, metrics, min(options.null, _LISTS), run.progress(*_SHOWN))
        test = pairs.test(options.null)
        nulls = {
            name: null.list_null(MEASURES[name], observed[name], values, test, run.level)
            for name, values in draws.items()
            if name in observed
        }
    else:
        draws = _concatenated(first) if first else _gathered(pairs.draw, options.null, run)
        nulls = _permutation_nulls(observed, draws, run.level)
    times = len(next(iter(draws.values())))
    if search is not None:
        searched = _search_draws(*search, options, run) if searched is None else searched
        nulls |= _permutation_nulls(observed, searched, run.level)
    tested = {name: replace(metrics[name], null=drawn, p_value=p_value) for name, (drawn, p_value) in nulls.items()}
    return {**metrics, **tested}, Resampling(pairs.unit, times)


def _permutation_nulls(
    observed: Mapping[str, float], draws: Mapping[str, FloatArray], level: float
) -> dict[str, tuple[Null, float]]:
    """Null and p-value of each measure."""
    nulls = {}
    for name, values in draws.items():
        if name in observed:
            measure, value = MEASURES[name], observed[name]
            null = Null.from_draws(values, level, falling=measure.discloses == "down")
            turned = -1.0 if measure.discloses == "down" else 1.0
            nulls[name] = null, permutation_p_value(turned * value, turned * values)
    return nulls


def _first_lists(options: Options) -> list[tuple[int, int]]:
    """Return number and size of the batches of lists that are always drawn."""
    return list(enumerate(_list_sizes(min(options.null, _LEAST_LISTS))))


def _list_sizes(most: int) -> list[int]:
    """Return the sizes of the batches in which `most` lists are drawn."""
    return [min(_LISTS_AT_ONCE, most - start) for start in range(0, most, _LISTS_AT_ONCE)]


def _lists(
    lists: ListNull, begun: Sequence[dict[str, FloatArray]], metrics: Mapping[str, MeasureResult], most: int, step: Step
) -> dict[str, FloatArray]:
    """Return measures of simulated lists, as many as their means need; the first batches may be drawn already."""
    drawn: dict[str, FloatArray] = {}
    for batch, size in enumerate(_list_sizes(most)):
        part = begun[batch] if batch < len(begun) else lists.draw(batch, size)
        drawn = {name: np.concatenate((drawn.get(name, values[:0]), values)) for name, values in part.items()}
        done = len(next(iter(drawn.values())))
        step(done, most)
        if done >= _LEAST_LISTS and all(_is_precise(name, values, metrics[name]) for name, values in drawn.items()):
            break
    return drawn


def _is_precise(name: str, values: FloatArray, measured: MeasureResult) -> bool:
    """Whether the mean of the values is known much better than the measure itself; a maximum is not waited for."""
    if MEASURES[name].interval is None:
        return True
    if measured.low is None or measured.high is None:
        return False
    return bool(values.std(ddof=1) / np.sqrt(len(values)) <= _PRECISE * (measured.high - measured.low))


def several_recordings(
    task: SearchTask, search: SearchResult, metrics: Mapping[str, MeasureResult]
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
    """
    if task.size > _LIMIT:
        return None
    fused, speakers = task.fuse_recordings(search), task.speaker_codes
    with_more = [search_metrics(_evidence(part, search), part.singled, search.setup) for part in fused]
    values = {name: np.array([results[name].number for results in (metrics, *with_more)], float) for name in MEASURED}
    numbers = [1, *(evidence.k for evidence in fused)]
    available = np.bincount(speakers) / task.splits
    columns: dict[str, Any] = {name: tuple(value.tolist()) for name, value in values.items()}
    return Recordings(
        held=tuple(numbers),
        people=tuple(int(np.count_nonzero(available >= number)) for number in numbers),
        **columns,
        **_intervals(task, search, fused, values, metrics),
    )


def _evidence(fused: FusedEvidence, search: SearchResult) -> RowEvidence:
    return RowEvidence(fused.lid, fused.greater, fused.equal, search.evidence.identities)


def _intervals(
    task: SearchTask,
    search: SearchResult,
    fused: Sequence[FusedEvidence],
    values: Mapping[str, FloatArray],
    metrics: Mapping[str, MeasureResult],
) -> dict[str, tuple[Any, ...]]:
    """Return interval ends by measure."""
    bounds: dict[str, tuple[Any, ...]] = {}
    if not task.options.intervals or any(metrics[name].low is None for name in _WITH_INTERVALS):
        return bounds
    speakers = task.speaker_codes
    numbers = [(search.evidence, search.singled), *((_evidence(part, search), part.singled) for part in fused)]
    drawn = [
        search_replicates(evidence, singled, speakers, search.trials.trial, task.options, task.run.seed)
        for evidence, singled in numbers
    ]
    for name in _WITH_INTERVALS:
        results = [
            replicates.with_interval(MeasureResult.of(name, float(value)), name, task.run.level)
            for replicates, value in zip(drawn, values[name], strict=True)
        ]
        ends = [(result.low, result.high) for result in (metrics[name], *results[1:])]
        if all(low is not None and high is not None for low, high in ends):
            bounds[f"{name}_low"], bounds[f"{name}_high"] = (tuple(side) for side in zip(*ends, strict=True))
    return bounds
