"""What is learned about each person, by pairs and by a search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from zeroevidence._scipy import betaincinv, stdtrit
from zeroevidence._typing import BoolArray, FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import Blocks, RankedScores, pool, pool_laplace, rank
from zeroevidence.calibrate.rows import row_blocks
from zeroevidence.data.embeddings import row_numbers
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.evaluation.rows.curves import Curve, People, Trials, as_curve, thinned
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.measure.pairs.verification import eer
from zeroevidence.measure.pairs.zebra import strength_of, tag_of
from zeroevidence.measure.search.rank import NAMED_SHARE, count_names, countable_people, first_identity, named_people
from zeroevidence.measure.views import NameCounts
from zeroevidence.run import LEVEL
from zeroevidence.uncertainty.compare import VariationBetweenPeople, variation_between_people
from zeroevidence.uncertainty.groups import Clusters, find_clusters
from zeroevidence.uncertainty.shares import mean_share_limits, rate_share_limits

_SEARCHED = ("trials", "lid_mean", "lid_low", "lid_high", "lid_max", "share_positive", "link_probability", "seconds")
_COMPARED = ("targets", "nontargets", "eer", "eer_low", "eer_high", "worst_case", "tag")

EXPOSED_BITS = 1.0
_MOST_PEOPLE = 1000
_LIMITED = 7  # levels of exposure with a limit, beside `EXPOSED_BITS`
_HUB_SHARE = 0.1
_HUB_TIMES = 3.0


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerErrors:
    """The equal error rate of each speaker's own comparisons.

    Parameters
    ----------
    speaker
        Name of the speaker, enrolled or not.
    targets
        Number of mated comparisons of the speaker.
    nontargets
        Number of non-mated comparisons that involve the speaker, on either side.
    eer
        EER of the speaker's comparisons; NaN where all are mated, or none.
    low
        Lower end of its interval, for other recordings of the same speaker.
    high
        Upper end of that interval.
    passed
        For each target of a speaker who has an EER, the share of their non-mated comparisons that score as high.
    whose
        For each of these targets, the position of its speaker.
    """

    speaker: StrArray
    targets: IntArray
    nontargets: IntArray
    eer: FloatArray
    low: FloatArray
    high: FloatArray
    passed: FloatArray
    whose: IntArray


def speaker_errors(scores: Scores, level: float = LEVEL) -> SpeakerErrors | None:
    """EERs by speaker; None where nobody said who was compared with whom.

    Everybody with a name or a target has an entry. The interval is Clopper and Pearson's for as many trials as there
    are targets, as though a speaker's recordings were independent: of the other comparisons there are many more. A
    comparison that was made repeatedly counts once.

    Examples
    --------
    >>> from zeroevidence.data.scores import Pairs
    >>> people = ["ann", "bob"]
    >>> targets, others = Pairs([0, 0, 1, 1], [0, 1, 2, 3]), Pairs([0, 0, 1, 1], [2, 3, 0, 1])
    >>> names = people, list("wxyz"), people, ["ann", "ann", "bob", "bob"]
    >>> errors = speaker_errors(Scores([3.0, 2.0, 1.0, 0.5], [0.0, 0.7, 0.1, 0.2], targets, others, *names))
    >>> errors.speaker.tolist(), errors.eer.round(2).tolist(), errors.passed.tolist()
    (['ann', 'bob'], [0.0, 0.25], [0.0, 0.0, 0.0, 0.25])
    """
    clusters = find_clusters(scores)
    if clusters is None:
        return None
    target = _by_person(clusters.target.enrolment, scores.target)
    same, same_other = (_comparison(scores, pairs) for pairs in (scores.target_pairs, scores.nontarget_pairs))
    same_target = _by_person(clusters.target.enrolment, same)
    # a comparison of two people is one of each
    sides = np.concatenate((clusters.nontarget.enrolment, clusters.nontarget.trial))
    apart = clusters.nontarget.enrolment != clusters.nontarget.trial
    once = np.concatenate((np.ones(len(apart), dtype=bool), apart))
    nontarget = _by_person(sides[once], np.tile(scores.nontarget, 2)[once])
    same_nontarget = _by_person(sides[once], np.tile(same_other, 2)[once])
    named = np.isin(clusters.names, [] if scores.speakers is None else scores.speakers)
    speakers = [person for person in sorted({*target, *nontarget}) if named[person] or person in target]
    rates, passed, whose = np.full(len(speakers), np.nan), [np.empty(0)], [np.empty(0, dtype=np.int64)]
    for place, person in enumerate(speakers):
        if person in target and person in nontarget:
            mated, others = target[person], np.sort(nontarget[person])
            rates[place] = eer.unchecked(mated, others)
            share = 1.0 - np.searchsorted(others, mated, "left") / len(others)
            _, comparison, times = np.unique(same_target[person], return_inverse=True, return_counts=True)
            passed.append(np.bincount(comparison, share) / times)
            whose.append(np.full(len(times), place))
    numbers, compared = (
        np.array([len(np.unique(held.get(person, ()))) for person in speakers], dtype=np.int64)
        for held in (same_target, same_nontarget)
    )
    low, high = _limits(rates, numbers, (1.0 - level) / 2.0)
    names = _person_names(scores, clusters)[speakers]
    return SpeakerErrors(names, numbers, compared, rates, low, high, np.concatenate(passed), np.concatenate(whose))


def with_speaker_eer(row: Evaluation) -> Evaluation:
    """The row with the mean of its speakers' EERs; as it is where it holds no comparisons of named people."""
    errors = None if row.scores is None else speaker_errors(row.scores)
    rates = np.empty(0) if errors is None else errors.eer[np.isfinite(errors.eer)]
    values = compute_family("speakers", rates) if len(rates) else {}
    method = f"mean over {len(rates)} speakers of min(EER, 50 %)"
    return row.with_metrics({name: MeasureResult.of(name, value, method) for name, value in values.items()})


