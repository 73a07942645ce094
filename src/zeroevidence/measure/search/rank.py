"""Ranks in a search: what the rank of the true identity discloses, and whose names come first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal

import numpy as np

from zeroevidence._scipy import bdtrc
from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.views import NameCounts, SearchView

RankMethod = Literal["histogram", "beta-binomial"]
NAMED_SHARE = 0.8  # of a person's recordings
LEAST_RECORDINGS = 2
LISTED_RECORDINGS = 5  # of people who are listed by name; fewer tell too little of one person
_SIGNIFICANCE = 0.01
_HAIR = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class RankDisclosure:
    """Distribution of the true identity's rank and what it discloses, in bits."""

    gamma: FloatArray  # probability of rank 1, 2, ..., N
    mean: float  # sum of gamma_k log2(N gamma_k)
    max: float
    identification_rate: float  # gamma_1
    share_above_chance: float  # share of ranks with gamma_k > 1 / N


def rank_distribution(greater: IntArray, equal: IntArray, identities: int) -> FloatArray:
    """Share of trials at each rank; a trial tied with e others counts 1 / (e + 1) at each of the ranks they hold."""
    # Equal parts over a run of ranks: differences at the ends, then a running sum.
    edges = np.zeros(identities + 1)
    part = 1.0 / (equal + 1.0)
    np.add.at(edges, greater, part)
    np.add.at(edges, greater + equal + 1, -part)
    share = np.cumsum(edges[:-1]) / len(greater)
    # what is left of sums that should cancel is no probability
    share[share < 1e-12 / len(greater)] = 0.0
    return share


def rank_disclosure(
    greater: IntArray, equal: IntArray, identities: int, *, method: RankMethod = "histogram"
) -> RankDisclosure:
    """Disclosure by rank, from the counts of identities above and beside the true one [Bäckström et al. 2026].

    With gamma_k the probability that the true identity has rank k, a trial at rank k discloses log2(N gamma_k). Tied
    identities share their ranks in equal parts, so the mean rank stands and a row of equal scores discloses nothing.

    `histogram` counts ranks; `beta-binomial` fits rank - 1 ~ BetaBin(N - 1, a, b) by maximum likelihood, which smooths
    over the ranks that few trials could not fill.
    """
    share = rank_distribution(greater, equal, identities)
    if method == "histogram":
        gamma = share
    elif method == "beta-binomial":
        gamma = _beta_binomial(share, len(greater))
    else:
        raise UsageError(f"unknown rank method {method!r}; expected histogram or beta-binomial")
    used = gamma > 0.0
    bits = np.log2(identities * gamma[used])
    return RankDisclosure(
        gamma=gamma,
        mean=float(gamma[used] @ bits),
        max=float(bits.max()),
        identification_rate=float(gamma[0]),
        share_above_chance=float((gamma > (1.0 + 1e-12) / identities).mean()),
    )


def _beta_binomial(share: FloatArray, n_trials: int) -> FloatArray:
    # slow to import, and seldom asked for
    from scipy.optimize import minimize
    from scipy.special import betaln, gammaln

    n = len(share) - 1
    k = np.arange(n + 1.0)
    choose = gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0)

    def log_pmf(log_ab: FloatArray) -> FloatArray:
        a, b = np.exp(log_ab)
        return np.asarray(choose + betaln(k + a, n - k + b) - betaln(a, b))

    # The bounds keep a point mass (all trials at rank 1) finite.
    bound = float(np.log(1e6))

    def loss(log_ab: FloatArray) -> float:
        return -float(share @ log_pmf(log_ab)) * n_trials

    result = minimize(loss, [0.0, 0.0], bounds=[(-bound, bound), (-bound, bound)], tol=1e-13)
    return np.exp(log_pmf(result.x))


def cmc(greater: IntArray, equal: IntArray, identities: int) -> FloatArray:
    """Cumulative match characteristic: probability that the true identity is among the first 1, 2, ..., N."""
    return np.minimum(1.0, np.cumsum(rank_distribution(greater, equal, identities)))


def guessing_rate(counts: Mapping[str, int]) -> float:
    """Return how often one and the same name for every recording is right at best, by the counts of a row.

    Without the number of recordings of the commonest speaker (`most_trials`) it is one in the number of identities.

    Examples
    --------
    >>> guessing_rate({"identities": 4, "trials": 32, "most_trials": 11}), guessing_rate({"identities": 4})
    (0.34375, 0.25)
    """
    return max(1.0 / counts["identities"], counts.get("most_trials", 0) / counts.get("trials", 1))


first_rank_measure = partial(search_measure, unit="rate", chance=guessing_rate)
_rank_measure = partial(
    search_measure,
    unit="bit",
    high_note="log2 N",
    by_odds=False,
    null=True,
    method="histogram",
    references=("backstrom2026",),
)


@first_rank_measure("top1", "top-1", place=70, headline=14, null=True, tested=True, references=("sterns2026",))
def _top1(view: SearchView) -> FloatArray:
    """Share of utterances whose speaker scores highest in the search; ties count in equal parts."""
    return view.first / view.trials


def _bits(view: SearchView) -> FloatArray | None:
    """Return what each rank discloses in bits; -inf for ranks that do not occur."""
    if view.ranks is None:
        return None
    with np.errstate(divide="ignore"):
        return np.where(view.ranks > 0.0, np.log2(view.identities * view.ranks), -np.inf)


