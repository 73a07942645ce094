"""Results as tables of plain values: records, data frames, and the small HTML table that notebooks show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation.rows.evaluation import NO_VALUE, Evaluation
from zeroevidence.measure.measures import MEASURES

# The labels of tables in their usual order; others follow.
LABELS = (
    "system",
    "dataset",
    "attribute",
    "class",
    "split",
    "sex",
    "enrolment",
    "trial",
    "attacker",
    "encoder",
    "backend",
)


def used_labels(rows: Sequence[Evaluation]) -> list[str]:
    """Labels that at least one row carries, in the usual order, others after them."""
    present = {name for row in rows for name in row.labels}
    return [name for name in LABELS if name in present] + sorted(present - set(LABELS))


def records(rows: Sequence[Evaluation]) -> Iterator[dict[str, Any]]:
    """One record per row and measure; a measure with several values gets one for each, under `key`. NaN is None."""
    labels = used_labels(rows)
    for row in rows:
        about = {name: row.labels.get(name) for name in labels}
        for name, one in row.metrics.items():
            several = one.value if isinstance(one.value, Mapping) else {None: one.value}
            for key, value in several.items():
                yield {
                    **about,
                    "measure": name,
                    "key": key,
                    "value": None if value != value else value,
                    "low": one.low,
                    "high": one.high,
                    "bound": one.bound,
                    "p_value": one.p_value,
                    "unit": one.unit,
                    "method": one.method,
                    "flags": " ".join(flag.code for flag in row.flags) or None,
                    "signature": row.signature,
                }


def to_frame(rows: Sequence[Evaluation], *, backend: str = "polars") -> Any:
    """The records as a data frame of the backend; categories stand in a column of their own beside the numbers."""
    import narwhals

    lines = []
    for record in records(rows):
        value = record.pop("value")
        text = isinstance(value, str)
        number = None if text or value is None else float(value)
        lines.append({**record, "value": number, "category": value if text else None})
    columns = {name: [line[name] for line in lines] for name in (lines[0] if lines else ())}
    numbers = ("value", "low", "high", "bound", "p_value")
    schema = {name: narwhals.Float64() if name in numbers else narwhals.String() for name in columns}
    try:
        return narwhals.from_dict(columns, schema, backend=backend).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError:
        raise MissingExtra(backend, f"a data frame of {backend}") from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"a data frame of {backend!r} cannot be made: {error}") from None


def to_html_table(row: Evaluation) -> str:
    """A small table of the measures that are single values, for notebooks."""
    lines = []
    for name, one in row.metrics.items():
        if isinstance(one.value, Mapping):
            continue
        title, meaning = (MEASURES[name].title, MEASURES[name].meaning) if name in MEASURES else (name, "")
        value = str(one.value) if one.number is None else NO_VALUE if row.number(name) is None else f"{one.number:.4g}"
        between = "" if one.low is None or one.high is None else f"{one.low:.4g} to {one.high:.4g}"
        chance = "" if one.p_value is None else f"{one.p_value:.2g}"
        cells = "".join(f"<td>{escape(text)}</td>" for text in (value, between, chance, one.unit))
        lines.append(f'<tr><th title="{escape(meaning)}">{escape(title)}</th>{cells}</tr>')
    what = escape(", ".join(f"{name}: {value}" for name, value in row.labels.items()))
    flags = "".join(f"<li><b>{escape(flag.code)}</b>: {escape(flag.sentence)}</li>" for flag in row.flags)
    head = "".join(f"<th>{name}</th>" for name in ("measure", "value", "95 % interval", "p", "unit"))
    below = f"<ul>{flags}</ul>" if flags else ""
    caption = f"<caption>{what}</caption>" if what else ""
    return (
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>{below}"
        f"<code>{escape(row.signature)}</code>"
    )
