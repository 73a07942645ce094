"""One call: scores in, an `Evaluation` out, with the signature that makes its numbers reproducible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.calibrate.pav import RankedScores, rank
from zeroevidence.data.folded_scores import FoldedScores
from zeroevidence.data.loaded_scores import LoadedScores
from zeroevidence.data.matrix import ScoreMatrix, closed_set_search
from zeroevidence.data.preparing.name_order import order_of_appearance, sort_by_name
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.finding.finding import alone
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag, loosened_flags, resampling_flags
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.replicates import Replicates
from zeroevidence.evaluation.rows.setup import Resampling, Setup, digest
from zeroevidence.evaluation.rows.trials import People, Recordings, Trials
from zeroevidence.evaluation.scores.bases import base_flags
from zeroevidence.evaluation.scores.calibrated import Calibrated, as_llrs
from zeroevidence.evaluation.scores.curves import one_to_one_curves
from zeroevidence.evaluation.scores.folded import people_of_folds, search_folds
from zeroevidence.evaluation.scores.people import exposed_curves, exposure_by_person, names_on_top
from zeroevidence.evaluation.scores.recordings import several_recordings
from zeroevidence.evaluation.scores.resampling import (
    BegunNull,
    PreparedScores,
    begin_null,
    replicate,
    with_intervals,
    with_nulls,
)
from zeroevidence.evaluation.scores.search import Search, check_disjoint, search, search_rules
from zeroevidence.measure.measures import Family, measures_of
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.measure.views import PairSettings
from zeroevidence.uncertainty.resampling.draws import Progress

_ABREAST = 1 << 24  # scores up to which the null begins while intervals are computed; more take too much memory at once


def evaluate(
    scores: Scores | ScoreMatrix | FoldedScores | LoadedScores | ArrayLike,
    nontarget: ArrayLike | None = None,
    *,
    dev: Scores | ScoreMatrix | LoadedScores | None = None,
    calibrate: Scores | ScoreMatrix | LoadedScores | None = None,
    prior: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
    about: About | None = None,
    options: Options | None = None,
    loosened: Sequence[RelaxedRule] = (),
    workers: int = 1,
    progress: Progress | None = None,
    **settings: Any,
) -> Evaluation:
    """Measure what an attacker learns from scores: one comparison at a time and, where they form rows, by search.

    Every scalar comes with an interval at the confidence `level`, by leaving out speakers where speakers are known.
    Disclosures come with their null: the same measure when speakers are exchanged.

    Parameters
    ----------
    scores, nontarget
        Two classes of scores, a matrix of trials against identities, or what `read_scores` gave; or the target scores,
        with `nontarget` beside them. Scores form rows when they say who was compared with whom and most trials were
        compared with every enrolment. `FoldedScores` are searches of a cross-validation over people, with their
        development scores.
    dev
        Scores of other speakers, to fit the calibrations on: that of the search, which is cross-fitted over speakers
        without them, and that of single scores for `d_ece_actual`, which takes scores as LLRs without them.
    calibrate
        Scores of other speakers that turn the scores into LLRs, by logistic calibration: Cllr is then that of these
        LLRs, and there are bounds of what they may say (ELUB) and their distance from calibrated ones (devPAV).
    prior
        Probability of each enrolled identity before the trial is heard; uniform unless given.
    labels, about
        What the scores are of (system, dataset, split, sex), what kind of row it is, and the attacker.
    options, **settings
        How to measure; any field of `Options` can be set by name, as in ``intervals=0``.
    loosened
        Rules of reading that were loosened; enter the signature.
    workers, progress
        Processes for the resampling, which change nothing; called with the number of replicates done and wanted.

    Examples
    --------
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0)
    >>> round(float(result["d_ece"]), 4), result["tag"].value
    (0.4809, 'A')
    """
    words = labels or {}, about or About()
    how, running = (options or Options()).changed(settings), (workers, progress)
    if isinstance(scores, FoldedScores):
        if any(one is not None for one in (nontarget, dev, calibrate, prior)):
            raise InputError("folds of people have development scores of their own; expected nothing beside them")
        return _folds_evaluated(scores, tuple(loosened), words, how, running)
    given, llr = _given(scores, nontarget, loosened), None
    if calibrate is not None:
        given, llr = as_llrs(given, calibrate)
    return _evaluated(given, dev, prior, words, how, running, llr)


def _evaluated(
    given: LoadedScores,
    dev: Scores | ScoreMatrix | LoadedScores | None,
    prior: Mapping[str, float] | None,
    words: tuple[Mapping[str, str], About],
    options: Options,
    running: tuple[int, Progress | None],
    llr: Calibrated | None,
) -> Evaluation:
    data = sort_by_name(given.data)
    rows, left_out = closed_set_search(data)
    if any(one.rule == "infinite" for one in given.loosened):
        rows, left_out = None, {}
    pairs = data.to_scores() if isinstance(data, ScoreMatrix) else data
    development, others = _development(dev, rows, pairs)
    view = ScoreView(rank(pairs.target, pairs.nontarget), _settings(others, options, llr))
    if pairs.target_pairs is None:  # nobody is named, so that only the scores themselves can put them in order
        pairs = Scores(view.ranked.target, view.ranked.nontarget)
    job = _Job(pairs, rows, development, others, options, *running, llr)
    row = _measured(job, view, job.searched(prior), left_out, given.loosened, words)
    return row if row.trials is None else replace(row, trials=_as_given(row.trials, given.data))


def _folds_evaluated(
    scores: FoldedScores,
    loosened: tuple[RelaxedRule, ...],
    words: tuple[Mapping[str, str], About],
    options: Options,
    running: tuple[int, Progress | None],
) -> Evaluation:
    """The same for folds of people; each fold is calibrated on its own development people."""
    rows, lost = scores.enrolled_trials()
    job = _Job(scores.to_scores(), rows, None, None, options, *running)
    view = ScoreView(rank(job.scores.target, job.scores.nontarget), options.pairs)
    return _measured(job, view, search_folds(rows, options), {"not_enrolled": lost} if lost else {}, loosened, words)


@np.errstate(over="ignore")  # the cost of scores taken as LLRs that are beyond all measure is infinite
def _measured(
    job: _Job,
    view: ScoreView,
    found: Search | None,
    left_out: Mapping[str, int],
    loosened: tuple[RelaxedRule, ...],
    words: tuple[Mapping[str, str], About],
) -> Evaluation:
    trusted = job.trusted(_pair_metrics(view), view, found)
    metrics, replicates = trusted.metrics, trusted.replicates
    counts = job.counts(found, left_out)
    curves = one_to_one_curves(view.ranked, view.blocks, view.settings)
    labels, about = words
    result = Evaluation(
        metrics=metrics,
        counts=counts,
        setup=job.setup(view.ranked, found, trusted, loosened),
        labels=labels,
        about=about,
        flags=(*job.flags(replicates, counts, loosened), *_base_flags(loosened, view, metrics)),
        curves=curves if found is None else curves | found.curves | exposed_curves(found.trials, job.options.level),
        trials=None if found is None else found.trials,
        people=job.people(found),
        recordings=job.recordings(found, metrics),
        replicates=replicates,
        scores=job.scores,
    )
    return alone(result)


def _base_flags(loosened: Sequence[RelaxedRule], view: ScoreView, metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """A warning on the base of the logarithm, unless it was named."""
    if any(one.rule == "llr-base" for one in loosened):
        return []
    return base_flags(view.ranked.target, view.ranked.nontarget, metrics)


def _given(
    scores: Scores | ScoreMatrix | LoadedScores | ArrayLike,
    nontarget: ArrayLike | None,
    loosened: Sequence[RelaxedRule],
) -> LoadedScores:
    """Whatever was passed as validated scores, with the rules that were loosened to read them."""
    if isinstance(scores, (Scores, ScoreMatrix, LoadedScores)):
        if nontarget is not None:
            raise InputError("expected scores, or target and nontarget scores, not both")
        if isinstance(scores, LoadedScores):
            return LoadedScores(scores.data, scores.format, scores.key_format, (*scores.loosened, *loosened))
        return LoadedScores(scores, "arrays", None, tuple(loosened))
    if nontarget is None:
        raise InputError("expected nontarget scores beside the target scores, or a Scores or ScoreMatrix")
    return LoadedScores(Scores(scores, nontarget), "arrays", None, tuple(loosened))  # type: ignore[arg-type]


def _as_given(trials: Trials, data: Scores | ScoreMatrix) -> Trials:
    """The table of trials in the caller's order."""
    if data.trials is None:
        return trials
    order = order_of_appearance(data.trials, trials.trial)
    return Trials(*(getattr(trials, field.name)[order] for field in fields(Trials)))


