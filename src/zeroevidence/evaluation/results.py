"""Result files, read and written: rows as JSON, tables of a challenge, linked searches."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cache, wraps
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

import numpy as np

from zeroevidence.data.files import is_folder, reading_file, unchanged
from zeroevidence.data.json_values import read_json, shortened, shown, typed
from zeroevidence.data.writing import refuse_existing, write_file
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.curves import evidence_curves
from zeroevidence.evaluation.finding.beside import flag_rows
from zeroevidence.evaluation.finding.chance import with_adjusted
from zeroevidence.evaluation.people import exposed_curves, exposure_by_person, with_named_limits
from zeroevidence.evaluation.resampling import search_replicates, with_intervals
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.curves import Trials
from zeroevidence.evaluation.rows.evaluation import SCHEMA, Evaluation, results_text
from zeroevidence.evaluation.rows.flags import flag, relaxed_flags, resampling_flags
from zeroevidence.evaluation.rows.measure_result import RESULT_COLUMNS, MeasureResult
from zeroevidence.evaluation.rows.setup import Options, Resampling, SearchSetup, Setup, changed_field, joint_signature
from zeroevidence.evaluation.search_task import search_metrics, trial_table, weight_flags
from zeroevidence.linkage import search
from zeroevidence.linkage.search import LinkResult
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.rank import count_names
from zeroevidence.measure.views import Line, NameCounts
from zeroevidence.run import Run

if TYPE_CHECKING:
    from zeroevidence.data.formats.voiceprivacy_folders import SummaryRow

_METHOD = "as published"
MOST_ROWS = 10_000  # of a file: every row is checked, shown and compared with the others
LARGEST_TEXT = 1 << 28  # bytes of a file: values take some ten times as much memory as their text
_REQUIRED = ("metrics", "counts", "setup", "labels", "about", "flags", "signature")
_TOLERANCE = 1e-6  # by which a value may pass the end of its range
_CHANGED = "; the file was changed after it was written, so evaluate again"


def read_published(*paths: str | Path) -> list[Evaluation]:
    """The rows of ``result_for_rank*`` or ``results*.csv`` files of a VoicePrivacy Challenge.

    Equal error rates are attacks; word error rates and recall of emotions are utility. There are no intervals, and no
    measure that scores would be needed for.
    """
    from zeroevidence.data.formats.voiceprivacy_tables import read_summary  # readers of files need polars

    return flag_rows([_evaluation(row, Path(path).name) for path in paths for row in read_summary(path)])


def _evaluation(row: SummaryRow, name: str) -> Evaluation:
    about = About(role="utility", speech=row.speech) if row.threat is None else About.against(row.threat)
    return Evaluation(
        metrics={measure: MeasureResult.of(measure, value, _METHOD) for measure, value in row.measures.items()},
        setup=Setup(recorded=f"{_METHOD}|{name}:{row.line}"),
        labels=row.labels,
        about=about,
    )


_NUMBERS = tuple(column.name for column in RESULT_COLUMNS if column.format == "number" and column.name != "value")


def save_results(rows: Sequence[Evaluation], path: str | Path, *, overwrite: bool = False) -> None:
    """Write rows as JSON; a file that exists is kept unless `overwrite`.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import Options, evaluate
    >>> rows = [evaluate([2.0, 3.0], [0.0, shift], options=Options(intervals=0, null=0)) for shift in (1.0, 2.5)]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_results(rows, f"{folder}/both.json")
    ...     [row["eer"].value for row in read_results(f"{folder}/both.json")]
    [0.0, 0.5]
    """
    refuse_existing(path, overwrite)
    write_file(path, to_json(rows), overwrite=overwrite)


def to_json(rows: Sequence[Evaluation]) -> str:
    """One object with schema, signature and rows. Infinities are the texts "inf" and "-inf", NaN is null."""
    return results_text([row.to_dict() for row in rows], [row.signature for row in rows])


def read_results(path: str | Path) -> list[Evaluation]:
    """Read the rows of a result file, of a folder that `link` or `audit` wrote, or of tables of a challenge.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import Options, evaluate, read_results
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     evaluate([2.0, 3.0], [0.0, 2.5], options=Options(intervals=0, null=0)).save(f"{folder}/result.json")
    ...     [row["eer"].value for row in read_results(f"{folder}/result.json")]
    [0.5]
    """
    from zeroevidence.data.formats.voiceprivacy_tables import summaries  # readers of files need polars

    if tables := summaries(path):
        return read_published(*tables)
    name, text = result_text(path)
    rows = from_json(text, path=name)
    if not rows:
        raise InputError("has no rows; expected a result", path=name)
    return rows


def read_result(path: str | Path) -> Evaluation:
    """Read the row of a result that has one; `read_results` reads several.

    Examples
    --------
    >>> import tempfile
    >>> from zeroevidence import Options, evaluate, read_result
    >>> result = evaluate([2.0, 3.0, 1.5], [0.0, 1.0, 1.7], options=Options(intervals=0, null=0))
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
    """Whether this is a finished result: a JSON file, a folder with one, or tables that a challenge's kit wrote."""
    from zeroevidence.data.formats.voiceprivacy_tables import summaries  # readers of files need polars

    place = Path(path)
    try:
        return (
            bool(summaries(path))
            or (place.is_dir() and (place / "result.json").is_file())
            or (place.is_file() and place.suffix == ".json")
        )
    except (OSError, ValueError):
        return False  # a name that no file can have


