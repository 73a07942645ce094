"""Linkability and singling out by a search, from one recording of a speaker and from several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zeroevidence._scipy import gammaln
from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import count_rows, row_blocks, speaker_folds
from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.measures import search_measure
from zeroevidence.measure.search import disclosure
from zeroevidence.measure.search.rank import first_rank_measure
from zeroevidence.measure.softplus import LN2
from zeroevidence.measure.views import SearchView

_BLOCK = 1 << 14  # numbers of identities below, at all sizes at once
NUMBERS = (1, 2, 3, 5, 10, 20, 50, 100)  # of recordings that are tried
_CANDIDATES = 13  # values of r that are tried: from copies to independence, in equal ratios of the number that counts
_FIT_LIMIT = 2_000_000  # scores that r is fitted on


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


def singled_out(rows: FloatArray, development: FloatArray) -> IntArray:
    """1 for each row on which a predicate with a threshold from other scores fires exactly once, else 0."""
    fires = firing_counts(rows, firing_threshold(development, rows.shape[1]))
    return np.asarray(fires == 1, dtype=np.int64)


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
    """Singling out among n of the N identities, drawn at random, with the threshold set for n [Vauquier et al. 2025].

    Linkage succeeds when the true identity scores strictly above every other; by chance it does so once in N. Singling
    out succeeds when a predicate, here "scores above a threshold", fires on exactly one of N entries, right or not; a
    predicate that fires independently with probability 1 / N does so with probability (1 - 1 / N)^(N - 1): a half of 2
    entries, and hardly more than 1 / e of many.

    Curves over the number of identities are expectations over all random subsets, computed exactly by counting instead
    of drawing some.
    """
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


@first_rank_measure(
    "link_probability", "link probability", place=110, headline=120, null=True, references=("vauquier2025",)
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
    chance=lambda counts: singling_out_by_chance(counts["identities"]),
    references=("vauquier2025",),
)
def _singling_out(view: SearchView) -> FloatArray | None:
    """How often a threshold selects exactly one person, right or not; by chance in 37 % of searches among many."""
    return None if view.singled is None else view.singled / view.trials


@dataclass(frozen=True, slots=True, eq=False)
class FusedEvidence:
    """Evidence of each trial together with further recordings of its speaker.

    Parameters
    ----------
    k
        Number of recordings that the attacker has; of speakers with fewer, all of them.
    lid
        Disclosure in bits.
    greater
        Number of identities that score higher than the true one.
    equal
        Number of other identities that score the same.
    singled
        1 where the predicate fires on exactly one identity.
    """

    k: int
    lid: FloatArray
    greater: IntArray
    equal: IntArray
    singled: IntArray


def recording_counts(mated: IntArray) -> list[int]:
    """Return the numbers of recordings that at least half of the speakers have; 1 is always among them.

    Examples
    --------
    >>> recording_counts(np.array([0, 0, 0, 1, 1, 1, 2]))
    [1, 2, 3]
    """
    return [k for k in NUMBERS if _half_have(mated, k)]


def _half_have(mated: IntArray, k: int) -> bool:
    """Whether at least half of the speakers have k recordings."""
    recordings = np.unique(mated, return_counts=True)[1]
    return bool(2 * np.count_nonzero(recordings >= k) >= len(recordings))


def fused_sums(llrs: FloatArray, mated: IntArray, k: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Each trial's LLRs added to those of k - 1 others of its speaker, and how many trials went into the sum.

    A speaker's trials are laid out in a random circle and each is taken with those that follow it, so a larger k adds
    to the trials of a smaller one. Of a speaker with fewer trials all are taken.
    """
    if k < 1:
        raise UsageError(f"expected numbers of recordings of at least 1, got {k}")
    rng = np.random.default_rng(seed)
    order = np.argsort(mated, kind="stable")
    fused, size = np.empty(llrs.shape), np.empty(len(mated), dtype=np.int64)
    for of_speaker in np.split(order, np.flatnonzero(np.diff(mated[order])) + 1):
        trials = rng.permutation(of_speaker)
        n, used = len(trials), min(k, len(trials))
        circle = llrs[np.concatenate((trials, trials[: used - 1]))]
        before = np.concatenate((np.zeros((1, llrs.shape[1])), np.cumsum(circle, axis=0)))
        fused[trials] = before[used : used + n] - before[:n]
        size[trials] = used
    return fused, size


def shrinkage(size: IntArray, shared: float) -> FloatArray:
    """The factor of a sum of LLRs of recordings that have the part `shared` in common."""
    return np.asarray(1.0 / (1.0 + (size - 1.0) * shared))


def lid_of_llrs(llrs: FloatArray, mated: IntArray, log_prior: FloatArray | None = None) -> FloatArray:
    """LID in bits of calibrated rows; the prior is uniform unless given."""
    return disclosure.lid_of_llrs(llrs, mated, log_prior) / LN2


