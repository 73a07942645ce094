"""Tandem scores meet their keys, and a countermeasure's trials those of the verifier behind it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats.asvspoof.layout import Side
from zeroevidence.data.formats.asvspoof.table import with_enrol
from zeroevidence.data.formats.problems import ProblemList
from zeroevidence.data.formats.scores.reading.join import JoinedTrials, join
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.errors import InputError, Problem, UsageError

TandemDuplicates = Literal["error", "keep-last", "keep-all"]

COLUMNS = ("score", "key", "attack", "speaker", "trial")
CONDITION = "condition"  # what the column says that trials are told apart by


@dataclass(frozen=True, slots=True)
class Request:
    """How strict to be, and which trials to take."""

    format: str
    duplicates: TandemDuplicates
    allow_missing: bool
    phase: str
    by: str | None = None


@dataclass(frozen=True, slots=True)
class JoinedSide:
    """One side's trials, the table they are blamed on and its rows.

    The trials have the columns `COLUMNS`, "" where unknown, and `CONDITION` where a column to tell them apart by was
    asked for and is there; `columns` are all that there are.
    """

    frame: pl.DataFrame
    table: Table
    rows: IntArray
    phased: bool
    loosened: tuple[RelaxedRule, ...]
    columns: tuple[str, ...] = ()


def join_side(
    scores: Table, key: Table | None, side: Side, request: Request
) -> tuple[JoinedSide | None, list[Problem]]:
    """The labelled trials of one side, or the problems in the way.

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
        scores, key = _beside(scores, key), None
    if request.duplicates != "keep-all":
        return _on_identifiers(scores, key, side, request)
    if key is not None:
        raise UsageError("keep-all is for files that carry their own labels; these have a key")
    return _with_repetitions(scores, side, request)


def _beside(scores: Table, protocol: Table) -> Table:
    """The protocol with the scores that stand beside it line by line."""
    return replace(protocol, frame=protocol.frame.with_columns(scores.frame["score"]))


def _with_repetitions(scores: Table, side: Side, request: Request) -> tuple[JoinedSide | None, list[Problem]]:
    """Every line of a file that carries its own labels, trials that occur again included."""
    problems = _two_labels(scores, side)
    if problems:
        return None, problems
    extra = len(scores.frame) - scores.frame.n_unique(["enrol", "trial"] if scores.has("enrol") else ["trial"])
    loosened = (RelaxedRule("duplicates", extra, how="keep-all"),) if extra else ()
    return _every_row(scores, request, loosened), []


def _on_identifiers(
    scores: Table, key: Table | None, side: Side, request: Request
) -> tuple[JoinedSide | None, list[Problem]]:
    """Each trial once, its label from the key or from the same line."""
    if key is not None:
        scores, key = _alike(scores, key)
    found, problems = _matched(scores, key, side, request)
    if found is not None and key is not None and not problems:
        problems = _contradictions(scores, key, found.score_row, found.key_row)
    if found is None or problems:
        return None, problems
    labelled = replace(scores, frame=_with_key(scores, key, found))
    return _kept(labelled, scores if key is None else key, found.score_row, request, found.loosened), []


def _matched(
    scores: Table, key: Table | None, side: Side, request: Request
) -> tuple[JoinedTrials | None, list[Problem]]:
    """Which rows of both belong together; a line that is told to have two labels is not told to be a duplicate too."""
    assert request.duplicates != "keep-all"
    left, right = with_enrol(scores), None if key is None else with_enrol(key)
    two = [p for table in (left, right) if table is not None for p in _two_labels(table, side)]
    found, problems = join(left, right, request.duplicates, request.allow_missing)
    told = {(problem.path, problem.line) for problem in two}
    return found, two + [problem for problem in problems if (problem.path, problem.line) not in told]


def _with_key(scores: Table, key: Table | None, found: JoinedTrials) -> pl.DataFrame:
    """The rows that belong together side by side; what both say is taken from the key."""
    if key is None:
        return scores.frame[found.score_row]
    columns = [column for column in key.frame.columns if column not in ("enrol", "trial")]
    frame = scores.frame[found.score_row].drop(columns, strict=False)
    return pl.concat([frame, key.frame.select(columns)[found.key_row]], how="horizontal")