def _pair_metrics(view: ScoreView) -> dict[str, MeasureResult]:
    """Every one-to-one measure."""
    found = ((one, one.compute(view)) for one in measures_of("one-to-one"))
    return {
        one.name: MeasureResult.of(one.name, value, one.method_of(view)) for one, value in found if value is not None
    }


@dataclass(frozen=True, slots=True, eq=False)
class _Trusted:
    """Measures with intervals and nulls, and what these rest on."""

    metrics: dict[str, MeasureResult]
    replicates: Replicates | None
    null: Resampling | None


@dataclass(frozen=True, slots=True)
class _Job:
    """What is evaluated, and how."""

    scores: Scores
    rows: ScoreMatrix | FoldedScores | None
    dev: ScoreMatrix | None
    others: Scores | None  # the development scores as pairs
    options: Options
    workers: int
    progress: Progress | None
    llr: Calibrated | None = None

    def searched(self, prior: Mapping[str, float] | None) -> Search | None:
        """The search, where the scores form rows of several people."""
        rows = self.rows
        if not isinstance(rows, ScoreMatrix) or (self.dev is None and len(np.unique(rows.mated)) < 2):
            return None
        return search(rows, self.dev, self.options, _prior(prior, rows))

    def trusted(self, metrics: dict[str, MeasureResult], view: ScoreView, found: Search | None) -> _Trusted:
        """All measures with their intervals and nulls, and what these rest on."""
        rules = {one.name: rule for one in measures_of("one-to-one") if (rule := one.interval_of(view)) is not None}
        if found is not None:
            metrics, rules = metrics | found.metrics, rules | search_rules()
        replicates, null = None, None
        told, options = PreparedScores(self.scores, view.ranked), self.options
        running: Any = {"workers": self.workers, "progress": self.progress}
        begun: Callable[[], BegunNull] = partial(begin_null, told, self.rows, options)
        with ThreadPoolExecutor(1) as other:
            if options.null and options.intervals and self.workers == 1 and len(self.scores) <= _ABREAST:
                told.find()
                begun = other.submit(copy_context().run, begun).result
            if options.intervals:
                replicates = replicate(told, view, self.rows, found, options, **running)
                metrics = with_intervals(metrics, rules, replicates, options.level)
            if options.null:
                metrics, null = with_nulls(metrics, begun(), self.rows, found, options, **running)
        return _Trusted(metrics, replicates, null)

    def people(self, found: Search | None) -> People | None:
        """What was learned about each person."""
        if found is None or self.rows is None:
            return None
        if isinstance(self.rows, FoldedScores):
            return people_of_folds(self.rows, found)
        return exposure_by_person(found.trials, names_on_top(self.rows))

    def recordings(self, found: Search | None, metrics: Mapping[str, MeasureResult]) -> Recordings | None:
        """What several recordings of one person tell together."""
        if found is None or self.rows is None:
            return None
        return several_recordings(self.rows, self.dev, found, metrics, self.options)

    def counts(self, found: Search | None, left_out: Mapping[str, int]) -> dict[str, int]:
        """How many of everything there are."""
        counts = {"target": len(self.scores.target), "nontarget": len(self.scores.nontarget)}
        if self.scores.speakers is not None:
            counts["speakers"] = len(self.scores.speakers)
        if found is not None:
            counts |= {"trials": len(found.evidence.lid), "identities": found.evidence.identities, **left_out}
        return counts

    def setup(
        self, ranked: RankedScores, found: Search | None, trusted: _Trusted, loosened: tuple[RelaxedRule, ...]
    ) -> Setup:
        """How it was computed."""
        options = self.options
        families: tuple[Family, ...] = ("one-to-one",) if found is None else ("one-to-one", "search")
        replicates = trusted.replicates
        development = self.rows.dev if isinstance(self.rows, FoldedScores) else (self.dev,)
        known = [np.sort(one.scores, axis=None) for one in development if one is not None]
        if not known and self.others is not None:
            known = [np.sort(self.others.target), np.sort(self.others.nontarget)]
        return Setup(
            families=families,
            linkability=options.linkability,
            dcf_prior=options.dcf_prior,
            omega=None if options.omega == 1.0 else options.omega,
            search=None if found is None else found.setup,
            intervals=None if replicates is None else Resampling(replicates.unit, replicates.groups),
            level=options.level,
            null=trusted.null,
            seed=options.seed,
            loosened=loosened,
            data=digest([ranked.target, ranked.nontarget]),
            dev=digest(known) if known else None,
            llr=None if self.llr is None else self.llr.setup,
        )

    def flags(
        self, replicates: Replicates | None, counts: Mapping[str, int], loosened: Sequence[RelaxedRule]
    ) -> list[Flag]:
        """What must be kept in mind because of how it was computed."""
        flags = (
            []
            if replicates is None
            else resampling_flags(replicates.unit, replicates.fewest.clusters, replicates.fewest.effective)
        )
        if counts.get("incomplete"):
            flags.append(flag("incomplete-rows", trials=counts["incomplete"]))
        unknown = self.others is not None and (self.others.speakers is None or self.scores.speakers is None)
        if unknown or (self.llr is not None and not self.llr.checked):
            flags.append(flag("overlap-unchecked"))
        if isinstance(self.rows, FoldedScores):
            flags.append(flag("cross-validated", folds=len(self.rows.parts)))
        return flags + loosened_flags(loosened)


