"""JSON files as typed values: the annotations of a dataclass are the schema of its file.

Types are checked by msgspec. What it would convert silently (a text for a number, 1 for true) and fields that a
dataclass does not have are refused here. Where msgspec is not installed, as on nodes with NumPy and torch alone, values
are built without a check of their types. Ranges are for the dataclass, or the caller, to check.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from zeroevidence.data.files import error_reason, unchanged
from zeroevidence.errors import InputError, UsageError, ZeroEvidenceError

_LARGEST = 2**63
_LONGEST = 40  # characters of a value in a message
_NOT_FINITE = ("inf", "-inf", "nan")
_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "names and values",
    "null": "null",
    "NoneType": "null",
}
T = TypeVar("T")


def read_json(text: str, path: str | Path) -> Any:
    """Return the value of a JSON text; numbers that JSON does not have (NaN, Infinity) are refused."""
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise InputError(f"not JSON: {error.msg}", path=path, line=error.lineno) from None
    except ValueError as error:
        raise InputError(f"not JSON: {error}", path=path) from None
    except RecursionError:
        raise InputError("lists are nested too deeply; expected a few levels", path=path) from None


def load_json(path: str | Path) -> Any:
    """Return the value of a JSON file.

    Raises
    ------
    InputError
        Naming the file, and the line where that is known, when it is missing, not text or not JSON.
    """
    try:
        with unchanged(path):
            text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", path=path) from None
    except ValueError as error:
        raise InputError(f"not text: {error}", path=path) from None
    return read_json(text, path)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it and `typed` reads it: infinities and NaN are text.

    Examples
    --------
    >>> plain({"low": -math.inf, "high": (math.nan, 1)})
    {'low': '-inf', 'high': ['nan', 1]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


@overload
def typed(kind: type[T], value: Any, where: str) -> T: ...


@overload
def typed(kind: object, value: Any, where: str) -> Any: ...


def typed(kind: Any, value: Any, where: str) -> Any:
    """Return a JSON value as one of a type: a dataclass, or what its fields may be.

    Parameters
    ----------
    kind
        The type. Numbers may be the texts ``inf``, ``-inf`` and ``nan``.
    value
        What `read_json` returned.
    where
        What messages call the value.

    Raises
    ------
    InputError
        Naming the place of a value of another type, or of a field that the dataclass does not have.

    Examples
    --------
    >>> from zeroevidence.errors import Problem
    >>> typed(Problem, {"path": "a.scores", "line": 3, "reason": "empty"}, "problem").line
    3
    >>> typed(Problem, {"path": "a.scores", "line": [3], "reason": "empty"}, "problem")
    Traceback (most recent call last):
        ...
    zeroevidence.errors.InputError: problem.line: expected a whole number | null, got a list
    """
    try:
        import msgspec
    except ImportError:
        return _built(kind, value, where)
    try:
        result = msgspec.convert(value, kind, strict=False)
    except msgspec.ValidationError as error:
        reason, _, place = str(error).partition(" - at `$")
        place = place.rstrip("`")
        if not isinstance(error.__cause__, ZeroEvidenceError):  # whose message is ready
            reason = _reason(reason, value, place)
        raise InputError(f"{where}{place}: {reason}") from None
    _check_unconverted(value, msgspec.to_builtins(result), where)
    return result


def known_fields(kind: type[Any], content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object that a dataclass has, without those that are null: for files with notes."""
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in content.items() if name in names and value is not None}


def _reason(reason: str, value: Any, place: str) -> str:
    """What msgspec says about the value at a place, with the value in it."""
    for name, index in re.findall(r"\.([^.\[]+)|\[([^\]]+)\]", place):
        value = value[name] if name else value[int(index)] if index.isdigit() else ...
    reason = re.sub("Object missing required field `(.*)`", r"has no '\1'; expected one", reason)
    reason = re.sub("`([^`]*)`", lambda match: _described(match[1]), reason)
    expected, got, _ = reason.partition(", got ")
    return f"{expected[:1].lower()}{expected[1:]}{got}{shown(value) if got else ''}"


def _described(types: str) -> str:
    """The types that msgspec names, in the words of messages."""
    return " | ".join(_TYPES.get(name, name) for name in types.split(" | "))


def _check_unconverted(source: Any, read: Any, where: str) -> None:
    """Refuse what was left out or converted: unknown fields, texts for numbers, numbers for truth values."""
    if isinstance(source, Mapping):
        for name, part in source.items():
            if name not in read:
                raise InputError(f"{where}: has no field {shortened(name)!r}; expected {', '.join(read)}")
            _check_unconverted(part, read[name], f"{where}.{name}")
    elif isinstance(source, list):
        for number, (part, other) in enumerate(zip(source, read, strict=True)):
            _check_unconverted(part, other, f"{where}[{number}]")
    elif isinstance(source, str) and not is_writable(source):
        raise InputError(f"{where}: expected text, got {shown(source)}")
    elif isinstance(read, float):
        if isinstance(source, bool) or (isinstance(source, str) and source not in _NOT_FINITE):
            raise InputError(f"{where}: expected a number, got {shown(source)}")
    elif type(source) is not type(read) or (type(read) is int and abs(read) >= _LARGEST):
        raise InputError(f"{where}: expected {_described(type(read).__name__)}, got {shown(source)}")


def _built(kind: Any, value: Any, where: str) -> Any:
    """The same without msgspec: dataclasses, tuples and numbers, of values that are trusted to have their types."""
    try:
        if is_dataclass(kind) and isinstance(kind, type):
            hints = get_type_hints(kind)
            return kind(**{name: _built(hints[name], part, f"{where}.{name}") for name, part in value.items()})
        if get_origin(kind) in (Union, UnionType):
            return None if value is None else _built(get_args(kind)[0], value, where)
        if get_origin(kind) is tuple:
            return tuple(_built(get_args(kind)[0], part, where) for part in value)
        return float(value) if kind is float else value
    except (AttributeError, KeyError, TypeError, UsageError) as error:
        raise InputError(f"{where}: {error_reason(error)}") from None


def is_writable(text: Any) -> bool:
    """Return whether text can be written again: JSON may hold halves of characters."""
    return isinstance(text, str) and (text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text))


def shown(value: Any) -> str:
    """Return a value as a message shows it."""
    if isinstance(value, (Mapping, list)):
        return "names and values" if isinstance(value, Mapping) else "a list"
    return "another type" if value is ... else shortened(ascii(value))


def shortened(text: str) -> str:
    """Return text that is no longer than a message can hold."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
