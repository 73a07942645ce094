"""A row of results: everything that was measured of one set of scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from zeroevidence.data.scores import Scores
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.columns import NOT_STORED
from zeroevidence.evaluation.rows.curves import Curve, Points, Surface
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.frames import to_frame, to_html_table
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.records import results_text, to_record, write_text
from zeroevidence.evaluation.rows.replicates import Replicates
from zeroevidence.evaluation.rows.setup import Setup, signature
from zeroevidence.evaluation.rows.threshold import Threshold
from zeroevidence.evaluation.rows.trials import People, Recordings, Trials
from zeroevidence.measure.measures import MEASURES, headline_measures

V = TypeVar("V")


class FrozenMapping(Mapping[str, V], Generic[V]):
    """Values by name, read-only."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, V]) -> None:
        self._values = dict(values)

    def __getitem__(self, name: str) -> V:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return repr(self._values)


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
    curves
        Curves of figures, by name.
    surfaces
        Measures over two things, by name.
    maps
        Two-dimensional maps, by name.
    people
        What a search learned about each person.
    recordings
        What a search learned from several recordings of a person.
    threshold
        The threshold of the cheapest decision, where one was asked for.
    trials
        What a search learned from each trial; not written to files.
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
    surfaces: Mapping[str, Surface] = field(default_factory=dict)
    maps: Mapping[str, Points] = field(default_factory=dict)
    people: People | None = None
    recordings: Recordings | None = None
    threshold: Threshold | None = None
    trials: Trials | None = field(default=None, compare=False, metadata=NOT_STORED)
    replicates: Replicates | None = field(default=None, compare=False, metadata=NOT_STORED)
    scores: Scores | None = field(default=None, compare=False, metadata=NOT_STORED)

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", {**self.labels, **_about_labels(self.about)})
        for name in ("metrics", "counts", "labels", "curves", "surfaces", "maps"):
            object.__setattr__(self, name, FrozenMapping(getattr(self, name)))

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
        number = self.metrics[name].number if name in self.metrics else None
        return None if number is None or number != number else number

    def with_metrics(self, metrics: Mapping[str, MeasureResult]) -> Evaluation:
        """The same row with further measures."""
        return replace(self, metrics={**self.metrics, **metrics})

    def with_flags(self, *flags: Flag) -> Evaluation:
        """The same row with further warnings, each once."""
        return replace(self, flags=tuple(dict.fromkeys((*self.flags, *flags))))

    def __repr__(self) -> str:
        names = ", ".join(f"{name} {value}" for name, value in self.labels.items() if name in ("system", "attacker"))
        sizes = ", ".join(f"{number} {name}" for name, number in self.counts.items())
        headline = [name for name in headline_measures() if name in self.metrics][:8]
        lines = [f"Evaluation({names}: {sizes})" if names else f"Evaluation({sizes})"]
        lines += [
            f"  {MEASURES[name].title if name in MEASURES else name}: {self.metrics[name]!s}" for name in headline
        ]
        return "\n".join([*lines, *(f"  ! {flag.code}" for flag in self.flags)])

    def _repr_html_(self) -> str:
        return to_html_table(self)

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain values, as in the JSON file."""
        record: dict[str, Any] = to_record(self)
        for name in ("labels", "about", "counts", "metrics", "flags", "setup"):  # always there, also where empty
            record.setdefault(name, [] if name == "flags" else {})
        empty = [name for name in ("curves", "surfaces", "maps") if not record[name]]
        return {**{name: part for name, part in record.items() if name not in empty}, "signature": self.signature}

    def to_frame(self, *, backend: str = "polars") -> Any:
        """One line per measure as a data frame: of polars, or of ``pandas``, ``pyarrow`` and others (by narwhals)."""
        return to_frame([self], backend=backend)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the result as JSON; `read_result` reads it again. A file that exists is kept unless `overwrite`."""
        write_text(results_text([self.to_dict()], [self.signature]), path, overwrite=overwrite)


def number_or_none(row: Evaluation | None, name: str) -> float | None:
    """`Evaluation.number`, None without a row."""
    return None if row is None else row.number(name)


def _about_labels(about: About) -> dict[str, str]:
    """Labels for what a row is about."""
    labels = {"attribute": about.attribute, "class": about.of_class, "attack": about.attack}
    if about.threat is not None:
        threat = about.threat
        labels |= {"enrolment": threat.enrolment, "trial": threat.trial, "attacker": str(threat)}
    return {name: value for name, value in labels.items() if value is not None}