def refuse_unfinished(path: str | Path) -> None:
    """Refuse the folder of an audit that was interrupted or still runs: it has a cache, or is locked, and no result."""
    place = Path(path).absolute()
    if not is_folder(path) or (place / "result.json").exists():
        return
    if (place / "cache").is_dir() or place.with_name(f".{place.name}.lock").exists():
        raise InputError(
            "is the folder of an audit that has not finished; the same `zeroevidence audit` command continues it",
            path=path,
        )


def result_text(path: str | Path) -> tuple[str, str]:
    """Name and content of the result file behind a path."""
    refuse_unfinished(path)
    file = Path(path) / "result.json" if is_folder(path) else Path(path)
    try:
        size = file.stat().st_size
        if size > LARGEST_TEXT:
            raise InputError(
                f"has {size >> 20} MiB; expected a result of at most {LARGEST_TEXT >> 20} MiB, so divide it", path=file
            )
        with unchanged(file):
            return str(file), file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot be read as a result: {error}", path=file) from None


def from_json(text: str, *, path: str = "<json>") -> list[Evaluation]:
    """Rows of a text that `to_json` wrote; results of other formats are refused."""
    document = read_json(text, path)
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema in ("zeroevidence/evaluation/1", "zeroevidence/evaluation/2"):
        raise InputError(
            f"is a result of an earlier format ({schema}), whose values may be bias-corrected; evaluate again",
            path=path,
        )
    if schema != SCHEMA:
        scores = "" if schema is not None else " or scores in columns, one trial per line"
        raise InputError(f"expected a result with schema {SCHEMA!r}{scores}, got {shown(schema)}", path=path)
    rows = document.get("rows")
    if not isinstance(rows, list):
        raise InputError("has no rows; expected a list of them", path=path)
    if len(rows) > MOST_ROWS:
        raise InputError(f"has {len(rows)} rows; expected at most {MOST_ROWS}, so divide it", path=path)
    with reading_file(path, "a result"):
        results = [_row(record, f"row {number}") for number, record in enumerate(rows, 1)]
        together, stored = joint_signature([record["signature"] for record in rows]), str(document.get("signature"))
        if rows and together.rpartition("|v:")[0] != stored.rpartition("|v:")[0]:
            raise InputError(f"signature: is not that of its {len(rows)} rows{_CHANGED}")
    # earlier versions did not adjust
    measures = [result for row in results for result in row.metrics.values() if result.p_value is not None]
    return with_adjusted(results) if any(result.p_adjusted is None for result in measures) else results


