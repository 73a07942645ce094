"""The result of one measure: its value, the numbers beside it, and the replicates that its interval is made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from math import isclose, isnan, nan
from typing import Any, Literal, TypeAlias

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Scores
from zeroevidence.measure.measures import MEASURES, Direction, IntervalRule
from zeroevidence.uncertainty.compare import MeasuredSystem
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.null import Null
from zeroevidence.uncertainty.recordings import RecordingNumbers
from zeroevidence.uncertainty.spread import Spread, estimate_bias, estimate_spread, is_biased

# number: in the unit of the measure and within its range; share: a probability or level; text: as it is
ColumnFormat: TypeAlias = Literal["number", "share", "text"]
_KEY = "column"
NOT_STORED: Mapping[str, Any] = {"stored": False}  # metadata of a field that files do not hold
NO_VALUE = "–"  # what people read where there is no number
_ROUNDING = 1e-12
_NOT_FINITE = ("inf", "-inf", "nan")  # as files hold them


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table.

    Parameters
    ----------
    name
        Its name in CSV files and data frames; of a field also its key in JSON.
    title
        The heading that people read.
    format
        How a value is written.
    in_report
        Whether the table of an HTML report has the column.
    description
        One sentence about it, shown where the heading is explained.
    unit
        The unit behind the title, where all values have the same.
    """

    name: str
    title: str
    format: ColumnFormat = "number"
    in_report: bool = False
    description: str = ""
    unit: str = ""

    @property
    def heading(self) -> str:
        """The title with the unit."""
        return f"{self.title} [{self.unit}]" if self.unit else self.title


def column(
    title: str,
    format: ColumnFormat = "number",
    *,
    in_report: bool = False,
    description: str = "",
    default: Any = None,
    compare: bool = True,
) -> Any:
    """A field of a dataclass that is a column."""
    return field(default=default, compare=compare, metadata={_KEY: (title, format, in_report, description)})


def columns(kind: type) -> tuple[Column, ...]:
    """The columns that the fields of a dataclass declare, in their order."""
    declared = ((item.name, item.metadata[_KEY]) for item in fields(kind) if _KEY in item.metadata)
    return tuple(Column(name, *rest) for name, rest in declared)


Value: TypeAlias = float | int | str | Mapping[str, float | int]


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
        One-sided limit on the side where an attacker learns more, which allows for people who were not seen.
    per_person
        The value with people weighted equally; None where they have about as many recordings each. The value, its
        estimate and limits are averages over recordings.
    level
        Confidence level of interval and bound.
    p_value
        How often chance alone shows as much; None where no null was computed.
    p_adjusted
        How often chance alone shows as much in any measure of any row of the table that the row was part of.
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

    value: Value = column("value", default=MISSING)  # noqa: RUF009 - a field, as of the others
    unit: str = column("unit", "text", default=MISSING)
    method: str | None = column("method", "text")
    estimate: float | None = column(
        "estimate",
        in_report=True,
        description="The value less its bias on few people: what more people like these would show.",
    )
    low: float | None = column("low")
    high: float | None = column("high")
    bound: float | None = column(
        "bound",
        in_report=True,
        description="Limit on the side where an attacker learns more; it allows for people who were not seen.",
    )
    per_person: float | None = column(
        "per person",
        in_report=True,
        description="The value with people weighted equally, where numbers of recordings are uneven; all other values "
        "are averages over recordings.",
    )
    level: float | None = column("level", "share")
    p_value: float | None = column("p", "share")
    p_adjusted: float | None = column("adjusted p", "share", compare=False)
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


def measure_range(name: str, most_bits: float = np.inf) -> tuple[float, float]:
    """Return the lowest and the highest value of a measure; that of a search is at most `most_bits`."""
    entry = MEASURES[name]
    return entry.low, min(entry.high, most_bits) if entry.unit == "bit" else entry.high


