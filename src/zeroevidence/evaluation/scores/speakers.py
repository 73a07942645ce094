"""Every speaker's own disclosure, worst case and error rate, and whether speakers differ more than chance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaincinv, stdtrit

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import Blocks, RankedScores, pool, pool_laplace, rank
from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.trials import People
from zeroevidence.measure.pairs.verification import eer
from zeroevidence.measure.pairs.view import ScoreView
from zeroevidence.measure.pairs.zebra import strength_of, tag_of
from zeroevidence.uncertainty.level import LEVEL
from zeroevidence.uncertainty.resampling.clusters import Clusters, find_clusters
from zeroevidence.uncertainty.variation import VariationBetweenPeople, variation_between_people

_COLUMNS = (
    *("trials", "lid_mean", "lid_low", "lid_high", "lid_max", "share_positive"),
    *("targets", "nontargets", "eer", "eer_low", "eer_high", "worst_case", "tag"),
)


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerErrors:
    """The equal error rate of each speaker's own comparisons.

    Parameters
    ----------
    speaker
        Name of the speaker.
    targets
        Number of mated comparisons of the speaker.
    nontargets
        Number of non-mated comparisons that involve the speaker, on either side.
    eer
        EER of the speaker's comparisons.
    low
        Lower end of its interval, for other recordings of the same speaker.
    high
        Upper end of that interval.
    passed
        For each target, the share of its speaker's non-mated comparisons that score as high.
    whose
        For each target, the position of its speaker.
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

    The interval is Clopper and Pearson's for as many trials as there are targets, as though a speaker's recordings were
    independent: of the other comparisons there are many more.

    Examples
    --------
    >>> from zeroevidence.data.scores import Pairs
    >>> people = ["ann", "bob"]
    >>> targets, others = Pairs([0, 0, 1, 1], [0, 1, 2, 3]), Pairs([0, 0, 1, 1], [2, 3, 0, 1])
    >>> found = speaker_errors(Scores([3.0, 2.0, 1.0, 0.5], [0.0, 0.7, 0.1, 0.2], targets, others, people, list("wxyz"),
    ...                           people, ["ann", "ann", "bob", "bob"]))
    >>> found.speaker.tolist(), found.eer.round(2).tolist(), found.passed.tolist()
    (['ann', 'bob'], [0.0, 0.25], [0.0, 0.0, 0.0, 0.25])
    """
    clusters = find_clusters(scores)
    if clusters is None:
        return None
    target = _sorted(clusters.target.enrolment, scores.target)
    # a comparison of two people is one of each
    sides = np.concatenate((clusters.nontarget.enrolment, clusters.nontarget.trial))
    twice = np.concatenate((scores.nontarget, scores.nontarget))
    apart = clusters.nontarget.enrolment != clusters.nontarget.trial
    once = np.concatenate((np.ones(len(apart), dtype=bool), apart))
    nontarget = _sorted(sides[once], twice[once])
    speakers = sorted(set(target) & set(nontarget))
    rates = np.array([eer(target[speaker], nontarget[speaker]) for speaker in speakers])
    numbers = np.array([len(target[speaker]) for speaker in speakers])
    low, high = _limits(rates, numbers, (1.0 - level) / 2.0)
    passed = [_passed(scores.target, clusters.target.enrolment, speaker, nontarget[speaker]) for speaker in speakers]
    return SpeakerErrors(
        _person_names(scores, clusters)[speakers],
        numbers,
        np.array([len(nontarget[speaker]) for speaker in speakers]),
        rates,
        low,
        high,
        np.concatenate(passed) if passed else np.empty(0),
        np.repeat(np.arange(len(speakers)), numbers),
    )


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
    """One line per speaker, the most exposed first: disclosure in a search, EER and worst case; None without names."""
    errors = None if row.scores is None else speaker_errors(row.scores, row.setup.level)
    lines: dict[str, dict[str, object]] = {}
    if row.trials is not None:
        risk = row.trials.by_speaker
        error = _mean_errors(row.trials.lid, row.trials.speaker, (1.0 - row.setup.level) / 2.0)
        for i, name in enumerate(risk.speaker.tolist()):
            mean, half = float(risk.mean[i]), error[name]
            lines[name] = {
                "trials": int(risk.trials[i]),
                "lid_mean": mean,
                "lid_low": None if half is None else mean - half,
                "lid_high": None if half is None else mean + half,
                "lid_max": float(risk.max[i]),
                "share_positive": float(risk.share_positive[i]),
            }
    if errors is not None:
        order = np.argsort(errors.eer, kind="stable")
        for i in order:
            line = lines.setdefault(str(errors.speaker[i]), {})
            line |= {
                "targets": int(errors.targets[i]),
                "nontargets": int(errors.nontargets[i]),
                "eer": float(errors.eer[i]),
            }
            line |= {"eer_low": float(errors.low[i]), "eer_high": float(errors.high[i])}
    if row.scores is not None and lines:
        ranked = rank(row.scores.target, row.scores.nontarget)
        worst = worst_cases(row.scores, ranked, pool_laplace(pool(ranked.counts))) or {}
        for name in lines.keys() & worst.keys():
            lines[name] |= {"worst_case": worst[name], "tag": tag_of(worst[name])}
    if not lines:
        return None
    return {"speaker": list(lines), **{name: [line.get(name) for line in lines.values()] for name in _COLUMNS}}


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


def _sorted(whose: IntArray, values: FloatArray) -> dict[int, FloatArray]:
    """The values of each, ascending."""
    order = np.lexsort((values, whose))
    names, starts = np.unique(whose[order], return_index=True)
    return dict(zip(names.tolist(), np.split(values[order].astype(np.float64), starts[1:]), strict=True))


def _passed(values: FloatArray, whose: IntArray, speaker: int, nontarget: FloatArray) -> FloatArray:
    target = values[whose == speaker]
    passed: FloatArray = 1.0 - np.searchsorted(nontarget, target, "left") / len(nontarget)
    return passed


def _limits(rates: FloatArray, numbers: IntArray, tail: float) -> tuple[FloatArray, FloatArray]:
    """Clopper and Pearson's limits of rates over numbers of trials."""
    errors = rates * numbers
    with np.errstate(invalid="ignore"):
        low = np.where(errors > 0.0, betaincinv(np.maximum(errors, 1e-9), numbers - errors + 1.0, tail), 0.0)
        rest = np.maximum(numbers - errors, 1e-9)
        high = np.where(errors < numbers, betaincinv(errors + 1.0, rest, 1.0 - tail), 1.0)
    return low, high


def _mean_errors(lid: FloatArray, speakers: StrArray, tail: float) -> Mapping[str, float | None]:
    """Half the width of the interval of each speaker's mean; None of a single trial."""
    names, whose = np.unique(speakers, return_inverse=True)
    held = np.bincount(whose)
    mean = np.bincount(whose, weights=lid) / held
    squares = np.bincount(whose, weights=(lid - mean[whose]) ** 2)
    halves: list[float | None] = []
    for n, total in zip(held.tolist(), squares.tolist(), strict=True):
        halves.append(None if n < 2 else float(-stdtrit(n - 1, tail) * np.sqrt(total / (n - 1) / n)))
    return dict(zip(names.tolist(), halves, strict=True))