def fuse_recordings(
    llrs: FloatArray,
    mated: IntArray,
    *,
    ks: Sequence[int] | None = None,
    dev: tuple[FloatArray, IntArray] | None = None,
    log_prior: FloatArray | None = None,
    seed: int = 0,
) -> list[FusedEvidence]:
    """Return the evidence of k recordings of one speaker together, for each k.

    LLRs of k independent recordings add up. Recordings of one person are not independent: they share the room, the
    microphone, the mood, and what the protection makes of the voice. The sum of their LLRs is therefore divided by 1 +
    (k - 1) r, where r is what they have in common: 0 for independent recordings, 1 for copies of one. This is exact for
    Gaussian scores whose noise has the correlation r between recordings; elsewhere it is the shrunken sum with the
    highest likelihood. r is fitted on development people or, without them, on other people than those it is used for.

    An attacker may use fewer recordings than are available. How many are used is chosen on the same other people.

    Parameters
    ----------
    llrs
        Calibrated rows.
    mated
        Their mated columns; trials with the same mated column are of one speaker.
    ks
        Numbers of recordings, the smallest first; those of `recording_counts` unless given.
    dev
        Rows of development people. They are used where at least half of them have as many recordings as the largest k;
        otherwise the dependence is fitted on the evaluated people, fold by fold on the others.
    log_prior
        Logarithm of the prior over identities; uniform unless given.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mated = np.repeat(np.arange(8), 6)
    >>> rows = rng.normal(-0.5, 1.0, (48, 8)) + np.eye(8)[mated]
    >>> single, three = fuse_recordings(rows, mated, ks=(1, 3))
    >>> bool(three.lid.mean() > single.lid.mean())
    True
    """
    ks = recording_counts(mated) if ks is None else list(ks)
    if dev is not None and not _half_have(dev[1], max(ks)):
        dev = None
    if dev is not None:
        folds = [np.arange(len(mated))]
        chosen = [[_Fit.tried(*dev, k, seed).best()] for k in ks]
    else:
        folds = speaker_folds(mated, seed=seed)
        fits = [_Fit.tried(llrs, mated, k, seed, log_prior) for k in ks]
        chosen = [[fit.best(mated[rows]) for rows in folds] for fit in fits]

    def together(k: int, fits: Sequence[tuple[float, float]]) -> FusedEvidence:
        """All trials with k - 1 others each, every fold with its own dependence."""
        sums, size = fused_sums(llrs, mated, k, seed)
        dev_sums = None if dev is None else fused_sums(*dev, k, seed)
        scaled, singled = np.empty(llrs.shape), np.empty(len(mated), dtype=np.int64)
        for rows, (shared, _) in zip(folds, fits, strict=True):
            scaled[rows] = sums[rows] * shrinkage(size[rows], shared)[:, None]
            elsewhere, sizes = (np.delete(sums, rows, axis=0), np.delete(size, rows)) if dev_sums is None else dev_sums
            threshold = firing_threshold(elsewhere * shrinkage(sizes, shared)[:, None], llrs.shape[1])
            singled[rows] = firing_counts(scaled[rows], threshold) == 1
        true = scaled[np.arange(len(mated)), mated][:, None]
        greater, equal = np.count_nonzero(scaled > true, axis=1), np.count_nonzero(scaled == true, axis=1) - 1
        return FusedEvidence(k, lid_of_llrs(scaled, mated, log_prior), greater, equal, singled)

    fused = list(map(together, ks, chosen))
    return [_using_fewer(fused[: place + 1], folds, chosen) for place in range(len(ks))]


@dataclass(frozen=True, slots=True, eq=False)
class _Fit:
    """Mean LID of each person, a row for each candidate of what recordings have in common, the most cautious first."""

    shared: FloatArray
    lid: FloatArray
    people: IntArray

    @classmethod
    def tried(cls, llrs: FloatArray, mated: IntArray, k: int, seed: int, log_prior: FloatArray | None = None) -> _Fit:
        """All candidates for k recordings."""
        fused, size = fused_sums(llrs, mated, k, seed)
        trial = np.arange(len(mated))
        most = max(1, _FIT_LIMIT // llrs.shape[1])
        if len(trial) > most:
            trial = np.sort(np.random.default_rng((seed, k)).choice(len(mated), most, replace=False))
        fused, size, mated = fused[trial], size[trial], mated[trial]
        people, index, trials = np.unique(mated, return_inverse=True, return_counts=True)
        shared = np.array([1.0]) if k == 1 else (k / k ** np.linspace(0.0, 1.0, _CANDIDATES) - 1.0) / (k - 1.0)
        lid = [
            np.bincount(index, weights=lid_of_llrs(fused * shrinkage(size, r)[:, None], mated, log_prior)) / trials
            for r in shared
        ]
        return cls(shared, np.array(lid), people)

    def best(self, left_out: IntArray | None = None) -> tuple[float, float]:
        """What to count as shared, going by the people who are not left out, and the disclosure that it gives.

        It is the most cautious candidate that is no more than a standard error below the best: few people do not show
        how far the next one may be off.
        """
        used = slice(None) if left_out is None else np.isin(self.people, left_out, invert=True)
        means = self.lid[:, used].mean(axis=1)
        lost = self.lid[int(means.argmax()), used] - self.lid[:, used]
        error = lost.std(axis=1) / np.sqrt(lost.shape[1])
        at = int(np.argmax(lost.mean(axis=1) <= error))
        return float(self.shared[at]), float(means[at])


def _using_fewer(
    fused: Sequence[FusedEvidence], folds: Sequence[IntArray], chosen: Sequence[Sequence[tuple[float, float]]]
) -> FusedEvidence:
    """Return the evidence of the number of recordings that was best on other people, at most those of the last."""
    last = fused[-1]
    columns = {name: getattr(last, name).copy() for name in ("lid", "greater", "equal", "singled")}
    for place, rows in enumerate(folds):
        best = fused[int(np.argmax([fits[place][1] for fits in chosen[: len(fused)]]))]
        for name, column in columns.items():
            column[rows] = getattr(best, name)[rows]
    return FusedEvidence(last.k, **columns)
