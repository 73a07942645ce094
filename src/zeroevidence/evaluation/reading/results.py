"""Results as JSON, at full precision, and back: the one door through which files of results come in.

Format 2 holds what kind of row it is, how it was computed and warnings as values. Format 1 had them in sentences; it is
still read (see `legacy`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from types import NoneType
from typing import Any

from zeroevidence.data.files.errors import is_folder, reading_file
from zeroevidence.data.files.writing import refuse_existing, write_atomically
from zeroevidence.data.typed import plain, read_json
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.reading import legacy
from zeroevidence.evaluation.reading.rowfile import read_row
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import (
    Curve,
    Evaluation,
    MeasureResult,
    People,
    Points,
    Recordings,
    Surface,
)
from zeroevidence.evaluation.rows.setup import Setup, joint_signature

SCHEMA = "zeroevidence/evaluation/2"
_encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def save_results(rows: Sequence[Evaluation], path: str | Path, *, overwrite: bool = False) -> None:
    """Write rows as JSON; a file that exists is kept unless `overwrite`.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import evaluate
    >>> rows = [evaluate([2.0, 3.0], [0.0, shift], intervals=0, null=0) for shift in (1.0, 2.5)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_results(rows, f"{folder}/both.json")
    ...     [row["eer"].value for row in read_results(f"{folder}/both.json")]
    [0.0, 0.5]
    """
    refuse_existing(path, overwrite)
    text = to_json(rows)
    write_atomically(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


def read_results(path: str | Path) -> list[Evaluation]:
    """Rows of a result: a JSON file, a folder that `link` or `audit` wrote, or a table of a VoicePrivacy Challenge.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import evaluate
    >>> rows = [evaluate([2.0, 3.0], [0.0, shift], intervals=0, null=0) for shift in (1.0, 2.5)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_results(rows, f"{folder}/both.json")
    ...     [row["eer"].value for row in read_results(f"{folder}/both.json")]
    [0.0, 0.5]
    """
    from zeroevidence.data.formats.voiceprivacy.published_tables import is_summary  # readers of files need polars
    from zeroevidence.evaluation.reading.published import read_published

    if is_summary(path):
        return read_published(path)
    name, text = result_text(path)
    rows = from_json(text, path=name)
    if not rows:
        raise InputError("has no rows; expected a result", path=name)
    return rows


def read_result(path: str | Path) -> Evaluation:
    """The row of a result that has one; `read_results` reads several.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import evaluate, read_result
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result.save(f"{folder}/result.json")
    ...     read_result(f"{folder}/result.json") == result
    True
    """
    rows = read_results(path)
    if len(rows) != 1:
        raise UsageError(f"{path}: has {len(rows)} rows; read them with read_results")
    return rows[0]


def is_result(path: str | Path) -> bool:
    """Whether this is a finished result: a JSON file, a folder with one, or a table that a challenge's kit wrote."""
    from zeroevidence.data.formats.voiceprivacy.published_tables import is_summary  # readers of files need polars

    place = Path(path)
    try:
        return (
            is_summary(path)
            or (place.is_dir() and (place / "result.json").is_file())
            or (place.is_file() and place.suffix == ".json")
        )
    except (OSError, ValueError):
        return False  # a name that no file can have


def result_text(path: str | Path) -> tuple[str, str]:
    """Name and content of the result file behind a path."""
    file = Path(path) / "result.json" if is_folder(path) else Path(path)
    try:
        return str(file), file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as a result: {error}", path=file) from None


def to_json(rows: Sequence[Evaluation]) -> str:
    """One object with schema, signature and rows. Infinities are the strings "inf" and "-inf", NaN is null."""
    document = {
        "schema": SCHEMA,
        "signature": joint_signature([row.signature for row in rows]),
        "rows": [to_record(row) for row in rows],
    }
    return _written(document) + "\n"


def _written(value: Any, inset: str = "") -> str:
    """A value as JSON, numbers of a curve on one line: a file is read by people too."""
    deeper = f"{inset} "
    if isinstance(value, dict) and value:
        lines = [f"{deeper}{_encoded(str(name))}: {_written(one, deeper)}" for name, one in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{inset}}}"
    if isinstance(value, list) and not all(map(_is_number, value)):
        return "[\n" + ",\n".join(f"{deeper}{_written(one, deeper)}" for one in value) + f"\n{inset}]"
    return _encoded(value)


def _is_number(value: Any) -> bool:
    """Whether a value is a number as results hold them (see `plain`)."""
    return type(value) in (float, int, NoneType) or value in ("inf", "-inf")


def from_json(text: str, *, path: str = "<json>") -> list[Evaluation]:
    """Rows of a text written by `to_json`, in this format or the one before."""
    document = read_json(text, path)
    found = document.get("schema") if isinstance(document, dict) else None
    if found not in (SCHEMA, legacy.SCHEMA):
        raise InputError(f"expected a result with schema {SCHEMA!r}, got {str(found)[:40]!r}", path=path)
    rows = document.get("rows")
    if not isinstance(rows, list):
        raise InputError("has no rows; expected a list of them", path=path)
    with reading_file(path, "a result"):
        old = found == legacy.SCHEMA
        return [read_row(legacy.upgraded(row, n) if old else row, n) for n, row in enumerate(rows, 1)]


def to_record(row: Evaluation) -> dict[str, Any]:
    """A row as plain values."""
    shown = {
        kind: {name: _lists(one) for name, one in getattr(row, kind).items()} for kind in ("curves", "surfaces", "maps")
    }
    return {
        "labels": dict(row.labels),
        "about": _without_defaults(row.about),
        "counts": dict(row.counts),
        "metrics": {name: _metric(one) for name, one in row.metrics.items()},
        "flags": [asdict(one) for one in row.flags],
        **{kind: found for kind, found in shown.items() if found},
        **({} if row.people is None else {"people": _lists(row.people)}),
        **({} if row.recordings is None else {"recordings": _lists(row.recordings)}),
        "setup": _without_defaults(row.setup),
        "signature": row.signature,
    }


def _without_defaults(record: About | Setup) -> dict[str, Any]:
    """The fields that say something."""
    said: dict[str, Any] = plain(asdict(record))
    # 0.0 equals False, but says something
    return {name: value for name, value in said.items() if isinstance(value, float) or value not in (None, [], False)}


def _lists(record: Curve | Surface | Points | People | Recordings) -> dict[str, Any]:
    """The tuples of a record as lists."""
    found = {field.name: getattr(record, field.name) for field in fields(record)}
    return {name: plain(values) for name, values in found.items() if values is not None}


def _metric(one: MeasureResult) -> dict[str, Any]:
    found = {
        name: getattr(one, name) for name in ("value", "low", "high", "bound", "plain", "p_value", "unit", "method")
    }
    if one.spread is not None:
        found["spread"] = asdict(one.spread)
    if one.null is not None:
        null = {name: getattr(one.null, name) for name in ("mean", "q95", "corrected", "draws", "tested_by")}
        found["null"] = {name: value for name, value in null.items() if value not in ((), "exchanged")}
    return {name: plain(value) for name, value in found.items() if value is not None}