def _row(record: Any, where: str) -> Evaluation:
    """One row, every value of it checked against its field."""
    if not isinstance(record, Mapping):
        raise InputError(f"{where}: expected an object")
    missing = [name for name in _REQUIRED if name not in record]
    if missing:
        raise InputError(f"{where}: has no {missing[0]!r}")
    kinds = _part_types()
    unknown = [name for name in record if name not in (*kinds, "signature")]
    if unknown:
        raise InputError(f"{where}: has no part {shortened(unknown[0])!r}; expected {', '.join(kinds)} or signature")
    parts = {name: _typed_part(kinds[name], record[name], f"{where}.{name}") for name in kinds if name in record}
    row = Evaluation(**parts)  # whose signature is made of its set-up
    _check_row(row, where)
    before, now = typed(str, record["signature"], f"{where}.signature"), row.signature
    if "version" not in record["setup"]:  # earlier versions did not store it
        before, now = (line.rpartition("|v:")[0] for line in (before, now))
    if before != now:
        name, was, shows = changed_field(before, now)
        raise InputError(f"{where}.{name}: shows {shortened(shows)}, but the signature has {shortened(was)}{_CHANGED}")
    return row


@cache
def _part_types() -> dict[str, Any]:
    """Return the type of each part of a row."""
    hints = get_type_hints(Evaluation)
    return {item.name: hints[item.name] for item in fields(Evaluation) if item.metadata.get("stored", True)}


def _typed_part(kind: Any, value: Any, where: str) -> Any:
    """A JSON value as one of this type; entries of mappings one by one, so that a message names the entry."""
    if get_origin(kind) is Mapping and isinstance(value, Mapping):
        entry = get_args(kind)[1]
        return {name: typed(entry, _with_nan(part), f"{where}.{shortened(name)}") for name, part in value.items()}
    return typed(kind, _with_nan(value), where)


def _with_nan(value: Any) -> Any:
    """A JSON value with "nan" for null where a number is expected: in lists, and as the value of a measure."""
    if isinstance(value, list):
        return ["nan" if item is None else _with_nan(item) for item in value]
    if isinstance(value, dict):
        numbers = ("value", "mean", "quantile")
        return {name: "nan" if item is None and name in numbers else _with_nan(item) for name, item in value.items()}
    return value


def _check_row(row: Evaluation, where: str) -> None:
    """Refuse values that fit their types and not each other."""
    for name, count in row.counts.items():
        if count < 0:
            raise InputError(f"{where}.counts.{name}: expected a number from 0 on, got {count}")
    if row.setup.linkability is not None and row.setup.dcf_prior is None:
        raise InputError(f"{where}.setup: has 'linkability', but no 'dcf_prior'; expected both")
    if row.setup.search is not None and not {"trials", "identities"} <= row.counts.keys():
        raise InputError(f"{where}.setup: has 'search', but trials and identities are not counted; expected both")
    for name, result in row.metrics.items():
        _check_measure(name, result, f"{where}.metrics.{name}")
    for part in ("curves", "maps"):
        for name, columns in getattr(row, part).items():
            _check_lengths(columns, f"{where}.{part}.{name}")
    for part in ("people", "recordings"):
        if getattr(row, part) is not None:
            _check_lengths(getattr(row, part), f"{where}.{part}")
    for name, surface in row.surfaces.items():
        if len(surface.z) != len(surface.x) or any(len(line) != len(surface.y) for line in surface.z):
            raise InputError(f"{where}.surfaces.{name}: does not have a number for each x and y")


def _check_lengths(record: Any, where: str) -> None:
    """Refuse columns of different lengths."""
    columns = {item.name: getattr(record, item.name) for item in fields(record)}
    if len({len(values) for values in columns.values() if isinstance(values, tuple)}) > 1:
        raise InputError(f"{where}: {', '.join(columns)} are not equally long")


