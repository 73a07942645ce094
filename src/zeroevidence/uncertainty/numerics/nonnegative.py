"""Non-negative least squares with a few unknowns [Lawson and Hanson 1974]."""

from __future__ import annotations

import numpy as np

from zeroevidence._typing import BoolArray, FloatArray


def nonnegative_least_squares(matrix: FloatArray, values: FloatArray) -> FloatArray:
    """Return the x >= 0 for which matrix @ x is nearest to the values.

    Examples
    --------
    >>> nonnegative_least_squares(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 1.0])).round(12).tolist()
    [1.5, 0.0]
    """
    lengths = np.sqrt((matrix**2).sum(axis=0))
    lengths[lengths == 0.0] = 1.0
    columns = matrix / lengths
    size = columns.shape[1]
    # gradients that rounding alone could make
    tolerance = 10.0 * max(columns.shape) * float(np.finfo(np.float64).eps * np.abs(values).sum())
    free = np.zeros(size, dtype=bool)
    current = np.zeros(size)
    for _ in range(3 * size):
        rest = values - columns @ current
        # summed so that equal columns have equal gradients, of which the first is taken
        gradient = np.where(free, -np.inf, (columns * rest[:, None]).sum(axis=0))
        best = int(np.argmax(gradient))
        if gradient[best] <= tolerance:
            break
        free[best] = True
        trial = _solve(columns, values, free)
        while (trial[free] <= 0.0).any():
            # as far towards the solution as nothing becomes negative; what stops it is 0 from now on
            falling = np.flatnonzero(free & (trial <= 0.0))
            steps = current[falling] / np.maximum(current[falling] - trial[falling], np.finfo(np.float64).tiny)
            current += float(steps.min()) * (trial - current)
            free[falling[steps == steps.min()]] = False
            current[~free] = 0.0
            trial = _solve(columns, values, free)
        current = trial
    solution: FloatArray = current / lengths
    return solution


def _solve(columns: FloatArray, values: FloatArray, free: BoolArray) -> FloatArray:
    """Return the least squares of the free unknowns, the others 0."""
    solution = np.zeros(len(free))
    solution[free] = np.linalg.lstsq(columns[:, free], values, rcond=None)[0]
    return solution
