"""Evaluations as JSON, at full precision, and back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from zeroevidence.errors import InputError
from zeroevidence.evaluation import Curve, Evaluation, Metric, People, Points, Surface, joint_signature

SCHEMA = "zeroevidence/evaluation/1"
_NAMES = ("speaker", "label")
_ITEM = r'(?:-?\d[\d.eE+-]*|"-?inf"|null)'
_NUMBERS = re.compile(rf"\[\n\s*{_ITEM}(?:,\n\s*{_ITEM})*\n\s*\]")


def to_json(rows: Sequence[Evaluation]) -> str:
    """One object with schema, signature and rows. Infinities are the strings "inf" and "-inf", NaN is null."""
    document = {
        "schema": SCHEMA,
        "signature": joint_signature(rows),
        "rows": [_row(row) for row in rows],
    }
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    # Numbers of a curve on one line: a file is read by people too. A line break is never part of a JSON string.
    return _NUMBERS.sub(lambda found: re.sub(r"\n\s*", "", found[0]).replace(",", ", "), text) + "\n"


def from_json(text: str, *, path: str = "<json>") -> list[Evaluation]:
    """Rows of a file written by `to_json`."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno) from None
    except RecursionError:
        raise InputError("not a result: lists within lists without end", path=path) from None
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise InputError(f"expected a result with schema {SCHEMA!r}, got {found!r}", path=path)
    try:
        return [
            Evaluation(
                metrics={name: _metric_of(name, metric) for name, metric in row["metrics"].items()},
                counts={name: _expected(count, int, name) for name, count in row["counts"].items()},
                signature=_expected(row["signature"], str, "signature"),
                labels={name: _expected(label, str, name) for name, label in row["labels"].items()},
                flags=tuple(_expected(flag, str, "a flag") for flag in row["flags"]),
                curves={name: Curve(**_columns(curve)) for name, curve in row.get("curves", {}).items()},
                surfaces={name: _surface(surface) for name, surface in row.get("surfaces", {}).items()},
                maps={name: Points(**_columns(points)) for name, points in row.get("maps", {}).items()},
                people=People(**_columns(row["people"])) if "people" in row else None,
            )
            for row in document["rows"]
        ]
    except KeyError as error:
        raise InputError(f"a result row is not complete: it has no {error}", path=path) from None
    except (TypeError, AttributeError) as error:
        raise InputError(f"a result row is not complete: {error}", path=path) from None


def _row(row: Evaluation) -> dict[str, Any]:
    shown = {
        kind: {name: _lists(one) for name, one in getattr(row, kind).items()} for kind in ("curves", "surfaces", "maps")
    }
    return {
        "labels": dict(row.labels),
        "counts": dict(row.counts),
        "metrics": {name: _metric(metric) for name, metric in row.metrics.items()},
        "flags": list(row.flags),
        **{kind: found for kind, found in shown.items() if found},
        **({} if row.people is None else {"people": _lists(row.people)}),
        "signature": row.signature,
    }


def _lists(record: Curve | Surface | Points | People) -> dict[str, Any]:
    """The tuples of a record as lists."""
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: _jsonable(values) for name, values in found.items() if values is not None}


def _columns(record: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """The lists of a record as tuples of numbers or, where the field says so, names; all of one length."""
    found = {
        name: tuple(str(value) if name in _NAMES else _entry(value) for value in values)
        for name, values in record.items()
    }
    if len({len(values) for values in found.values()}) > 1:
        raise TypeError(f"{', '.join(found)} are not equally long")
    return found


def _surface(record: Mapping[str, Any]) -> Surface:
    x, y = (_ticks(record[name]) for name in ("x", "y"))
    z = tuple(tuple(_entry(value) for value in line) for line in record["z"])
    if len(z) != len(x) or any(len(line) != len(y) for line in z):
        raise TypeError("a surface does not have a number for each x and y")
    return Surface(x, y, z)


def _ticks(values: Sequence[Any]) -> tuple[Any, ...]:
    """Names where nothing but strings is there (so that a speaker may be called "inf"), numbers else."""
    return tuple(values) if all(isinstance(value, str) for value in values) else tuple(map(_entry, values))


def _metric(metric: Metric) -> dict[str, Any]:
    fields = {name: getattr(metric, name) for name in ("value", "low", "high", "null", "p_value", "unit", "method")}
    return {name: _jsonable(value) for name, value in fields.items() if value is not None}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [_jsonable(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _metric_of(name: str, record: Mapping[str, Any]) -> Metric:
    """A measure read back; a value that is null was not a number."""
    given = dict(record)
    value, null = given.pop("value"), given.pop("null", None)
    several = isinstance(value, Mapping)
    told = {key: _entry(one) for key, one in value.items()} if several else value if _is_text(value) else _entry(value)
    for key in ("low", "high", "p_value"):
        if given.get(key) is not None:
            given[key] = _entry(given[key])
    if null is not None:
        null = {"mean": math.nan, "q95": math.nan} | {key: _entry(one) for key, one in null.items()}
    _expected(given.get("unit"), str, f"unit of {name}")
    return Metric(told, null=null, **given)


def _expected(value: Any, kind: type, name: str) -> Any:
    if not isinstance(value, kind) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, expected {'a whole number' if kind is int else 'text'}")
    return value


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value not in ("inf", "-inf")


def _number(value: Any) -> Any:
    return float(value) if isinstance(value, str) and value in ("inf", "-inf") else value


def _entry(value: Any) -> Any:
    """One number of a curve, surface or map."""
    number = math.nan if value is None else _number(value)
    if not isinstance(number, (int, float)) or isinstance(number, bool):
        raise TypeError(f"{value!r} is not a number")
    return number
