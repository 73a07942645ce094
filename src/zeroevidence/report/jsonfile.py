"""Evaluations as JSON, at full precision, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from zeroevidence.errors import InputError
from zeroevidence.evaluation import Curve, Evaluation, Metric, joint_signature

SCHEMA = "zeroevidence/evaluation/1"


def to_json(rows: Sequence[Evaluation]) -> str:
    """One object with schema, signature and rows. Infinities are the strings "inf" and "-inf", NaN is null."""
    document = {
        "schema": SCHEMA,
        "signature": joint_signature(rows),
        "rows": [_row(row) for row in rows],
    }
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def from_json(text: str, *, path: str = "<json>") -> list[Evaluation]:
    """Rows of a file written by `to_json`."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno) from None
    found = document.get("schema") if isinstance(document, dict) else None
    if found != SCHEMA:
        raise InputError(f"expected a result with schema {SCHEMA!r}, got {found!r}", path=path)
    try:
        return [
            Evaluation(
                metrics={
                    name: Metric(**{key: _number(value) for key, value in metric.items()})
                    for name, metric in row["metrics"].items()
                },
                counts=row["counts"],
                signature=row["signature"],
                labels=row["labels"],
                flags=tuple(row["flags"]),
                curves={
                    name: Curve(**{key: tuple(_number(v) for v in values) for key, values in curve.items()})
                    for name, curve in row.get("curves", {}).items()
                },
            )
            for row in document["rows"]
        ]
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"a result row is not complete ({error})", path=path) from None


def _row(row: Evaluation) -> dict[str, Any]:
    return {
        "labels": dict(row.labels),
        "counts": dict(row.counts),
        "metrics": {name: _metric(metric) for name, metric in row.metrics.items()},
        "flags": list(row.flags),
        **({"curves": {name: _curve(curve) for name, curve in row.curves.items()}} if row.curves else {}),
        "signature": row.signature,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    fields = {"x": curve.x, "y": curve.y, "baseline": curve.baseline}
    return {name: [_jsonable(v) for v in values] for name, values in fields.items() if values is not None}


def _metric(metric: Metric) -> dict[str, Any]:
    fields = {name: getattr(metric, name) for name in ("value", "low", "high", "null", "p_value", "unit", "method")}
    return {name: _jsonable(value) for name, value in fields.items() if value is not None}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _number(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf") else value
