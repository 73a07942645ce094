"""One row of a file of results, checked to the last number."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from zeroevidence.data.typed import mapping, number, shown, typed
from zeroevidence.errors import InputError
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.evaluation import (
    Curve,
    Evaluation,
    MeasureResult,
    People,
    Points,
    Recordings,
    Surface,
    Value,
)
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.setup import Setup
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.null import Null, TestedBy
from zeroevidence.uncertainty.spread import Spread

_PARTS = ("labels", "about", "counts", "metrics", "flags", "curves", "surfaces", "maps", "people", "recordings")
_KNOWN = (*_PARTS, "setup", "signature")
_HAIR = 1e-6  # by which a value may pass the end of its range
T = TypeVar("T")


def read_row(row: Any, place: int) -> Evaluation:
    """A row of format 2; `place` counts from 1."""
    where = f"row {place}"
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: expected names and values")
    unknown = [name for name in row if name not in _KNOWN]
    if unknown:
        raise InputError(f"{where}: has no part {unknown[0][:40]!r}; expected {', '.join(_KNOWN)}")
    lacking = [name for name in ("metrics", "counts", "setup", "labels", "about", "flags") if name not in row]
    if lacking:
        raise InputError(f"{where} is not complete: it has no {lacking[0]!r}")
    counts = {name: _count(one, f"{where}.counts.{name}") for name, one in _named(row, "counts", where)}
    shown = {name: mapping(Any, row.get(name, {}), f"{where}.{name}") for name in ("curves", "surfaces", "maps")}
    return Evaluation(
        metrics={name: _measured(name, one, f"{where}.metrics.{name}") for name, one in _named(row, "metrics", where)},
        counts=counts,
        setup=_setup(row["setup"], counts, f"{where}.setup"),
        labels=mapping(str, row["labels"], f"{where}.labels"),
        about=typed(About, row["about"], f"{where}.about"),
        flags=typed(tuple[Flag, ...], row["flags"], f"{where}.flags"),
        curves={name: _columns(Curve, one, f"{where}.curves.{name}") for name, one in shown["curves"].items()},
        surfaces={name: _surface(one, f"{where}.surfaces.{name}") for name, one in shown["surfaces"].items()},
        maps={name: _columns(Points, one, f"{where}.maps.{name}") for name, one in shown["maps"].items()},
        people=_columns(People, row["people"], f"{where}.people") if "people" in row else None,
        recordings=_columns(Recordings, row["recordings"], f"{where}.recordings") if "recordings" in row else None,
    )


def _named(row: Mapping[str, Any], part: str, where: str) -> list[tuple[str, Any]]:
    return list(mapping(Any, row[part], f"{where}.{part}").items())


def _count(value: Any, where: str) -> int:
    found = typed(int, value, where)
    if found < 0:
        raise InputError(f"{where}: expected a number from 0 on, got {found}")
    return found


def _setup(record: Any, counts: Mapping[str, int], where: str) -> Setup:
    given = mapping(Any, record, where)
    given.pop("interval_method", None)  # of files from when intervals were bootstrapped
    found = typed(Setup, given, where)
    if found.linkability is not None and found.dcf_prior is None:
        raise InputError(f"{where}: has 'linkability', but no 'dcf_prior'; expected both")
    if found.search is not None and found.recorded is None and not {"trials", "identities"} <= counts.keys():
        raise InputError(f"{where}: has 'search', but trials and identities are not counted; expected both")
    return found


def _columns(kind: type[T], record: Any, where: str) -> T:
    """A record of columns, all of one length."""
    found = typed(kind, record, where)
    columns = {one.name: getattr(found, one.name) for one in fields(kind)}  # type: ignore[arg-type]
    if len({len(values) for values in columns.values() if isinstance(values, tuple)}) > 1:
        raise InputError(f"{where}: {', '.join(columns)} are not equally long")
    return found


def _surface(record: Any, where: str) -> Surface:
    given = mapping(Any, record, where)
    if sorted(given) != ["x", "y", "z"]:
        raise InputError(f"{where}: expected x, y and z")
    x, y = (_ticks(given[name], f"{where}.{name}") for name in "xy")
    z = typed(tuple[tuple[float, ...], ...], given["z"], f"{where}.z")
    if len(z) != len(x) or any(len(line) != len(y) for line in z):
        raise InputError(f"{where}: does not have a number for each x and y")
    return Surface(x, y, z)


def _ticks(values: Any, where: str) -> Any:
    """Names where nothing but strings is there (so that a speaker may be called "inf"), numbers else."""
    named = isinstance(values, list) and all(isinstance(value, str) for value in values)
    return typed(tuple[str, ...] if named else tuple[float, ...], values, where)


def _measured(name: str, record: Any, where: str) -> MeasureResult:
    """A measure read back; a value that is null was not a number."""
    given = mapping(Any, record, where)
    if "value" not in given or "unit" not in given:
        raise InputError(f"{where}: expected a value and a unit")
    null, p_value = given.pop("null", None), given.pop("p_value", None)
    found = MeasureResult(
        _value(name, given.pop("value"), f"{where}.value"),
        typed(str, given.pop("unit"), f"{where}.unit"),
        typed(str | None, given.pop("method", None), f"{where}.method"),
        null=None if null is None else _null(null, p_value, f"{where}.null"),
        spread=None if given.get("spread") is None else _spread(given["spread"], f"{where}.spread"),
        **{
            key: None if given.get(key) is None else number(given[key], f"{where}.{key}")
            for key in ("low", "high", "bound", "plain")
        },
    )
    unknown = sorted(set(given) - {"spread", "low", "high", "bound", "plain"})
    if unknown:
        raise InputError(f"{where}: has no field {unknown[0]!r}")
    _check_range(name, found, where)
    return found


def _value(name: str, value: Any, where: str) -> Value:
    """A value of the kind that the measure has; of measures of other versions and plug-ins, any kind there is."""
    entry = MEASURES.get(name)
    if entry is None:
        several = isinstance(value, Mapping)
        category = isinstance(value, str) and value not in ("inf", "-inf")
    else:
        several, category = entry.several, entry.unit == "category"
    if several:
        return {key: _counted(one, f"{where}.{key}") for key, one in mapping(Any, value, where).items()}
    if not category:
        return _counted(value, where)
    found = typed(str, value, where)
    if entry is not None and entry.categories is not None and found not in entry.categories:
        raise InputError(f"{where}: expected {' or '.join(entry.categories)}, got {shown(found)}")
    return found


def _counted(value: Any, where: str) -> float:
    """A number, whole where it was written as one."""
    found = number(value, where)
    return int(found) if isinstance(value, int) and abs(value) < 2**53 else found


def _check_range(name: str, found: MeasureResult, where: str) -> None:
    """Refuse numbers that the measure cannot have."""
    if found.number is None:
        more = [key for key in ("spread", "low", "high", "bound", "plain", "null") if getattr(found, key) is not None]
        if more:
            raise InputError(f"{where}: has {more[0]!r}, but its value is no single number")
    if found.low is not None and found.high is not None and found.low > found.high:
        raise InputError(f"{where}: its interval from {found.low:g} to {found.high:g} is turned round")
    if name not in MEASURES:
        return
    entry = MEASURES[name]
    numbers = found.value.values() if isinstance(found.value, Mapping) else (found.number,)
    for one in (*numbers, found.low, found.high, found.bound, found.plain):
        if one is not None and math.isfinite(one) and not entry.low - _HAIR <= one <= entry.high + _HAIR:
            raise InputError(f"{where}: {one:g} lies outside of {entry.low:g} to {entry.high:g}")


def _null(record: Any, p_value: Any, where: str) -> Null:
    given = mapping(Any, record, where)
    numbers = {name: number(given.pop(name, None), f"{where}.{name}") for name in ("mean", "q95", "corrected")}
    draws = typed(tuple[float, ...], given.pop("draws", []), f"{where}.draws")
    tested_by = typed(TestedBy, given.pop("tested_by", "exchanged"), f"{where}.tested_by")
    if given:
        raise InputError(f"{where}: has no field {min(given)!r}")
    return Null(p_value=number(p_value, f"{where}.p_value"), draws=draws, tested_by=tested_by, **numbers)


def _spread(record: Any, where: str) -> Spread:
    found = typed(Spread, record, where)
    if not (found.error >= 0.0 and found.people > 0.0 and found.freedom > 0.0):
        raise InputError(f"{where}: expected an error from 0 on, and people and freedom above 0")
    return found