def worst_cases(scores: Scores, ranked: RankedScores, laplace: Blocks) -> dict[str, float] | None:
    """Worst case of the comparisons that involve each speaker; None where nobody said who was compared with whom.

    The scores of all speakers were calibrated together, so the largest of these is the worst case of all. An LLR rises
    with its score: a speaker's strongest evidence is at their highest or at their lowest score.

    Parameters
    ----------
    scores
        All comparisons.
    ranked
        The same, sorted.
    laplace
        Their PAV blocks, pooled with Laplace's rule.

    Examples
    --------
    >>> from zeroevidence.calibrate.pav import pool, pool_laplace, rank
    >>> from zeroevidence.data.scores import Pairs
    >>> people, both = ["ann", "bob"], Pairs([0, 1], [0, 1])
    >>> scores = Scores([9.0, 1.0], [0.0, 2.0], both, Pairs([0, 1], [1, 0]), people, ["x", "y"], people, people)
    >>> ranked = rank(scores.target, scores.nontarget)
    >>> worst_cases(scores, ranked, pool_laplace(pool(ranked.counts)))["ann"].__round__(3)
    0.301
    """
    clusters = find_clusters(scores)
    if clusters is None:
        return None
    lowest, highest = np.full(len(clusters.names), np.inf), np.full(len(clusters.names), -np.inf)
    for pairs, values in ((clusters.target, scores.target), (clusters.nontarget, scores.nontarget)):
        for side in (pairs.enrolment, pairs.trial):
            np.minimum.at(lowest, side, values)
            np.maximum.at(highest, side, values)
    compared = np.flatnonzero(highest >= lowest)
    worst = np.maximum(*(strength_of(ends[compared], ranked, laplace) for ends in (lowest, highest)))
    return dict(zip(_person_names(scores, clusters)[compared].tolist(), worst.tolist(), strict=True))


def with_worst_cases(people: People, scores: Scores, view: ScoreView) -> People:
    """People with the worst case of each, where all of them are known among the comparisons."""
    worst = worst_cases(scores, view.ranked, view.laplace) or {}
    if not all(name in worst for name in people.speaker):
        return people
    return replace(people, worst_case=tuple(worst[name] for name in people.speaker))


