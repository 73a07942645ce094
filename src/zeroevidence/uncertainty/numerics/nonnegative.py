"""Least squares with a few unknowns none of which is negative [Lawson and Hanson 1974]."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray


def nonnegative(matrix: FloatArray, values: FloatArray) -> FloatArray:
    """The x >= 0 for which matrix @ x is nearest to the values.

    Examples
    --------
    >>> nonnegative(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0])).round(12).tolist()
    [1.5, 0.0]
    """
    lengths = np.sqrt((matrix**2).sum(axis=0))
    lengths[lengths == 0.0] = 1.0
    columns = matrix / lengths
    size = columns.shape[1]
    # gradients that rounding alone could make
    nothing = 10.0 * max(columns.shape) * float(np.finfo(np.float64).eps * np.abs(values).sum())
    free = np.zeros(size, dtype=bool)
    found = np.zeros(size)
    for _ in range(3 * size):
        rest = values - columns @ found
        # summed so that equal columns have equal gradients, of which the first is taken
        gradient = np.where(free, -np.inf, (columns * rest[:, None]).sum(axis=0))
        best = int(np.argmax(gradient))
        if gradient[best] <= nothing:
            break
        free[best] = True
        trial = _solved(columns, values, free)
        while (trial[free] <= 0.0).any():
            # as far towards the solution as nothing becomes negative; what stops it is 0 from now on
            falling = np.flatnonzero(free & (trial <= 0.0))
            ways = found[falling] / np.maximum(found[falling] - trial[falling], np.finfo(np.float64).tiny)
            found += float(ways.min()) * (trial - found)
            free[falling[ways == ways.min()]] = False
            found[~free] = 0.0
            trial = _solved(columns, values, free)
        found = trial
    solution: FloatArray = found / lengths
    return solution


def _solved(columns: FloatArray, values: FloatArray, free: BoolArray) -> FloatArray:
    """Least squares of the free unknowns, the others 0."""
    found = np.zeros(len(free))
    found[free] = np.linalg.lstsq(columns[:, free], values, rcond=None)[0]
    return found
