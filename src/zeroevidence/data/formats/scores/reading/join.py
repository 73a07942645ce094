"""Join of scores with their key on (enrolment, trial) identifiers, never by position.

Identifiers become whole numbers once, in order of first appearance in the key; after that only numbers are compared,
by a table of all pairs where it is not much larger than the files. A trial without a score, a score without a trial, a
pair that occurs twice and contradictory labels are problems unless the caller relaxed the rule.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, FloatArray, IntArray
from zeroevidence.data.formats.problems import FileProblems
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.errors import Problem

Duplicates = Literal["error", "keep-last"]

_Table: TypeAlias = NDArray[np.int32]
_LABELS = ("nontarget", "target")
_BLOCK = 1 << 16  # rows that are processed together
_ROOM = 3  # entries of a table of pairs, for each pair that there is, at most


@dataclass(frozen=True, slots=True)
class JoinedTrials:
    """The joined trials.

    Parameters
    ----------
    score
        The score of each trial.
    label
        Whether it is a target.
    enrolments
        Distinct identifiers of enrolments.
    trials
        Distinct identifiers of trials.
    enrol
        Position of each trial's enrolment among the enrolments.
    trial
        Position of its trial identifier among the trials.
    score_row
        Its row of the score file.
    key_row
        Its row of the key.
    relaxed
        The rules that were relaxed.
    """

    score: FloatArray
    label: BoolArray
    enrolments: pl.Series
    trials: pl.Series
    enrol: IntArray
    trial: IntArray
    score_row: IntArray
    key_row: IntArray
    relaxed: tuple[RelaxedRule, ...]


@dataclass(frozen=True, slots=True)
class _Side:
    """A table and the pairs of its rows.

    Parameters
    ----------
    table
        The table.
    slot
        For each row the first row of the key that has the same pair, -1 for none.
    again
        Rows whose pair occurs before.
    first
        For these the row where it occurs first.
    """

    table: Table
    slot: IntArray
    again: IntArray
    first: IntArray

    @property
    def label(self) -> IntArray:
        if not self.table.has("label"):
            return np.full(len(self.slot), -1)
        return self.table.frame["label"].cast(pl.Int64).fill_null(-1).to_numpy()

    def rows(self, *, last: bool) -> IntArray:
        """Return one row per pair of the key in order of first appearance: its first row, or its `last`."""
        keep = self.slot >= 0
        if not len(self.again):
            return np.flatnonzero(keep)
        keep[self.again] = False
        if not last:
            return np.flatnonzero(keep)
        latest = np.arange(len(self.slot))
        latest[self.first] = self.again  # ascending, so that the last repetition stays
        return latest[keep]


def join(
    scores: Table, key: Table | None, duplicates: Duplicates, allow_missing: bool
) -> tuple[JoinedTrials | None, list[Problem]]:
    """Return the joined trials, or the problems in the way (only the first, where they cannot be located).

    Parameters
    ----------
    scores
        The table of scores.
    key
        The table of the key; None where the scores have labels.
    duplicates
        What to do with a pair that occurs twice.
    allow_missing
        Whether trials that one of the tables lacks are left out.
    """
    limit = None if scores.located and (key is None or key.located) else 1
    base = scores if key is None else key
    with ThreadPoolExecutor(2) as both:
        (enrolments, enrol), (trials, trial) = both.map(_numbered, base.frame.select("enrol", "trial"))
    pair = enrol * len(trials)
    pair += trial
    table = _table_of(pair, len(enrolments) * len(trials))
    left = right = _side(base, _first_rows(pair, pair, table))
    if key is None and scores.has("label") and not len(left.again):  # nothing to join
        del pair, table
        score, label = scores.frame["score"].to_numpy(), scores.frame["label"].fill_null(False).to_numpy()
        return JoinedTrials(score, label, enrolments, trials, enrol, trial, left.slot, left.slot, ()), []
    if key is not None:
        right = _against(scores, enrolments, trials, pair, table, left)
    problems = [
        p for side in ([right] if key is None else [right, left]) for p in _repetitions(side, duplicates, limit)
    ]
    if key is not None and not problems and _one_to_one(left, right):
        return _join_all(left, right, (enrolments, trials), (enrol, trial)), []
    scored = np.full(len(pair), -1)  # the row of the score of each row of the key
    score_row = right.rows(last=True)
    scored[right.slot[score_row]] = score_row
    key_row = left.rows(last=False)
    missing = scored[key_row] < 0
    unasked = np.flatnonzero(right.slot < 0)
    if key is not None:
        problems += _absent(left, right, key_row[missing], unasked, allow_missing, limit)
        problems += _contradictions(left, right, limit)
    if problems:
        return None, problems
    dropped = len(left.again) + (0 if key is None else len(right.again))
    left_out = int(missing.sum()) + len(unasked)
    rules = (RelaxedRule("duplicates", dropped, how="keep-last"), RelaxedRule("missing", left_out))
    relaxed = tuple(rule for rule in rules if rule.count)
    key_row = key_row[~missing]
    score_row = scored[key_row]
    enrol, enrolments = _compact(enrol[key_row], enrolments, left_out)
    trial, trials = _compact(trial[key_row], trials, left_out)
    score = scores.frame["score"].to_numpy()[score_row]
    label = left.label[key_row] == 1
    return JoinedTrials(score, label, enrolments, trials, enrol, trial, score_row, key_row, relaxed), []


def _one_to_one(key: _Side, scores: _Side) -> bool:
    """Return whether every trial has one score, every score is of a trial, and only the key has labels."""
    if len(key.again) or len(scores.again) or len(key.slot) != len(scores.slot) or scores.table.has("label"):
        return False
    if not key.table.has("label") or key.table.frame["label"].has_nulls():
        return False
    return bool(scores.slot.min() >= 0)


def _join_all(
    key: _Side, scores: _Side, names: tuple[pl.Series, pl.Series], codes: tuple[IntArray, IntArray]
) -> JoinedTrials:
    """Return every row of the key with its score."""
    score, label = scores.table.frame["score"].to_numpy(), key.table.frame["label"].to_numpy()
    rows = key.slot  # their own numbers
    if scores.slot is not rows:
        with ThreadPoolExecutor(2) as both:
            score, rows = both.map(partial(_put, scores.slot), (score, rows))
    return JoinedTrials(score, label, *names, *codes, rows, key.slot, ())


def _put(places: IntArray, values: NDArray[Any]) -> NDArray[Any]:
    """Return values at their positions, each of which occurs once."""
    placed = np.empty_like(values)
    placed[places] = values
    return placed


def _numbered(ids: pl.Series) -> tuple[pl.Series, IntArray]:
    """Return the identifiers in order of first appearance, and the position of each row's among them."""
    ids, codes = _coded(ids)
    first = np.full(int(codes.max()) + 1, len(codes))
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        (new,) = (first[block] == len(codes)).nonzero()
        first[block[new[::-1]]] = start + new[::-1]  # the last assignment stays
    order = np.argsort(first)[: np.count_nonzero(first < len(codes))]
    place = np.empty(len(first), dtype=np.int64)
    place[order] = np.arange(len(order))
    return ids.gather(first[order]).cast(pl.String), place[codes]