def _check_measure(name: str, result: MeasureResult, where: str) -> None:
    """Refuse a value of another kind than the measure's, and numbers outside its range."""
    entry = MEASURES.get(name)
    if entry is not None:
        kind, is_kind = "a number", result.number is not None
        if entry.several:
            kind, is_kind = "several numbers", isinstance(result.value, Mapping)
        elif entry.unit == "category":
            kind, is_kind = "a category", isinstance(result.value, str)
        if not is_kind:
            raise InputError(f"{where}.value: expected {kind}, got {shown(result.value)}")
        if isinstance(result.value, Mapping) and set(result.value) != set(entry.parts):
            expected, names = ", ".join(entry.parts), shortened(", ".join(result.value))
            raise InputError(f"{where}.value: expected numbers by the names {expected}, got {names or 'none'}")
        if kind == "a category" and entry.categories is not None and result.value not in entry.categories:
            raise InputError(f"{where}.value: expected {' or '.join(entry.categories)}, got {shown(result.value)}")
    beside = [key for key in (*_NUMBERS, "null", "spread") if getattr(result, key) is not None]
    if result.number is None and beside:
        raise InputError(f"{where}: has {beside[0]!r}, but its value is no single number")
    if result.low is not None and result.high is not None and result.low > result.high:
        raise InputError(f"{where}: its interval from {result.low:g} to {result.high:g} is turned round")
    for key in ("level", "p_value", "p_adjusted"):
        share = getattr(result, key)
        if share is not None and not 0.0 <= share <= 1.0:
            raise InputError(f"{where}.{key}: expected a number from 0 to 1, got {share:g}")
    if result.null is not None and result.p_value is None:
        raise InputError(f"{where}: has a null, but no p_value; expected both")
    spread = result.spread
    if spread is not None and not (spread.error >= 0.0 and spread.people > 0.0 and spread.freedom > 0.0):
        raise InputError(f"{where}.spread: expected an error from 0 on, and people and freedom above 0")
    if entry is not None:
        values = result.value.values() if isinstance(result.value, Mapping) else (result.number,)
        for number in (*values, *(getattr(result, key) for key in _NUMBERS)):
            if (
                number is not None
                and math.isfinite(number)
                and not entry.low - _TOLERANCE <= number <= entry.high + _TOLERANCE
            ):
                raise InputError(f"{where}: {number:g} lies outside of {entry.low:g} to {entry.high:g}")
    _check_limits(name, result, where)


def _check_limits(name: str, result: MeasureResult, where: str) -> None:
    """Refuse a value outside of its interval or beyond its bound: all limits are widened to reach the value."""
    beyond = {"up": 1.0, "down": -1.0, "none": 0.0}[MEASURES[name].discloses if name in MEASURES else "none"]
    for end, side in ((result.low, -1.0), (result.high, 1.0), (result.bound, beyond)):
        if end is not None and side * (float(result) - end) > _TOLERANCE:
            raise InputError(f"{where}.value: {result.value:g} lies beyond its limit {end:g}{_CHANGED}")


