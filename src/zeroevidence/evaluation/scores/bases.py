"""Detection of scores that are log-likelihood ratios to another base than e."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.data.preparing.scale import BASES
from zeroevidence.evaluation.rows.flags import Flag, flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.pairs.verification import cllr

_LEAST = 0.01  # bits that calibration must cost before anybody looks for the reason
_LEFT = 0.25  # share of that cost which may be left when the base is right


def base_flags(target: FloatArray, nontarget: FloatArray, metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a warning where another base accounts for nearly all of the calibration loss.

    Scores that are no likelihood ratios, such as cosines, are not calibrated to any base and get none.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=2000)
    >>> natural = 2.0 + 2.0 * x, -2.0 + 2.0 * x  # log-likelihood ratios
    >>> from zeroevidence import evaluate
    >>> for scale in (1.0, 1.0 / np.log(10.0)):
    ...     row = evaluate(scale * natural[0], scale * natural[1], intervals=0, null=0)
    ...     print([one.code for one in row.flags])
    []
    ['llr-base-suspected']
    """
    actual, least = metrics.get("cllr"), metrics.get("cllr_min")
    if actual is None or least is None:
        return []
    lost = float(actual) - float(least)
    if not lost > _LEAST:
        return []
    with np.errstate(over="ignore"):  # an infinite score is evidence too
        costs = {base: cllr(factor * target, factor * nontarget) for base, factor in BASES.items() if base != "e"}
    base = min(costs, key=lambda base: costs[base])
    if costs[base] - float(least) > _LEFT * lost:
        return []
    return [flag("llr-base-suspected", base=base, cllr=float(actual), other=costs[base])]
