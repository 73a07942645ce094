"""Join of tandem scores with their keys, and of a countermeasure's trials with those of the verifier behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.asvspoof.layout import Side
from zeroevidence.data.formats.asvspoof.table import with_enrol
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.join import JoinedTrials, join
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.errors import InputError, Problem, UsageError

TandemDuplicates = Literal["error", "keep-last", "keep-all"]

COLUMNS = ("score", "key", "attack", "speaker", "trial")
CONDITION = "condition"  # the column that trials are divided by


@dataclass(frozen=True, slots=True)
class TandemRequest:
    """The options of `read_tandem` that concern all files.

    Parameters
    ----------
    format
        How to understand the score files.
    duplicates
        What to do with trials that occur twice.
    allow_missing
        Whether to evaluate what scores and key have in common.
    phase
        Which part of a key of 2021 to evaluate.
    by
        The column that trials are divided by.
    """

    format: str
    duplicates: TandemDuplicates
    allow_missing: bool
    phase: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class JoinedSide:
    """The trials of one side.

    Parameters
    ----------
    frame
        The trials with the columns `COLUMNS`, "" where unknown, and `CONDITION` where they are divided.
    table
        The table that problems are reported of.
    rows
        The row of each trial in that table.
    phased
        Whether the key distinguishes phases.
    relaxed
        The rules that were relaxed.
    columns
        All columns that there are.
    """

    frame: pl.DataFrame
    table: Table
    rows: IntArray
    phased: bool
    relaxed: tuple[RelaxedRule, ...]
    columns: tuple[str, ...] = ()


def join_side(
    scores: Table, key: Table | None, side: Side, request: TandemRequest
) -> tuple[JoinedSide | None, list[Problem]]:
    """Return the labelled trials of one side, or the problems in the way.

    Raises
    ------
    InputError
        When the files as a whole do not fit together.
    """
    if key is None and not scores.has("key"):
        option = "--key KEY" if side == "cm" or scores.format == "asvspoof5" else "--asv-key KEY"
        raise InputError(f"no labels; expected a key ({option})", path=scores.name)
    if not scores.has("trial"):
        if key is None:
            return _every_row(scores, request, ()), []
        problems = _misaligned(scores, key)
        if problems:
            return None, problems
        scores, key = replace(key, frame=key.frame.with_columns(scores.frame["score"])), None
    if request.duplicates != "keep-all":
        return _on_identifiers(scores, key, side, request)
    if key is not None:
        raise UsageError("keep-all is for files that carry their own labels; these have a key")
    return _with_repetitions(scores, side, request)


def _with_repetitions(scores: Table, side: Side, request: TandemRequest) -> tuple[JoinedSide | None, list[Problem]]:
    """Return every line of a file that carries its own labels, including trials that occur again."""
    problems = _two_labels(scores, side)
    if problems:
        return None, problems
    extra = len(scores.frame) - scores.frame.n_unique(["enrol", "trial"] if scores.has("enrol") else ["trial"])
    relaxed = (RelaxedRule("duplicates", extra, how="keep-all"),) if extra else ()
    return _every_row(scores, request, relaxed), []


def _on_identifiers(
    scores: Table, key: Table | None, side: Side, request: TandemRequest
) -> tuple[JoinedSide | None, list[Problem]]:
    """Return each trial once, its label from the key or from the same line."""
    if key is not None:
        scores, key = _align_columns(scores, key)
    joined, problems = _match(scores, key, side, request)
    if joined is not None and key is not None and not problems:
        problems = _contradictions(scores, key, joined.score_row, joined.key_row)
    if joined is None or problems:
        return None, problems
    labelled = replace(scores, frame=_with_key(scores, key, joined))
    return _select(labelled, scores if key is None else key, joined.score_row, request, joined.relaxed), []


def _match(
    scores: Table, key: Table | None, side: Side, request: TandemRequest
) -> tuple[JoinedTrials | None, list[Problem]]:
    """Join both tables; a line that is reported with two labels is not reported as a duplicate, too."""
    assert request.duplicates != "keep-all"
    left, right = with_enrol(scores), None if key is None else with_enrol(key)
    two = [p for table in (left, right) if table is not None for p in _two_labels(table, side)]
    joined, problems = join(left, right, request.duplicates, request.allow_missing)
    reported = {(problem.path, problem.line) for problem in two}
    return joined, two + [problem for problem in problems if (problem.path, problem.line) not in reported]


def _with_key(scores: Table, key: Table | None, joined: JoinedTrials) -> pl.DataFrame:
    """Return the joined rows side by side; columns that both have are taken from the key."""
    if key is None:
        return scores.frame[joined.score_row]
    columns = [column for column in key.frame.columns if column not in ("enrol", "trial")]
    frame = scores.frame[joined.score_row].drop(columns, strict=False)
    return pl.concat([frame, key.frame.select(columns)[joined.key_row]], how="horizontal")


def _align_columns(scores: Table, key: Table) -> tuple[Table, Table]:
    """Return both tables with, or both without, a claimed speaker; speakers of a key become a column of their own."""
    if key.has("enrol") and not scores.has("enrol"):
        return scores, replace(key, frame=key.frame.rename({"enrol": "speaker"}))
    if scores.has("enrol") and not key.has("enrol"):
        raise InputError(f"no column of speakers to join with {scores.name}; expected one", path=key.name)
    return scores, key


def _every_row(table: Table, request: TandemRequest, relaxed: tuple[RelaxedRule, ...]) -> JoinedSide:
    return _select(table, table, np.arange(len(table.frame)), request, relaxed)


def _select(
    table: Table, source: Table, rows: IntArray, request: TandemRequest, relaxed: tuple[RelaxedRule, ...]
) -> JoinedSide:
    """Return the columns that are used, of the phase that was asked for; `source` is what problems are reported of."""
    frame = table.frame
    if "speaker" not in frame.columns and "enrol" in frame.columns:
        frame = frame.with_columns(speaker=pl.col("enrol"))
    phased = "phase" in frame.columns
    if phased and request.phase != "all":
        keep = (frame["phase"] == request.phase).to_numpy()
        if not keep.any():
            phases = ", ".join(sorted(frame["phase"].unique()))
            raise InputError(f"no trials of the phase {request.phase!r} (found: {phases})", path=source.name)
        frame, rows = frame.filter(keep), rows[keep]
    columns = tuple(frame.columns)
    selected = [pl.col(column) if column in columns else pl.lit("").alias(column) for column in COLUMNS]
    if request.by is not None and request.by in columns:
        selected.append(pl.col(request.by).alias(CONDITION))
    return JoinedSide(frame.select(selected), table, rows, phased, relaxed, columns)


def _misaligned(scores: Table, protocol: Table) -> list[Problem]:
    """Return the problems of a protocol whose lines differ from those of the scores."""
    if protocol.format != "2019":
        message = f"no identifiers to join with {protocol.name}; expected a protocol of 2019 beside it, or none"
        return [Problem(scores.name, None, message)]
    here, there = len(scores.frame), len(protocol.frame)
    if here != there:
        message = f"{there} trials but {here} scores in {scores.name}; expected one for each, in the same order"
        return [Problem(protocol.name, None, message)]
    problems = FileProblems(scores.name, None if scores.located and protocol.located else 1)
    ours, theirs = scores.frame.select("key", "attack"), protocol.frame.select("key", "attack")
    rows = np.flatnonzero(((ours["attack"] != theirs["attack"]) | (ours["key"] != theirs["key"])).to_numpy())

    def reason(at: int) -> str:
        row = int(rows[at])
        left, right = _label(*ours.row(row)), _label(*theirs.row(row))
        return f"{left} here but {right} in {protocol.where(row)}; expected the same on each line"

    problems.add_rows(scores, rows, reason)
    return problems.all()


def _two_labels(table: Table, side: Side) -> list[Problem]:
    """Return the problems of trials with two labels; trials of a countermeasure are utterances."""
    names = ["trial"] if side == "cm" else ["enrol", "trial"]
    if not table.has("key") or table.frame.n_unique(names) == len(table.frame):
        return []
    frame = table.frame if table.has("attack") else table.frame.with_columns(attack=pl.lit(""))
    frame = frame.select(*names, "key", "attack").with_row_index("row")
    first = frame.unique(names, keep="first", maintain_order=True)
    both = frame.join(first, on=names, how="left", maintain_order="left")
    both = both.filter((pl.col("key") != pl.col("key_right")) | (pl.col("attack") != pl.col("attack_right")))
    problems = FileProblems(table.name, None if table.located else 1)

    def reason(at: int) -> str:
        row = both.row(at, named=True)
        now, before = _label(row["key"], row["attack"]), _label(row["key_right"], row["attack_right"])
        line = table.line(row["row_right"])
        where = "before" if line is None else f"on line {line}"
        return f"{table.pair(row['row'])!r} is {now} here but {before} {where}; expected one label"

    problems.add_rows(table, both["row"].to_numpy().astype(np.int64), reason)
    return problems.all()


def _contradictions(scores: Table, key: Table, score_row: IntArray, key_row: IntArray) -> list[Problem]:
    """Return the problems of labels that differ between scores and key."""
    if not scores.has("key"):
        return []
    columns = ["key"] + ["attack"] * (scores.has("attack") and key.has("attack"))
    ours, theirs = scores.frame.select(columns)[score_row], key.frame.select(columns)[key_row]
    at_odds = ours["key"] != theirs["key"]
    if len(columns) > 1:
        at_odds |= (ours["attack"] != theirs["attack"]) & (ours["attack"] != "") & (theirs["attack"] != "")
    rows = np.flatnonzero(at_odds.to_numpy())
    problems = FileProblems(scores.name, None if scores.located and key.located else 1)

    def reason(at: int) -> str:
        row = int(rows[at])
        name, where = scores.pair(int(score_row[row])), key.where(int(key_row[row]))
        return f"{name!r} is {_label(*ours.row(row))} here but {_label(*theirs.row(row))} in {where}; expected the same"

    problems.add_rows(scores, score_row[rows], reason)
    return problems.all()


def _label(key: str, attack: str = "") -> str:
    return f"{key} {attack}".strip()


def disagreements(sides: dict[Side, JoinedSide]) -> list[Problem]:
    """Return the problems of speech that a countermeasure and the verifier behind it label differently."""
    if "cm" not in sides or "asv" not in sides:
        return []
    cm, asv = sides["cm"], sides["asv"]
    problems = FileProblems(cm.table.name, None if cm.table.located and asv.table.located else 1)
    verified = asv.frame.filter(pl.col("trial") != "").unique("trial", keep="first", maintain_order=True)
    both = cm.frame.with_row_index("row").join(verified, on="trial", how="inner", maintain_order="left")
    both = both.filter(
        ((pl.col("key") == "spoof") != (pl.col("key_right") == "spoof"))
        | ((pl.col("attack") != pl.col("attack_right")) & (pl.col("attack") != "") & (pl.col("attack_right") != ""))
    )

    def reason(at: int) -> str:
        row = both.row(at, named=True)
        ours, theirs = _label(row["key"], row["attack"]), _label(row["key_right"], row["attack_right"])
        return f"{row['trial']!r} is {ours} here but {theirs} for the verifier ({asv.table.name}); expected the same"

    problems.add_rows(cm.table, cm.rows[both["row"].to_numpy()], reason)
    if problems:
        return problems.all()
    ours, theirs = (set(side.frame.filter(pl.col("key") == "spoof")["attack"].unique()) for side in (cm, asv))
    if "" in ours | theirs:
        return []  # the attacks of some spoofs are unknown, so none can be missed
    missing = []
    for here, there, lacking in ((cm, asv, ours - theirs), (asv, cm, theirs - ours)):
        for attack in sorted(lacking):
            row = int(here.rows[np.flatnonzero((here.frame["attack"] == attack).to_numpy())[0]])
            message = f"attack {attack!r} has no scores in {there.table.name}; expected the same attacks in both"
            missing.append(Problem(here.table.name, here.table.line(row), message))
    return missing


def with_speakers(cm: JoinedSide, asv: pl.DataFrame) -> JoinedSide:
    """Return a countermeasure's trials with speakers from a verifier's targets and spoofs: a non-target is another."""
    speakers = (
        asv.filter((pl.col("key") != "nontarget") & (pl.col("trial") != "") & (pl.col("speaker") != ""))
        .group_by("trial")
        .agg(pl.col("speaker").first(), several=pl.col("speaker").n_unique() > 1)
        .filter(~pl.col("several"))
        .select("trial", "speaker")
    )
    frame = cm.frame.drop("speaker").join(speakers, on="trial", how="left", maintain_order="left")
    return replace(cm, frame=frame.with_columns(pl.col("speaker").fill_null("")))
