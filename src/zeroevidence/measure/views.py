"""Views: the input of measures, and the check of the arguments of public ones."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from math import ceil
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeAlias, TypeVar

from numpy.typing import ArrayLike

from zeroevidence._scipy import bdtrik
from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.pav import Blocks, Counts, pool, pool_laplace
from zeroevidence.data.preparing import are_reversed
from zeroevidence.data.scores import are_decisions, check_classes, check_scores
from zeroevidence.run import LEVEL

Llrs: TypeAlias = tuple[FloatArray, FloatArray]  # natural-log LLRs of targets and of non-targets
LinkabilityMethod: TypeAlias = Literal["density", "pav", "histogram"]  # see `linkability`


@dataclass(frozen=True, slots=True)
class PairSettings:
    """Settings of the one-to-one measures.

    Parameters
    ----------
    linkability
        Estimator of linkability.
    dcf_prior
        Target prior of the detection costs.
    seed
        Seed of random folds.
    omega
        Ratio of the priors of mated and non-mated pairs in linkability.
    """

    linkability: LinkabilityMethod = "density"
    dcf_prior: float = 0.05
    seed: int = 0
    omega: float = 1.0


class PairView(ABC):
    """Two classes of scores as counts, from which one-to-one measures are computed.

    Measures are functions of a view, so that one definition serves the value, its interval and its null.

    Parameters
    ----------
    counts
        Targets and non-targets per atom, in ascending order of score.
    settings
        Settings of the measures.
    closed_set
        The same of the pairs of a closed-set search, where it leaves out some of these.
    """

    llrs: Llrs | None = (
        None  # in any order: given, or by a calibration on other people; scores are taken as LLRs without
    )
    given: bool = False  # whether the LLRs are the scores themselves

    def __init__(self, counts: Counts, settings: PairSettings, closed_set: Counts | None = None) -> None:
        self.counts, self.settings, self.closed_set = counts, settings, closed_set

    @cached_property
    def blocks(self) -> Blocks:
        """PAV blocks."""
        return pool(self.counts)

    @cached_property
    def laplace(self) -> Blocks:
        """PAV blocks by Laplace's rule."""
        return pool_laplace(self.blocks)

    @abstractmethod
    def class_means(self, name: str) -> tuple[float, float] | None:
        """Means of a measure's cost of single scores over targets and non-targets; None where scores are not known."""

    @abstractmethod
    def linkability(self) -> float:
        """Linkability by the estimator of the settings."""

    def nonmated_linkability(self) -> float | None:
        """The same of non-mated pairs; None where it is not computed."""
        return None


def describe_llrs(view: PairView) -> str:
    """Say of which LLRs an actual measure is."""
    if view.llrs is None:
        return "scores as LLRs"
    return "LLRs as given" if view.given else "logistic on other people"


@dataclass(frozen=True, slots=True, eq=False)
class NameCounts:
    """How often names come up in a search, an entry for each person who has trials; means where it was repeated.

    Parameters
    ----------
    trials
        Number of the person's trials.
    named
        Number of these on which the person's name came first, strictly above all others.
    compared
        Number of other people's trials that were compared with the person.
    falsely
        Number of these on which the person's name came first.
    """

    trials: IntArray | FloatArray
    named: IntArray | FloatArray
    compared: IntArray | FloatArray
    falsely: IntArray | FloatArray


@dataclass(frozen=True, slots=True)
class Line:
    """Weight and bias of the calibration of a search, as means over its trials; no bias where none was fitted."""

    weight: float
    bias: float | None


