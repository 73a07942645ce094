"""What figures of curves have in common: whether a row has them, and their numbers as arrays."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.evaluation import Curve, Evaluation

_END = 1e150


def has_curves(*names: str, baseline: bool = False) -> Callable[[Evaluation], bool]:
    """A test whether a row has all of some curves, with what chance gives where that is drawn too."""
    return lambda row: all(
        name in row.curves and bool(row.curves[name].x) and (not baseline or row.curves[name].baseline is not None)
        for name in names
    )


def curve_arrays(curve: Curve) -> tuple[FloatArray, FloatArray]:
    """Both sides of a curve; finite numbers beyond what axes can span are drawn at their end."""
    x, y = np.array(curve.x), np.array(curve.y)
    return np.where(np.isfinite(x), np.clip(x, -_END, _END), x), np.where(np.isfinite(y), np.clip(y, -_END, _END), y)


def bin_edges(centres: FloatArray) -> FloatArray:
    """Edges of even bins around centres; a single one is 1 wide."""
    width = centres[1] - centres[0] if len(centres) > 1 else 1.0
    return np.append(centres - width / 2.0, centres[-1] + width / 2.0)