def _alike(scores: Table, key: Table) -> tuple[Table, Table]:
    """Both with or both without a claimed speaker; a key's speakers are kept for what they are."""
    if key.has("enrol") and not scores.has("enrol"):
        return scores, replace(key, frame=key.frame.rename({"enrol": "speaker"}))
    if scores.has("enrol") and not key.has("enrol"):
        raise InputError(f"no column of speakers to join with {scores.name}; expected one", path=key.name)
    return scores, key


def _every_row(table: Table, request: Request, loosened: tuple[RelaxedRule, ...]) -> JoinedSide:
    return _kept(table, table, np.arange(len(table.frame)), request, loosened)


def _kept(
    table: Table, blamed: Table, rows: IntArray, request: Request, loosened: tuple[RelaxedRule, ...]
) -> JoinedSide:
    """The columns that count, of the phase that was asked for."""
    frame = table.frame
    if "speaker" not in frame.columns and "enrol" in frame.columns:
        frame = frame.with_columns(speaker=pl.col("enrol"))
    phased = "phase" in frame.columns
    if phased and request.phase != "all":
        keep = (frame["phase"] == request.phase).to_numpy()
        if not keep.any():
            found = ", ".join(sorted(frame["phase"].unique()))
            raise InputError(f"no trials of the phase {request.phase!r} (found: {found})", path=blamed.name)
        frame, rows = frame.filter(keep), rows[keep]
    there = tuple(frame.columns)
    wanted = [pl.col(column) if column in there else pl.lit("").alias(column) for column in COLUMNS]
    if request.by is not None and request.by in there:
        wanted.append(pl.col(request.by).alias(CONDITION))
    return JoinedSide(frame.select(wanted), table, rows, phased, loosened, there)


def _misaligned(scores: Table, protocol: Table) -> list[Problem]:
    """Where a protocol does not say the same as the scores beside it."""
    if protocol.format != "2019":
        reason = f"no identifiers to join with {protocol.name}; expected a protocol of 2019 beside it, or none"
        return [Problem(scores.name, None, reason)]
    here, there = len(scores.frame), len(protocol.frame)
    if here != there:
        reason = f"{there} trials but {here} scores in {scores.name}; expected one for each, in the same order"
        return [Problem(protocol.name, None, reason)]
    problems = ProblemList(scores.name, None if scores.located and protocol.located else 1)
    ours, theirs = scores.frame.select("key", "attack"), protocol.frame.select("key", "attack")
    rows = np.flatnonzero(((ours["attack"] != theirs["attack"]) | (ours["key"] != theirs["key"])).to_numpy())

    def said(at: int) -> str:
        row = int(rows[at])
        left, right = _label(*ours.row(row)), _label(*theirs.row(row))
        return f"{left} here but {right} in {protocol.where(row)}; expected the same on each line"

    problems.add_rows(scores, rows, said)
    return problems.all()


def _two_labels(table: Table, side: Side) -> list[Problem]:
    """Trials that a file labels twice, and differently; for a countermeasure it is the utterance that counts."""
    names = ["trial"] if side == "cm" else ["enrol", "trial"]
    if not table.has("key") or table.frame.n_unique(names) == len(table.frame):
        return []
    frame = table.frame if table.has("attack") else table.frame.with_columns(attack=pl.lit(""))
    frame = frame.select(*names, "key", "attack").with_row_index("row")
    first = frame.unique(names, keep="first", maintain_order=True)
    both = frame.join(first, on=names, how="left", maintain_order="left")
    both = both.filter((pl.col("key") != pl.col("key_right")) | (pl.col("attack") != pl.col("attack_right")))
    problems = ProblemList(table.name, None if table.located else 1)

    def said(at: int) -> str:
        row = both.row(at, named=True)
        now, before = _label(row["key"], row["attack"]), _label(row["key_right"], row["attack_right"])
        line = table.line(row["row_right"])
        where = "before" if line is None else f"on line {line}"
        return f"{table.pair(row['row'])!r} is {now} here but {before} {where}; expected one label"

    problems.add_rows(table, both["row"].to_numpy().astype(np.int64), said)
    return problems.all()


