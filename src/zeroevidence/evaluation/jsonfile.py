"""Results as JSON, at full precision, and back: the one door through which files of results come in.

Format 2 holds what kind of row it is, how it was computed and warnings as values. Format 1 had them in sentences; it is
still read (see `legacy`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from zeroevidence.data.loosened import Loosened
from zeroevidence.data.paths import is_folder
from zeroevidence.data.threat import ThreatModel
from zeroevidence.data.writing import refuse_existing, write_whole
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import legacy
from zeroevidence.evaluation.about import About, Spent
from zeroevidence.evaluation.flags import Flag
from zeroevidence.evaluation.results import Curve, Evaluation, Measured, People, Points, Recordings, Surface
from zeroevidence.evaluation.setup import LlrSetup, Resampling, SearchSetup, Setup, TandemSetup, joint_signature
from zeroevidence.uncertainty.null import Null
from zeroevidence.uncertainty.spread import Spread

SCHEMA = "zeroevidence/evaluation/2"
_NAMES = ("speaker", "label")
_ITEM = r'(?:-?\d[\d.eE+-]*|"-?inf"|null)'
_NUMBERS = re.compile(rf"\[\n\s*{_ITEM}(?:,\n\s*{_ITEM})*\n\s*\]")
T = TypeVar("T")


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
    write_whole(Path(path), lambda temporary: temporary.write_text(text, encoding="utf-8", newline=""))


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
    from zeroevidence.data.formats.scores.summary import is_summary  # readers of files need polars
    from zeroevidence.evaluation.published import read_published

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
    from zeroevidence.data.formats.scores.summary import is_summary  # readers of files need polars

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
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    # Numbers of a curve on one line: a file is read by people too. A line break is never part of a JSON string.
    return _NUMBERS.sub(lambda found: re.sub(r"\n\s*", "", found[0]).replace(",", ", "), text) + "\n"


def from_json(text: str, *, path: str = "<json>") -> list[Evaluation]:
    """Rows of a text written by `to_json`, in this format or the one before."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno) from None
    except RecursionError:
        raise InputError("not a result: lists within lists without end", path=path) from None
    found = document.get("schema") if isinstance(document, dict) else None
    if found not in (SCHEMA, legacy.SCHEMA):
        raise InputError(f"expected a result with schema {SCHEMA!r}, got {found!r}", path=path)
    try:
        return [_evaluation(legacy.upgraded(row) if found == legacy.SCHEMA else row) for row in document["rows"]]
    except KeyError as error:
        raise InputError(f"a result row is not complete: it has no {error}", path=path) from None
    except (TypeError, AttributeError, ValueError, UsageError) as error:
        raise InputError(f"a result row is not complete: {error}", path=path) from None


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
    plain: dict[str, Any] = _jsonable(asdict(record))
    # 0.0 equals False, but says something
    return {name: value for name, value in plain.items() if isinstance(value, float) or value not in (None, [], False)}


def _evaluation(row: Mapping[str, Any]) -> Evaluation:
    return Evaluation(
        metrics={name: _metric_from(name, one) for name, one in row["metrics"].items()},
        counts={name: _expected(count, int, name) for name, count in row["counts"].items()},
        setup=_setup(row["setup"]),
        labels={name: _expected(label, str, name) for name, label in row["labels"].items()},
        about=_about(row["about"]),
        flags=tuple(_flag(one) for one in row["flags"]),
        curves={name: Curve(**_columns(curve)) for name, curve in row.get("curves", {}).items()},
        surfaces={name: _surface(surface) for name, surface in row.get("surfaces", {}).items()},
        maps={name: Points(**_columns(points)) for name, points in row.get("maps", {}).items()},
        people=People(**_columns(row["people"])) if "people" in row else None,
        recordings=Recordings(**_columns(row["recordings"])) if "recordings" in row else None,
    )


def _flag(record: Mapping[str, Any]) -> Flag:
    code, severity, sentence = (_expected(record[name], str, name) for name in ("code", "severity", "sentence"))
    return Flag(code, severity, sentence)


def _about(record: Mapping[str, Any]) -> About:
    given = dict(record)
    if given.get("threat") is not None:
        given["threat"] = _filled(ThreatModel, given["threat"])
    if given.get("spent") is not None:
        given["spent"] = _filled(Spent, {name: _expected(one, int, name) for name, one in given["spent"].items()})
    return _filled(About, given)


def _setup(record: Mapping[str, Any]) -> Setup:
    given = dict(record)
    given.pop("interval_method", None)  # of files from when intervals were bootstrapped
    for name, kind in (
        ("search", SearchSetup),
        ("tandem", TandemSetup),
        ("llr", LlrSetup),
        ("intervals", Resampling),
        ("null", Resampling),
    ):
        if given.get(name) is not None:
            given[name] = _filled(kind, _tuples(given[name]))
    given["families"] = tuple(given.get("families", ()))
    given["loosened"] = tuple(_filled(Loosened, one) for one in given.get("loosened", ()))
    return _filled(Setup, given)


def _tuples(record: Mapping[str, Any]) -> dict[str, Any]:
    """A record with tuples where the file has lists of whole numbers."""
    return {
        name: tuple(_expected(one, int, name) for one in value) if isinstance(value, list) else value
        for name, value in record.items()
    }


def _filled(kind: type[T], record: Mapping[str, Any]) -> T:
    """A record of a known kind; fields that it does not have are refused by name."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    unknown = sorted(set(record) - known)
    if unknown:
        raise TypeError(f"{kind.__name__} has no field {unknown[0]!r}")
    return kind(**record)


def _lists(record: Curve | Surface | Points | People | Recordings) -> dict[str, Any]:
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


def _metric(one: Measured) -> dict[str, Any]:
    found = {
        name: getattr(one, name) for name in ("value", "low", "high", "bound", "plain", "p_value", "unit", "method")
    }
    if one.spread is not None:
        found["spread"] = asdict(one.spread)
    if one.null is not None:
        null = {name: getattr(one.null, name) for name in ("mean", "q95", "corrected", "draws", "tested_by")}
        found["null"] = {name: value for name, value in null.items() if value not in ((), "exchanged")}
    return {name: _jsonable(value) for name, value in found.items() if value is not None}


def _jsonable(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _jsonable(v) for k, v in value.items()}
    if isinstance(value, tuple):
        return [_jsonable(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


def _metric_from(name: str, record: Mapping[str, Any]) -> Measured:
    """A measure read back; a value that is null was not a number."""
    given = dict(record)
    value, null, p_value = given.pop("value"), given.pop("null", None), given.pop("p_value", None)
    several = isinstance(value, Mapping)
    told = {key: _entry(one) for key, one in value.items()} if several else value if _is_text(value) else _entry(value)
    if given.get("spread") is not None:
        given["spread"] = _filled(Spread, {key: _entry(one) for key, one in given["spread"].items()})
    for key in ("low", "high", "bound", "plain"):
        if given.get(key) is not None:
            given[key] = _entry(given[key])
    _expected(given.get("unit"), str, f"unit of {name}")
    return Measured(told, null=None if null is None else _null(null, p_value), **given)


def _null(record: Mapping[str, Any], p_value: Any) -> Null:
    numbers = {name: _entry(record.get(name)) for name in ("mean", "q95", "corrected")}
    draws = tuple(_entry(one) for one in record.get("draws", ()))
    tested_by = record.get("tested_by", "exchanged")
    return Null(p_value=_entry(p_value), draws=draws, tested_by=tested_by, **numbers)


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
