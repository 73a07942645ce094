"""From JSON to typed values: the annotations of a dataclass are the schema of its file.

Every value is checked against the type of its field, to the last number, and an error says where it stands and what was
expected there. What comes out needs no further check of types; ranges are for the dataclass, or the caller, to check.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints, overload

from zeroevidence.data.files.json_values import is_writable, load_json, read_json, shortened, shown
from zeroevidence.errors import InputError, UsageError

_WHOLE = 2**63
_LARGEST = 1.7e308
_SHOWN = 40
__all__ = ["load_json", "mapping", "number", "plain", "read_json", "shortened", "shown", "typed"]
T = TypeVar("T")


def plain(value: Any) -> Any:
    """A value as JSON can hold it and `typed` reads it: infinities are words, what is not a number is null.

    Examples
    --------
    >>> plain({"low": -math.inf, "high": (math.nan, 1)})
    {'low': '-inf', 'high': [None, 1]}
    """
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, tuple):
        return [one if type(one) is float and math.isfinite(one) else plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("inf" if value > 0 else "-inf")
    return value


@overload
def typed(kind: type[T], value: Any, where: str) -> T: ...


@overload
def typed(kind: object, value: Any, where: str) -> Any: ...


def typed(kind: object, value: Any, where: str) -> Any:
    """A value of JSON as one of this type: a dataclass, or what its fields may be.

    Numbers may be the strings ``inf`` and ``-inf``, and null for what is not a number. Fields that the dataclass does
    not have are refused by name.

    Examples
    --------
    >>> from zeroevidence.uncertainty.spread import Spread
    >>> typed(Spread, {"error": 1, "people": 9.5, "freedom": 8, "below": 0, "above": "inf"}, "spread").above
    inf
    >>> typed(Spread, {"error": [1], "people": 9.5, "freedom": 8, "below": 0, "above": 0}, "spread")
    Traceback (most recent call last):
        ...
    zeroevidence.errors.InputError: spread.error: expected a number, got a list
    """
    return _of(kind, value, where)


def _of(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _record(kind, value, where)
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _either(kind, value, where)
    if origin is tuple:
        item = get_args(kind)[0]
        if item is float:
            return _numbers(_list(value, where), where)
        return tuple(_of(item, one, f"{where}[{place}]") for place, one in enumerate(_list(value, where)))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return mapping(get_args(kind)[1], value, where)
    if origin is Literal:
        return value if isinstance(value, str) and value in get_args(kind) else _wrong(kind, value, where)
    return _plain(kind, value, where)


def _plain(kind: Any, value: Any, where: str) -> Any:
    if kind is float:
        return number(value, where)
    if kind is bool and isinstance(value, bool):
        return value
    if kind is int and isinstance(value, int) and not isinstance(value, bool) and abs(value) < _WHOLE:
        return value
    if kind is str and isinstance(value, str) and is_writable(value):
        return value
    return _wrong(kind, value, where)


def number(value: Any, where: str) -> float:
    """A number as results hold them; null is not a number."""
    if value is None:
        return math.nan
    if value in ("inf", "-inf"):
        return float(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or abs(value) > _LARGEST:
        _wrong(float, value, where)
    return float(value)


def _numbers(values: list[Any], where: str) -> tuple[float, ...]:
    """Numbers all at once, and one by one only where there is more than plain numbers: curves are long."""
    if all(type(one) is float and -_LARGEST <= one <= _LARGEST for one in values):
        return tuple(values)
    return tuple(number(one, f"{where}[{place}]") for place, one in enumerate(values))


def mapping(kind: Any, value: Any, where: str) -> dict[str, Any]:
    """Values of one type by name."""
    if not isinstance(value, Mapping):
        _wrong(Mapping, value, where)
    for name in value:
        if not is_writable(name):
            _wrong(str, name, where)
    return {name: _of(kind, one, f"{where}.{name}") for name, one in value.items()}


def _record(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        _wrong(kind, value, where)
    hints = _hints(kind)
    unknown = [name for name in value if name not in hints]
    if unknown:
        raise InputError(f"{where}: has no field {unknown[0][:_SHOWN]!r}; expected {', '.join(hints)}")
    lacking = [
        one.name
        for one in fields(kind)
        if one.name not in value and one.default is MISSING and one.default_factory is MISSING
    ]
    if lacking:
        raise InputError(f"{where}: has no {lacking[0]!r}; expected one")
    try:
        return kind(**{name: _of(hints[name], one, f"{where}.{name}") for name, one in value.items()})
    except UsageError as error:
        raise InputError(f"{where}: {error}") from None


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _either(kind: Any, value: Any, where: str) -> Any:
    """The first of several types that a value is of; null is None where that is one of them."""
    kinds = get_args(kind)
    if value is None and NoneType in kinds:
        return None
    last = None
    for one in (one for one in kinds if one is not NoneType):
        try:
            return _of(one, value, where)
        except InputError as error:
            last = error
    raise last or InputError(f"{where}: expected nothing, got {shown(value)}")


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        _wrong(list, value, where)
    found: list[Any] = value
    return found


def _wrong(kind: Any, value: Any, where: str) -> NoReturn:
    words = {float: "a number", int: "a whole number", str: "text", bool: "true or false", list: "a list"}
    if get_origin(kind) is Literal:
        expected = " or ".join(map(str, get_args(kind)))
    else:
        expected = words.get(kind, "names and values")
    raise InputError(f"{where}: expected {expected}, got {shown(value)}")
