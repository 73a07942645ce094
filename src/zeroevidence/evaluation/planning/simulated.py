"""Simulated people whose truth is known, to plan a recording on before anybody is recorded.

A score is the sum of effects of the enrolled person, of the person heard, of the pair of people, of the recording and
of chance, plus a shift for mated pairs. All scores of other people have variance 1. How large a measure is in the
population follows without simulating people: targets and non-targets are Gaussian, and in a row of a search whatever
the whole row shares says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri

from zeroevidence._typing import IntArray
from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.search.matrix_search import MatrixSearch
from zeroevidence.measure.measures import MEASURES, Measure, measures_of
from zeroevidence.measure.pairs.view import ScoreView

_GRID = 20_000  # quantiles of either class
_ROW_SCORES = 1_000_000  # of the population of a search
_MOST_ROWS = 20_000
_SEARCH_ERROR = 0.005  # of the range of a measure, known from so many scores
_FURTHEST = 12.0  # standard deviations: nothing is left to tell apart
_PURPOSE = 7  # keeps what is drawn here apart from other draws of the seed


@dataclass(frozen=True, slots=True)
class Design:
    """Who is recorded, how often, and how people differ.

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
        Whether numbers of recordings follow Zipf's law, with `utterances` as their mean.
    """

    people: int
    utterances: int = 10
    between: float = 0.5
    uneven: bool = False

    def __post_init__(self) -> None:
        for name, least in (("people", 2), ("utterances", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise UsageError(f"{name}: expected a whole number from {least} on, got {value!r}")
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

    def recordings(self) -> IntArray:
        """Recordings of each person, the one who speaks most first.

        Examples
        --------
        >>> Design(4, 10, uneven=True).recordings().tolist()
        [19, 10, 6, 5]
        """
        if not self.uneven:
            return np.full(self.people, self.utterances)
        shares = 1.0 / np.arange(1, self.people + 1)
        counts: IntArray = np.round(self.utterances * self.people * shares / shares.sum()).astype(np.int64)
        return np.maximum(1, counts)


def simulated(design: Design, shift: float, seed: int, *number: int) -> ScoreMatrix:
    """One simulated recording: every utterance against everybody; `number` tells the simulations of a seed apart."""
    key = (_PURPOSE, design.people, *number)
    rng = np.random.default_rng(np.random.SeedSequence(entropy=seed, spawn_key=key))
    n = design.people
    speaker = np.repeat(np.arange(n), design.recordings())
    enrolled, heard = design.of_person * rng.standard_normal((2, n))
    pair = design.of_person * rng.standard_normal((n, n))
    scores = enrolled + heard[speaker][:, None] + pair[speaker]
    scores += design.of_recording * rng.standard_normal((len(speaker), 1))
    scores += design.of_chance * rng.standard_normal(scores.shape)
    scores[np.arange(len(speaker)), speaker] += shift
    names = np.char.add("s", np.arange(n).astype(str))
    return ScoreMatrix(scores, speaker, trial_speakers=names[speaker], enrolment_speakers=names)


def simulated_systems(
    design: Design, shifts: Sequence[float], shared: float, seed: int, number: int
) -> list[ScoreMatrix]:
    """Several systems on the same recordings; `shared` is the share of the variance that all have in common."""
    common = simulated(design, 0.0, seed, number)
    systems = []
    for system, shift in enumerate(shifts, 1):
        separate = simulated(design, 0.0, seed, number, system)
        scores = np.sqrt(shared) * common.scores + np.sqrt(1.0 - shared) * separate.scores
        scores[np.arange(len(common.mated)), common.mated] += shift
        systems.append(replace(common, scores=scores))
    return systems


def truth(design: Design, shift: float) -> dict[str, float]:
    """Every measure that can be planned for, in the population.

    Examples
    --------
    >>> found = truth(Design(30), 1.0)
    >>> round(found["eer"], 3), round(found["d_ece"], 3), 0.0 < found["alid"] < 4.9
    (0.309, 0.109, True)
    """
    return {**_of_pairs(shift), **_of_search(design.people, design.between, shift)}


def plannable(name: str) -> Measure:
    """The measure of that name, if it can be planned for: one number, which more people make more certain."""
    measure = MEASURES.find(name)
    values = truth(Design(2), 1.0)
    if measure.name not in values:
        raise UsageError(f"{name} cannot be planned for; expected one of {', '.join(values)}")
    return measure


def shift_of(design: Design, name: str, value: float) -> float:
    """The shift of mated pairs with which a measure has this value in the population."""
    by_search = plannable(name).family == "search"

    def found(shift: float) -> float:
        return (_of_search(design.people, design.between, shift) if by_search else _of_pairs(shift))[name]

    nothing, everything = found(0.0), found(_FURTHEST)
    if abs(value - nothing) <= (_SEARCH_ERROR * abs(everything - nothing) if by_search else 1e-9):
        return 0.0
    low, high = min(nothing, everything), max(nothing, everything)
    if not low < value < high:
        ends = [round(end, 3) + 0.0 for end in (low, high)]
        raise UsageError(f"{name}: expected a value from {ends[0]:g} to {ends[1]:g}, got {value:g}")
    precision = 1e-3 if by_search else 1e-6
    return float(brentq(lambda shift: found(shift) - value, 0.0, _FURTHEST, xtol=precision))


def _of_pairs(shift: float) -> dict[str, float]:
    """One-to-one measures of two Gaussians of variance 1."""
    quantiles = ndtri((np.arange(_GRID) + 0.5) / _GRID)
    view = ScoreView(rank(quantiles + shift, quantiles))
    values = {
        measure.name: measure.compute(view) for measure in measures_of("one-to-one") if _is_planned(measure, view)
    }
    return {name: value for name, value in values.items() if isinstance(value, float)}


@lru_cache(maxsize=64)
def _of_search(people: int, between: float, shift: float) -> dict[str, float]:
    """Measures of a search through as many people, none of whom is met twice."""
    trials = min(_MOST_ROWS, max(2, _ROW_SCORES // people))
    rng = np.random.default_rng(np.random.SeedSequence(entropy=0, spawn_key=(_PURPOSE, people)))
    within = np.sqrt(1.0 - between / 3.0 - (1.0 - between) / 3.0)  # but for the person heard and the recording
    halves = []
    for _ in range(2):
        scores = within * rng.standard_normal((trials, people))
        scores[:, 0] += shift
        halves.append(ScoreMatrix(scores, np.zeros(trials, dtype=np.int64)))
    # calibrated on others, as by an attacker with many people to learn from
    metrics = MatrixSearch(halves[0], halves[1]).run(Options()).metrics
    return {name: float(result) for name, result in metrics.items() if _is_planned(MEASURES[name], None)}


def _is_planned(measure: Measure, view: ScoreView | None) -> bool:
    """Whether the truth is one number that follows from the order of scores, and an interval shrinks to it.

    The entropy of a histogram would take too many rows to know.
    """
    return (
        measure.interval_of(view) not in (None, "extreme", "entropy")
        and measure.discloses != "none"
        and measure.per_score is None
    )
