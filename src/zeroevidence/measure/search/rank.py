"""Rank disclosure: evidence in the rank of the true identity [Bäckström et al. 2026]; CMC.

With gamma_k the probability that the true identity has rank k, a trial at rank k discloses log2(N gamma_k). Tied
identities share their ranks in equal parts, so the mean rank stands and a row of equal scores discloses nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.views import SearchView

RankMethod = Literal["histogram", "beta-binomial"]


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
    """Disclosure by rank, from the counts of identities above and beside the true one.

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
        pmf: FloatArray = choose + betaln(k + a, n - k + b) - betaln(a, b)
        return pmf

    # The bounds keep a point mass (all trials at rank 1) finite.
    bound = float(np.log(1e6))

    def loss(log_ab: FloatArray) -> float:
        return -float(share @ log_pmf(log_ab)) * n_trials

    result = minimize(loss, [0.0, 0.0], bounds=[(-bound, bound), (-bound, bound)], tol=1e-13)
    return np.exp(log_pmf(result.x))


def cmc(greater: IntArray, equal: IntArray, identities: int) -> FloatArray:
    """Cumulative match characteristic: probability that the true identity is among the first 1, 2, ..., N."""
    return np.minimum(1.0, np.cumsum(rank_distribution(greater, equal, identities)))


def guessing_rate(identities: int) -> float:
    """Return how often a guess is right in a search."""
    return 1.0 / identities


def describe_chance(view: SearchView) -> str:
    """Describe the rate of right guesses."""
    return f"chance {guessing_rate(view.identities):.4g}"


@search_measure(
    "top1",
    "top-1",
    unit="rate",
    place=70,
    headline=14,
    method=describe_chance,
    chance=guessing_rate,
    references=("sterns2026",),
)
def _top1(view: SearchView) -> FloatArray:
    """Share of utterances whose speaker scores highest in the search; ties count in equal parts."""
    return view.first / view.trials


def _bits(view: SearchView) -> FloatArray | None:
    """Return what each rank discloses in bits; -inf for ranks that do not occur."""
    if view.ranks is None:
        return None
    with np.errstate(divide="ignore"):
        return np.where(view.ranks > 0.0, np.log2(view.identities * view.ranks), -np.inf)


@search_measure(
    "mean_rank_disclosure",
    "mean rank disclosure",
    unit="bit",
    high_note="log2 N",
    place=80,
    interval="entropy",
    null=True,
    method="histogram",
    references=("backstrom2026",),
)
def _mean_rank_disclosure(view: SearchView) -> FloatArray | None:
    """What the rank of the speaker in the sorted list reveals, on average."""
    bits = _bits(view)
    if bits is None or view.ranks is None:
        return None
    with np.errstate(invalid="ignore"):  # a rank that does not occur counts nothing
        total: FloatArray = np.where(view.ranks > 0.0, view.ranks * bits, 0.0).sum(axis=1)
    return total


@search_measure(
    "max_rank_disclosure",
    "max rank disclosure",
    unit="bit",
    high_note="log2 N",
    place=90,
    interval="extreme",
    null=True,
    method="histogram",
    references=("backstrom2026",),
)
def _max_rank_disclosure(view: SearchView) -> FloatArray | None:
    """What the most informative rank in the sorted list reveals."""
    bits = _bits(view)
    return None if bits is None else bits.max(axis=1)


@search_measure(
    "identification_rate",
    "identification rate",
    unit="rate",
    place=100,
    method=describe_chance,
    chance=guessing_rate,
    references=("backstrom2026",),
)
def _identification_rate(view: SearchView) -> FloatArray:
    """Probability that the speaker has rank 1 in the sorted list."""
    return view.first / view.trials
