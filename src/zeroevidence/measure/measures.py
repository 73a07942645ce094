"""The measures: what each is called, means and is computed from.

A measure is a function of a view (see `views`), decorated with `Measure` or with the decorator of its family. The same
function gives the value, every value on fewer people and every permutation of the null, because each of these is a view
of the same kind. A new measure is one new module, wherever it lies below this package.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from math import inf
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from zeroevidence._typing import FloatArray
from zeroevidence.registry import Registry

Family: TypeAlias = Literal["one-to-one", "search", "speakers", "tandem", "attribute", "similarity", "utility"]
Direction: TypeAlias = Literal["up", "down", "none"]
# smooth: no bias to correct. oracle: calibrated on the scores it is judged on, which flatters the attacker on few
# people. kernel: the same with a density. entropy: of a histogram, which few people fill unevenly.
IntervalRule: TypeAlias = Literal["smooth", "oracle", "kernel", "entropy"]
Unit: TypeAlias = Literal[
    "rate", "bit", "relative cost", "log10 LR", "category", "count", "fraction", "dB", "bit per dimension", "nat"
]
# Costs of targets and of non-targets in each atom, from the counts, the settings and an effective number of people.
AtomCosts: TypeAlias = Callable[[Any, Any, float], tuple[FloatArray, FloatArray]]
F = TypeVar("F", bound=Callable[[Any], Any])


@dataclass(frozen=True, slots=True)
class ScoreCost:
    """Costs of single LLRs whose class means a measure is made of, so that replicates need only sums of them.

    Parameters
    ----------
    target
        Costs of targets, given their LLRs and the settings.
    nontarget
        The same of non-targets.
    limits
        The lowest and the highest cost.
    mean
        Mean costs of targets and non-targets over all scores, where there is a quicker way.
    most
        The cost is not computed of more scores than this.
    """

    target: Callable[[FloatArray, Any], FloatArray]
    nontarget: Callable[[FloatArray, Any], FloatArray]
    limits: tuple[float, float] = (-inf, inf)
    mean: Callable[[FloatArray, FloatArray, Any], tuple[float, float]] | None = None
    most: float = inf


def _undefined(view: Any) -> Any:
    raise NotImplementedError("the measure has not decorated a function yet")


@dataclass(frozen=True, slots=True)
class Measure:
    """A named measure, and the decorator that registers the function which computes it.

    Parameters
    ----------
    name
        The name in files, options and functions.
    title
        The name in tables and figures.
    family
        The kind of view that it is computed from.
    unit
        The unit of its values.
    discloses
        The direction in which the attacker learns more.
    references
        Keys of the bibliography.
    place
        Position in tables, within the family.
    limits
        Lowest and highest value; those of the unit unless given: 0 to 1 for rates and fractions, else 0 to infinity.
    high_note
        Description of the upper limit where it depends on the data.
    headline
        Position in short tables; None where it is not shown there.
    method
        How it was estimated: a description, or a function of the view that returns one.
    interval
        How its interval is made: a rule, or a function of the view that returns one; None for no interval.
    by_odds
        Whether the interval is made on the scale of odds between the ends of its range.
    estimated
        Whether the value corrected for few people is reported beside the value: where simulation shows that it is
        nearer to the truth (`benchmarks/estimates.py`).
    null
        Whether its value under permutation is reported.
    tested
        Whether it enters the test against chance.
    strength
        Position among the measures that order attackers; None where it does not order them.
    meaning_of_attribute
        The meaning where the two kinds of scores are of classes of an attribute.
    per_score
        The costs of single scores that it averages, where it does.
    atom_costs
        For a measure at a threshold that the scores choose: the costs of single atoms whose class means move as the
        measure does when people change. Its own values without each person do not tell how far it varies: the
        threshold jumps from score to score.
    chance
        The value of guessing in a search, by the counts of its row; None where that is not known beforehand.
    better
        For measures of utility, the direction in which speech is more useful.
    categories
        Description of each category, where the values are categories.
    parts
        The names of its numbers, where its value is several.
    compute
        The measure of a view; None where the view lacks what it needs.
    meaning
        One plain sentence: the first paragraph of the docstring of the function.
    """

    name: str
    title: str
    _: KW_ONLY
    family: Family
    unit: Unit
    discloses: Direction
    references: tuple[str, ...]
    place: int
    limits: tuple[float, float] | None = None
    high_note: str | None = None
    headline: int | None = None
    method: str | Callable[[Any], str | None] | None = None
    interval: IntervalRule | Callable[[Any], IntervalRule | None] | None = None
    by_odds: bool = False
    estimated: bool = False
    null: bool = False
    tested: bool = False
    strength: int | None = None
    meaning_of_attribute: str | None = None
    per_score: ScoreCost | None = None
    atom_costs: AtomCosts | None = None
    chance: Callable[[Mapping[str, int]], float] | None = None
    better: Direction = "none"
    categories: Mapping[str, str] | None = None
    parts: tuple[str, ...] = ()
    compute: Callable[[Any], Any] = _undefined
    meaning: str = ""

    def __call__(self, compute: F) -> F:
        """Register a function of a view as this measure, and return the function."""
        meaning = " ".join(inspect.cleandoc(compute.__doc__ or self.title).split("\n\n")[0].split())
        MEASURES.add(replace(self, compute=compute, meaning=meaning))
        return compute

    @property
    def several(self) -> bool:
        """Whether its value is several numbers by name."""
        return bool(self.parts)

    @property
    def low(self) -> float:
        """The lowest value."""
        return 0.0 if self.limits is None else self.limits[0]

    @property
    def high(self) -> float:
        """The highest value."""
        if self.limits is None:
            return 1.0 if self.unit in ("rate", "fraction") else inf
        return self.limits[1]

    @property
    def range(self) -> str:
        """Lowest and highest value as text."""
        if self.unit == "category":
            return str(self.high_note)
        return f"{self.low:.4g} to {self.high_note or f'{self.high:.4g}'}"

    def method_of(self, view: Any) -> str | None:
        """Describe how it is estimated from a view."""
        return self.method(view) if callable(self.method) else self.method

    def interval_of(self, view: Any) -> IntervalRule | None:
        """Return the rule of its interval for a view; None for no interval."""
        return self.interval(view) if callable(self.interval) else self.interval


MEASURES: Registry[Measure] = Registry(
    "measure",
    package="zeroevidence.measure",
    order=lambda measure: (get_args(Family).index(measure.family), measure.place),
    recursive=True,
)

# Decorators with what the measures of a family have in common.
pair_measure = partial(Measure, family="one-to-one")
search_measure = partial(Measure, family="search", discloses="up", interval="smooth", by_odds=True)
speaker_measure = partial(Measure, family="speakers", discloses="down")  # of one number for each speaker
tandem_measure = partial(Measure, family="tandem", discloses="up", interval="smooth")
attribute_measure = partial(Measure, family="attribute", discloses="up", interval="smooth")
similarity_measure = partial(Measure, family="similarity")
utility_measure = partial(Measure, family="utility", discloses="none")


def measures_of(family: Family) -> list[Measure]:
    """Return the measures of one family, in the order of tables."""
    return [measure for measure in MEASURES.values() if measure.family == family]


def compute_family(family: Family, view: Any) -> dict[str, Any]:
    """Return the value of every measure of a family that the view allows, by name."""
    values = ((measure.name, measure.compute(view)) for measure in measures_of(family))
    return {name: value for name, value in values if value is not None}


def headline_measures() -> list[str]:
    """Return the names of the measures of a short table, in its order."""
    places = {measure.name: measure.headline for measure in MEASURES.values() if measure.headline is not None}
    return sorted(places, key=lambda name: places[name])


def ordering_measures() -> list[Measure]:
    """Return the measures that order attackers by what they learn, the most important first."""
    ordering = [measure for measure in MEASURES.values() if measure.strength is not None]
    return sorted(ordering, key=lambda measure: measure.strength or 0)