def _coded(ids: pl.Series) -> tuple[pl.Series, NDArray[np.uint32]]:
    """Return identifiers as a Categorical, and its codes."""
    if ids.dtype == pl.String():
        ids = ids.cast(pl.Categorical(pl.Categories.random()))
    return ids, ids.to_physical().to_numpy()


def _positions(ids: pl.Series, listed: pl.Series) -> IntArray:
    """Return the position of each row's identifier in a list, -1 where it is not listed."""
    ids, codes = _coded(ids)
    some = np.zeros(int(codes.max()) + 1, dtype=np.int64)  # a row of each code
    for start in range(0, len(codes), _BLOCK):
        block = codes[start : start + _BLOCK]
        some[block] = np.arange(start, start + len(block))
    names = ids.gather(some).cast(pl.String)
    by_code = names.cast(pl.Enum(listed), strict=False).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    positions: IntArray = by_code[codes]
    return positions


def _table_of(pair: IntArray, most: int) -> _Table | None:
    """Return the first row of every possible pair (-1: none), unless these are far too many; the pair -1 is none."""
    if most > _ROOM * len(pair) or len(pair) >= 2**31:
        return None
    table = np.full(most, -1, dtype=np.int32)
    rows = np.arange(len(pair) - 1, -1, -1, dtype=np.int32)  # backwards: the last assignment stays
    pair = pair[::-1]
    if pair.min() < 0:
        rows, pair = rows[pair >= 0], pair[pair >= 0]
    table[pair] = rows
    return table


def _taken(table: _Table, places: IntArray) -> IntArray:
    """Return entries of a table too large for a cache, read by two threads."""
    entries = np.empty(len(places), dtype=np.int64)

    def take(start: int) -> None:
        entries[start : start + _BLOCK] = table[places[start : start + _BLOCK]]

    with ThreadPoolExecutor(2) as both:
        list(both.map(take, range(0, len(places), _BLOCK)))
    return entries


def _first_rows(pair: IntArray, among: IntArray, table: _Table | None) -> IntArray:
    """Return for each pair (-1 is none) the first row `among` others that has it, -1 where none has."""
    if table is not None:
        valid = pair >= 0
        if among is pair and np.count_nonzero(table >= 0) == np.count_nonzero(valid):  # none occurs twice
            return np.where(valid, np.arange(len(pair)), -1)
        rows = _taken(table, pair)
        return rows if valid.all() else np.where(valid, rows, -1)
    if among is pair and pl.Series(pair).n_unique() == len(pair):
        return np.arange(len(pair))
    others = pl.DataFrame({"pair": among, "row": np.arange(len(among))}).unique("pair", keep="first")
    both = pl.DataFrame({"pair": pair}).join(others, on="pair", how="left", maintain_order="left")
    return both["row"].fill_null(-1).to_numpy()


