"""Simulated people whose truth is known, for plans of recordings."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np
from scipy.optimize import brentq
from scipy.stats import t as student

from zeroevidence._scipy import ndtr, ndtri
from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.searches import MatrixSearch
from zeroevidence.measure.measures import MEASURES, Measure, measures_of
from zeroevidence.measure.pairs.linkability import ScoreView
from zeroevidence.run import check_whole

_GRID = 20_000  # quantiles of either class
_SEARCH_SCORES = 1_000_000  # scores that stand for the population of a search
_MOST_ROWS = 20_000
_SEARCH_ERROR = 0.005  # of a value from so many scores, as a share of the range of the measure
_LARGEST_SHIFT = 12.0  # standard deviations: both classes are fully separated
_PURPOSE = 7  # keeps what is drawn here apart from other draws of the seed
_COUNTS = 9  # keeps numbers of recordings apart
_PARETO = 1.5  # exponent of the law of numbers of recordings
_MOST_TIMES = 60.0  # as many recordings as those who have fewest: people count as a quarter of their number
_MEAN_TIMES = 3.0 - 2.0 / float(np.sqrt(_MOST_TIMES))  # mean of that law
_TALKATIVE = 2.0  # how much better people are recognised who have e times as many recordings, against those with fewest
_TAILS = 4.0  # degrees of freedom of the effects of people where these have heavy tails
_FACTOR_DEVIATION = 0.75  # standard deviation of the logarithm of how well each of them is recognised
_TAILS_SCALE = float(np.sqrt(_TAILS / (_TAILS - 2.0)))
_FACTORS = 400  # quantiles of how well people are recognised
_REACH, _STEP = 60.0, 0.01  # of the grid on which distributions with heavy tails are computed

# alike: Gaussian effects, equally many recordings; talkative: numbers of recordings follow a Pareto law, and whoever
# speaks more is recognised better; heavy-tailed: effects of people have heavy tails, and a few are recognised much
# better than most
Scenario: TypeAlias = Literal["alike", "talkative", "heavy-tailed"]
SCENARIOS: tuple[Scenario, ...] = get_args(Scenario)


@dataclass(frozen=True, slots=True)
class Design:
    """Who is recorded, how often, and how people differ.

    A score is the sum of effects of the enrolled person, of the person heard, of the pair of people, of the recording
    and of chance, plus a shift for mated pairs. All scores of other people have variance 1. What people are like is one
    of several scenarios. Values in the population follow without simulating people: the distributions of targets and
    non-targets are known, and what all scores of a trial have in common does not matter to a search.

    Parameters
    ----------
    people
        Number of people, each of whom is enrolled and tried.
    utterances
        Recordings of each person that are tried.
    between
        Share of the variance of scores that comes from who the people are: a third each from the enrolled person, the
        person heard and the pair. The rest is a third from the recording and two thirds from chance.
    uneven
        Whether numbers of recordings follow a Pareto law, with `utterances` as their mean.
    scenario
        What people are like: ``alike``, ``talkative`` (whoever speaks more is recognised better) or ``heavy-tailed``.
    """

    people: int
    utterances: int = 10
    between: float = 0.5
    uneven: bool = False
    scenario: Scenario = "alike"

    def __post_init__(self) -> None:
        check_whole("people", self.people, 2)
        check_whole("utterances", self.utterances, 1)
        if not 0.0 <= self.between < 1.0:
            raise UsageError(f"between: expected a number from 0 to below 1, got {self.between!r}")

    @property
    def scores(self) -> int:
        """How many scores everybody against everybody gives."""
        return self.people * self.people * self.utterances

    @property
    def of_person(self) -> float:
        """Standard deviation of each effect of people: enrolled, heard, pair."""
        return float(np.sqrt(self.between / 3.0))

    @property
    def of_recording(self) -> float:
        """Standard deviation of the effect of a recording."""
        return float(np.sqrt((1.0 - self.between) / 3.0))

    @property
    def of_chance(self) -> float:
        """Standard deviation of what nothing explains."""
        return float(np.sqrt(2.0 * (1.0 - self.between) / 3.0))

    def recordings(self, times: FloatArray) -> IntArray:
        """Recordings of people who speak so many times as often as those who speak least.

        Examples
        --------
        >>> Design(3, 10, uneven=True).recordings(np.array([1.0, 10.0, 60.0])).tolist()
        [4, 36, 219]
        """
        if not (self.uneven or self.talkative):
            return np.full(len(times), self.utterances)
        counts: IntArray = np.round(self.utterances * times / _MEAN_TIMES).astype(np.int64)
        return np.maximum(1, counts)

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """What people may be like; where all are recorded equally often, nobody can be talkative."""
        return tuple(scenario for scenario in SCENARIOS if self.uneven or scenario != "talkative")

    @property
    def talkative(self) -> bool:
        """Whether people who speak more are recognised better."""
        return self.scenario == "talkative"

    @property
    def heavy(self) -> bool:
        """Whether people differ with heavy tails."""
        return self.scenario == "heavy-tailed"

    def draw_effects(self, rng: np.random.Generator, size: int | tuple[int, ...]) -> FloatArray:
        """Effects of people, each of the variance of one."""
        drawn = rng.standard_t(_TAILS, size) / _TAILS_SCALE if self.heavy else rng.standard_normal(size)
        return self.of_person * drawn

    def factors(self, gaussian: FloatArray, times: FloatArray) -> FloatArray:
        """How well people are recognised, by a Gaussian variable of each and by how often they speak."""
        if self.heavy:
            return np.asarray(np.exp(_FACTOR_DEVIATION * gaussian - _FACTOR_DEVIATION**2 / 2.0))
        return 1.0 + _TALKATIVE * np.log(times) if self.talkative else np.ones(len(times))

    def recorded_factors(self) -> FloatArray:
        """How well people are recognised, at quantiles of all recordings."""
        quantiles, times = _middles(_FACTORS), _times(_middles(_GRID))
        recorded = np.cumsum(self.recordings(times))
        return self.factors(ndtri(quantiles), times[np.searchsorted(recorded, quantiles * recorded[-1])])


def _middles(number: int) -> FloatArray:
    """Middles of equal parts from 0 to 1."""
    return (np.arange(number) + 0.5) / number


def _times(quantiles: FloatArray) -> FloatArray:
    """How many times as often people speak as those who speak least, by a Pareto law that ends."""
    return np.asarray(np.minimum((1.0 - quantiles) ** (-1.0 / _PARETO), _MOST_TIMES))


def simulated(design: Design, shift: float, seed: int, number: int) -> ScoreMatrix:
    """One simulated recording: every utterance against everybody; `number` tells the simulations of a seed apart."""
    n = design.people
    rng, of_counts = (
        np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))
        for key in ((_PURPOSE, n, number), (_PURPOSE, _COUNTS, n, number))
    )
    times = _times(of_counts.random(n))
    speaker = np.repeat(np.arange(n), design.recordings(times))
    enrolled, heard = design.draw_effects(rng, (2, n))
    pair = design.of_person * rng.standard_normal((n, n))
    scores = enrolled + heard[speaker][:, None] + pair[speaker]
    scores += design.of_recording * rng.standard_normal((len(speaker), 1))
    scores += design.of_chance * rng.standard_normal(scores.shape)
    scores[np.arange(len(speaker)), speaker] += shift * design.factors(rng.standard_normal(n), times)[speaker]
    names = np.char.add("s", np.arange(n).astype(str))
    return ScoreMatrix(scores, speaker, trial_speakers=names[speaker], enrolment_speakers=names)


def truth(design: Design, shift: float) -> dict[str, float]:
    """Return every measure that can be planned for, in the population.

    Examples
    --------
    >>> values = truth(Design(30), 1.0)
    >>> round(values["eer"], 3), round(values["d_ece"], 3), 0.0 < values["alid"] < 4.9
    (0.309, 0.109, True)
    """
    return {**_of_pairs(design, shift), **_of_search(_searched(design), shift)}


def plannable(name: str) -> Measure:
    """Return the measure of that name, if it can be planned for."""
    measure = MEASURES.find(name)
    values = truth(Design(2), 1.0)
    if measure.name not in values:
        raise UsageError(f"{name} cannot be planned for; expected one of {', '.join(values)}")
    return measure


def shift_of(design: Design, name: str, value: float) -> float:
    """Return the shift of mated pairs with which a measure has this value in the population."""
    by_search = plannable(name).family == "search"

    def value_at(shift: float) -> float:
        return (_of_search(_searched(design), shift) if by_search else _of_pairs(design, shift))[name]

    nothing, everything = value_at(0.0), value_at(_LARGEST_SHIFT)
    if abs(value - nothing) <= (_SEARCH_ERROR * abs(everything - nothing) if by_search else 1e-9):
        return 0.0
    low, high = min(nothing, everything), max(nothing, everything)
    if not low < value < high:
        ends = [round(end, 3) + 0.0 for end in (low, high)]
        raise UsageError(f"{name}: expected a value from {ends[0]:g} to {ends[1]:g}, got {value:g}")
    precision = 1e-3 if by_search else 1e-6
    return float(brentq(lambda shift: value_at(shift) - value, 0.0, _LARGEST_SHIFT, xtol=precision))


def _of_pairs(design: Design, shift: float) -> dict[str, float]:
    """One-to-one measures of targets and non-targets, from quantiles of both."""
    if design.scenario == "alike":
        nontarget: FloatArray = ndtri(_middles(_GRID))
        target: FloatArray = nontarget + shift
    else:
        target, nontarget = _quantiles(design, shift)
    view = ScoreView(rank(target, nontarget))
    values = {
        measure.name: measure.compute(view) for measure in measures_of("one-to-one") if _is_planned(measure, view)
    }
    return {name: value for name, value in values.items() if isinstance(value, float)}


def _quantiles(design: Design, shift: float) -> tuple[FloatArray, FloatArray]:
    """Quantiles of targets and of non-targets of people who are not all recognised as well."""
    grid = np.arange(-_REACH, _REACH + _STEP / 2.0, _STEP)
    cumulated = _heavy_distribution(design.between) if design.heavy else ndtr(grid)
    shifts = shift * design.recorded_factors()
    of_targets = np.mean([np.interp(grid - moved, grid, cumulated) for moved in shifts], axis=0)
    return np.interp(_middles(_GRID), of_targets, grid), np.interp(_middles(_GRID), cumulated, grid)


@lru_cache(maxsize=4)
def _heavy_distribution(between: float) -> FloatArray:
    """Distribution function, on the grid, of scores of other people whose effects have heavy tails."""
    grid = np.arange(-_REACH, _REACH + _STEP / 2.0, _STEP)
    rest = np.sqrt(1.0 - 2.0 * between / 3.0)
    parts = [np.exp(-0.5 * (grid / rest) ** 2)]
    scale = np.sqrt(between / 3.0) / _TAILS_SCALE
    if scale > 0.0:
        # The mass of each cell, since the density may be narrower than a cell.
        ends = np.append(grid - _STEP / 2.0, grid[-1] + _STEP / 2.0)
        parts += 2 * [np.diff(student.cdf(ends / scale, _TAILS))]
    # Cyclic convolution: what passes the ends of the grid is far beyond what is asked for.
    spectrum = np.prod([np.fft.rfft(np.fft.ifftshift(part)) for part in parts], axis=0)
    density = np.maximum(np.fft.fftshift(np.fft.irfft(spectrum, len(grid))), 0.0)
    cumulated = np.cumsum(density) - density / 2.0
    return np.asarray(cumulated / density.sum())


def _searched(design: Design) -> Design:
    """Return the design reduced to what matters to a search, so that its measures are computed once."""
    return Design(design.people, design.utterances if design.talkative else 1, design.between, scenario=design.scenario)


@lru_cache(maxsize=64)
def _of_search(design: Design, shift: float) -> dict[str, float]:
    """Return the measures of a search through as many people, with new ones in every trial."""
    trials = min(_MOST_ROWS, max(2, _SEARCH_SCORES // design.people))
    rng = np.random.default_rng(np.random.SeedSequence(entropy=0, spawn_key=(_PURPOSE, design.people)))
    rest = np.hypot(design.of_person, design.of_chance)  # of the pair and chance
    halves = []
    for _ in range(2):
        size = (trials, design.people)
        # without the effects of the person heard and of the recording, which all scores of a trial share
        scores = design.draw_effects(rng, size) + rest * rng.standard_normal(size)
        scores[:, 0] += shift * rng.choice(design.recorded_factors(), trials)
        halves.append(ScoreMatrix(scores, np.zeros(trials, dtype=np.int64)))
    # calibrated on other people, as by an attacker who has many to learn from
    metrics = MatrixSearch(halves[0], halves[1]).measure().metrics
    return {name: float(result) for name, result in metrics.items() if _is_planned(MEASURES[name], None)}


def _is_planned(measure: Measure, view: ScoreView | None) -> bool:
    """Whether the truth is one number that follows from the order of scores, and an interval shrinks to it.

    The entropy of a histogram would take too many rows to know. Parameters of a calibration are no measures of people.
    """
    return (
        measure.interval_of(view) not in (None, "entropy")
        and measure.unit != "nat"
        and measure.discloses != "none"
        and measure.per_score is None
    )