@dataclass(frozen=True, slots=True, eq=False)
class SearchView:
    """Sums over the trials of a search, for one or several replicates at once: every array has a replicate per row.

    Parameters
    ----------
    identities
        Enrolled people.
    trials
        Number of trials.
    lid
        Sum of LID.
    positive
        Number of trials with positive LID.
    lid_positive
        Sum of positive LID.
    first
        Number of trials at rank 1, ties in equal parts.
    linked
        Number of trials whose true identity scored strictly above all others.
    ranks
        Share of trials at each rank that occurs; None where that table would be too large.
    highest
        The largest LID; None where it is not asked for, as in replicates: a maximum has no interval.
    prior_free
        Sum of LID averaged over all priors; None where it is not computed.
    singled
        Number of trials whose predicate fired on exactly one identity; None where these were not counted.
    names
        How often each person's name came first, of one replicate; None where these were not counted.
    line
        Weight and bias of the calibration, of one replicate; None where it is no straight line.
    refitted
        Whether the calibration was fitted again without the people who are left out.
    """

    identities: int
    trials: FloatArray
    lid: FloatArray
    positive: FloatArray
    lid_positive: FloatArray
    first: FloatArray
    linked: FloatArray
    ranks: FloatArray | None
    highest: FloatArray | None = None
    prior_free: FloatArray | None = None
    singled: FloatArray | None = None
    names: NameCounts | None = None
    line: Line | None = None
    refitted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class AttributeView:
    """Vectors and the label of each."""

    vectors: FloatArray
    labels: StrArray
    seed: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityView:
    """Voice similarity matrices of original speech, and of the comparison with it."""

    original: FloatArray
    compared: FloatArray
    enrolment: str  # of the compared ones: original or anonymised


def least_above_half(trials: int, level: float = LEVEL) -> float:
    """Return the lowest rate of so many independent trials whose interval is above one half (Clopper and Pearson).

    Examples
    --------
    >>> [round(least_above_half(trials), 2) for trials in (5, 6, 30, 1000)]
    [1.2, 1.0, 0.7, 0.53]
    """
    most = float(bdtrik((1.0 + level) / 2.0, trials, 0.5))  # errors that half of the trials explains
    return (ceil(most) + 1) / trials


def _are_swapped(target: FloatArray, nontarget: FloatArray) -> bool:
    """Return whether the EER is above one half beyond the interval of independent scores."""
    rate = least_above_half(min(len(target), len(nontarget)))
    return rate <= 1.0 and are_reversed(target, nontarget, rate)


_DECISIONS = (
    "all scores are 0 or 1: decisions, or labels; expected scores, since decisions have one error rate of each kind"
)
_SWAPPED = (
    "the EER exceeds 50 % by more than chance explains for independent scores: are targets and non-targets swapped, or "
    "lower scores those of targets?"
)
P = ParamSpec("P")
T = TypeVar("T")


class CheckedMeasure(Protocol[P, T]):
    """A measure that checks its arguments, with the computation alone for scores that were checked where they came in.

    Where the latter are decisions or swapped, evaluations have flags.
    """

    unchecked: Callable[Concatenate[FloatArray, FloatArray, P], T]

    def __call__(self, target: ArrayLike, nontarget: ArrayLike, *args: P.args, **options: P.kwargs) -> T:
        """Check the arguments, and compute."""


def takes_scores(
    function: Callable[Concatenate[FloatArray, FloatArray, P], T], *, directed: bool = True
) -> CheckedMeasure[P, T]:
    """Let a measure of target and non-target arrays take lists, arrays, series and tensors.

    NaN, text, booleans, labels, empty arrays and more than one dimension are refused; infinite scores are accepted.
    Where scores are decisions, or the classes seem to be swapped, a `UserWarning` says so, except for measures that are
    not `directed`: to these, low scores may speak for targets.
    """

    @wraps(function)
    def checked(target: ArrayLike, nontarget: ArrayLike, *args: P.args, **options: P.kwargs) -> T:
        tar, non = check_scores(target, "target"), check_scores(nontarget, "nontarget")
        check_classes(tar, non)
        swapped = directed and _are_swapped(tar, non)
        doubt = _DECISIONS if are_decisions(tar, non) else _SWAPPED if swapped else None
        if doubt is not None:
            warnings.warn(doubt, stacklevel=2)
        return function(tar, non, *args, **options)

    measure: Any = checked
    measure.unchecked = function
    return measure  # type: ignore[no-any-return]