class LinkedSearch(LinkResult):
    """What a search through embeddings found, trial by trial, and the evaluation of it."""

    def evaluate(
        self, *, labels: Mapping[str, str] | None = None, options: Options = Options(), run: Run = Run()
    ) -> Evaluation:
        """The measures of the search, named and shaped as those of `evaluate`, with intervals by speaker.

        Singling out is there if the search counted identities above a threshold. There is no null: it would take the
        scores of every pair.

        Parameters
        ----------
        labels
            What the search is of: system, dataset, ...
        options
            How to measure; only intervals matter here.
        run
            Seed and level.
        """
        fit, how = self.calibration, self.options
        scoring = how.scoring if isinstance(how.scoring, str) else "function"
        setup = SearchSetup(fit.method, fit.cross_fitted, how.ddof, scoring=scoring, row_scaling=how.row_scaling)
        evidence = self.evidence
        singled = (self.fires == 1).astype(np.int64) if (self.fires >= 0).all() else None
        table = trial_table(self.trial, self.speaker, evidence)
        names = _names(self, table)
        bias = None if fit.method == "given" else float(np.mean(fit.bias)) + fit.prior_log_odds
        metrics = search_metrics(evidence, singled, setup, names, Line(float(np.mean(fit.weight)), bias))
        counts = {
            "target": len(self),
            "nontarget": len(self) * (self.identities - 1),
            "speakers": len(table.by_speaker.speaker),
            "trials": len(self),
            "identities": self.identities,
            "most_trials": int(table.by_speaker.trials.max()),
            **({"not_enrolled": self.not_enrolled} if self.not_enrolled else {}),
        }
        level, replicates, intervals = run.level, None, None
        flags = [*relaxed_flags(self.relaxed), *([flag("cross-fitted")] if fit.cross_fitted else [])]
        flags += weight_flags(np.broadcast_to(fit.weight, len(self)))
        if options.intervals:
            replicates = search_replicates(evidence, singled, self.speaker, self.trial, options, run.seed)
            intervals = Resampling(replicates.unit, replicates.groups)
            metrics = with_named_limits(with_intervals(metrics, replicates, level), names, level)
            flags += resampling_flags(replicates.unit, replicates.fewest.clusters, replicates.fewest.effective)
        return Evaluation(
            metrics=metrics,
            counts=counts,
            setup=Setup(
                ("search",),
                search=setup,
                intervals=intervals,
                level=level,
                seed=run.seed,
                relaxed=self.relaxed,
                data=self.digest,
            ),
            labels=labels or {},
            flags=tuple(flags),
            curves=evidence_curves(evidence) | exposed_curves(table, level if options.intervals else None),
            trials=table,
            people=exposure_by_person(table, names),
            replicates=replicates,
        )


@wraps(search.link)
def link(*arguments: Any, **settings: Any) -> LinkedSearch:
    """`linkage.link`, whose result can be evaluated."""
    return LinkedSearch.of(search.link(*arguments, **settings))


link.__signature__ = signature(search.link).replace(return_annotation="LinkedSearch")  # type: ignore[attr-defined]


def _names(links: LinkResult, trials: Trials) -> NameCounts:
    """How often each person's name came first; of others that score the same, the first is taken."""
    whose = trials.by_speaker.whose
    people = np.full(links.identities, -1, dtype=np.int64)
    people[links.names.mated] = whose
    alone = (links.top != links.names.mated) | (trials.linked == 1)
    return count_names(whose, np.where(alone, people[links.top], -1), np.arange(int(whose.max()) + 1))


def read_search(folder: str | Path, options: Options, run: Run, *, system: str | None = None) -> Evaluation:
    """The result of a folder that `link` wrote, with replicates, so that it can be compared with others."""
    row = read_results(folder)[0]
    if not row.is_search:
        raise InputError("has no search; expected a folder that `zeroevidence link` wrote", path=folder)
    counts, identities = row.counts, row.counts["identities"]
    if counts.get("nontarget") != counts.get("trials", 0) * (identities - 1):
        raise InputError("its numbers of trials, identities and scores do not agree", path=folder)
    from zeroevidence.data.formats.attack_scores import read_linked  # needs polars

    links = read_linked(folder, identities)
    if len(links.trial) != counts["trials"]:
        raise InputError(f"{len(links.trial)} trials in the table, {counts['trials']} in the result", path=folder)
    evidence = RowEvidence(links.lid, links.greater, links.equal, links.identities)
    return replace(
        row,
        labels=row.labels if system is None else {"system": system},
        setup=replace(row.setup, intervals=Resampling("speaker", options.intervals), seed=run.seed),
        replicates=search_replicates(evidence, None, links.speaker, links.trial, options, run.seed),
    )
