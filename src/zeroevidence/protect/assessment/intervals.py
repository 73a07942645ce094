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
    one: Measure, value: MeasureResult, people: int, options: Options, without: Callable[[IntArray], float | None]
) -> MeasureResult:
    """A measure with the limits that leaving people out gives; as it is where people are too few.

    Parameters
    ----------
    one, value, people, options
        The measure, its value, how many people it is of, and at most how many groups of them are left out in turn.
    without
        The measure of the people with these numbers alone.
    """
    if not options.intervals or people < LEAST_PEOPLE:
        return value
    groups = draw_groups(people, options.intervals, options.seed)
    sizes = np.bincount(groups)
    left_out = np.array([without(np.flatnonzero(groups != group)) for group in range(len(sizes))], dtype=float)
    spread = estimate_spread(float(value), left_out, sizes / people, float(people))
    return with_limits(value, one.name, spread, options.level, bound=False)


def negative_bits_flags(metrics: Mapping[str, MeasureResult]) -> list[Flag]:
    """A note where an attacker's bits are below zero: the value stays, and says that nothing was learned."""
    bits = metrics.get(HEADLINE)
    return [flag("bits-negative")] if bits is not None and float(bits) < -_ROUNDING else []


def class_measures(rows: ClassSample, told: FloatArray, options: Options) -> dict[str, MeasureResult]:
    """What an attacker tells of more than two classes together; of two classes D_ECE says it."""
    if told.shape[1] < 3:
        return {}
    one = MEASURES[HEADLINE]

    def of(people: IntArray) -> float | None:
        own = np.isin(rows.people, people)
        some = rows.take(own)
        if len(np.unique(some.y)) < told.shape[1]:
            return float("nan")  # a class without anybody
        return one.compute(ClassView(told[own], some.y, some.weights))  # type: ignore[no-any-return]

    count = int(rows.people.max()) + 1
    view = ClassView(told, rows.y, rows.weights)
    value = MeasureResult.of(one.name, one.compute(view), "calibrated probabilities of classes")
    return {one.name: with_interval(one, value, count, options, of)}