@_rank_measure("mean_rank_disclosure", "mean rank disclosure", place=80, interval="entropy")
def _mean_rank_disclosure(view: SearchView) -> FloatArray | None:
    """What the rank of the speaker in the sorted list reveals, on average."""
    bits = _bits(view)
    if bits is None or view.ranks is None:
        return None
    with np.errstate(invalid="ignore"):  # a rank that does not occur counts nothing
        return np.asarray(np.where(view.ranks > 0.0, view.ranks * bits, 0.0).sum(axis=1))


@_rank_measure("max_rank_disclosure", "max rank disclosure", place=90, interval=None)
def _max_rank_disclosure(view: SearchView) -> FloatArray | None:
    """What the most informative rank in the sorted list reveals."""
    bits = _bits(view)
    return None if bits is None else bits.max(axis=1)


@first_rank_measure("identification_rate", "identification rate", place=100, references=("backstrom2026",))
def _identification_rate(view: SearchView) -> FloatArray:
    """Probability that the speaker has rank 1 in the sorted list."""
    return view.first / view.trials


def first_identity(scores: FloatArray) -> IntArray:
    """Return the column that scores strictly above all others in each row; -1 where none does.

    Examples
    --------
    >>> first_identity(np.array([[0.1, 0.9, 0.2], [0.5, 0.5, 0.1]])).tolist()
    [1, -1]
    """
    alone = np.count_nonzero(scores == scores.max(axis=1, keepdims=True), axis=1) == 1
    return np.where(alone, scores.argmax(axis=1), -1)


def count_names(speaker: IntArray, first: IntArray, people: IntArray, compared: IntArray | None = None) -> NameCounts:
    """Return how often the name of each person came first.

    Parameters
    ----------
    speaker
        Number of the speaker of each trial.
    first
        Number of the identity that came first on each trial; -1 where none did.
    people
        Numbers of the people to count, of those who have trials.
    compared
        With how many trials of others each of these people was compared; with all of them unless given.
    """
    size = int(max(speaker.max(initial=0), first.max(initial=0), people.max(initial=0))) + 1
    trials = np.bincount(speaker, minlength=size)[people]
    right = np.bincount(speaker[first == speaker], minlength=size)[people]
    times = np.bincount(first[first >= 0], minlength=size)[people]
    others = len(speaker) - trials if compared is None else compared
    return NameCounts(trials, right, others, times - right)


def join_names(parts: Sequence[NameCounts], people: Sequence[IntArray]) -> NameCounts:
    """Return the counts of several folds of people as one, as means over the folds that a person is in.

    Parameters
    ----------
    parts
        The counts of each fold.
    people
        The number of the person of each entry.

    Examples
    --------
    >>> first, second = NameCounts([4], [3], [8], [0]), NameCounts([4, 5], [4, 1], [9, 8], [1, 0])
    >>> join_names([first, second], [np.array([0]), np.array([0, 1])]).named.tolist()
    [3.5, 1.0]
    """
    _, person, times = np.unique(np.concatenate(people), return_inverse=True, return_counts=True)
    columns = (np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(NameCounts))
    return NameCounts(*(np.bincount(person, column) / times for column in columns))


def countable_people(counts: NameCounts) -> BoolArray:
    """Return who has enough recordings to be counted: two."""
    return np.asarray(counts.trials >= LEAST_RECORDINGS)


def named_people(counts: NameCounts) -> BoolArray:
    """Return who is named: in at least 80 % of their recordings, and more often than in those of others.

    An average over recordings hides a single person who is recognised every time. A name that comes up for everybody
    names nobody, so a person counts only if the name is put to their recordings more often than to those of others.

    "More often" is a binomial test at 1 %, with the rate at which the name comes up for others.

    Examples
    --------
    >>> counts = NameCounts(*np.array([[5, 5, 1, 4], [4, 5, 1, 2], [90] * 4, [0, 60, 0, 0]]))
    >>> named_people(counts).tolist()  # the second is a name for everybody, the third has one recording
    [True, False, False, False]
    """
    enough = countable_people(counts) & (counts.named >= NAMED_SHARE * counts.trials - _HAIR)
    rate = np.minimum(counts.falsely / np.maximum(counts.compared, 1.0), 1.0)
    by_chance = _tail(np.rint(counts.trials), np.floor(counts.named + _HAIR), rate)
    return np.asarray(enough & (by_chance <= _SIGNIFICANCE))


def named_by_guessing(trials: IntArray | FloatArray, identities: int) -> float:
    """Return the share of people whom guesses would name in at least 80 % of their recordings.

    Examples
    --------
    >>> round(named_by_guessing(np.array([2, 2]), 10), 12)
    0.01
    """
    held = np.rint(trials[trials >= LEAST_RECORDINGS])
    return float(_tail(held, np.ceil(NAMED_SHARE * held - _HAIR), 1.0 / identities).mean()) if len(held) else 0.0


def _tail(trials: FloatArray, least: FloatArray, rate: FloatArray | float) -> FloatArray:
    """Probability of at least so many successes."""
    return np.asarray(bdtrc(least - 1.0, trials.astype(np.int64), rate))


def _describe_guessing(view: SearchView) -> str:
    guessing = 0.0 if view.names is None else named_by_guessing(view.names.trials, view.identities)
    return f"guessing {guessing:.2g}"


@search_measure(
    "people_named",
    "people named",
    unit="rate",
    place=5,
    headline=19,
    interval=None,
    null=True,
    method=_describe_guessing,
    references=("clopper1934",),
)
def _people_named(view: SearchView) -> FloatArray | None:
    """Share of people to whom at least 80 % of their recordings, and few of other people's, are attributed."""
    if view.names is None or not (people := np.count_nonzero(countable_people(view.names))):
        return None
    return np.array([np.count_nonzero(named_people(view.names)) / people])
