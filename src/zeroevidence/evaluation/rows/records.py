"""Results as plain values of JSON, derived from the fields of their dataclasses."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from zeroevidence.data.files.writing import refuse_existing, write_atomically
from zeroevidence.evaluation.rows.setup import joint_signature

SCHEMA = "zeroevidence/evaluation/3"
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def to_record(value: Any) -> Any:
    """Return a value as JSON can hold it: dataclasses and mappings as objects, sequences as lists.

    Infinities are the texts "inf" and "-inf", NaN is null. Fields at their default, and those that are marked as
    not stored, are left out.

    Examples
    --------
    >>> from zeroevidence.evaluation.rows.measure_result import MeasureResult
    >>> to_record(MeasureResult(float("inf"), "bit", high=2.0))
    {'value': 'inf', 'unit': 'bit', 'high': 2.0}
    """
    if isinstance(value, float):
        return value if isfinite(value) else None if isnan(value) else str(value)
    if is_dataclass(value):
        stored = ((item, getattr(value, item.name)) for item in fields(value) if item.metadata.get("stored", True))
        return {item.name: to_record(part) for item, part in stored if not _is_default(part, item.default)}
    if isinstance(value, Mapping):
        return {str(name): to_record(part) for name, part in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_record(part) for part in value]
    return value


def _is_default(value: Any, default: Any) -> bool:
    """Whether a field says nothing; 0.0 equals False, but says something."""
    return default is not MISSING and type(value) is type(default) and value == default


def results_text(records: Sequence[Mapping[str, Any]], signatures: Sequence[str]) -> str:
    """Return the text of a result file: one object with schema, signature and rows."""
    document = {"schema": SCHEMA, "signature": joint_signature(signatures), "rows": list(records)}
    return _indented(document) + "\n"


def write_text(text: str, path: str | Path, *, overwrite: bool) -> None:
    """Write a file whole or not at all; one that exists is kept unless `overwrite`."""
    refuse_existing(path, overwrite)
    write_atomically(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def _indented(value: Any, inset: str = "") -> str:
    """A value as indented JSON with lists of numbers on one line: people read these files too."""
    deeper = f"{inset} "
    if isinstance(value, dict) and value:
        lines = [f"{deeper}{_encode(str(name))}: {_indented(part, deeper)}" for name, part in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{inset}}}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[\n" + ",\n".join(f"{deeper}{_indented(part, deeper)}" for part in value) + f"\n{inset}]"
    return _encode(value)