def with_limits(
    result: MeasureResult,
    name: str,
    spread: Spread | None,
    level: float,
    *,
    centre: float | None = None,
    most_bits: float = np.inf,
    method: str | None = None,
) -> MeasureResult:
    """Return the result of a measure with interval, bound and level; as it is where an interval would be a point.

    The interval is for people like these, the bound allows for people who were not seen. Both lie around the value
    corrected for few people, are widened to reach the value, and are cut at the ends of the measure's range.

    Parameters
    ----------
    result
        The value of the measure.
    name
        The measure.
    spread
        Standard error and degrees of freedom; without it the result has no limits.
    level
        Confidence level.
    centre
        The value corrected for few people, where the measure is biased; reported where the measure has an estimate.
    most_bits
        What a search through these identities can tell at most.
    method
        What to say about how the interval was made, in place of the method of the result; there is no bound then.
    """
    if spread is None:
        return result
    scale = measure_range(name, most_bits)
    value, discloses = float(result), MEASURES[name].discloses
    middle = value if centre is None else centre
    limit = one_sided_limit(spread, middle, level, discloses, scale) if method is None else None
    if limit is not None:
        limit = max(limit, value) if discloses == "up" else min(limit, value)
    least, most = two_sided_limits(name, spread, middle, level, scale)
    low, high = min(least, value), max(most, value)
    if spread.error == 0.0:  # nobody differs: people who are recognised all the same are left to the bound
        low, high = (value if discloses == side else end for side, end in (("down", low), ("up", high)))
    is_point = isclose(low, high, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    if is_point and (limit is None or isclose(limit, value, rel_tol=_ROUNDING, abs_tol=_ROUNDING)):
        return result
    return replace(
        result,
        method=method or result.method,
        estimate=centre if MEASURES[name].estimated else None,
        low=None if is_point else low,
        high=None if is_point else high,
        bound=limit,
        level=level,
        spread=spread,
    )


def results_by_unit(
    values: Mapping[str, float], spreads: Mapping[str, Spread], level: float, unit: str
) -> dict[str, MeasureResult]:
    """Return results of measures, with intervals that leave out this unit where their spread is known."""
    method = f"interval by {unit}"
    return {
        name: with_limits(MeasureResult.of(name, value), name, spreads.get(name), level, method=method)
        for name, value in values.items()
    }


def two_sided_limits(
    name: str, spread: Spread, value: float, level: float, scale: tuple[float, float]
) -> tuple[float, float]:
    """Return the limits of a value of a measure for people like those seen, within the scale."""
    limits = spread.limits_within(value, scale, level) if MEASURES[name].by_odds else spread.limits(value, level)
    low, high = np.clip(limits, *scale)
    return float(low), float(high)


def one_sided_limit(
    spread: Spread, value: float, level: float, discloses: Direction, scale: tuple[float, float]
) -> float | None:
    """Return the one-sided limit on the side of the attacker, within the scale; None without a direction."""
    if discloses == "none":
        return None
    limit = spread.at_most(value, level) if discloses == "up" else spread.at_least(value, level)
    return float(np.clip(limit, *scale))


@dataclass(frozen=True, slots=True, eq=False)
class SampledPeople:
    """The people that a family of measures is computed from.

    Parameters
    ----------
    clusters
        Number of people who have targets, or trials of a search.
    effective
        Number of people of equal size who would count as much.
    shares
        The share of the data that each group of people brings.
    recordings
        How often they were recorded.
    most_bits
        What a search can tell at most.
    """

    clusters: int
    effective: float
    shares: FloatArray
    recordings: RecordingNumbers
    most_bits: float = np.inf


@dataclass(frozen=True, slots=True, eq=False)
class SearchedTrials:
    """The trials of a search that started from embeddings, whose they are, and how many identities were searched."""

    trials: StrArray
    speakers: IntArray | StrArray
    identities: int


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Values of every scalar measure on fewer people.

    Parameters
    ----------
    unit
        What was left out: speakers, identifiers, scores.
    rules
        By measure: how its interval is made.
    people
        By measure: the people of its family.
    left_out
        By measure: values without each group of people.
    halves
        By measure: values on halves of the people.
    unseen
        By measure: its changes, per share of people, if some people are not recognised at all or in every recording.
    scores
        What was measured: two systems are paired only where it was the same trials.
    search
        The same for a search that started from embeddings.
    per_person
        By measure: its value with people weighted equally, where numbers of recordings are uneven.
    developed
        By measure: values without each group of the development people.
    rivalries
        By measure of names: what single rivals take, as `MeasuredSystem` holds it.
    """

    unit: str
    rules: Mapping[str, IntervalRule]
    people: Mapping[str, SampledPeople]
    left_out: Mapping[str, FloatArray]
    halves: Mapping[str, FloatArray]
    unseen: Mapping[str, tuple[float, ...]]
    scores: Scores | None = None
    search: SearchedTrials | None = None
    per_person: Mapping[str, float] = field(default_factory=dict)
    developed: Mapping[str, FloatArray] = field(default_factory=dict)
    rivalries: Mapping[str, FloatArray] = field(default_factory=dict)

    def measured(self, name: str, value: float) -> MeasuredSystem:
        """A measure as differences between systems need it."""
        return MeasuredSystem(value, self.left_out[name], self.developed.get(name), self.rivalries.get(name))

    @property
    def speakers(self) -> tuple[str | int, ...] | None:
        """The people of the data, in the order of their names; None where nobody is named."""
        if self.search is not None:
            return tuple(np.unique(np.asarray(self.search.speakers)).tolist())
        speakers = None if self.scores is None else self.scores.speakers
        return None if speakers is None else tuple(speakers.tolist())

    @property
    def groups(self) -> int:
        """Number of groups that were left out in turn."""
        return max(len(values) for values in self.left_out.values())

    @property
    def fewest(self) -> SampledPeople:
        """The people of the family of measures with the fewest people."""
        return min(self.people.values(), key=lambda people: people.effective)

    def corrected(self, name: str, value: float) -> float | None:
        """The value less its bias on few people, within the range of the measure; None where it is not corrected."""
        if name not in self.halves or not is_biased(self.rules[name]):
            return None
        bias = estimate_bias(value, self.halves[name], self.rules[name])
        return float(np.clip(value - bias, *measure_range(name, self.people[name].most_bits)))

    def _refitted(self, name: str) -> float:
        """Return the standard deviation over halves, whose model was fitted again; it is about the standard error."""
        values = self.halves[name][~np.isnan(self.halves[name])] if name in self.halves else np.empty(0)
        return float(values.std()) if len(values) else 0.0

    def correlation(self) -> tuple[float, float] | None:
        """Rank correlation of exposure and number of recordings over people, and its p-value; None without either."""
        name = next((name for name in ("alid", "d_ece") if name in self.left_out), None)
        if name is None or not self.people[name].recordings.uneven:
            return None
        values = self.left_out[name]
        return self.people[name].recordings.correlation(np.nanmean(values) - values)

    def with_interval(self, result: MeasureResult, name: str, level: float) -> MeasureResult:
        """Return the result of a measure with its estimate, interval and bound, where people are enough for them."""
        people, rule = self.people[name], self.rules[name]
        result = replace(result, per_person=self.per_person.get(name))
        if people.clusters < LEAST_PEOPLE:
            return result
        value = float(result)
        centre = self.corrected(name, value)
        left_out, unseen, model_error = self.left_out[name], self.unseen.get(name, ()), 0.0
        if centre is not None and rule == "kernel":
            # Halves, whose models are fitted again, vary as the value does, and no less than values without a person.
            # What is left of the bias of a density is of the order of the correction.
            model_error = float(
                np.sqrt(max(self._refitted(name) ** 2 - _variance(left_out), 0.0) + (value - centre) ** 2)
            )
        spread = estimate_spread(
            value,
            left_out,
            people.shares,
            people.effective,
            unseen,
            model_error=model_error,
            recordings=people.recordings,
        )
        others = self.developed.get(name)
        if spread is not None and others is not None:
            equal = np.full(len(others), 1.0 / len(others))
            calibrated = estimate_spread(value, others, equal, len(others))
            if calibrated is not None:
                # Allowances are for people who are searched.
                spread = spread.combine(replace(calibrated, people=spread.people, below=0.0, above=0.0))
        return with_limits(result, name, spread, level, centre=centre, most_bits=people.most_bits)


def _variance(left_out: FloatArray) -> float:
    """Return the variance of a value by its values without each group."""
    values = left_out[np.isfinite(left_out)]
    return float((len(values) - 1.0) * values.var()) if len(values) else 0.0
