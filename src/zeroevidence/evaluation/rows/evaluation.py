"""A row of results: everything that was measured of one set of scores, as values, JSON and data frames."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, replace
from html import escape
from math import isfinite, isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload

from zeroevidence.data.scores import Scores
from zeroevidence.data.writing import refuse_existing, write_file
from zeroevidence.errors import MissingExtra, UsageError
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.curves import Curve, People, Points, Recordings, Surface, Threshold, Trials
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.measure_result import NO_VALUE, NOT_STORED, RESULT_COLUMNS, MeasureResult, Replicates
from zeroevidence.evaluation.rows.setup import Setup, joint_signature, signature
from zeroevidence.measure.measures import MEASURES, headline_measures
from zeroevidence.uncertainty.level import percent

SCHEMA = "zeroevidence/evaluation/3"
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
# The labels of tables in their usual order; others follow.
LABELS = (
    *("system", "dataset", "attribute", "class", "split", "sex"),
    *("enrolment", "trial", "attacker", "encoder", "backend", "protocol"),
)

# The measures whose value is a category or several numbers; type checkers see that of others as a number.
NotSingleNumber: TypeAlias = Literal["tag", "tag_counts", "tpr_at_fpr", "tdcf_errors"]
if TYPE_CHECKING:

    class SingleNumber(MeasureResult):
        """A measure whose value is one number."""

        value: float


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
    return _indented({"schema": SCHEMA, "signature": joint_signature(signatures), "rows": list(records)}) + "\n"


def _indented(value: Any, inset: str = "") -> str:
    """A value as indented JSON with lists of numbers on one line: people read these files too."""
    deeper = f"{inset} "
    if isinstance(value, dict) and value:
        lines = [f"{deeper}{_encode(str(name))}: {_indented(part, deeper)}" for name, part in value.items()]
        return "{\n" + ",\n".join(lines) + f"\n{inset}}}"
    if isinstance(value, list) and any(isinstance(part, (dict, list)) for part in value):
        return "[\n" + ",\n".join(f"{deeper}{_indented(part, deeper)}" for part in value) + f"\n{inset}]"
    return _encode(value)


_NUMBERS = tuple(column.name for column in RESULT_COLUMNS if column.format != "text")


def used_labels(rows: Sequence[Evaluation]) -> list[str]:
    """Labels that at least one row carries, in the usual order, others after them."""
    present = {name for row in rows for name in row.labels}
    return [name for name in LABELS if name in present] + sorted(present - set(LABELS))


def records(rows: Sequence[Evaluation]) -> Iterator[dict[str, Any]]:
    """One record per row and measure; a measure with several values gets one for each, under `key`. NaN is None."""
    labels = used_labels(rows)
    for row in rows:
        shared = {name: row.labels.get(name) for name in labels}
        flags = " ".join(flag.code for flag in row.flags) or None
        for name, result in row.metrics.items():
            values = result.value if isinstance(result.value, Mapping) else {None: result.value}
            columns = {column.name: getattr(result, column.name) for column in RESULT_COLUMNS}
            for key, value in values.items():
                number = {"value": None if value != value else value}
                identity = {**shared, "measure": name, "key": key}
                yield {**identity, **columns, **number, "flags": flags, "signature": row.signature}


def to_frame(rows: Sequence[Evaluation], *, backend: str = "polars") -> Any:
    """The records as a data frame of the backend; categories stand in a column of their own beside the numbers."""
    import narwhals

    lines = []
    for record in records(rows):
        value = record["value"]
        is_category = isinstance(value, str)
        number = None if is_category or value is None else float(value)
        lines.append({**record, "value": number, "category": value if is_category else None})
    columns = {name: [line[name] for line in lines] for name in (lines[0] if lines else ())}
    schema = {name: narwhals.Float64() if name in _NUMBERS else narwhals.String() for name in columns}
    try:
        return narwhals.from_dict(columns, schema, backend=backend).to_native()  # type: ignore[arg-type]
    except ModuleNotFoundError:
        raise MissingExtra(backend, f"a data frame of {backend}") from None
    except (ValueError, TypeError) as error:
        raise UsageError(f"a data frame of {backend!r} cannot be made: {error}") from None


def to_html_table(row: Evaluation) -> str:
    """A small table of the measures that are single values, for notebooks."""
    lines = []
    for name, result in row.metrics.items():
        if isinstance(result.value, Mapping):
            continue
        title, meaning = (MEASURES[name].title, MEASURES[name].meaning) if name in MEASURES else (name, "")
        value, p = result.number, "" if result.p_adjusted is None else f"{result.p_adjusted:.2g}"
        text = str(result.value) if value is None else NO_VALUE if isnan(value) else f"{value:.4g}"
        ends = "" if result.low is None or result.high is None else f"{result.low:.4g} to {result.high:.4g}"
        cells = "".join(f"<td>{escape(cell)}</td>" for cell in (text, ends, p, result.unit))
        lines.append(f'<tr><th title="{escape(meaning)}">{escape(title)}</th>{cells}</tr>')
    levels = sorted({result.level for result in row.metrics.values() if result.level is not None})
    interval = f"{percent(levels[0])} interval" if len(levels) == 1 else "interval"
    labels = escape(", ".join(f"{name}: {value}" for name, value in row.labels.items()))
    flags = "".join(f"<li><b>{escape(flag.code)}</b>: {escape(flag.sentence)}</li>" for flag in row.flags)
    head = "".join(f"<th>{name}</th>" for name in ("measure", "value", interval, "adjusted p", "unit"))
    caption = f"<caption>{labels}</caption>" if labels else ""
    return (
        f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
        f"{f'<ul>{flags}</ul>' if flags else ''}<code>{escape(row.signature)}</code>"
    )


def counts_text(counts: Mapping[str, int]) -> str:
    """The counts of a row but that of the commonest speaker, which guessing rests on."""
    return ", ".join(f"{number} {name}" for name, number in counts.items() if name != "most_trials")


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
    others
        The scores of other people that it was calibrated on; not written to files.

    Examples
    --------
    >>> from zeroevidence import Options, evaluate
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], options=Options(intervals=0, null=0))
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
    others: Scores | None = field(default=None, compare=False, metadata=NOT_STORED)

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

    @overload
    def __getitem__(self, name: NotSingleNumber) -> MeasureResult: ...  # type: ignore[overload-overlap]

    @overload
    def __getitem__(self, name: str) -> SingleNumber: ...

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
        sizes = counts_text(self.counts)
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
        record.setdefault("flags", [])  # always there, also where empty
        empty = [name for name in ("curves", "surfaces", "maps") if not record[name]]
        return {**{name: part for name, part in record.items() if name not in empty}, "signature": self.signature}

    def to_frame(self, *, backend: str = "polars") -> Any:
        """One line per measure as a data frame: of polars, or of ``pandas``, ``pyarrow`` and others (by narwhals)."""
        return to_frame([self], backend=backend)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the result as JSON; `read_result` reads it again. A file that exists is kept unless `overwrite`."""
        refuse_existing(path, overwrite)
        write_file(path, results_text([self.to_dict()], [self.signature]), overwrite=overwrite)


def _about_labels(about: About) -> dict[str, str]:
    """Labels for what a row is about."""
    labels = {"attribute": about.attribute, "class": about.of_class, "attack": about.attack}
    if about.threat is not None:
        threat = about.threat
        labels |= {"enrolment": threat.enrolment, "trial": threat.trial, "attacker": str(threat)}
    return {name: value for name, value in labels.items() if value is not None}
