"""Curves, surfaces and maps of a result, as plain numbers, for figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from zeroevidence._typing import FloatArray, IntArray

POINTS = 200  # of a curve
_FEWEST_BINS, _MOST_BINS = 20, 100


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure over something.

    Parameters
    ----------
    x
        Where the measure was computed.
    y
        The measure.
    baseline
        What chance gives at each `x`.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    baseline: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Surface:
    """A measure over two things, each numbered or named.

    Parameters
    ----------
    x
        Values or names of the rows of `z`.
    y
        Values or names of the columns of `z`.
    z
        The measure, a row for each `x`.
    """

    x: tuple[float | str, ...]
    y: tuple[float | str, ...]
    z: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A two-dimensional map of labelled points.

    Parameters
    ----------
    x
        First coordinate of each point.
    y
        Second coordinate of each point.
    label
        The group that each point belongs to.
    mu
        Where `x` is the LLR between two groups in alphabetical order, and a model says that it is N(-mu, 2 mu) in the
        first and N(mu, 2 mu) in the second.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    label: tuple[str, ...]
    mu: float | None = None


def thinned(number: int, points: int = POINTS) -> IntArray:
    """Positions of at most that many of some points, evenly by rank, both ends among them."""
    return np.unique(np.linspace(0, number - 1, min(points, number)).round().astype(np.int64))


def as_curve(x: FloatArray | IntArray, y: FloatArray, baseline: FloatArray | None = None) -> Curve:
    """A curve as plain numbers."""
    return Curve(
        tuple(np.asarray(x, dtype=np.float64).tolist()),
        tuple(np.asarray(y, dtype=np.float64).tolist()),
        None if baseline is None else tuple(np.asarray(baseline, dtype=np.float64).tolist()),
    )


def histograms(sorted_scores: dict[str, FloatArray]) -> dict[str, Curve]:
    """Densities of sorted scores on common bins, ``histogram_`` and the name; infinite scores lie in no bin."""
    finite = {
        name: scores[np.searchsorted(scores, -np.inf, "right") : np.searchsorted(scores, np.inf)]
        for name, scores in sorted_scores.items()
    }
    edges = bin_edges([scores for scores in finite.values() if len(scores)])
    if edges is None:
        return {}
    curves = {}
    for name, scores in finite.items():
        share = binned(scores, edges) / len(sorted_scores[name])
        curves[f"histogram_{name}"] = as_curve((edges[1:] + edges[:-1]) / 2.0, share / (edges[1] - edges[0]))
    return curves


def binned(sorted_scores: FloatArray, edges: FloatArray) -> IntArray:
    """Number of scores from each edge to the next, the last edge included."""
    below = np.searchsorted(sorted_scores, edges)
    below[-1] = np.searchsorted(sorted_scores, edges[-1], "right")
    return np.diff(below)


def bin_edges(classes: list[FloatArray]) -> FloatArray | None:
    """Even bins over the range of sorted scores, as wide as the class that asks for wider ones (Freedman and Diaconis).

    None where there is no score, or a range that no bin can divide.
    """
    if not classes:
        return None
    low, high = min(float(scores[0]) for scores in classes), max(float(scores[-1]) for scores in classes)
    reach = high - low
    if reach <= 1e-9 * max(abs(low), abs(high), 1e-9):  # all equal, or as good as
        return np.array([low - 0.5, high + 0.5])
    if not np.isfinite(reach):
        return None
    spreads = [2.0 * (float(x[(3 * len(x)) // 4]) - float(x[len(x) // 4])) / float(np.cbrt(len(x))) for x in classes]
    bins = int(np.clip(np.ceil(reach / max(*spreads, reach / _MOST_BINS)), _FEWEST_BINS, _MOST_BINS))
    return np.linspace(low, high, bins + 1)
