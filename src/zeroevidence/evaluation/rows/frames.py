"""Results as tables of plain values: records, data frames, and the small HTML table that notebooks show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation.rows.measure_result import NO_VALUE, RESULT_COLUMNS, MeasureResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.level import percent

if TYPE_CHECKING:
    from zeroevidence.evaluation.rows.evaluation import Evaluation

# The labels of tables in their usual order; others follow.
LABELS = (
    *("system", "dataset", "attribute", "class", "split", "sex"),
    *("enrolment", "trial", "attacker", "encoder", "backend", "protocol"),
)
_NUMBERS = tuple(column.name for column in RESULT_COLUMNS if column.format != "text")


def used_labels(rows: Sequence[Evaluation]) -> list[str]:
    """Labels that at least one row carries, in the usual order, others after them."""
    present = {name for row in rows for name in row.labels}
    return [name for name in LABELS if name in present] + sorted(present - set(LABELS))


def records(rows: Sequence[Evaluation]) -> Iterator[dict[str, Any]]:
    """One record per row and measure; a measure with several values gets one for each, under `key`. NaN is None."""
    labels = used_labels(rows)
    for row in rows:
        shared = {name: row.labels.get(name) for name in labels}
        flags = " ".join(flag.code for flag in row.flags) or None
        for name, result in row.metrics.items():
            values = result.value if isinstance(result.value, Mapping) else {None: result.value}
            columns = {column.name: getattr(result, column.name) for column in RESULT_COLUMNS}
            for key, value in values.items():
                number = {"value": None if value != value else value}
                identity = {**shared, "measure": name, "key": key}
                yield {**identity, **columns, **number, "flags": flags, "signature": row.signature}


def to_frame(rows: Sequence[Evaluation], *, backend: str = "polars") -> Any:
    """The records as a data frame of the backend; categories stand in a column of their own beside the numbers."""
    import narwhals

    lines = []
    for record in records(rows):
        value = record["value"]
        is_category = isinstance(value, str)
        number = None if is_category or value is None else float(value)
        lines.append({**record, "value": number, "category": value if is_category else None})
    columns = {name: [line[name] for line in lines] for name in (lines[0] if lines else ())}
    schema = {name: narwhals.Float64() if name in _NUMBERS else narwhals.String() for name in columns}
    try:
        return narwhals.from_dict(columns, schema, backend=backend).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError:
        raise MissingExtra(backend, f"a data frame of {backend}") from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"a data frame of {backend!r} cannot be made: {error}") from None


def to_html_table(row: Evaluation) -> str:
    """A small table of the measures that are single values, for notebooks."""
    lines = []
    for name, result in row.metrics.items():
        if isinstance(result.value, Mapping):
            continue
        title, meaning = (MEASURES[name].title, MEASURES[name].meaning) if name in MEASURES else (name, "")
        cells = "".join(f"<td>{escape(text)}</td>" for text in (_value_text(result), *_beside_value(result)))
        lines.append(f'<tr><th title="{escape(meaning)}">{escape(title)}</th>{cells}</tr>')
    levels = sorted({result.level for result in row.metrics.values() if result.level is not None})
    interval = f"{percent(levels[0])} interval" if len(levels) == 1 else "interval"
    labels = escape(", ".join(f"{name}: {value}" for name, value in row.labels.items()))
    flags = "".join(f"<li><b>{escape(flag.code)}</b>: {escape(flag.sentence)}</li>" for flag in row.flags)
    head = "".join(f"<th>{name}</th>" for name in ("measure", "value", interval, "p", "unit"))
    caption = f"<caption>{labels}</caption>" if labels else ""
    return (
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        f"{f'<ul>{flags}</ul>' if flags else ''}<code>{escape(row.signature)}</code>"
    )


def _value_text(result: MeasureResult) -> str:
    if result.number is None:
        return str(result.value)
    return NO_VALUE if result.number != result.number else f"{result.number:.4g}"


def _beside_value(result: MeasureResult) -> tuple[str, str, str]:
    """Interval, p-value and unit."""
    interval = "" if result.low is None or result.high is None else f"{result.low:.4g} to {result.high:.4g}"
    return interval, "" if result.p_value is None else f"{result.p_value:.2g}", result.unit