def speaker_columns(row: Evaluation) -> dict[str, list[object]] | None:
    """One line per speaker, the most exposed first: disclosure in a search, EER and worst case; None without names.

    Somebody who is not enrolled has no disclosure, and without targets no EER.
    """
    lines: dict[str, dict[str, object]] = {}
    if row.trials is not None:
        lines |= _disclosures(row.trials, (1.0 - row.setup.level) / 2.0)
        if row.people is not None and row.people.seconds is not None:
            for name, seconds in zip(row.people.speaker, row.people.seconds, strict=True):
                lines[name]["seconds"] = seconds
    errors = None if row.scores is None else speaker_errors(row.scores, row.setup.level)
    if row.scores is not None and errors is not None:
        ranked = rank(row.scores.target, row.scores.nontarget)
        worst = worst_cases(row.scores, ranked, pool_laplace(pool(ranked.counts))) or {}
        strength = np.array([worst[name] for name in errors.speaker.tolist()])
        columns = errors.targets, errors.nontargets, errors.eer, errors.low, errors.high, strength
        for place in np.lexsort((-strength, errors.eer)):  # those without an EER come last
            numbers = [None if np.isnan(column[place]) else column[place].item() for column in columns]
            values = zip(_COMPARED, (*numbers, tag_of(strength[place])), strict=True)
            lines.setdefault(str(errors.speaker[place]), {}).update(values)
    if not lines:
        return None
    return {
        "speaker": list(lines),
        **{name: [line.get(name) for line in lines.values()] for name in (*_SEARCHED, *_COMPARED)},
    }


def _disclosures(trials: Trials, tail: float) -> dict[str, dict[str, object]]:
    """What the search says about each speaker; limits of the mean reach no further than certainty."""
    risk = trials.by_speaker
    largest = np.full(len(risk.speaker), -np.inf)
    np.maximum.at(largest, risk.whose, trials.certainty)
    linked = np.bincount(risk.whose, weights=trials.linked) / risk.trials
    error, lines = _mean_errors(trials.lid, risk.whose, tail), {}
    for i, name in enumerate(risk.speaker.tolist()):
        mean, half = float(risk.mean[i]), error[i]
        limits = (None, None) if half is None else (mean - half, min(mean + half, float(largest[i])))
        values = int(risk.trials[i]), mean, *limits, float(risk.max[i]), float(risk.share_positive[i]), float(linked[i])
        lines[name] = dict(zip(_SEARCHED, values, strict=False))  # seconds are not known of scores
    return lines


def people_differ(row: Evaluation, *, seed: int = 0) -> dict[str, VariationBetweenPeople]:
    """Whether people differ more than chance, by measure: in what a trial discloses, and in who passes for them.

    ``alid`` is of the LID of each trial. ``eer`` is of each target, the share of its speaker's other comparisons that
    score as high; the mean of these over a speaker's targets is one minus the area under the speaker's own ROC.
    """
    variation: dict[str, VariationBetweenPeople | None] = {}
    if row.trials is not None:
        _, whose = np.unique(row.trials.speaker, return_inverse=True)
        variation["alid"] = variation_between_people(row.trials.lid, whose, seed=seed)
    errors = None if row.scores is None else speaker_errors(row.scores, row.setup.level)
    if errors is not None:
        variation["eer"] = variation_between_people(errors.passed, errors.whose, seed=seed)
    return {name: value for name, value in variation.items() if value is not None}


def _person_names(scores: Scores, clusters: Clusters) -> StrArray:
    """Names of people; where only recordings are named, a person is called by their first enrolment, as in a search."""
    if clusters.unit == "speaker" or scores.enrolments is None or scores.target_pairs is None:
        return clusters.names
    names, enrolments = clusters.names.copy(), scores.enrolments[scores.target_pairs.enrolment]
    names[clusters.target.enrolment[::-1]] = enrolments[::-1]
    return names


def _comparison(scores: Scores, pairs: Pairs | None) -> IntArray:
    """A number for the comparison behind each score."""
    assert pairs is not None
    assert scores.trials is not None
    return pairs.enrolment * len(scores.trials) + pairs.trial


