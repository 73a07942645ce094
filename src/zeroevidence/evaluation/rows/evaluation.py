"""What an evaluation holds: frozen, and the same for every way of showing it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, nan
from pathlib import Path
from typing import Any

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.data.scores import Scores
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.frozen import Frozen
from zeroevidence.evaluation.rows.replicates import Replicates
from zeroevidence.evaluation.rows.setup import Setup, signature
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.measure.search.disclosure import SpeakerRisk, by_speaker
from zeroevidence.uncertainty.null import Null
from zeroevidence.uncertainty.spread import Spread

NO_VALUE = "–"  # what people read where there is no number
Value = float | int | str | Mapping[str, float] | Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MeasureResult:
    """One measure's value and, where they were computed, its interval, its null and how it was estimated.

    It is a number where a number is wanted: ``float(m)``, ``f"{m:.3f}"``.

    Parameters
    ----------
    value, unit, method
        The number, what it is a number of, and how it was estimated. Where people are few and the measure is known to
        come out too high or low with few, the value is corrected for that.
    low, high
        95 % interval.
    bound
        One-sided 95 % limit on the side where an attacker learns more: with that confidence, people like these give
        away no more to this attacker.
    null
        The measure where nothing leaks.
    plain
        The value before that correction; None where nothing was corrected.
    spread
        What limits at any level are made of.

    Examples
    --------
    >>> m = MeasureResult(0.25, "bit", low=0.2, high=0.31)
    >>> float(m), f"{m:.1f}"
    (0.25, '0.2')
    """

    value: Value
    unit: str
    method: str | None = None
    low: float | None = None
    high: float | None = None
    null: Null | None = None
    plain: float | None = None
    spread: Spread | None = None
    bound: float | None = None

    def __post_init__(self) -> None:
        """One value that is none, so that results that lack the same are equal."""
        if isinstance(self.value, float) and isnan(self.value):
            object.__setattr__(self, "value", nan)

    @property
    def uncorrected(self) -> float:
        """The value before it was corrected for few people."""
        return float(self) if self.plain is None else self.plain

    @property
    def p_value(self) -> float | None:
        """How often chance alone shows as much; None where no null was computed."""
        return None if self.null is None else self.null.p_value

    @property
    def number(self) -> float | None:
        """The value where it is a single number, else None."""
        return float(self.value) if isinstance(self.value, (int, float)) else None

    def __float__(self) -> float:
        if self.number is None:
            raise TypeError(f"this measure is not a single number: {self.value!r}")
        return self.number

    def __format__(self, spec: str) -> str:
        return format(self.value if isinstance(self.value, str) else float(self), spec) if spec else str(self.value)


@dataclass(frozen=True, slots=True)
class Curve:
    """A measure over something, as plain numbers; `baseline` is what chance gives."""

    x: tuple[float, ...]
    y: tuple[float, ...]
    baseline: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Surface:
    """A measure over two things: `z` holds a row for each `x` and in it a number for each `y` (numbers or names)."""

    x: tuple[float, ...] | tuple[str, ...]
    y: tuple[float, ...] | tuple[str, ...]
    z: tuple[tuple[float, ...], ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A two-dimensional map: where each item lies and which group it belongs to.

    Where `x` is the LLR between the two groups in alphabetical order, a model may say that it is N(-mu, 2 mu) in the
    first and N(mu, 2 mu) in the second.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    label: tuple[str, ...]
    mu: float | None = None


@dataclass(frozen=True, slots=True)
class People:
    """What a search learns about each speaker, the most exposed first; of very many speakers only those."""

    speaker: tuple[str, ...]
    trials: tuple[int, ...]
    alid: tuple[float, ...]  # mean over the speaker's trials, bits
    lid_max: tuple[float, ...]
    linked: tuple[float, ...]  # share of trials whose true identity scored strictly above all others
    falsely: tuple[float, ...] | None = None  # share of everybody else's trials for which this name came up


@dataclass(frozen=True, slots=True)
class Recordings:
    """What an attacker learns who holds several recordings of the person, an entry for each number of them.

    An attacker may use fewer than they hold, so no value is below the one before.

    Parameters
    ----------
    held, people
        How many recordings, and how many people have as many; of the others all recordings are used.
    worth
        As many independent recordings would be worth the same: those of one person have much in common.
    alid, top1, lid_max, link_probability, singling_out
        The measures of the search, each trial together with others of its speaker.
    alid_low, alid_high, top1_low, top1_high
        Intervals, where they were computed.
    """

    held: tuple[int, ...]
    people: tuple[int, ...]
    worth: tuple[float, ...]
    alid: tuple[float, ...]
    top1: tuple[float, ...]
    lid_max: tuple[float, ...]
    link_probability: tuple[float, ...]
    singling_out: tuple[float, ...]
    alid_low: tuple[float, ...] | None = None
    alid_high: tuple[float, ...] | None = None
    top1_low: tuple[float, ...] | None = None
    top1_high: tuple[float, ...] | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """What each trial of a search discloses."""

    trial: StrArray
    speaker: StrArray
    lid: FloatArray
    rank: FloatArray  # mean rank over ties
    linked: IntArray  # 1 where the true identity scored strictly above all others

    @cached_property
    def by_speaker(self) -> SpeakerRisk:
        """What they disclose of each speaker."""
        return by_speaker(self.lid, self.speaker)


@dataclass(frozen=True, slots=True)
class Evaluation:
    """All measures of one set of scores.

    Parameters
    ----------
    metrics
        The measures by name; ``result["d_ece"]`` is short for ``result.metrics["d_ece"]``.
    counts
        Scores of each class, speakers, trials, identities: those known.
    setup
        How it was computed.
    labels
        What people call it: system, dataset, split, sex, backend; those that follow from `about` are added.
    about
        What kind of row it is, and the attacker.
    flags
        Warnings.
    curves, surfaces, maps
        What figures are drawn of.
    trials, people, recordings
        What a search learned from each trial, about each person, and from several recordings of a person.
    replicates
        Values on fewer people, for comparisons with other systems on the same trials; not written to files.
    scores
        What was measured, one comparison at a time; not written to files.

    Examples
    --------
    >>> from zeroevidence import evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], intervals=0, null=0)
    >>> round(float(result["eer"]), 3)
    0.333
    >>> "d_ece" in result, result.counts["target"]
    (True, 3)
    """

    metrics: Mapping[str, MeasureResult]
    counts: Mapping[str, int] = field(default_factory=dict)
    setup: Setup = field(default_factory=Setup)
    labels: Mapping[str, str] = field(default_factory=dict)
    about: About = field(default_factory=About)
    flags: tuple[Flag, ...] = ()
    curves: Mapping[str, Curve] = field(default_factory=dict)
    trials: Trials | None = field(default=None, compare=False)  # files do not hold them
    surfaces: Mapping[str, Surface] = field(default_factory=dict)
    maps: Mapping[str, Points] = field(default_factory=dict)
    people: People | None = None
    recordings: Recordings | None = None
    replicates: Replicates | None = field(default=None, compare=False)
    scores: Scores | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", {**self.labels, **_about_labels(self.about)})
        for name in ("metrics", "counts", "labels", "curves", "surfaces", "maps"):
            object.__setattr__(self, name, Frozen(getattr(self, name)))

    @property
    def signature(self) -> str:
        """One line that makes the numbers reproducible."""
        return signature(self.setup, self.counts)

    @property
    def is_search(self) -> bool:
        """Whether a search through several identities was measured."""
        return "top1" in self.metrics and self.counts.get("identities", 0) > 1

    def __getitem__(self, name: str) -> MeasureResult:
        try:
            return self.metrics[name]
        except KeyError:
            raise KeyError(f"{name!r} was not measured; there is {', '.join(self.metrics) or 'nothing'}") from None

    def __contains__(self, name: object) -> bool:
        return name in self.metrics

    def __iter__(self) -> Iterator[str]:
        return iter(self.metrics)

    def number(self, name: str) -> float | None:
        """A measure's value where there is one and it is a single number that is not NaN."""
        found = self.metrics[name].number if name in self.metrics else None
        return None if found is None or found != found else found

    def with_metrics(self, metrics: Mapping[str, MeasureResult]) -> Evaluation:
        """The same with further measures."""
        return replace(self, metrics={**self.metrics, **metrics})

    def with_flags(self, *flags: Flag) -> Evaluation:
        """The same with further warnings, each once."""
        return replace(self, flags=(*self.flags, *(one for one in flags if one not in self.flags)))

    def __repr__(self) -> str:
        what = ", ".join(f"{name} {value}" for name, value in self.labels.items() if name in ("system", "attacker"))
        sizes = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        shown = [name for name in headline_measures() if name in self.metrics][:8]
        lines = [f"Evaluation({what}: {sizes})" if what else f"Evaluation({sizes})"]
        lines += [f"  {_title(name)}: {_shown(self.metrics[name])}" for name in shown]
        lines += [f"  ! {one.code}" for one in self.flags]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from zeroevidence.evaluation.rows.frames import to_html_table

        return to_html_table(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, as in the JSON file."""
        from zeroevidence.evaluation.reading.results import to_record

        return to_record(self)

    def to_frame(self, *, backend: str = "polars") -> Any:
        """One line per measure as a data frame: of polars, or of ``pandas``, ``pyarrow`` and others (by narwhals)."""
        from zeroevidence.evaluation.rows.frames import to_frame

        return to_frame([self], backend=backend)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the result as JSON; `read_result` reads it again. A file that exists is kept unless `overwrite`."""
        from zeroevidence.evaluation.reading.results import save_results

        save_results([self], path, overwrite=overwrite)


def measured(name: str, value: Value, method: str | None) -> MeasureResult:
    """A value with the unit that the registry knows."""
    return MeasureResult(value, MEASURES[name].unit, method)


def number_or_none(row: Evaluation | None, name: str) -> float | None:
    """`Evaluation.number`, None without a row."""
    return None if row is None else row.number(name)


def required_number(row: Evaluation, name: str) -> float:
    """A measure's value that must be there."""
    found = row.number(name)
    if found is None:
        raise UsageError(f"{row.labels.get('system', 'this result')} has no {name}")
    return found


def _about_labels(about: About) -> dict[str, str]:
    """Words for what a row is about."""
    labels = {"attribute": about.attribute, "class": about.of_class, "attack": about.attack}
    if about.threat is not None:
        threat = about.threat
        labels |= {"enrolment": threat.enrolment, "trial": threat.trial, "attacker": str(threat)}
    return {name: value for name, value in labels.items() if value is not None}


def _title(name: str) -> str:
    return MEASURES[name].title if name in MEASURES else name


def _shown(one: MeasureResult) -> str:
    if one.number is None:
        return str(one.value)
    if one.number != one.number:
        return NO_VALUE
    between = "" if one.low is None or one.high is None else f" [{one.low:.4g}, {one.high:.4g}]"
    return f"{one.number:.4g}{between}"
