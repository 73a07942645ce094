"""What scores are, and what scores of other people make of them: doubts, calibration to LLRs, a threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.loaded_scores import (
    FACTORS,
    LlrUnit,
    LoadedScores,
    RelaxedRule,
    Scale,
    composed_rule,
    count_failures,
    natural_llrs,
)
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores, check_classes
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.rows.curves import Criterion, ErrorRate, FittedOn, Threshold
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag, flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.setup import GIVEN, LlrSetup, Options
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.pairs.verification import bayes_threshold, cllr, dcf_of_rates
from zeroevidence.measure.views import Llrs
from zeroevidence.run import Run
from zeroevidence.uncertainty.groups import find_clusters
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import effective_number, estimate_spread

_FAR = 1e300  # stands for infinite scores between which thresholds lie
_MOST = 1.5  # ratio of sizes or spreads, a rule of thumb: beyond it thresholds of development people clearly miss
_TRIALS = 1000  # whose spread is looked at
_LEAST_SHARE = 0.5  # of scores that repeat another one, in both classes
_LEAST_DISTINCT = 10  # scores; fewer are a scale of marks, on which repetitions are no wonder
_LEAST_NONTARGETS = 10  # of which LLRs have some below 0
_LARGE = 10.0  # natural-log LLR
_NO_EVIDENCE = 0.9  # bits of min Cllr; LLRs half of which are that large leave less than about a half
_LEAST = 0.01  # bits that calibration must cost before anybody looks for the reason
_SKEWED = 0.25  # between quartiles; that of ratios whose logarithms are normal with a deviation of 0.76
_LEFT = 0.25  # share of that cost which may be left when the base is right
PRIOR, C_MISS, C_FA = 0.05, 1.0, 1.0


def as_loaded(
    scores: Scores | ScoreMatrix | LoadedScores | ArrayLike, nontarget: ArrayLike | None, relaxed: Sequence[RelaxedRule]
) -> LoadedScores:
    """Return the arguments as validated scores, with the rules that were relaxed to read them."""
    if isinstance(scores, (Scores, ScoreMatrix, LoadedScores)):
        if nontarget is not None:
            raise InputError("expected scores, or target and nontarget scores, not both")
        if isinstance(scores, LoadedScores):
            return replace(scores, relaxed=(*scores.relaxed, *relaxed))
        written = scores.spellings if isinstance(scores, ScoreMatrix) else ()
        return LoadedScores(scores, "arrays", None, (*relaxed, *composed_rule(written)))
    if nontarget is None:
        raise InputError("expected nontarget scores beside the target scores, or scores that say which are targets")
    pairs = Scores(scores, nontarget)  # type: ignore[arg-type]
    check_classes(pairs.target, pairs.nontarget)
    return LoadedScores(pairs, "arrays", None, tuple(relaxed))


def read_frame(scores: Any) -> Any:
    """Return the scores of a data frame; all else as it is."""
    if not hasattr(type(scores), "columns"):
        return scores
    from zeroevidence.data.formats.scores.read import read_scores  # imports polars, which takes a while

    return read_scores(scores)


def in_unit(scores: Scores | ScoreMatrix | LoadedScores, llr: LlrUnit) -> LoadedScores:
    """Return scores that are likelihood ratios of a unit as natural-log LLRs."""
    loaded = scores if isinstance(scores, LoadedScores) else LoadedScores(scores, "arrays", None, ())
    if Scale.of(loaded.relaxed).llr is not None:
        raise UsageError("llr: these scores were read as likelihood ratios already; expected no unit")
    return Scale(llr=llr).apply(loaded)


def development_flags(evaluated: ScoreMatrix, dev: ScoreMatrix) -> list[Flag]:
    """Warnings where two searches differ in the number of identities, or in how far the scores of a trial spread.

    Examples
    --------
    >>> small, large = (ScoreMatrix(np.random.default_rng(0).normal(size=(20, n)), np.arange(20) % n) for n in (4, 8))
    >>> [warning.code for warning in development_flags(small, large)]
    ['development-size']
    """
    sides = {
        "development-size": (evaluated.scores.shape[1], dev.scores.shape[1]),
        "development-spread": (_row_spread(evaluated), _row_spread(dev)),
    }
    return [flag(code, here=a, there=b) for code, (a, b) in sides.items() if max(a, b) > _MOST * min(a, b)]


def sex_flags(labels: Mapping[str, str], dev_labels: Mapping[str, str]) -> list[Flag]:
    """A warning where the sex of both sides is known and differs.

    Examples
    --------
    >>> [warning.code for warning in sex_flags({"sex": "f"}, {"sex": "m"})], sex_flags({"sex": "f"}, {})
    (['development-sex'], [])
    """
    here, there = labels.get("sex"), dev_labels.get("sex")
    return [flag("development-sex", here=here, there=there)] if here and there and here != there else []


def _row_spread(matrix: ScoreMatrix) -> float:
    """The median over trials of the standard deviation of their scores; of many trials, some are looked at."""
    some = matrix.scores[:: max(1, len(matrix.scores) // _TRIALS)].astype(np.float64)
    return float(np.median(some.std(axis=1)))


def repetition_flags(target: FloatArray, nontarget: FloatArray) -> list[Flag]:
    """Return a warning on ascending scores without names, at least half of which in either class repeat another one.

    Examples
    --------
    >>> target, nontarget = np.arange(6.0), np.arange(9.0)
    >>> repetition_flags(target, nontarget), len(repetition_flags(np.repeat(target, 2), np.repeat(nontarget, 2)))
    ([], 1)
    """
    classes = target, nontarget
    distinct = [1 + int(np.count_nonzero(values[1:] != values[:-1])) for values in classes]
    shares = [1.0 - different / len(values) for different, values in zip(distinct, classes, strict=True)]
    if min(shares) < _LEAST_SHARE or sum(distinct) < _LEAST_DISTINCT:
        return []
    total = len(target) + len(nontarget)
    edges = [np.concatenate(([True], values[1:] != values[:-1], [True])) for values in classes]
    single = sum(int(np.count_nonzero(edge[1:] & edge[:-1])) for edge in edges)
    return [flag("equal-scores", count=total - single, scores=total)]


def unit_flags(view: ScoreView, metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a warning where scores that nobody named a unit of seem to be likelihood ratios, or plainly are no LLRs.

    Scores look like likelihood ratios where none is negative, some lie on either side of 1, those of ten non-targets or
    more lean to one side and their logarithms not half as much, and as likelihood ratios they cost less than as LLRs,
    and less than no evidence.

    Examples
    --------
    >>> from zeroevidence.calibrate.pav import rank
    >>> llrs = np.linspace(-2.0, 4.0, 50), np.linspace(-4.0, 2.0, 50)
    >>> for scores in (np.exp(llrs), np.add(llrs, 5.0)):
    ...     print([warning.code for warning in unit_flags(ScoreView(rank(*scores)), {})])
    ['lrs-suspected']
    ['scores-not-llrs']
    """
    target, nontarget = view.actual
    lowest, highest = min(target.min(), nontarget.min()), max(target.max(), nontarget.max())
    if 0.0 <= lowest < 1.0 < highest < np.inf and len(nontarget) >= _LEAST_NONTARGETS:
        llrs = natural_llrs(target, "lr"), natural_llrs(nontarget, "lr")
        skewness, of_logs = _quartile_skewness(nontarget), _quartile_skewness(llrs[1])
        taken, other = cllr.unchecked(target, nontarget), cllr.unchecked(*llrs)
        if skewness > _SKEWED and abs(of_logs) < skewness / 2.0 and other < min(taken, 1.0):
            return [flag("lrs-suspected", skewness=skewness, of_logs=of_logs, cllr=taken, other=other)]
    return llr_flags(view, metrics) or base_flags(target, nontarget, metrics)


