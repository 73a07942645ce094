"""Linkability and singling out in the legal sense, for a search [Vauquier et al. 2025].

Linkage succeeds when the true identity scores strictly above every other; by chance it does so once in N. Singling out
succeeds when a predicate, here "scores above a threshold", fires on exactly one of N entries, right or not; a predicate
that fires independently with probability 1 / N does so with probability (1 - 1 / N)^(N - 1): a half of 2 entries, and
hardly more than 1 / e of many.

Curves over the number of identities are expectations over all random subsets, computed exactly by counting instead of
drawing some.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import count_rows, row_blocks
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.search.rank import describe_chance, guessing_rate
from zeroevidence.measure.views import SearchView

_BLOCK = 1 << 14  # numbers of identities below, at all sizes at once


@dataclass(frozen=True, slots=True, eq=False)
class SizeCurve:
    """A measure over the number of identities, and its chance level at each."""

    x: IntArray
    y: FloatArray
    baseline: FloatArray


def link_probability(greater: IntArray, equal: IntArray) -> float:
    """Share of trials whose true identity scores strictly above every other; chance is 1 / N."""
    return float(((greater == 0) & (equal == 0)).mean())


def link_curve(greater: IntArray, equal: IntArray, identities: int, sizes: Sequence[int] | None = None) -> SizeCurve:
    """Link probability in a search through n of the N identities, the true one and n - 1 others drawn at random."""
    x = check_sizes(identities, sizes)
    below, trials = np.unique(identities - 1 - greater - equal, return_counts=True)
    linked = np.zeros(len(x))
    for start in range(0, len(below), _BLOCK):
        part = slice(start, start + _BLOCK)
        # P(all n - 1 others are drawn from those below), a hypergeometric probability per trial
        chance = np.exp(_log_choose(below[part, None], x - 1) - _log_choose(np.array(identities - 1), x - 1))
        linked += trials[part] @ chance
    return SizeCurve(x, linked / len(greater), 1.0 / x)


def firing_threshold(scores: FloatArray, size: int) -> float:
    """The threshold that one in `size` of the entries exceeds; entries equal to it do not fire."""
    firing = scores.size // size
    if firing < 1:
        raise InputError(f"singling out: expected at least {size} calibration scores, got {scores.size}")
    return _nth_largest(scores, firing + 1)


def _nth_largest(scores: FloatArray, n: int) -> float:
    """The n-th largest entry, without a sorted copy: a sample bounds it from below, few candidates are left to sort."""
    flat = scores.reshape(-1) if scores.flags.c_contiguous else None
    if n > scores.size:
        return -np.inf
    if flat is None or scores.size < 1 << 20 or n > scores.size // 4:
        return float(np.partition(scores, scores.size - n, axis=None)[scores.size - n])
    stride = max(1, scores.size >> 18)
    sample = np.sort(flat[::stride])[::-1]
    guess = sample[min(len(sample) - 1, int(1.3 * n / stride) + 100)]
    step = 1 << 18
    candidates = [part[part >= guess] for part in (flat[i : i + step] for i in range(0, len(flat), step))]
    top = np.concatenate(candidates)
    if len(top) < n:  # an unlucky sample
        top = flat
    return float(np.partition(top, len(top) - n)[len(top) - n])


def firing_counts(scores: FloatArray, threshold: float) -> IntArray:
    """How many entries of each row exceed the threshold."""
    counts = np.empty(len(scores), dtype=np.int64)
    for rows in row_blocks(*scores.shape):
        counts[rows] = count_rows(np.greater, scores[rows], threshold)
    return counts


def singling_out_by_chance(identities: int) -> float:
    """How often a predicate that fires at random on one in N entries fires on exactly one of N.

    Examples
    --------
    >>> [round(singling_out_by_chance(n), 2) for n in (2, 4, 8, 1000)]
    [0.5, 0.42, 0.39, 0.37]
    """
    return float((1.0 - 1.0 / identities) ** (identities - 1))


def singling_out(scores: FloatArray, calibration: FloatArray) -> float:
    """Share of trials whose predicate fires on exactly one identity; its threshold is set on other scores."""
    return float((firing_counts(scores, firing_threshold(calibration, scores.shape[1])) == 1).mean())


def singling_out_curve(scores: FloatArray, calibration: FloatArray, sizes: Sequence[int] | None = None) -> SizeCurve:
    """Singling out among n of the N identities, drawn at random, with the threshold set for n."""
    identities = scores.shape[1]
    x = check_sizes(identities, sizes)
    y = []
    for size in x:
        fires = firing_counts(scores, firing_threshold(calibration, int(size)))
        # P(exactly one of the firing entries is drawn)
        ways = _log_choose(identities - fires, size - 1) - _log_choose(np.array(identities), size)
        y.append(float((fires * np.exp(ways)).mean()))
    return SizeCurve(x, np.array(y), np.array([singling_out_by_chance(int(size)) for size in x]))


def check_sizes(identities: int, sizes: Sequence[int] | None) -> IntArray:
    """Sizes within 2..N; powers of two and N itself unless given."""
    if sizes is None:
        sizes = sorted({*(2**i for i in range(1, identities.bit_length()) if 2**i <= identities), identities})
    x = np.asarray(sizes, dtype=np.int64)
    if len(x) == 0 or x.min() < 2 or x.max() > identities:
        raise InputError(f"expected numbers of identities from 2 to {identities}, got {list(sizes)}")
    return x


def _log_choose(n: IntArray, k: IntArray) -> FloatArray:
    """Logarithm of the binomial coefficient, -inf where k > n."""
    possible = k <= n
    safe = np.where(possible, n, k)
    return np.where(possible, gammaln(safe + 1.0) - gammaln(k + 1.0) - gammaln(safe - k + 1.0), -np.inf)


@search_measure(
    "link_probability",
    "link probability",
    unit="rate",
    place=110,
    headline=120,
    null=True,
    method=describe_chance,
    chance=guessing_rate,
    references=("vauquier2025",),
)
def _link_probability(view: SearchView) -> FloatArray:
    """Linkability in the legal sense: the speaker scores strictly above everybody else; by chance once in N."""
    return view.linked / view.trials


@search_measure(
    "singling_out",
    "singling out",
    unit="rate",
    place=120,
    method=lambda view: f"chance {singling_out_by_chance(view.identities):.4g}",
    chance=singling_out_by_chance,
    references=("vauquier2025",),
)
def _singling_out(view: SearchView) -> FloatArray | None:
    """How often a threshold selects exactly one person, right or not; by chance in 37 % of searches among many."""
    return None if view.singled is None else view.singled / view.trials
