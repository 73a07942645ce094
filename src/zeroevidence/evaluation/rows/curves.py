"""What stands beside the measures of a row: curves, trials, people, a threshold."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.embeddings import row_numbers
from zeroevidence.measure.search.disclosure import SpeakerRisk, by_speaker

POINTS = 200  # of a curve
_FEWEST_BINS, _MOST_BINS = 20, 100


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure over something.

    Parameters
    ----------
    x
        Where the measure was computed.
    y
        The measure.
    baseline
        What chance gives at each `x`.
    low
        Lower end of an interval around `y`, for the error of a mean over random draws.
    high
        Upper end of that interval.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    baseline: tuple[float, ...] | None = None
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Surface:
    """A measure over two things, each numbered or named.

    Parameters
    ----------
    x
        Values or names of the rows of `z`.
    y
        Values or names of the columns of `z`.
    z
        The measure, a row for each `x`.
    """

    x: tuple[float | str, ...]
    y: tuple[float | str, ...]
    z: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A two-dimensional map of labelled points.

    Parameters
    ----------
    x
        First coordinate of each point.
    y
        Second coordinate of each point.
    label
        The group that each point belongs to.
    mu
        Where `x` is the LLR between two groups in alphabetical order, and a model says that it is N(-mu, 2 mu) in the
        first and N(mu, 2 mu) in the second.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    label: tuple[str, ...]
    mu: float | None = None


def thinned(number: int, points: int = POINTS) -> IntArray:
    """Positions of at most that many of some points, evenly by rank, both ends among them."""
    return np.unique(np.linspace(0, number - 1, min(points, number)).round().astype(np.int64))


def as_curve(x: FloatArray | IntArray, y: FloatArray, baseline: FloatArray | None = None) -> Curve:
    """A curve as plain numbers."""
    return Curve(
        tuple(np.asarray(x, dtype=np.float64).tolist()),
        tuple(np.asarray(y, dtype=np.float64).tolist()),
        None if baseline is None else tuple(np.asarray(baseline, dtype=np.float64).tolist()),
    )


def histograms(sorted_scores: dict[str, FloatArray]) -> dict[str, Curve]:
    """Densities of sorted scores on common bins, ``histogram_`` and the name; infinite scores lie in no bin."""
    finite = {
        name: scores[np.searchsorted(scores, -np.inf, "right") : np.searchsorted(scores, np.inf)]
        for name, scores in sorted_scores.items()
    }
    edges = bin_edges([scores for scores in finite.values() if len(scores)])
    if edges is None:
        return {}
    curves = {}
    for name, scores in finite.items():
        share = binned(scores, edges) / len(sorted_scores[name])
        curves[f"histogram_{name}"] = as_curve(edges[1:] / 2.0 + edges[:-1] / 2.0, share / (edges[1] - edges[0]))
    return curves


def binned(sorted_scores: FloatArray, edges: FloatArray) -> IntArray:
    """Number of scores from each edge to the next, the last edge included."""
    below = np.searchsorted(sorted_scores, edges)
    below[-1] = np.searchsorted(sorted_scores, edges[-1], "right")
    return np.diff(below)


def bin_edges(classes: list[FloatArray]) -> FloatArray | None:
    """Even bins over the range of sorted scores, as wide as the class that asks for wider ones (Freedman and Diaconis).

    None where there is no score, or a range that no bin can divide.
    """
    if not classes:
        return None
    low, high = min(float(scores[0]) for scores in classes), max(float(scores[-1]) for scores in classes)
    reach = high - low
    least = 1e-9 * max(abs(low), abs(high), 1e-9)
    if reach <= least:  # all equal, or as good as
        low, high = low - max(0.5, least), high + max(0.5, least)
    if not np.isfinite(high - low):
        return None
    if reach <= least:
        return np.array([low, high])
    spreads = [2.0 * (float(x[(3 * len(x)) // 4]) - float(x[len(x) // 4])) / float(np.cbrt(len(x))) for x in classes]
    bins = int(np.clip(np.ceil(reach / max(*spreads, reach / _MOST_BINS)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)


@dataclass(frozen=True, slots=True)
class People:
    """What a search learns about each speaker, the most exposed first; of very many speakers only those.

    Parameters
    ----------
    speaker
        Name of the speaker.
    trials
        Number of the speaker's trials.
    alid
        Mean LID over the speaker's trials, in bits.
    lid_max
        Largest LID of the speaker's trials, in bits.
    linked
        Share of the speaker's trials whose true identity scored strictly above all others.
    falsely
        Share of all other speakers' trials for which this name came first.
    named
        Whether the speaker counts as named: see the measure `people_named`.
    worst_case
        log10 of the strongest likelihood ratio in any comparison that involves the speaker; None where comparisons are
        not known one by one.
    seconds
        Mean length of the speaker's trials; None where recordings are not known.
    """

    speaker: tuple[str, ...]
    trials: tuple[int, ...]
    alid: tuple[float, ...]
    lid_max: tuple[float, ...]
    linked: tuple[float, ...]
    falsely: tuple[float, ...] | None = None
    named: tuple[bool, ...] | None = None
    worst_case: tuple[float, ...] | None = None
    seconds: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Recordings:
    """What an attacker learns who holds several recordings of the person, an entry for each number of them.

    An attacker may use fewer than they hold: as many as told most about other people. Values stand as they were
    measured, so that one may by chance be below the one before.

    Parameters
    ----------
    held
        Number of recordings that the attacker holds.
    people
        Number of people who have as many; of the others all recordings are used.
    alid
        Mean LID, in bits.
    top1
        Share of trials whose true identity scored highest.
    lid_max
        Largest LID, in bits.
    link_probability
        Linkability in the legal sense.
    singling_out
        Singling out in the legal sense.
    alid_low
        Lower end of the interval of `alid`.
    alid_high
        Upper end of the interval of `alid`.
    top1_low
        Lower end of the interval of `top1`.
    top1_high
        Upper end of the interval of `top1`.
    """

    held: tuple[int, ...]
    people: tuple[int, ...]
    alid: tuple[float, ...]
    top1: tuple[float, ...]
    lid_max: tuple[float, ...]
    link_probability: tuple[float, ...]
    singling_out: tuple[float, ...]
    alid_low: tuple[float, ...] | None = None
    alid_high: tuple[float, ...] | None = None
    top1_low: tuple[float, ...] | None = None
    top1_high: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """What each trial of a search discloses.

    Parameters
    ----------
    trial
        Identifier of the trial.
    speaker
        Its true speaker.
    lid
        Local information disclosure, in bits.
    rank
        Rank of the true identity, the mean rank over ties.
    linked
        1 where the true identity scored strictly above all others; a share where the trial was tried repeatedly.
    certainty
        The LID of a trial that leaves no doubt: minus log2 of what the true identity had beforehand.
    """

    trial: StrArray
    speaker: StrArray
    lid: FloatArray
    rank: FloatArray
    linked: IntArray | FloatArray
    certainty: FloatArray

    @cached_property
    def distinct(self) -> Trials:
        """Each trial once, with means over the searches that it was tried in."""
        _, first, place = np.unique(self.trial, return_index=True, return_inverse=True)
        if len(first) == len(self.trial):
            return self
        order = np.argsort(first)
        times = np.bincount(place)
        means = (np.bincount(place, values) / times for values in (self.lid, self.rank, self.linked, self.certainty))
        kept = first[order]
        return Trials(self.trial[kept], self.speaker[kept], *(mean[order] for mean in means))

    def in_order_of(self, names: StrArray) -> Trials:
        """Return the trials in the order of these names."""
        order = np.argsort(row_numbers(names, self.trial))
        return Trials(*(getattr(self, field.name)[order] for field in fields(Trials)))

    @cached_property
    def by_speaker(self) -> SpeakerRisk:
        """What the trials disclose of each speaker."""
        return by_speaker(self.lid, self.speaker)


@dataclass(frozen=True, slots=True)
class ErrorRate:
    """A rate of wrong decisions, with its interval for people like these where people are known and enough."""

    value: float
    low: float | None = None
    high: float | None = None


FittedOn: TypeAlias = Literal["these scores", "other people", "nothing"]
Criterion: TypeAlias = Literal["bayes", "eer", "min-hter"]


@dataclass(frozen=True, slots=True)
class Threshold:
    """The threshold of the cheapest decision at a prior and costs, or by another criterion, and what it costs.

    Parameters
    ----------
    score
        Scores from this one on are accepted, or up to it where the file has lower scores for targets; in the units of
        the file, infinite where accepting never pays.
    llr
        The natural log-likelihood ratio that it stands for.
    prior
        Prior probability of a target.
    c_miss
        Cost of a miss.
    c_fa
        Cost of a false alarm.
    miss
        Rate of targets that are not accepted (FNMR).
    false_alarm
        Rate of non-targets that are (FMR).
    dcf
        Detection cost, divided by that of the better blind decision.
    fitted_on
        What scores became likelihood ratios on, or the criterion was met on; nothing where they are likelihood ratios.
    level
        Confidence level of the intervals.
    up_to
        Whether scores up to the threshold are accepted, and not those from it on.
    hter
        Half total error rate, the mean of both rates, where the threshold was chosen on other people; else None.
    criterion
        Whether it is the cheapest at the prior and costs, the one where both rates are closest, or that of the lowest
        mean of both.
    fta
        Rate of failures to acquire among all trials; None where no failures were counted.
    far
        Rate of false acceptances where failures are rejections: FMR (1 - FTA).
    frr
        Rate of false rejections: FTA + FNMR (1 - FTA).
    """

    score: float
    llr: float
    prior: float
    c_miss: float
    c_fa: float
    miss: ErrorRate
    false_alarm: ErrorRate
    dcf: float
    fitted_on: FittedOn
    level: float
    up_to: bool = False
    hter: float | None = None
    criterion: Criterion = "bayes"
    fta: float | None = None
    far: float | None = None
    frr: float | None = None
