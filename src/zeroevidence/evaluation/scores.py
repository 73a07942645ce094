"""One call: scores in, an `Evaluation` out, with the signature that makes its numbers reproducible."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence.calibrate.pav import count, rank
from zeroevidence.data.loaded_scores import (
    LlrUnit,
    LoadedScores,
    RelaxedRule,
    SameSession,
    Scale,
    check_units,
    count_failures,
)
from zeroevidence.data.matrix import FoldedScores, ScoreMatrix, closed_set_search
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.scores import Scores, are_decisions
from zeroevidence.errors import InputError
from zeroevidence.evaluation import resampling
from zeroevidence.evaluation.curves import one_to_one_curves, search_curves
from zeroevidence.evaluation.finding.beside import flag_row
from zeroevidence.evaluation.people import exposed_curves, exposure_by_person, with_named_limits, with_worst_cases
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import (
    Flag,
    flag,
    recording_flags,
    relaxed_flags,
    resampling_flags,
    session_flags,
)
from zeroevidence.evaluation.rows.measure_result import MeasureResult, Replicates
from zeroevidence.evaluation.rows.setup import GIVEN, LlrSetup, Options, Resampling, Setup, digest, score_digest
from zeroevidence.evaluation.score_checks import (
    as_loaded,
    calibrate_pairs,
    check_increasing,
    in_unit,
    llr_flags,
    read_frame,
    repetition_flags,
    unit_flags,
)
from zeroevidence.evaluation.search_task import SearchResult, SearchTask, check_disjoint
from zeroevidence.evaluation.searches import FoldedSearch, MatrixSearch, prior_of_columns
from zeroevidence.measure.measures import measures_of
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.views import Llrs
from zeroevidence.parallel import can_copy, compute_beside
from zeroevidence.run import Run
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.null import MatrixParts

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

_ABREAST = 1 << 24  # scores up to which the null begins while intervals are computed; more take too much memory at once


def evaluate(
    scores: Scores | ScoreMatrix | FoldedScores | LoadedScores | IntoDataFrame | ArrayLike,
    nontarget: ArrayLike | None = None,
    *,
    dev: Scores | ScoreMatrix | LoadedScores | IntoDataFrame | None = None,
    calibrate: Scores | ScoreMatrix | LoadedScores | IntoDataFrame | None = None,
    prior: Mapping[str, float] | None = None,
    llr: LlrUnit | None = None,
    labels: Mapping[str, str] | ArrayLike | None = None,
    about: About | None = None,
    options: Options = Options(),
    run: Run = Run(),
    relaxed: Sequence[RelaxedRule] = (),
    resampled: Collection[str] | None = None,
) -> Evaluation:
    """Measure what an attacker learns from scores: one comparison at a time and, where they form rows, by search.

    Every scalar comes with an interval at the level of the run, by leaving out speakers where speakers are known.
    Disclosures come with their null: the same measure when speakers are exchanged.

    Parameters
    ----------
    scores
        Two classes of scores, a matrix of trials against identities, or what `read_scores` returned; a data frame of
        polars or pandas with columns as in files (score and label, and perhaps enrol, trial and their speakers); the
        target scores, with `nontarget` beside them; or all scores, with a label for each. Scores form rows when they
        say who was compared with whom and most trials were compared with every enrolment. `FoldedScores` are searches
        of a cross-validation over people, with their development scores.
    nontarget
        Non-target scores, where `scores` are target scores.
    dev
        Scores of other speakers, to fit the calibrations on: that of the search, which is cross-fitted over speakers
        without them, and the logistic one of single scores. All actual measures (Cllr, the actual DCF and D_ECE) are
        then of the calibrated LLRs, and there are bounds of what these may say (ELUB) and their distance from
        calibrated ones (devPAV). Without them scores are taken as natural-log LLRs.
    calibrate
        Scores of other speakers to fit the calibration of single scores on, in the place of `dev`.
    prior
        Probability of each enrolled identity before the trial is heard; uniform unless given.
    llr
        The unit, where scores are likelihood ratios: ``ln``, ``log10`` or ``log2`` of them, or ``lr``. They are then
        not calibrated by `dev`, and all actual measures, ELUB, invariance bounds and devPAV are of these LLRs.
    labels
        What the scores are of, as a mapping: system, dataset, split, sex. Or the label of each score: 1, True or
        ``target``, and 0, False or ``nontarget``.
    about
        What kind of row it is, and the attacker.
    options
        How to measure.
    run
        Seed, level, and how the work is carried out.
    relaxed
        Rules that were relaxed to read the scores; they enter the signature.
    resampled
        Names of the one-to-one measures that get intervals; all of them unless given.

    Examples
    --------
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], options=Options(intervals=0, null=0))
    >>> round(float(result["d_ece"]), 4), result["tag"].value
    (0.4809, 'A')
    >>> evaluate([2.0, 0.0, 3.0, 1.0], labels=[1, 0, 1, 0], options=Options(intervals=0, null=0)).counts["target"]
    2
    """
    given: Any = scores
    if labels is not None and not isinstance(labels, Mapping):
        if nontarget is not None or isinstance(given, (Scores, ScoreMatrix, FoldedScores, LoadedScores)):
            raise InputError("labels beside scores whose classes are known; expected a mapping, or one array of scores")
        given, labels = Scores.from_labels(given, labels), None
    if isinstance(given, FoldedScores):
        if any(part is not None for part in (nontarget, dev, calibrate, prior, llr)):
            raise InputError("folds of people have development scores of their own; expected nothing beside them")
        task = _folded_task(given, options, run, relaxed)
    else:
        given, dev_scores, calibration = map(read_frame, (given, dev, calibrate))
        loaded = as_loaded(given, nontarget, relaxed)
        if llr is not None:
            loaded = in_unit(loaded, llr)
            dev_scores, calibration = (
                None if other is None else in_unit(other, llr) for other in (dev_scores, calibration)
            )
        task = _task(loaded, dev_scores, calibration, prior, options, run)
    row = task.evaluate(labels or {}, about or About(), resampled)
    data = given.data if isinstance(given, LoadedScores) else given
    if row.trials is None or not isinstance(data, (Scores, ScoreMatrix)) or data.trials is None:
        return row
    return replace(row, trials=row.trials.in_order_of(data.trials))


@dataclass(frozen=True, slots=True)
class _Task:
    """What is evaluated, and how.

    Parameters
    ----------
    scores
        All comparisons, one at a time.
    view
        The scores as the one-to-one measures see them.
    rows
        The matrices that the scores form, where they do.
    search
        The search, where these are of several people.
    options
        How to measure.
    run
        Seed, level, and how the work is carried out.
    left_out
        Trials that the search leaves out, by reason.
    relaxed
        Rules that were relaxed to read the scores.
    development
        Scores of development people, one at a time.
    llr
        How the scores became LLRs, where they were calibrated on other people.
    closed_set
        The comparisons of the search, where it leaves out some.
    others
        Scores of other people that thresholds may be chosen on: those of calibration, or else of development.
    others_unchecked
        Whether nobody knows that development and calibration scores are of other people.
    same_session
        What was left out because it is of one session, where sessions are known.
    """

    scores: Scores
    view: ScoreView
    rows: MatrixParts | None
    search: SearchTask | None
    options: Options
    run: Run
    left_out: Mapping[str, int]
    relaxed: tuple[RelaxedRule, ...]
    development: Scores | None = None
    llr: LlrSetup | None = None
    others: Scores | None = None
    others_unchecked: bool = False
    closed_set: Scores | None = None
    same_session: SameSession | None = None

    @property
    def splits(self) -> int:
        """How often people were dealt to folds, of which every comparison and every trial is counted once."""
        return 1 if self.search is None else self.search.splits

    @np.errstate(over="ignore")  # the cost of scores taken as LLRs that are beyond all measure is infinite
    def evaluate(self, labels: Mapping[str, str], about: About, resampled: Collection[str] | None) -> Evaluation:
        """Measure the scores and the search, with intervals and nulls."""
        view = self.view
        result = None if self.search is None else self.search.measure()
        metrics, replicates, null = self._measure(result, resampled)
        curves = one_to_one_curves(view)
        people = recordings = None
        if self.search is not None and result is not None:
            curves |= search_curves(self.search, result) | exposed_curves(
                result.trials, self.run.level if self.options.intervals else None
            )
            people = with_worst_cases(exposure_by_person(result.trials, result.names), self.scores, view)
            recordings = resampling.several_recordings(self.search, result, metrics)
        row = Evaluation(
            metrics=metrics,
            counts=self._counts(result),
            setup=self._setup(result, replicates, null),
            labels=labels,
            about=about,
            flags=(*self._flags(replicates), *(result.flags if result else ()), *self._llr_flags(metrics)),
            curves=curves,
            trials=None if result is None else result.trials.distinct,
            people=people,
            recordings=recordings,
            replicates=replicates,
            scores=self.scores,
            others=self.others,
        )
        return flag_row(row)

    def _measure(
        self, result: SearchResult | None, resampled: Collection[str] | None
    ) -> tuple[dict[str, MeasureResult], Replicates | None, Resampling | None]:
        """All measures with intervals and nulls, and what these rest on."""
        view, options, run = self.view, self.options, self.run
        metrics: dict[str, MeasureResult] = {}
        for measure in measures_of("one-to-one"):
            value = measure.compute(view)
            if isinstance(value, dict):  # numbers of scores are those of one split
                value = {key: round(n / self.splits) if isinstance(n, int) else n for key, n in value.items()}
            if value is not None:
                metrics[measure.name] = MeasureResult.of(measure.name, value, measure.method_of(view))
        if result is not None:
            metrics |= result.metrics
        search = None if self.search is None or result is None else (self.search, result)
        null: Resampling | None = None
        replicates: Replicates | None = None
        begun: resampling.StartedNull | None = None
        prepared = PreparedScores(self.scores, view.ranked, view.llrs)
        leave_out = partial(resampling.replicate, prepared, view, search, self.closed_set, options, run, resampled)
        begin = partial(resampling.begin_null, prepared, self.rows, options, run.seed)
        if options.null and options.intervals and run.meanwhile is not None and can_copy():
            values = list[Replicates]()
            begun = resampling.null_by_copies(
                prepared, self.rows, search, options, run, lambda: values.append(leave_out())
            )
            (replicates,) = values
        elif options.null and options.intervals and (run.cores or 1) == 1 and len(self.scores) <= _ABREAST:
            prepared.prepare()
            replicates, begun = compute_beside(leave_out, begin)
        else:
            replicates, begun = leave_out() if options.intervals else None, begin() if options.null else None
        if replicates is not None:
            metrics = resampling.with_intervals(metrics, replicates, run.level)
            if search is not None:
                metrics = with_named_limits(metrics, search[1].names, run.level)
        if begun is not None:
            metrics, null = resampling.with_nulls(metrics, begun, search, options, run)
        return metrics, replicates, null

    def _counts(self, result: SearchResult | None) -> dict[str, int]:
        counts = {name: round(len(getattr(self.scores, name)) / self.splits) for name in ("target", "nontarget")}
        if failures := count_failures(self.relaxed):
            counts["failures"] = failures
        if self.scores.speakers is not None:
            counts["speakers"] = len(self.scores.speakers)
        if result is not None and self.search is not None:
            most = sum(int(np.bincount(part.mated).max()) for part in self.search.parts)
            counts |= {
                "trials": round(len(result.evidence.lid) / self.splits),
                "identities": result.evidence.identities,
            }
            counts |= {"most_trials": round(most / self.splits)}
            counts |= self.left_out
        return counts

    def _setup(self, result: SearchResult | None, replicates: Replicates | None, null: Resampling | None) -> Setup:
        """How the row was computed."""
        options = self.options
        development: tuple[Scores | ScoreMatrix, ...] = self.search.development if self.search else ()
        if self.development is not None:
            development = (self.development,)
        prior = self.search.prior if isinstance(self.search, MatrixSearch) else None
        return Setup(
            families=("one-to-one",) if result is None else ("one-to-one", "search"),
            linkability=options.linkability,
            dcf_prior=options.dcf_prior,
            omega=None if options.omega == 1.0 else options.omega,
            search=None if result is None else result.setup,
            intervals=None if replicates is None else Resampling(replicates.unit, replicates.groups),
            level=self.run.level,
            null=null,
            seed=self.run.seed,
            relaxed=self.relaxed,
            data=score_digest(self.scores, prior=prior),
            dev=score_digest(*development) if development else None,
            llr=self.llr,
            same_session=self.same_session,
        )

    def _flags(self, replicates: Replicates | None) -> list[Flag]:
        """Warnings that follow from how the row was computed."""
        flags = [flag("scores-decisions")] if are_decisions(self.scores.target, self.scores.nontarget) else []
        if replicates is not None:
            fewest = replicates.fewest
            flags += resampling_flags(replicates.unit, fewest.clusters, fewest.effective)
            flags += recording_flags(replicates.correlation())
        if self.scores.target_pairs is None:
            flags += repetition_flags(self.scores.target, self.scores.nontarget)
        if self.search is not None and self.left_out.get("incomplete"):
            flags.append(flag("incomplete-rows", trials=self.left_out["incomplete"]))
        if self.closed_set is not None and self.left_out.get("not_enrolled"):
            flags.append(flag("not-enrolled", trials=self.left_out["not_enrolled"]))
        if self.others_unchecked:
            flags.append(flag("overlap-unchecked"))
        flags += session_flags(self.same_session)
        return [*flags, *(self.search.flags if self.search else ()), *relaxed_flags(self.relaxed)]

    def _llr_flags(self, metrics: Mapping[str, MeasureResult]) -> list[Flag]:
        """Warnings on LLRs that fall with the score, and on scores that are no LLRs, or of a base that nobody named."""
        if self.llr is None:
            return unit_flags(self.view, metrics)
        if self.llr.is_given:
            return llr_flags(self.view, metrics)
        turned = [weight for weight in self.llr.weights if weight < 0.0]
        return [flag("llrs-turned", weight=min(turned))] if turned else []


def _folded_task(scores: FoldedScores, options: Options, run: Run, relaxed: Sequence[RelaxedRule]) -> _Task:
    """Return the task of a cross-validation over people."""
    folds, lost = scores.enrolled_trials()
    pairs = folds.to_scores()
    groups = [(part.to_scores(), dev.to_scores()) for part, dev in zip(folds.parts, folds.dev, strict=True)]
    llrs, llr = calibrate_pairs(groups, options)
    return _Task(
        scores=pairs,
        view=ScoreView(rank(pairs.target, pairs.nontarget), options.pairs(run.seed), llrs=llrs),
        llr=llr,
        rows=folds,
        search=FoldedSearch(folds, options, run),
        options=options,
        run=run,
        left_out={"not_enrolled": lost} if lost else {},
        relaxed=tuple(relaxed),
    )


def _task(
    loaded: LoadedScores,
    dev: Scores | ScoreMatrix | LoadedScores | None,
    calibrate: Scores | ScoreMatrix | LoadedScores | None,
    prior: Mapping[str, float] | None,
    options: Options,
    run: Run,
) -> _Task:
    """Return the task for the arguments of `evaluate`, validated and in the order of names."""
    data = sort_by_name(loaded.data)
    matrix, left_out = closed_set_search(data)
    if loaded.same_session is not None and matrix is not None:
        left_out = loaded.same_session.apart(left_out)
    if any(rule.rule == "infinite" for rule in loaded.relaxed):
        matrix, left_out = None, {}
    pairs = data.to_scores()
    dev_matrix, development = _development(dev, matrix, pairs)
    search: SearchTask | None = None
    if matrix is not None and (dev_matrix is not None or len(np.unique(matrix.mated)) > 1):
        # The search compares scores with each other and with those of development people: all stay as they came.
        search = MatrixSearch(matrix, dev_matrix, prior_of_columns(prior, matrix), options, run)
    closed_set = matrix.to_scores() if matrix is not None and search is not None and left_out else None
    ranked = rank(pairs.target, pairs.nontarget)
    if pairs.target_pairs is None:  # nobody is named, so that only the scores themselves can put them in order
        pairs = Scores(ranked.target, ranked.nontarget)
    _, calibration = _development(calibrate, None, pairs)  # for single scores alone
    check_units(loaded, *(other for other in (dev, calibrate) if isinstance(other, LoadedScores)))
    given = Scale.of(loaded.relaxed).llr is not None
    llrs, llr = _calibrated(pairs, development, calibration, options, given=given)
    others = [other for other in (development, calibration) if other is not None]
    counts = None if closed_set is None else count(closed_set.target, closed_set.nontarget)
    view = ScoreView(ranked, options.pairs(run.seed), counts, llrs, given=llr is not None and llr.is_given)
    return _Task(
        scores=pairs,
        view=view,
        rows=matrix,
        search=search,
        options=options,
        run=run,
        left_out=left_out,
        relaxed=loaded.relaxed,
        development=development,
        llr=llr,
        others=development if calibration is None else calibration,
        others_unchecked=any(side.speakers is None for other in others for side in (pairs, other)),
        closed_set=closed_set,
        same_session=loaded.same_session,
    )


def _development(
    dev: Scores | ScoreMatrix | LoadedScores | None, rows: ScoreMatrix | None, pairs: Scores
) -> tuple[ScoreMatrix | None, Scores | None]:
    """Scores of other people as rows, which a search is calibrated on, and as pairs."""
    if dev is None:
        return None, None
    data = sort_by_name(dev.data if isinstance(dev, LoadedScores) else dev)
    development = data.to_scores()
    check_disjoint(pairs, development)
    if rows is None:
        return None, development
    matrix, _ = closed_set_search(data)
    if matrix is None:
        raise InputError("the development scores do not form rows: expected each trial against every enrolment")
    return matrix, development


def _calibrated(
    pairs: Scores, development: Scores | None, calibration: Scores | None, options: Options, *, given: bool
) -> tuple[Llrs | None, LlrSetup | None]:
    """Return the LLRs that actual measures are of; none without other people, where scores are taken as LLRs.

    A row with development scores may not have one measure of scores and another of LLRs, so these calibrate both the
    search and single scores; scores that were named for single scores alone come first. Scores that are LLRs are only
    calibrated by the latter.
    """
    if calibration is not None:
        data = digest([np.sort(calibration.target), np.sort(calibration.nontarget)])
        llrs, setup = calibrate_pairs([(pairs, calibration)], options, data=data)
        check_increasing(setup.weights[0])
        return llrs, setup
    if given:
        return (pairs.target, pairs.nontarget), GIVEN
    return (None, None) if development is None else calibrate_pairs([(pairs, development)], options)
