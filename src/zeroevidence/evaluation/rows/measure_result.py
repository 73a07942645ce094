"""The result of one measure: its value, and the numbers that stand beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan, nan
from typing import TypeAlias

from zeroevidence.evaluation.rows.columns import Column, column, columns
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.null import Null
from zeroevidence.uncertainty.spread import Spread

NO_VALUE = "–"  # what people read where there is no number
Value: TypeAlias = float | int | str | Mapping[str, float | int]
_NOT_FINITE = ("inf", "-inf", "nan")  # as files hold them


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """One measure of one set of scores.

    It is a number where a number is wanted: ``float(m)``, ``f"{m:.3f}"``.

    Parameters
    ----------
    value
        The definition of the measure applied to the data.
    unit
        What the value is a number of.
    method
        How it was estimated, where there are several ways.
    estimate
        The value less its bias on few people; None where no correction is made.
    low
        Lower end of the interval for people like these.
    high
        Upper end of the interval for people like these.
    bound
        One-sided limit on the side where an attacker learns more.
    level
        Confidence level of interval and bound.
    p_value
        How often chance alone shows as much; None where no null was computed.
    null
        The measure where nothing leaks.
    spread
        Standard error and degrees of freedom, of which limits at any level are made.

    Examples
    --------
    >>> m = MeasureResult(0.25, "bit", low=0.2, high=0.31)
    >>> float(m), f"{m:.1f}"
    (0.25, '0.2')
    """

    value: Value = field(metadata=column("value"))
    unit: str = field(metadata=column("unit", "text"))
    method: str | None = field(default=None, metadata=column("method", "text"))
    estimate: float | None = field(
        default=None,
        metadata=column(
            "estimate",
            in_report=True,
            description="The value less its bias on few people: what more people like these would show.",
        ),
    )
    low: float | None = field(default=None, metadata=column("low"))
    high: float | None = field(default=None, metadata=column("high"))
    bound: float | None = field(
        default=None,
        metadata=column("bound", in_report=True, description="Limit on the side where an attacker learns more."),
    )
    level: float | None = field(default=None, metadata=column("level", "share"))
    p_value: float | None = field(default=None, metadata=column("p", "share"))
    null: Null | None = None
    spread: Spread | None = None

    def __post_init__(self) -> None:
        """One NaN, so that results that lack the same values are equal; numbers that files hold as text."""
        if isinstance(self.value, str) and self.value in _NOT_FINITE:
            object.__setattr__(self, "value", float(self.value))
        if isinstance(self.value, float) and isnan(self.value):
            object.__setattr__(self, "value", nan)

    @classmethod
    def of(cls, name: str, value: Value, method: str | None = None) -> MeasureResult:
        """A value with the unit that the registry of measures states."""
        return cls(value, MEASURES[name].unit, method)

    @property
    def corrected(self) -> float:
        """The estimate, or the value where no correction is made."""
        return float(self) if self.estimate is None else self.estimate

    @property
    def number(self) -> float | None:
        """The value where it is a single number, else None."""
        return float(self.value) if isinstance(self.value, (int, float)) else None

    def __float__(self) -> float:
        if self.number is None:
            raise TypeError(f"this measure is not a single number: {self.value!r}")
        return self.number

    def __format__(self, spec: str) -> str:
        return format(self.value if isinstance(self.value, str) else float(self), spec) if spec else str(self.value)

    def __str__(self) -> str:
        if self.number is None:
            return str(self.value)
        if isnan(self.number):
            return NO_VALUE
        interval = "" if self.low is None or self.high is None else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.number:.4g}{interval}"


RESULT_COLUMNS: tuple[Column, ...] = columns(MeasureResult)
