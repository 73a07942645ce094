"""Classes with densities that are known, for the protectors' tests."""

import numpy as np


def gaussian(rng, n, *, d=8, mu=4.0):
    """Two Gaussian classes of one covariance behind a random linear map: vectors, labels, true LLR of class b."""
    y = rng.integers(0, 2, n)
    u = rng.standard_normal((n, d))
    half = np.sqrt(mu / 2.0)
    u[:, 0] += half * (2 * y - 1)
    mix = np.random.default_rng(5).standard_normal((d, d)) + 2.0 * np.eye(d)
    return u @ mix + 3.0, np.array(["a", "b"])[y], 2.0 * half * u[:, 0]


def curved(rng, n, *, d=4, shift=1.5):
    """Two classes that differ along a bent direction, where a plane can tell them apart only in part."""
    y = rng.integers(0, 2, n)
    u = rng.standard_normal((n, d))
    u[:, 0] += shift * (2 * y - 1)
    x = u.copy()
    x[:, 0] = u[:, 0] + 2.0 * np.sin(1.5 * u[:, 1])
    x[:, 2] = u[:, 2] + 1.0 * np.cos(u[:, 0])
    return x, np.array(["a", "b"])[y]


def three(rng, n, *, d=6, distance=3.0):
    """Three Gaussian classes, bent."""
    y = rng.integers(0, 3, n)
    corners = distance / np.sqrt(3.0) * np.array([[1.0, 0.0], [-0.5, np.sqrt(0.75)], [-0.5, -np.sqrt(0.75)]])
    u = rng.standard_normal((n, d))
    u[:, :2] += corners[y]
    x = u.copy()
    x[:, 0] += 0.5 * u[:, 2] ** 2
    x[:, 1] += np.sin(u[:, 3])
    return x, np.array(["x", "y", "z"])[y]