def _development(
    dev: Scores | ScoreMatrix | LoadedScores | None, rows: ScoreMatrix | None, pairs: Scores
) -> tuple[ScoreMatrix | None, Scores | None]:
    """Scores of other people as rows, which a search is calibrated on, and as pairs."""
    if dev is None:
        return None, None
    data = sort_by_name(dev.data if isinstance(dev, LoadedScores) else dev)
    others = data.to_scores() if isinstance(data, ScoreMatrix) else data
    check_disjoint(pairs, others)
    if rows is None:
        return None, others
    matrix, _ = closed_set_search(data)
    if matrix is None:
        raise InputError("the development scores do not form rows: expected each trial against every enrolment")
    return matrix, others


def _settings(others: Scores | None, options: Options, llr: Calibrated | None) -> PairSettings:
    """What the one-to-one measures need to know; scores are LLRs unless development pairs calibrate them."""
    if llr is not None:
        return replace(options.pairs, llr=True)
    if others is None:
        return options.pairs
    fit = fit_logistic(others.target, others.nontarget, l2=options.l2, balanced=options.balanced)
    return replace(options.pairs, calibration=fit)


def _prior(prior: Mapping[str, float] | None, rows: ScoreMatrix) -> FloatArray | None:
    if prior is None:
        return None
    names = rows.enrolment_names
    missing = [str(name) for name in names if name not in prior]
    if missing:
        raise InputError(f"prior: {missing[0]!r} is enrolled but has no probability")
    unknown = sorted(set(prior) - set(names.tolist()))
    if unknown:
        raise InputError(f"prior: {unknown[0]!r} has a probability but is not enrolled")
    return np.array([prior[str(name)] for name in names])