def _by_person(whose: IntArray, values: FloatArray | IntArray) -> dict[int, FloatArray]:
    """The values of each."""
    order = np.argsort(whose, kind="stable")
    people, starts = np.unique(whose[order], return_index=True)
    return dict(zip(people.tolist(), np.split(values[order].astype(np.float64), starts[1:]), strict=True))


def _limits(rates: FloatArray, numbers: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's limits of rates over numbers of trials; NaN where there is no rate."""
    errors = rates * numbers
    with np.errstate(invalid="ignore"):
        low = np.where(errors == 0.0, 0.0, betaincinv(np.maximum(errors, 1e-9), numbers - errors + 1.0, tail))
        rest = np.maximum(numbers - errors, 1e-9)
        high = np.where(errors == numbers, 1.0, betaincinv(errors + 1.0, rest, 1.0 - tail))
    return low, high


def _mean_errors(lid: FloatArray, whose: IntArray, tail: float) -> list[float | None]:
    """Half the width of the interval of each speaker's mean; None of a single trial."""
    held = np.bincount(whose)
    mean = np.bincount(whose, weights=lid) / held
    squares = np.bincount(whose, weights=(lid - mean[whose]) ** 2)
    return [
        None if n < 2 else float(-stdtrit(n - 1, tail) * np.sqrt(total / (n - 1) / n))
        for n, total in zip(held.tolist(), squares.tolist(), strict=True)
    ]


def names_on_top(matrix: ScoreMatrix) -> StrArray:
    """For each trial the person who scored strictly above all others, "" where nobody did."""
    names = matrix.enrolment_names if matrix.enrolment_speakers is None else matrix.enrolment_speakers
    best = np.zeros(len(matrix.mated), dtype=names.dtype)
    for rows in row_blocks(*matrix.scores.shape):
        best[rows] = first_names(matrix.scores[rows], names)
    return best


def first_names(rows: FloatArray, names: StrArray) -> StrArray:
    """The name that scores strictly above all others in each row, "" where none does.

    Parameters
    ----------
    rows
        Scores, trials x identities.
    names
        The name of each column, or of each score.
    """
    first = first_identity(rows)
    best = names[first] if names.ndim == 1 else np.take_along_axis(names, first[:, None], axis=1)[:, 0]
    return np.where(first >= 0, best, "")


def count_by_person(trials: Trials, on_top: StrArray, compared: Mapping[str, int] | None = None) -> NameCounts:
    """How often the name of each speaker came first, in the order of `Trials.by_speaker`.

    Parameters
    ----------
    trials
        What each trial disclosed.
    on_top
        Whose name came up for each trial, "" for nobody's.
    compared
        With how many trials of others each person was compared; with all of them unless given.
    """
    risk = trials.by_speaker
    other_trials = None if compared is None else np.array([compared.get(str(name), 0) for name in risk.speaker])
    people = np.arange(len(risk.speaker))
    return count_names(risk.whose, row_numbers(risk.speaker, on_top), people, other_trials)


def exposure_by_person(trials: Trials, names: NameCounts | None = None) -> People:
    """What the search learned about each speaker, the most exposed first and at most a thousand of them.

    Parameters
    ----------
    trials
        What each trial disclosed.
    names
        How often the name of each speaker came first.
    """
    risk = trials.by_speaker
    linked = np.bincount(risk.whose, weights=trials.linked) / risk.trials
    falsely = None if names is None else names.falsely / np.maximum(names.compared, 1)
    first = slice(_MOST_PEOPLE)
    return People(
        tuple(risk.speaker[first].tolist()),
        tuple(np.rint(risk.trials if names is None else names.trials).astype(np.int64)[first].tolist()),
        tuple(risk.mean[first].tolist()),
        tuple(risk.max[first].tolist()),
        tuple(linked[first].tolist()),
        None if falsely is None else tuple(falsely[first].tolist()),
        None if names is None else tuple(named_people(names)[first].tolist()),
    )


def with_seconds(row: Evaluation, seconds: Mapping[str, float]) -> Evaluation:
    """The row with how long trials of each speaker are; as it is where some are not known, as of pooled trials.

    Parameters
    ----------
    row
        A row of a search.
    seconds
        The length of each trial, by its name.
    """
    if row.people is None or row.trials is None or not set(row.trials.trial.tolist()) <= set(seconds):
        return row
    names, whose = np.unique(row.trials.speaker, return_inverse=True)
    means = np.bincount(whose, [seconds[name] for name in row.trials.trial.tolist()]) / np.bincount(whose)
    by_name = dict(zip(names.tolist(), means.tolist(), strict=True))
    return replace(row, people=replace(row.people, seconds=tuple(by_name[name] for name in row.people.speaker)))


def with_named_limits(
    metrics: Mapping[str, MeasureResult], names: NameCounts, level: float
) -> dict[str, MeasureResult]:
    """The measures, with limits of the share of people like these who are named in the long run.

    They are for a long-run rate of at least 80 %, of which few recordings tell little, and are widened to reach the
    share that was counted.
    """
    counted = countable_people(names)
    if "people_named" not in metrics or not counted.any():
        return dict(metrics)
    result, side = metrics["people_named"], (1.0 + level) / 2.0
    limits = rate_share_limits(names.named[counted], names.trials[counted], NAMED_SHARE, (side, level)).tolist()
    value, (high, bound, rest, _) = float(result), limits
    low, high, bound = min(1.0 - rest, value), max(high, value), max(bound, value)
    return {**metrics, "people_named": replace(result, low=low, high=high, bound=bound, level=level)}


def exposed_curves(trials: Trials, level: float | None) -> dict[str, Curve]:
    """Share of people about whom a recording tells more than each number of bits on average: seen, and at most.

    The limits are for the means of many recordings, at this confidence level; there are none without a level, or where
    nobody has two recordings.
    """
    risk = trials.by_speaker
    bits, counts = np.unique(risk.mean, return_counts=True)
    share, at = (len(risk.mean) - np.cumsum(counts)) / len(risk.mean), thinned(len(bits))
    curves = {"people_above": as_curve(bits[at], share[at])}
    limited = np.unique(np.append(bits[thinned(len(bits), _LIMITED)], EXPOSED_BITS))
    each = trials.distinct
    bound = None if level is None else mean_share_limits(each.lid, each.by_speaker.whose, limited, level)
    if bound is not None:
        seen = np.count_nonzero(risk.mean > limited[:, None], axis=1) / len(risk.mean)
        highest = np.maximum.accumulate(np.maximum(bound, seen)[::-1])[::-1]
        curves["people_above_bound"] = as_curve(limited, highest)
    return curves


def most_people_above(row: Evaluation, level: float) -> float | None:
    """Upper limit of the share of people like these who are exposed to more than a number of bits.

    Examples
    --------
    >>> from zeroevidence.evaluation.rows.curves import Curve
    >>> row = Evaluation({}, curves={"people_above_bound": Curve((0.1, 0.2, 3.0), (0.99, 0.75, 0.53))})
    >>> [most_people_above(row, level) for level in (0.0, 1.0, 3.0)]
    [1.0, 0.75, 0.53]
    """
    if "people_above_bound" not in row.curves:
        return None
    curve = row.curves["people_above_bound"]
    at = int(np.searchsorted(curve.x, level, "right")) - 1
    return 1.0 if at < 0 else curve.y[at]


def hubs(people: People, identities: int) -> BoolArray:
    """Whose names come up for everybody: for a tenth of the others' trials, and three times as often as by guessing.

    In some spaces a few voices lie close to all others (hubs). Their names come up often whoever speaks, so that they
    are named in many of their own recordings is no sign that they were recognised; it accuses them wrongly.

    Examples
    --------
    >>> hubs(People(("a", "b"), (4, 4), (1.0, 0.5), (2.0, 2.0), (0.8, 0.7), (0.01, 0.4)), 29).tolist()
    [False, True]
    """
    falsely = np.zeros(len(people.speaker)) if people.falsely is None else np.array(people.falsely)
    return np.asarray(falsely >= max(_HUB_SHARE, min(1.0, _HUB_TIMES / identities)))
