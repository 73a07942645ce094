"""The registry of measures: what each is called, means and is computed from, in the module that defines it.

A measure is registered by the decorator `measure` on a function of a view (see `views`). The same function gives the
value, every value on fewer people and every permutation of the null, because each of these is a view of the same kind.
Modules of this package are imported when the registry is first asked, so a new measure is one new module.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias, get_args

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError

Family: TypeAlias = Literal["one-to-one", "search", "tandem", "attribute", "similarity", "utility"]
Direction: TypeAlias = Literal["up", "down", "none"]
# smooth: as it is. oracle: calibrated on the scores it is judged on, which flatters the attacker on few people;
# kernel: the same with a density. # entropy: of a histogram, which few people fill unevenly. extreme: a maximum.
IntervalRule: TypeAlias = Literal["smooth", "oracle", "kernel", "entropy", "extreme"]
Unit: TypeAlias = Literal[
    "rate",
    "bit",
    "relative cost",
    "log10 LR",
    "category",
    "count",
    "fraction",
    "dB",
    "bit per dimension",
    "unit of the attribute",
]


@dataclass(frozen=True, slots=True)
class ScoreCost:
    """A cost of single scores whose class means a measure is made of, so that replicates need only sums of it."""

    target: Callable[[FloatArray, Any], FloatArray]
    nontarget: Callable[[FloatArray, Any], FloatArray]
    limits: tuple[float, float] = (-inf, inf)
    mean: Callable[[FloatArray, FloatArray, Any], tuple[float, float]] | None = None  # a quicker way over all scores
    most: float = inf  # scores; of more it is not computed


@dataclass(frozen=True, slots=True)
class Measure:
    """One named measure.

    Parameters
    ----------
    name, title
        What files and functions call it, and what people read.
    family
        Which kind of view it is computed from.
    unit, low, high, high_note
        What its numbers are, and their range; `high_note` where the upper end depends on the data.
    discloses
        The direction in which the attacker learns more.
    meaning, meaning_of_attribute
        One plain sentence; the second where the two kinds of scores are of classes of an attribute.
    references
        Keys of the bibliography.
    compute
        The measure of a view; None where the view lacks what it needs.
    method
        How it was estimated, in words, given the view.
    interval
        How its interval is made, given the view; None for none.
    null
        Whether its value under permutation is reported.
    tested
        Whether it enters the test against chance.
    strength
        Its place among the measures that order attackers; None where it does not.
    place
        Its place in tables within the family.
    headline
        Its place among the few measures of a short table; None where it is not one.
    per_score
        The cost of single scores that it averages, where it does.
    chance
        What guessing gives in a search, by the number of identities; None where that is not known beforehand.
    null_note
        Why its value where nothing leaks may be below 0.
    better
        For measures of utility, the direction in which speech is of more use.
    categories
        What each category means, in words, where the values are categories.
    several
        Whether its value is several numbers by name instead of one.
    """

    name: str
    title: str
    family: Family
    unit: Unit
    low: float
    high: float
    discloses: Direction
    meaning: str
    references: tuple[str, ...]
    compute: Callable[[Any], Any]
    method: Callable[[Any], str | None]
    interval: Callable[[Any], IntervalRule | None]
    null: bool
    tested: bool
    strength: int | None
    place: int
    headline: int | None
    high_note: str | None
    meaning_of_attribute: str | None
    per_score: ScoreCost | None
    chance: Callable[[int], float] | None
    null_note: str | None
    better: Direction
    categories: Mapping[str, str] | None
    several: bool

    @property
    def range(self) -> str:
        """The range in words."""
        if self.unit == "category":
            return str(self.high_note)
        return f"{self.low:.4g} to {self.high_note or f'{self.high:.4g}'}"


_entries: dict[str, Measure] = {}
_loaded = False


def measure(
    name: str,
    title: str,
    *,
    family: Family,
    unit: Unit,
    range: tuple[float, float],
    discloses: Direction,
    meaning: str,
    references: tuple[str, ...],
    place: int,
    headline: int | None = None,
    method: str | Callable[[Any], str | None] | None = None,
    interval: IntervalRule | Callable[[Any], IntervalRule | None] | None = None,
    null: bool = False,
    tested: bool = False,
    strength: int | None = None,
    high_note: str | None = None,
    meaning_of_attribute: str | None = None,
    per_score: ScoreCost | None = None,
    chance: Callable[[int], float] | None = None,
    null_note: str | None = None,
    better: Direction = "none",
    categories: Mapping[str, str] | None = None,
    several: bool = False,
) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Enter a function of a view into the registry; see `Measure` for the parameters."""

    def enter(compute: Callable[[Any], Any]) -> Callable[[Any], Any]:
        _entries[name] = Measure(
            name,
            title,
            family,
            unit,
            *range,
            discloses,
            meaning,
            references,
            compute,
            method if callable(method) else lambda _: method,
            interval if callable(interval) else lambda _: interval,
            null,
            tested,
            strength,
            place,
            headline,
            high_note,
            meaning_of_attribute,
            per_score,
            chance,
            null_note,
            better,
            categories,
            several,
        )
        return compute

    return enter


def remove_measure(name: str) -> None:
    """Take a measure out again, after trying it out."""
    MEASURES[name]  # all are loaded, so that it does not come back
    del _entries[name]


class _Measures(Mapping[str, Measure]):
    """All measures by name, ordered by family and place; modules are imported on first use."""

    def _all(self) -> dict[str, Measure]:
        global _loaded
        if not _loaded:
            _loaded = True
            package = importlib.import_module("zeroevidence.measure")
            for module in pkgutil.walk_packages(package.__path__, "zeroevidence.measure."):
                importlib.import_module(module.name)
        return _entries

    def __getitem__(self, name: str) -> Measure:
        return self._all()[name]

    def __iter__(self) -> Iterator[str]:
        families = get_args(Family)
        entries = self._all()
        return iter(sorted(entries, key=lambda name: (families.index(entries[name].family), entries[name].place)))

    def __len__(self) -> int:
        return len(self._all())


MEASURES: Mapping[str, Measure] = _Measures()


def find_measure(name: str) -> Measure:
    """The measure of that name."""
    try:
        return MEASURES[name]
    except KeyError:
        raise UsageError(f"unknown measure {name!r}; `zeroevidence metrics` lists them") from None


def measures_of(family: Family) -> list[Measure]:
    """The measures of one family, in the order of tables."""
    return [one for one in MEASURES.values() if one.family == family]


def compute_family(family: Family, view: Any) -> dict[str, Any]:
    """Every measure of a family that a view allows."""
    found = ((one.name, one.compute(view)) for one in measures_of(family))
    return {name: value for name, value in found if value is not None}


def headline_measures() -> list[str]:
    """Names of the measures of a short table, in its order."""
    shown = [one for one in MEASURES.values() if one.headline is not None]
    return [one.name for one in sorted(shown, key=lambda one: one.headline or 0)]


def ordering_measures() -> list[Measure]:
    """The measures that order attackers by what they learn, the most telling first."""
    ranked = [one for one in MEASURES.values() if one.strength is not None]
    return sorted(ranked, key=lambda one: one.strength or 0)
