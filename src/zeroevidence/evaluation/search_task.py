"""A search through the enrolled identities: what is searched, and everything that comes of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Protocol

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.rows import AffineCalibration, Fold, RowFit
from zeroevidence.data.matrix import ExchangedPeople, ScoreMatrix
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.curves import Curve, Trials, as_curve
from zeroevidence.evaluation.rows.flags import Flag, flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.setup import Options, SearchSetup
from zeroevidence.measure.measures import measures_of
from zeroevidence.measure.search.disclosure import RowEvidence, mean_line, search_view
from zeroevidence.measure.search.longitudinal import FusedEvidence, SizeCurve
from zeroevidence.measure.search.sizes import RefittedSearch, SearchedFold
from zeroevidence.measure.views import Line, NameCounts
from zeroevidence.run import Run
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.search import HypotheticalRanks, SearchResampler

_REFITTED = 10_000_000  # scores that calibrations are fitted to without some people, all together
_GROUPS = 20  # of people, fewer of which would tell the spread too badly


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """Everything a search yields.

    Parameters
    ----------
    metrics
        The measures of the search.
    trials
        What each trial discloses.
    evidence
        LID and rank of each trial.
    singled
        1 where the predicate fired on exactly one identity.
    folds
        The calibrations.
    setup
        How scores became likelihood ratios.
    names
        How often each person's name came first, in the order of `Trials.by_speaker`.
    prior
        Probability of each identity beforehand; None where they are equal.
    """

    metrics: dict[str, MeasureResult]
    trials: Trials
    evidence: RowEvidence
    singled: IntArray
    folds: list[Fold]
    setup: SearchSetup
    names: NameCounts
    prior: FloatArray | None = None

    @property
    def flags(self) -> list[Flag]:
        """Warnings about the calibrations."""
        affine = ((fold.calibration, len(fold.rows)) for fold in self.folds)
        weights = [np.full(n, fit.weight) for fit, n in affine if isinstance(fit, AffineCalibration)]
        return weight_flags(np.concatenate(weights)) if weights else []


class SearchTask(Protocol):
    """A closed-set search to evaluate, and how: one matrix, or one for each fold of people."""

    options: Options
    run: Run

    @property
    def row_fit(self) -> RowFit:
        """How calibrations are fitted."""
        return self.options.row_fit(self.run.seed)

    @property
    def parts(self) -> tuple[ScoreMatrix, ...]:
        """The score matrices that are searched."""

    @property
    def development(self) -> tuple[ScoreMatrix, ...]:
        """The score matrices of the development people."""

    @property
    def splits(self) -> int:
        """How often people were dealt to folds; everything else is of all splits."""
        return 1

    @property
    def exchanged(self) -> ExchangedPeople:
        """Who may be exchanged with whom under the null."""

    @property
    def size(self) -> int:
        """Number of scores."""
        return sum(part.scores.size for part in self.parts)

    @property
    def speaker_codes(self) -> IntArray:
        """A number from 0 on for the speaker of each trial."""

    @property
    def flags(self) -> list[Flag]:
        """Warnings about the way in which people are searched."""
        return []

    def measure(self) -> SearchResult:
        """Calibrate the scores and measure the search."""

    def searched_folds(self, result: SearchResult) -> Iterator[SearchedFold]:
        """The trials of each fold, one at a time: together they would be a second matrix."""

    def resampler(self, result: SearchResult) -> SearchResampler:
        """The search on fewer people."""

    def refitted(self, result: SearchResult) -> tuple[RefittedSearch | None, int]:
        """The search to be fitted again without each group of people, and the largest number of groups.

        It is None where there are so many scores that this would take long, or too few development people.
        """
        most, folds = self.options.intervals, result.folds
        cost = len(result.evidence.lid) * result.evidence.identities
        cost += sum(len(fold.mated_elsewhere) * fold.scores.shape[1] for fold in folds)
        groups = min(most, _REFITTED // cost)
        if groups < min(_GROUPS, most):
            return None, most
        search = RefittedSearch(list(self.searched_folds(result)), result.prior)
        return (search, groups) if len(search.fitted) >= LEAST_PEOPLE else (None, most)

    def hypothetical(self, folds: Sequence[Fold]) -> list[HypotheticalRanks]:
        """The rank of everybody else as the speaker of each trial, by fold of people."""

    def fuse_recordings(self, result: SearchResult) -> list[FusedEvidence]:
        """What an attacker learns who holds 2, 3, ... recordings, for each number that enough people have."""


def check_disjoint(data: ScoreMatrix | Scores, dev: ScoreMatrix | Scores) -> None:
    """Development speakers must be other people: a calibration fitted on the evaluated ones flatters the attacker."""
    here, there = data.speakers, dev.speakers
    if here is None or there is None:
        return
    common = np.intersect1d(here, there)
    if len(common):
        raise InputError(
            f"development and evaluation share {len(common)} speaker(s), among them {str(common[0])!r}; "
            "expected other people in the development scores"
        )


def trial_table(trials: StrArray, speakers: StrArray, evidence: RowEvidence, prior: FloatArray | None = None) -> Trials:
    """What each trial discloses; `prior` is that of each trial's true identity, one in their number unless given."""
    greater, equal = evidence.greater, evidence.equal
    linked = ((greater == 0) & (equal == 0)).astype(np.int64)
    certainty = np.full(len(linked), np.log2(evidence.identities)) if prior is None else -np.log2(prior)
    return Trials(trials, speakers, evidence.lid, 1.0 + greater + equal / 2.0, linked, certainty)


def line_of(folds: Sequence[Fold]) -> Line | None:
    """Weight and bias of the calibrations of a search."""
    return mean_line([fold.calibration for fold in folds], [len(fold.rows) for fold in folds])


def weight_flags(weights: FloatArray) -> list[Flag]:
    """A warning where the calibration of some trials has a negative weight, given that of each trial.

    Examples
    --------
    >>> weight_flags(np.array([2.0, 0.0])), [warning.code for warning in weight_flags(np.array([2.0, -0.1]))]
    ([], ['negative-weight'])
    """
    negative = int(np.count_nonzero(weights < 0.0))
    return [flag("negative-weight", trials=negative, total=len(weights), weight=weights.mean())] if negative else []


def search_metrics(
    evidence: RowEvidence,
    singled: IntArray | None,
    setup: SearchSetup,
    names: NameCounts | None = None,
    line: Line | None = None,
) -> dict[str, MeasureResult]:
    """The measures of per-trial evidence; `singled`, `names` and `line` are None where these are not known."""
    view = search_view(evidence, singled, names, line)
    if setup.prior_given:  # LID is over that prior, and not over one in the number of identities
        view = replace(view, prior_free=None)
    results = {}
    for measure in measures_of("search"):
        value = measure.compute(view)
        if value is not None:
            number = nan if np.isnan(value[0]) else float(value[0])
            results[measure.name] = MeasureResult.of(measure.name, number, measure.method_of(view) or str(setup))
    return results


def name_codes(names: StrArray) -> IntArray:
    """A number from 0 on for each name, in their order."""
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def mean_over_folds(curves: Sequence[tuple[int, SizeCurve]]) -> Curve:
    """The mean of curves over the same numbers of identities, each of so many trials."""
    _, first = curves[0]
    mean = np.average([curve.y for _, curve in curves], axis=0, weights=[trials for trials, _ in curves])
    return as_curve(first.x, mean, first.baseline)