def _contradictions(scores: Table, key: Table, score_row: IntArray, key_row: IntArray) -> list[Problem]:
    """Labels that scores and key both give, and give differently."""
    if not scores.has("key"):
        return []
    columns = ["key"] + ["attack"] * (scores.has("attack") and key.has("attack"))
    ours, theirs = scores.frame.select(columns)[score_row], key.frame.select(columns)[key_row]
    at_odds = ours["key"] != theirs["key"]
    if len(columns) > 1:
        at_odds |= (ours["attack"] != theirs["attack"]) & (ours["attack"] != "") & (theirs["attack"] != "")
    rows = np.flatnonzero(at_odds.to_numpy())
    problems = ProblemList(scores.name, None if scores.located and key.located else 1)

    def said(at: int) -> str:
        row = int(rows[at])
        name, where = scores.pair(int(score_row[row])), key.where(int(key_row[row]))
        return f"{name!r} is {_label(*ours.row(row))} here but {_label(*theirs.row(row))} in {where}; expected the same"

    problems.add_rows(scores, score_row[rows], said)
    return problems.all()


def _label(key: str, attack: str = "") -> str:
    return f"{key} {attack}".strip()


def disagreements(sides: dict[Side, JoinedSide]) -> list[Problem]:
    """What a countermeasure and the verifier behind it say differently about the same speech."""
    if "cm" not in sides or "asv" not in sides:
        return []
    cm, asv = sides["cm"], sides["asv"]
    problems = ProblemList(cm.table.name, None if cm.table.located and asv.table.located else 1)
    heard = asv.frame.filter(pl.col("trial") != "").unique("trial", keep="first", maintain_order=True)
    both = cm.frame.with_row_index("row").join(heard, on="trial", how="inner", maintain_order="left")
    both = both.filter(
        ((pl.col("key") == "spoof") != (pl.col("key_right") == "spoof"))
        | ((pl.col("attack") != pl.col("attack_right")) & (pl.col("attack") != "") & (pl.col("attack_right") != ""))
    )

    def said(at: int) -> str:
        row = both.row(at, named=True)
        ours, theirs = _label(row["key"], row["attack"]), _label(row["key_right"], row["attack_right"])
        return f"{row['trial']!r} is {ours} here but {theirs} for the verifier ({asv.table.name}); expected the same"

    problems.add_rows(cm.table, cm.rows[both["row"].to_numpy()], said)
    found = problems.all()
    if found:
        return found
    ours, theirs = (set(one.frame.filter(pl.col("key") == "spoof")["attack"].unique()) for one in (cm, asv))
    if "" in ours | theirs:
        return []  # nobody said how some spoofs were made, so nothing can be missed
    for here, there, lacking in ((cm, asv, ours - theirs), (asv, cm, theirs - ours)):
        problems = ProblemList(here.table.name)
        for attack in sorted(lacking):
            row = int(here.rows[np.flatnonzero((here.frame["attack"] == attack).to_numpy())[0]])
            reason = f"attack {attack!r} has no scores in {there.table.name}; expected the same attacks in both"
            problems.add(here.table.line(row), reason)
        found += problems.all()
    return found


def with_speakers(cm: JoinedSide, asv: pl.DataFrame) -> JoinedSide:
    """Who is heard, as far as a verifier's targets and spoofs tell: a non-target is somebody else."""
    known = (
        asv.filter((pl.col("key") != "nontarget") & (pl.col("trial") != "") & (pl.col("speaker") != ""))
        .group_by("trial")
        .agg(pl.col("speaker").first(), several=pl.col("speaker").n_unique() > 1)
        .filter(~pl.col("several"))
        .select("trial", "speaker")
    )
    frame = cm.frame.drop("speaker").join(known, on="trial", how="left", maintain_order="left")
    return replace(cm, frame=frame.with_columns(pl.col("speaker").fill_null("")))
