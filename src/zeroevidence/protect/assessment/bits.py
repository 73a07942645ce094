"""Bits about more than two classes, with an interval over people."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.evaluation import Flag, Options
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.limits import with_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.attribute.classes import ClassView
from zeroevidence.measure.measures import MEASURES
from zeroevidence.protect.assessment.class_learning import ClassSample
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.resampling.draws import draw_groups
from zeroevidence.uncertainty.spread import estimate_spread

_BITS = "attribute_bits"
_ROUNDING = 1e-6


def measure_class_bits(rows: ClassSample, log_posteriors: FloatArray, options: Options) -> dict[str, MeasureResult]:
    """Return the bits about more than two classes together; nothing for two, of which D_ECE says enough.

    The interval is that of a jackknife over groups of people; there is none where people are too few.
    """
    classes = log_posteriors.shape[1]
    if classes < 3:
        return {}
    measure = MEASURES[_BITS]
    view = ClassView(log_posteriors, rows.y, rows.weights)
    value = MeasureResult.of(_BITS, measure.compute(view), measure.method_of(view))
    people = int(rows.people.max()) + 1
    if not options.intervals or people < LEAST_PEOPLE:
        return {_BITS: value}
    groups = draw_groups(people, options.intervals, options.seed)
    left_out = []
    for group in range(int(groups.max()) + 1):
        members = groups[rows.people] != group
        rest = rows.take(members)
        complete = len(np.unique(rest.y)) == classes
        fewer = ClassView(log_posteriors[members], rest.y, rest.weights)
        left_out.append(measure.compute(fewer) if complete else np.nan)
    spread = estimate_spread(float(value), np.array(left_out), np.bincount(groups) / people, float(people))
    return {_BITS: with_limits(value, _BITS, spread, options.level, bound=False)}


def negative_bits_flags(metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a note where an attacker's bits are negative: nothing was learned."""
    bits = metrics.get(_BITS)
    return [flag("bits-negative")] if bits is not None and float(bits) < -_ROUNDING else []
