"""One file of an ASVspoof challenge as a table whose scores, keys and attacks make sense line by line."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.formats.asvspoof.layout import Side, detect_tandem
from zeroevidence.data.formats.input_file import TEXT, InputFile
from zeroevidence.data.formats.problems import ProblemList
from zeroevidence.data.formats.scores.reading.block_reader import read_blocks
from zeroevidence.data.formats.scores.reading.polars_reader import read_by_polars
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import InputError

ABSENT = "-"
_NO_ATTACK = (ABSENT, "bonafide")
_UNNAMED = "A00"  # on bona fide lines of some published scores


@dataclass(frozen=True, slots=True)
class Utterances(Table):
    """A table whose rows may be named by the utterance alone; `unnamed` bona fide ones had a name for no attack."""

    unnamed: int = 0

    def pair(self, row: int) -> str:
        """The identifiers of a row in words."""
        names = [str(self.frame[column][row]) for column in ("enrol", "trial") if column in self.frame.columns]
        return " ".join(filter(None, names))


def read_table(file: InputFile, side: Side, *, key: bool, forced: str, careful: bool, by: str | None) -> Table:
    """What a file holds, before anybody asked whether it makes sense."""
    if file.kind != TEXT:
        raise InputError(f"is a {file.kind} file; expected text", path=file.name)
    data = file.read()
    layout = detect_tandem(data, file.name, side, key=key, forced=forced, by=by)
    quick = None if careful else read_by_polars([data], file.name, layout)
    return read_blocks(data, file.name, layout) if quick is None else quick


def offers(table: Table, side: Side) -> bool:
    """Whether a table with a header has a score of this side on any line."""
    column = f"{side}_score"
    return table.has(column) and bool((table.frame[column] != ABSENT).any())


def one_side(table: Table, side: Side, *, key: bool) -> Table:
    """What the table says about one side: enrol, trial, speaker, score, key, attack, phase, and what it says besides.

    An attack is "" for bona fide speech and where it is unknown. What makes no sense is added to the problems.

    Raises
    ------
    InputError
        When a column is missing as a whole.
    """
    problems = ProblemList(table.name, None if table.located else 1)
    frame = table.frame
    if table.format == "asvspoof5":
        frame = _by_name(table, side, key, problems)
    seen = _seen(frame, side)
    if "unknown" in seen.columns:
        words = KINDS[side]
        unknown = np.flatnonzero(seen["unknown"].to_numpy())
        cells = frame["key"]
        expected = f"{', '.join(words[:-1])} or {words[-1]}"
        problems.add_rows(table, unknown, lambda at: f"unknown key {cells[int(unknown[at])]!r}; expected {expected}")
    if "wrong" in seen.columns:
        _tell_attacks(table, frame, np.flatnonzero(seen["wrong"].to_numpy()), problems)
    unnamed = int(seen["unnamed"].sum()) if "unnamed" in seen.columns else 0
    if "attack" in seen.columns:
        frame = frame.with_columns(seen["attack"])
    if {"codec", "channel", "enrol"} <= set(frame.columns):
        # A verifier's speaker of 2021 carries the channel behind the name; the person is the same on all channels.
        channel = pl.concat_str(pl.lit(ABSENT), "codec", pl.lit(ABSENT), "channel")
        frame = frame.with_columns(speaker=pl.col("enrol").str.strip_suffix(channel))
    found = tuple(problems.all())
    return Utterances(table.name, table.format, frame, table.lines, table.located, (*table.problems, *found), unnamed)


def with_enrol(table: Table) -> Table:
    """The same with an enrolment for each row, so that utterances can be joined like pairs."""
    if table.has("enrol"):
        return table
    return replace(table, frame=table.frame.with_columns(enrol=pl.lit("")))


def _by_name(table: Table, side: Side, key: bool, problems: ProblemList) -> pl.DataFrame:
    """One side's columns of a table with a header, its scores as numbers."""
    label = "cm" if side == "cm" else "asv"
    wanted = f"{label}_key" if key else f"{side}_score"
    if not table.has(wanted):
        columns = ", ".join(column for column in table.frame.columns) or "none that is known"
        shown = wanted.replace("_key", "-label").replace("_", "-")
        raise InputError(f"no column {shown} (found: {columns}); expected one", path=table.name)
    others = [column for column in table.frame.columns if not column.endswith(("_score", "_key"))]
    frame = table.frame.select(*others, pl.col(f"^{label}_key$").alias("key"))
    if key:
        return frame
    cells = table.frame[wanted]
    if (cells == ABSENT).all():
        raise InputError(f"no {side} score on any line; expected numbers", path=table.name)
    score = cells.cast(pl.Float64(), strict=False)
    usable = score.is_finite().fill_null(False)
    wrong = []
    for row in np.flatnonzero(~usable.to_numpy()).tolist():
        cell = cells[row]
        value = text.parse_score(cell)
        if isinstance(value, str):
            wrong.append((row, value if cell != ABSENT else f"no {side} score here but on other lines; expected one"))
        else:
            score[row] = value
    problems.add_rows(table, np.array([row for row, _ in wrong], dtype=np.int64), lambda at: wrong[at][1])
    return frame.with_columns(score=score)


def _seen(frame: pl.DataFrame, side: Side) -> pl.DataFrame:
    """Of each row, in one pass: an unknown key, an attack that is wrong or none though it has a name, the attack."""
    key, attack = pl.col("key"), pl.col("attack")
    known, spoof = key.is_in(list(KINDS[side])), key == "spoof"
    unnamed, none = (attack == _UNNAMED) & ~spoof, attack.is_in(list(_NO_ATTACK))
    found = {}
    if "key" in frame.columns:
        found["unknown"] = ~known
    if "attack" in frame.columns:
        if "key" in frame.columns:
            none = none | unnamed
            # bona fide speech has no attack, and a spoof was not made by being bona fide
            found |= {"unnamed": unnamed, "wrong": (spoof & (attack == "bonafide")) | (~spoof & known & ~none)}
        found["attack"] = pl.when(none).then(pl.lit("")).otherwise(attack)
    return frame.select(**found)


def _tell_attacks(table: Table, frame: pl.DataFrame, rows: IntArray, problems: ProblemList) -> None:
    def reason(at: int) -> str:
        key, attack = frame["key"][int(rows[at])], frame["attack"][int(rows[at])]
        if key == "spoof":
            return "a spoof whose attack is 'bonafide'; expected the name of an attack"
        return f"{key} speech with the attack {attack!r}; expected - or bonafide"

    problems.add_rows(table, rows, reason)
