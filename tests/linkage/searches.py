"""Searches to test on, and what the score matrix says about them."""

import numpy as np

from zeroevidence.calibrate.rows import AffineCalibration
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage import LinkOptions, link, pair
from zeroevidence.linkage.evidence import ARRAYS
from zeroevidence.measure.search.disclosure import row_evidence
from zeroevidence.run import Run


def linked(x, y, mated, calibration=None, run=Run(), **options):
    """The search through two arrays by dot products, unless the options say otherwise."""
    return link(x, y, mated, LinkOptions(**{"scoring": "dot", **options}), calibration, run)


def same(found, expected, tolerance=1e-12):
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=tolerance, atol=tolerance)


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


def draw_pairing(prefix="p", people=20, each=3, seed=0, strangers=0):
    """People with several trials each, some of them with a speaker who is not enrolled."""
    rng = np.random.default_rng(seed)
    names = np.array([f"{prefix}{at:02d}" for at in range(people)])
    voices = rng.standard_normal((people, 12)) + 0.5
    trial = np.repeat(voices, each, axis=0) + 1.5 * rng.standard_normal((people * each, 12))
    speakers = np.repeat(names, each).astype("U8")
    speakers[len(speakers) - strangers :] = "stranger"
    ids = [f"{prefix}t{at}" for at in range(people * each)]
    return pair(Embeddings(trial, ids, speakers), Embeddings(voices, names, names))


def read_x_vectors(folder, side, kind, dtype=np.float32):
    """Trials and enrolment of published x-vectors of the 2020 challenge, and the row of each trial's speaker."""
    arrays = np.load(folder / "embeddings" / "vpc2020_xvectors" / "samegender_f0orig.npz")
    names = arrays[f"enrolls_{kind}_spkmean_spk"].tolist()
    speakers = arrays[f"{side}_{kind}_spk"].tolist()
    kept = [at for at, speaker in enumerate(speakers) if speaker in names]
    mated = np.array([names.index(speakers[at]) for at in kept])
    return arrays[f"{side}_{kind}_x"][kept].astype(dtype), arrays[f"enrolls_{kind}_spkmean_x"].astype(dtype), mated
