"""Searches to test on, and what the score matrix says about them."""

import numpy as np

from zeroevidence.calibrate.rows import AffineCalibration
from zeroevidence.measure.search.disclosure import row_evidence

ARRAYS = ("score", "mean", "deviation", "log_sum", "lid", "greater", "equal", "best_other", "top", "fires")


def draw(trials=300, identities=700, dim=48, dtype=np.float64, signal=0.4, mean=1.0, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.standard_normal((identities, dim)) + mean
    mated = rng.integers(0, identities, trials)
    x = signal * y[mated] + rng.standard_normal((trials, dim))
    return x.astype(dtype), y.astype(dtype), mated


def by_matrix(x, y, mated, weight, cosine=False):
    """Everything `link` reports, from the full matrix in double precision."""
    x, y = x.astype(np.float64), y.astype(np.float64)
    if cosine:
        x, y = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (x, y))
    scores = x @ y.T
    evidence = row_evidence(scores, mated, AffineCalibration("given", weight, 0.0, 0.0))
    others = scores.copy()
    others[np.arange(len(x)), mated] = -np.inf
    return scores, evidence, others.max(axis=1)


def check(result, x, y, mated, weight, *, bits, cosine=False, same_ranks=True):
    scores, evidence, best = by_matrix(x, y, mated, weight, cosine)
    np.testing.assert_allclose(result.lid, evidence.lid, atol=bits, rtol=0)
    scale = np.abs(scores).max()
    np.testing.assert_allclose(result.best_other, best, atol=1e-5 * scale)
    np.testing.assert_allclose(result.score, scores[np.arange(len(x)), mated], atol=1e-12 * scale)
    np.testing.assert_allclose(result.mean, scores.mean(axis=1), atol=1e-12 * scale)
    np.testing.assert_allclose(result.deviation, scores.std(axis=1), rtol=1e-7, atol=1e-12)
    if same_ranks:
        np.testing.assert_array_equal(result.greater, evidence.greater)
        np.testing.assert_array_equal(result.equal, evidence.equal)
        np.testing.assert_array_equal(result.top, scores.argmax(axis=1))
