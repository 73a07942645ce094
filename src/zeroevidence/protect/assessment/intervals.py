"""Intervals by people, for measures that are no function of two classes of scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.evaluation import Flag, Options
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.limits import with_limits
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.measure.attribute.number import ClassView
from zeroevidence.measure.measures import MEASURES, Measure
from zeroevidence.protect.assessment.class_learning import ClassSample
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.resampling.draws import draw_groups
from zeroevidence.uncertainty.spread import estimate_spread

HEADLINE = "attribute_bits"
_ROUNDING = 1e-6


def with_interval(
    measure: Measure, value: MeasureResult, people: int, options: Options, without: Callable[[IntArray], float | None]
) -> MeasureResult:
    """Return a measure with an interval from leaving people out; without one where people are too few.

    Parameters
    ----------
    measure
        The measure.
    value
        Its value.
    people
        Number of people.
    options
        At most how many groups of people are left out in turn, and the seed.
    without
        Gives the measure of the people with some numbers alone.
    """
    if not options.intervals or people < LEAST_PEOPLE:
        return value
    groups = draw_groups(people, options.intervals, options.seed)
    sizes = np.bincount(groups)
    left_out = np.array([without(np.flatnonzero(groups != group)) for group in range(len(sizes))], dtype=float)
    spread = estimate_spread(float(value), left_out, sizes / people, float(people))
    return with_limits(value, measure.name, spread, options.level, bound=False)


def negative_bits_flags(metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """Return a note where an attacker's bits are negative: nothing was learned."""
    bits = metrics.get(HEADLINE)
    return [flag("bits-negative")] if bits is not None and float(bits) < -_ROUNDING else []


def class_measures(rows: ClassSample, log_posteriors: FloatArray, options: Options) -> dict[str, MeasureResult]:
    """Return the bits about more than two classes together; for two classes D_ECE is enough."""
    classes = log_posteriors.shape[1]
    if classes < 3:
        return {}
    measure = MEASURES[HEADLINE]

    def of(people: IntArray) -> float | None:
        members = np.isin(rows.people, people)
        some = rows.take(members)
        if len(np.unique(some.y)) < classes:
            return float("nan")  # a class without anybody
        return measure.compute(ClassView(log_posteriors[members], some.y, some.weights))  # type: ignore[no-any-return]

    count = int(rows.people.max()) + 1
    view = ClassView(log_posteriors, rows.y, rows.weights)
    value = MeasureResult.of(measure.name, measure.compute(view), "calibrated probabilities of classes")
    return {measure.name: with_interval(measure, value, count, options, of)}
