"""Longitudinal disclosure: what k utterances of one unknown speaker tell together.

Their rows of LLRs are summed before the softmax. Utterances of one person are not independent, so a sum overstates;
a temperature T divides it: 1 (`sum`), k (`mean`), or the one with the highest likelihood on development data
(`fitted`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import minimize_scalar

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.calibrate.rows import speaker_folds
from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.singling import firing_counts, firing_threshold
from zeroevidence.measure.softplus import LN2

Temperature = Literal["sum", "mean", "fitted"]


@dataclass(frozen=True, slots=True, eq=False)
class LongitudinalCurve:
    """Disclosure in bits over the number of utterances; sizes that too few utterances allow are left out."""

    k: IntArray
    alid: FloatArray
    lid_max: FloatArray
    link_probability: FloatArray
    groups: IntArray
    temperature: FloatArray


def group_utterances(speakers: IntArray, k: int, rng: np.random.Generator) -> IntArray:
    """Disjoint groups of k trials of one speaker each, dealt at random; shape (groups, k)."""
    groups = []
    for speaker in np.unique(speakers):
        own = rng.permutation(np.flatnonzero(speakers == speaker))
        groups.append(own[: len(own) // k * k].reshape(-1, k))
    return np.concatenate(groups)


def longitudinal(
    llrs: FloatArray,
    mated: IntArray,
    *,
    ks: Sequence[int] = (1, 2, 4, 8, 16),
    temperature: Temperature = "mean",
    dev: tuple[FloatArray, IntArray] | None = None,
    seed: int = 0,
) -> LongitudinalCurve:
    """Disclosure of groups of k utterances fused by their LLRs.

    Parameters
    ----------
    llrs, mated
        Calibrated rows and their mated columns; trials with the same mated column are of one speaker.
    dev
        The same of development data, for ``fitted``.
    """
    if temperature not in ("sum", "mean", "fitted"):
        raise UsageError(f"unknown temperature {temperature!r}; expected sum, mean or fitted")
    if temperature == "fitted" and dev is None:
        raise InputError("a fitted temperature needs development data")
    rows = []
    for k in ks:
        if k < 1:
            raise UsageError(f"expected numbers of utterances of at least 1, got {k}")
        fused, true = fuse(llrs, mated, k, seed)
        if len(true) == 0:
            continue
        divisor = {"sum": 1.0, "mean": float(k)}.get(temperature)
        if divisor is None:
            assert dev is not None
            dev_fused, dev_true = fuse(*dev, k, seed)
            if len(dev_true) == 0:
                continue
            divisor = fit_temperature(dev_fused, dev_true)
        lid = lid_of_llrs(fused / divisor, true)
        others = fused.copy()
        others[np.arange(len(true)), true] = -np.inf
        linked = fused[np.arange(len(true)), true] > others.max(axis=1)
        rows.append((k, lid.mean(), lid.max(), linked.mean(), len(true), divisor))
    if not rows:
        raise InputError(f"no speaker has {min(ks)} utterances")
    k_used, alid, lid_max, link, groups, divisors = zip(*rows, strict=True)
    return LongitudinalCurve(
        np.array(k_used), np.array(alid), np.array(lid_max), np.array(link), np.array(groups), np.array(divisors)
    )


def singling_out_over_utterances(
    llrs: FloatArray,
    mated: IntArray,
    *,
    ks: Sequence[int],
    dev: tuple[FloatArray, IntArray] | None = None,
    seed: int = 0,
) -> tuple[IntArray, FloatArray]:
    """Share of groups of k fused utterances that single out exactly one identity, for each k that has groups.

    The threshold is set on fused development rows, or, without them, on the groups of other speakers, fold by fold.
    """
    found = []
    for k in ks:
        fused, true = fuse(llrs, mated, k, seed)
        if len(true) == 0:
            continue
        fires = np.zeros(len(true), dtype=np.int64)
        if dev is not None:
            other = fuse(*dev, k, seed)[0]
            if other.size < fused.shape[1]:
                continue
            fires = firing_counts(fused, firing_threshold(other, fused.shape[1]))
        else:
            if len(np.unique(true)) < 2:
                continue
            for rows in speaker_folds(true, seed=seed):
                rest = np.delete(fused, rows, axis=0)
                fires[rows] = firing_counts(fused[rows], firing_threshold(rest, fused.shape[1]))
        found.append((k, float((fires == 1).mean())))
    return np.array([k for k, _ in found], dtype=np.int64), np.array([share for _, share in found])


def fuse(llrs: FloatArray, mated: IntArray, k: int, seed: int) -> tuple[FloatArray, IntArray]:
    """Summed rows of each group of k trials, and the groups' mated columns."""
    groups = group_utterances(mated, k, np.random.default_rng((seed, k)))
    if len(groups) == 0:
        return np.zeros((0, llrs.shape[1])), np.zeros(0, dtype=np.int64)
    return llrs[groups].sum(axis=1), mated[groups[:, 0]]


def lid_of_llrs(llrs: FloatArray, mated: IntArray) -> FloatArray:
    """LID in bits of calibrated rows."""
    top = llrs.max(axis=1)
    log_mean = top + np.log(np.exp(llrs - top[:, None]).mean(axis=1))
    lid: FloatArray = (llrs[np.arange(len(mated)), mated] - log_mean) / LN2
    return lid


def fit_temperature(llrs: FloatArray, mated: IntArray) -> float:
    """The divisor of the LLRs under which the true identities are most likely, between 1e-3 and 1e3."""
    result = minimize_scalar(
        lambda log_t: -float(lid_of_llrs(llrs / np.exp(log_t), mated).mean()),
        bounds=(np.log(1e-3), np.log(1e3)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(result.x))