def _quartile_skewness(values: FloatArray) -> float:
    """How far the median lies from the middle between the quartiles, from -1 to 1; NaN where these are equal."""
    with np.errstate(invalid="ignore"):  # the logarithm of 0 is infinite
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        return float((high + low - 2.0 * middle) / (high - low)) if high > low else float("nan")


def llr_flags(view: ScoreView, metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a warning where scores that are taken as LLRs are plainly none.

    That is so where no score is below 0, so that all speak for one side, among ten non-targets or more and unless all
    are equal; or where half of the scores in either class are at least 10 in size, odds of 22 026 to one, and min Cllr
    is above 0.9 bits all the same.

    Examples
    --------
    >>> from zeroevidence.calibrate.pav import rank
    >>> cosines = np.linspace(0.0, 0.4, 20), np.linspace(0.3, 0.9, 10)
    >>> [len(llr_flags(ScoreView(rank(cosines[1] - shift, cosines[0] - shift)), {})) for shift in (0.0, 0.1)]
    [1, 0]
    """
    target, nontarget = view.actual
    lowest, highest = min(target.min(), nontarget.min()), max(target.max(), nontarget.max())
    least = metrics.get("cllr_min")
    if 0.0 <= lowest < highest and len(nontarget) >= _LEAST_NONTARGETS:
        why = "all lie between 0 and 1" if highest <= 1.0 else "none is negative, so that all speak for one side"
    elif least is not None and float(least) > _NO_EVIDENCE and all(_is_large(llrs) for llrs in view.actual):
        why = f"half of them are at least {_LARGE:g} in size, and yet min Cllr is {float(least):.2f} bits"
    else:
        return []
    return [flag("scores-not-llrs", why=why)]


def _is_large(llrs: FloatArray) -> bool:
    """Whether half of them are at least as large as LLRs are that settle a question."""
    return bool(2 * np.count_nonzero(np.abs(llrs) >= _LARGE) >= len(llrs))


def base_flags(target: FloatArray, nontarget: FloatArray, metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a warning where another base accounts for nearly all of the calibration loss.

    Scores that are no likelihood ratios, such as cosines, are not calibrated to any base and get none.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> natural = 2.0 + 2.0 * x, -2.0 + 2.0 * x  # log-likelihood ratios
    >>> from zeroevidence import Options, evaluate
    >>> for scale in (1.0, 1.0 / np.log(10.0)):
    ...     row = evaluate(scale * natural[0], scale * natural[1], options=Options(intervals=0, null=0))
    ...     print([flag.code for flag in row.flags])
    []
    ['llr-base-suspected']
    """
    actual, least = metrics.get("cllr"), metrics.get("cllr_min")
    if actual is None or least is None:
        return []
    lost = float(actual) - float(least)
    if not lost > _LEAST:
        return []
    with np.errstate(over="ignore"):  # an infinite score is evidence too
        other, unit = min(
            (cllr.unchecked(factor * target, factor * nontarget), unit)
            for unit, factor in FACTORS.items()
            if unit != "ln"
        )
    if other - float(least) > _LEFT * lost:
        return []
    return [flag("llr-base-suspected", unit=unit, cllr=float(actual), other=other)]


def calibrate_pairs(
    groups: Sequence[tuple[Scores, Scores]], options: Options, *, data: str | None = None
) -> tuple[Llrs, LlrSetup]:
    """Return scores as LLRs by logistic calibrations on other people, and how these were fitted.

    Parameters
    ----------
    groups
        Scores with those of the people to fit on; of several folds, those of each.
    options
        Penalty and balance of the fits.
    data
        SHA-256 of what they are fitted on, where it is not development scores.

    Examples
    --------
    >>> dev = Scores([1.0, 2.0, 3.0, 0.4], [0.5, -0.5, -1.5, 1.2])
    >>> (target, _), setup = calibrate_pairs([(Scores([2.0], [0.0]), dev)], Options())
    >>> bool(np.isclose(target[0], 2.0 * setup.weights[0] + setup.biases[0]))
    True
    """
    fits = [fit_logistic(dev.target, dev.nontarget, l2=options.l2, balanced=options.balanced) for _, dev in groups]
    target, nontarget = (
        np.concatenate(
            [fit.llr(getattr(scores, side).astype(np.float64)) for fit, (scores, _) in zip(fits, groups, strict=True)]
        )
        for side in ("target", "nontarget")
    )
    lines = tuple(fit.weight for fit in fits), tuple(fit.bias - fit.prior_log_odds for fit in fits)
    return (target, nontarget), LlrSetup("logistic", data, options.l2, options.balanced, *lines)


def check_increasing(weight: float) -> None:
    """Refuse a calibration by which higher scores do not speak for targets."""
    if weight <= 0.0:
        raise InputError(
            "calibration: scores of the same speaker are no higher than those of different ones; expected higher"
        )


def threshold(
    scores: Evaluation | Scores | ScoreMatrix | ArrayLike,
    nontarget: ArrayLike | None = None,
    *,
    prior: float = PRIOR,
    c_miss: float = C_MISS,
    c_fa: float = C_FA,
    calibrate: Scores | ScoreMatrix | None = None,
    llr: LlrUnit | None = None,
    criterion: Criterion = "bayes",
    run: Run = Run(),
) -> Threshold:
    """Return the threshold of the cheapest decision, or of another criterion, with its error rates on these scores.

    A logistic calibration turns scores into likelihood ratios, and the threshold is the score at which accepting
    becomes the cheaper decision. Fitted on the same scores it is slightly too good for them; `calibrate` names others.

    Parameters
    ----------
    scores
        Scores with their pairs, a search, or target scores beside `nontarget`; or a row of `evaluate`, whose LLRs are
        then as they were there, and the threshold in the units of its file.
    nontarget
        Non-target scores.
    prior
        Prior probability of a target.
    c_miss
        Cost of a miss.
    c_fa
        Cost of a false alarm.
    calibrate
        Scores of other people to calibrate on.
    llr
        The unit, where scores are likelihood ratios already: ``ln``, ``log10`` or ``log2`` of them, or ``lr``.
    criterion
        ``eer``: as bob chooses it, where both rates are closest on the scores of other people, or on these where there
        are no others; ``min-hter``: where their mean is lowest.
    run
        Level of the intervals, which leave people out where they are known.

    Examples
    --------
    >>> chosen = threshold([2.1, 1.7, 0.4], [0.9, 0.2, -0.3, -1.1], prior=0.5)
    >>> 0.4 < chosen.score < 0.9, chosen.miss.value, chosen.false_alarm.value
    (True, 0.3333333333333333, 0.25)
    """
    if not 0.0 < prior < 1.0 or c_miss <= 0.0 or c_fa <= 0.0:
        raise UsageError(f"expected a prior between 0 and 1 and positive costs, got {prior:g}, {c_miss:g} and {c_fa:g}")
    if isinstance(scores, Evaluation):
        if scores.scores is None:
            raise UsageError("the scores of finished results are not kept; expected a row that was just evaluated")
        data, scale, setup = scores.scores, Scale.of(scores.setup.relaxed), scores.setup.llr
        others, failures = scores.others, count_failures(scores.setup.relaxed)
    else:
        data, scale, others, failures = _pairs(scores, nontarget), Scale(llr=llr), None, 0
        data = Scores(scale.measured(data.target), scale.measured(data.nontarget)) if llr is not None else data
        setup = None if llr is None else GIVEN
    fitted_on: FittedOn = "these scores" if setup is None else "nothing" if setup.is_given else "other people"
    if calibrate is not None:
        others = _pairs(calibrate, None)
        fitted_on, (_, setup) = "other people", calibrate_pairs([(data, others)], Options())
    elif setup is None:
        _, setup = calibrate_pairs([(data, data)], Options())
    level = bayes_threshold(prior, c_miss, c_fa)
    score = _score_of_llr(level, setup)
    if criterion != "bayes":
        fitted_on, chosen_on = ("these scores", data) if others is None else ("other people", others)
        score = empirical_threshold(chosen_on.target, chosen_on.nontarget, criterion)
        level = setup.weights[0] * score + setup.biases[0]
    wrong = data.target < np.float64(score), data.nontarget >= np.float64(score)  # not in single precision
    miss, false_alarm = (_rate(data, errors, target=side == 0, level=run.level) for side, errors in enumerate(wrong))
    dcf = float(dcf_of_rates(miss.value, false_alarm.value, prior, c_miss, c_fa))
    rates, hter = (miss, false_alarm, dcf), (miss.value + false_alarm.value) / 2.0
    given = prior, c_miss, c_fa, *rates, fitted_on, run.level, scale.negate
    chosen = Threshold(scale.written(score), level, *given, hter if fitted_on == "other people" else None, criterion)
    if not failures:
        return chosen
    fta = failures / (failures + len(data))
    return replace(chosen, fta=fta, far=false_alarm.value * (1.0 - fta), frr=fta + miss.value * (1.0 - fta))


def empirical_threshold(target: FloatArray, nontarget: FloatArray, criterion: Criterion) -> float:
    """Return the highest of the thresholds between scores at which a criterion is met best.

    Examples
    --------
    >>> target, nontarget = np.array([0.5, 2.0, 3.0]), np.array([-1.0, 0.0, 1.0])
    >>> empirical_threshold(target, nontarget, "eer"), empirical_threshold(target, nontarget, "min-hter")
    (0.75, 1.5)
    """
    scores = np.unique(np.clip(np.concatenate((target, nontarget)).astype(np.float64), -_FAR, _FAR))
    ends = scores[0], np.nextafter(scores[-1], np.inf)
    levels = np.concatenate((ends[:1], scores[:-1] + np.diff(scores) / 2.0, ends[1:]))
    rejected = np.searchsorted(np.sort(target), levels) * len(nontarget)
    accepted = (len(nontarget) - np.searchsorted(np.sort(nontarget), levels)) * len(target)
    cost = np.abs(rejected - accepted) if criterion == "eer" else rejected + accepted
    return float(levels[np.flatnonzero(cost == cost.min())[-1]])


def _score_of_llr(llr: float, setup: LlrSetup) -> float:
    if len(setup.weights) != 1:
        raise UsageError("folds of people were calibrated one by one, so there is no threshold of all")
    check_increasing(setup.weights[0])
    return (llr - setup.biases[0]) / setup.weights[0]


def _pairs(scores: Scores | ScoreMatrix | ArrayLike, nontarget: ArrayLike | None) -> Scores:
    return as_loaded(read_frame(scores), nontarget, ()).data.to_scores()


def _rate(scores: Scores, errors: BoolArray, *, target: bool, level: float) -> ErrorRate:
    """Return a rate with its interval from the rates without each person, on either side."""
    value = float(errors.mean())
    clusters = find_clusters(scores)
    if clusters is None or clusters.unit != "speaker" or len(clusters.names) < LEAST_PEOPLE:
        return ErrorRate(value)
    people, pairs = len(clusters.names), clusters.target if target else clusters.nontarget
    wrong, involved = (_by_person(pairs, weights, people) for weights in (errors, np.ones(len(errors))))
    left = len(errors) - involved
    with np.errstate(invalid="ignore", divide="ignore"):
        left_out = np.where(left > 0.0, (errors.sum() - wrong) / left, np.nan)
    shares = involved / max(involved.sum(), 1.0)
    spread = estimate_spread(value, left_out, shares, effective_number(involved), (1.0 - value, -value))
    if spread is None:
        return ErrorRate(value)
    low, high = (float(np.clip(end, 0.0, 1.0)) for end in spread.limits(value, level))
    return ErrorRate(value, low, high)


def _by_person(pairs: Pairs, weights: BoolArray | np.ndarray, people: int) -> np.ndarray:
    """Return for each person the sum over the comparisons that involve them, on either side."""
    sums = np.bincount(pairs.enrolment, weights, people) + np.bincount(pairs.trial, weights, people)
    same = pairs.enrolment == pairs.trial
    return sums - np.bincount(pairs.enrolment[same], np.asarray(weights, dtype=np.float64)[same], people)
