"""A file of an ASVspoof challenge as a table whose scores, keys and attacks are checked line by line."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.formats.asvspoof.layout import Side, detect_tandem
from zeroevidence.data.formats.input_file import TEXT, InputFile, refuse_pickle
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.block_reader import read_blocks
from zeroevidence.data.formats.scores.reading.polars_reader import read_by_polars
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.tandem import KINDS
from zeroevidence.errors import InputError

ABSENT = "-"
_NO_ATTACK = (ABSENT, "bonafide")
_UNNAMED = "A00"  # on bona fide lines of some published scores


@dataclass(frozen=True, slots=True)
class UtteranceTable(Table):
    """A table whose rows may be named by the utterance alone; `unnamed` counts bona fide rows with the attack A00."""

    unnamed: int = 0

    def pair(self, row: int) -> str:
        """Return the identifiers of a row, for messages."""
        names = [str(self.frame[column][row]) for column in ("enrol", "trial") if column in self.frame.columns]
        return " ".join(filter(None, names))


def read_table(file: InputFile, side: Side, *, key: bool, forced: str, careful: bool, by: str | None) -> Table:
    """Return the content of a file, unchecked."""
    if file.kind != TEXT:
        refuse_pickle(file, "one line for each trial, in text")
        raise InputError(f"is a {file.kind} file; expected text", path=file.name)
    data = file.read()
    layout = detect_tandem(data, file.name, side, key=key, forced=forced, by=by)
    table = None if careful else read_by_polars([data], file.name, layout)
    return read_blocks(data, file.name, layout) if table is None else table


def has_scores_of(table: Table, side: Side) -> bool:
    """Return whether a table with a header has a score of this side on any line."""
    column = f"{side}_score"
    return table.has(column) and bool((table.frame[column] != ABSENT).any())


def side_columns(table: Table, side: Side, *, key: bool) -> Table:
    """Return the columns of one side: enrol, trial, speaker, score, key, attack, phase, and further ones.

    An attack is "" for bona fide speech and where it is unknown. Invalid rows are added to the problems.

    Raises
    ------
    InputError
        When a column is missing as a whole.
    """
    problems = FileProblems(table.name, None if table.located else 1)
    frame = table.frame
    if table.format == "asvspoof5":
        frame = _by_name(table, side, key, problems)
    checks = _check_rows(frame, side)
    if "unknown" in checks.columns:
        kinds = KINDS[side]
        unknown = np.flatnonzero(checks["unknown"].to_numpy())
        cells = frame["key"]
        expected = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
        problems.add_rows(table, unknown, lambda at: f"unknown key {cells[int(unknown[at])]!r}; expected {expected}")
    if "wrong" in checks.columns:
        _add_wrong_attacks(table, frame, np.flatnonzero(checks["wrong"].to_numpy()), problems)
    unnamed = int(checks["unnamed"].sum()) if "unnamed" in checks.columns else 0
    if "attack" in checks.columns:
        frame = frame.with_columns(checks["attack"])
    if {"codec", "channel", "enrol"} <= set(frame.columns):
        # A verifier's speaker of 2021 carries the channel behind the name; the person is the same on all channels.
        channel = pl.concat_str(pl.lit(ABSENT), "codec", pl.lit(ABSENT), "channel")
        frame = frame.with_columns(speaker=pl.col("enrol").str.strip_suffix(channel))
    listed = (*table.problems, *problems.all())
    return UtteranceTable(table.name, table.format, frame, table.lines, table.located, listed, unnamed=unnamed)


def with_enrol(table: Table) -> Table:
    """Return the table with an enrolment for each row, so that utterances can be joined like pairs."""
    if table.has("enrol"):
        return table
    return replace(table, frame=table.frame.with_columns(enrol=pl.lit("")))


def _by_name(table: Table, side: Side, key: bool, problems: FileProblems) -> pl.DataFrame:
    """Return the columns of one side of a table with a header, its scores as numbers."""
    label = "cm" if side == "cm" else "asv"
    needed = f"{label}_key" if key else f"{side}_score"
    if not table.has(needed):
        columns = ", ".join(table.frame.columns) or "none that is known"
        title = needed.replace("_key", "-label").replace("_", "-")
        raise InputError(f"no column {title} (found: {columns}); expected one", path=table.name)
    frame = table.frame.select(pl.exclude("^.*(_score|_key)$"), pl.col(f"^{label}_key$").alias("key"))
    if key:
        return frame
    cells = table.frame[needed]
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


def _check_rows(frame: pl.DataFrame, side: Side) -> pl.DataFrame:
    """Return for each row, in one pass, whether its key is unknown, its attack wrong or unnamed, and the attack."""
    key, attack = pl.col("key"), pl.col("attack")
    valid, spoof = key.is_in(list(KINDS[side])), key == "spoof"
    unnamed, none = (attack == _UNNAMED) & ~spoof, attack.is_in(list(_NO_ATTACK))
    checks = {}
    if "key" in frame.columns:
        checks["unknown"] = ~valid
    if "attack" in frame.columns:
        if "key" in frame.columns:
            none = none | unnamed
            # bona fide speech has no attack, and a spoof was not made by being bona fide
            checks |= {"unnamed": unnamed, "wrong": (spoof & (attack == "bonafide")) | (~spoof & valid & ~none)}
        checks["attack"] = pl.when(none).then(pl.lit("")).otherwise(attack)
    return frame.select(**checks)


def _add_wrong_attacks(table: Table, frame: pl.DataFrame, rows: IntArray, problems: FileProblems) -> None:
    """Add a problem for each row whose attack contradicts its key."""

    def reason(at: int) -> str:
        key, attack = frame["key"][int(rows[at])], frame["attack"][int(rows[at])]
        if key == "spoof":
            return "a spoof whose attack is 'bonafide'; expected the name of an attack"
        return f"{key} speech with the attack {attack!r}; expected - or bonafide"

    problems.add_rows(table, rows, reason)