def _side(table: Table, slot: IntArray, first: IntArray | None = None) -> _Side:
    """Return a table with the key row of each pair; `first` is the first row of the table itself, if not the key's."""
    first = slot if first is None else first
    again = np.flatnonzero((first != np.arange(len(first))) & (slot >= 0))
    return _Side(table, slot, again, first[again])


def _against(
    scores: Table,
    enrolments: pl.Series,
    trials: pl.Series,
    key_pairs: IntArray,
    table: _Table | None,
    key: _Side,
) -> _Side:
    """Return the scores, each with the key row of its pair."""
    with ThreadPoolExecutor(2) as both:
        enrol, trial = both.map(_positions, scores.frame.select("enrol", "trial"), (enrolments, trials))
    pair = enrol * len(trials)
    pair += trial
    if enrol.min() < 0 or trial.min() < 0:
        pair[(enrol < 0) | (trial < 0)] = -1
    if np.array_equal(pair, key_pairs):  # the usual case: both files in the same order
        return _Side(scores, key.slot, key.again, key.first)
    slot = _first_rows(pair, key_pairs, table)
    if _each_once(slot, len(key_pairs)):
        return _Side(scores, slot, slot[:0], slot[:0])
    return _side(scores, slot, _first_rows(slot, slot, _table_of(slot, len(key_pairs))))


def _each_once(slot: IntArray, count: int) -> bool:
    """Return whether every row of the key is there once."""
    if len(slot) != count or slot.min() < 0:
        return False
    present = np.zeros(count, bool)
    present[slot] = True
    return bool(present.all())


def _repetitions(side: _Side, duplicates: Duplicates, limit: int | None) -> list[Problem]:
    """Return the problems of pairs that occur twice."""
    if not len(side.again):
        return []
    table, label, problems = side.table, side.label, FileProblems(side.table.name, limit)
    now, before = label[side.again], label[side.first]
    contradict = (now >= 0) & (before >= 0) & (now != before)
    reported = np.flatnonzero(contradict | (duplicates == "error"))

    def reason(at: int) -> str:
        i = reported[at]
        row, line = int(side.again[i]), table.line(int(side.first[i]))
        earlier = "" if line is None else f" (first on line {line})"
        if contradict[i]:
            labels = f"is {_LABELS[now[i]]} here but {_LABELS[before[i]]} before"
            return f"{table.pair(row)!r} {labels}{earlier}; expected one label"
        return f"duplicate of {table.pair(row)!r}{earlier}; expected each pair once"

    problems.add_rows(table, side.again[reported], reason)
    return problems.all()


def _absent(
    left: _Side,
    right: _Side,
    without_score: IntArray,
    without_key: IntArray,
    allow_missing: bool,
    limit: int | None,
) -> list[Problem]:
    """Return the problems of trials that scores or key lack."""
    scores, key = right.table, left.table
    if len(without_key) == len(right.slot):
        # One message instead of one per line: the wrong key, or columns that were swapped.
        pairs = f"first here {scores.pair(0)!r}, first there {key.pair(0)!r}"
        reason = f"no trial of this file is in the key {key.name} ({pairs}); expected the same pairs in both"
        return [Problem(scores.name, scores.line(0), reason)]
    if allow_missing:
        return []
    here, there = FileProblems(scores.name, limit), FileProblems(key.name, limit)
    here.add_rows(
        scores,
        without_key,
        lambda at: f"{scores.pair(int(without_key[at]))!r} is not in the key {key.name}; expected a trial of the key",
    )
    there.add_rows(
        key,
        without_score,
        lambda at: f"{key.pair(int(without_score[at]))!r} has no score in {scores.name}; expected one",
    )
    return here.all() + there.all()


def _contradictions(left: _Side, right: _Side, limit: int | None) -> list[Problem]:
    """Return the problems of labels that differ between the files."""
    if not right.table.has("label"):
        return []
    problems = FileProblems(right.table.name, limit)
    ours, theirs = right.label, np.append(left.label, -1)[right.slot]
    rows = np.flatnonzero((ours >= 0) & (theirs >= 0) & (ours != theirs))

    def reason(at: int) -> str:
        row = int(rows[at])
        where = left.table.where(int(right.slot[row]))
        labels = f"is {_LABELS[ours[row]]} here but {_LABELS[theirs[row]]} in {where}"
        return f"{right.table.pair(row)!r} {labels}; expected the same label"

    problems.add_rows(right.table, rows, reason)
    return problems.all()


def _compact(codes: IntArray, ids: pl.Series, left_out: int) -> tuple[IntArray, pl.Series]:
    """Return only the identifiers that are left, still in their order."""
    if not left_out:
        return codes, ids
    used, codes = np.unique(codes, return_inverse=True)
    return codes.astype(np.int64), ids[used]
