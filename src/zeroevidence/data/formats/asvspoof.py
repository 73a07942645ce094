"""Reading the scores of a countermeasure and of the verifier behind it, with their keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import get_args

import polars as pl

from zeroevidence.data.formats.asvspoof_sides import (
    CONDITION,
    JoinedSide,
    Side,
    TandemFiles,
    disagreements,
    has_scores_of,
    join_side,
    read_side,
    side_columns,
    with_speakers,
)
from zeroevidence.data.formats.input_file import InputFile, open_input
from zeroevidence.data.formats.scores.layout import Role, Table
from zeroevidence.data.formats.scores.score_format import Duplicates, ReadingOptions, format_names
from zeroevidence.data.formats.scores.text_formats import ASVSPOOF5
from zeroevidence.data.formats.text import collecting
from zeroevidence.data.loaded_scores import RelaxedRule, scale_tandem
from zeroevidence.data.scores import KINDS, TandemScores, TrialScores
from zeroevidence.errors import InputError, Problem, UsageError

_UNUSABLE = ("trial", "key", "score", "enrol")


def divide(sides: Mapping[Side, JoinedSide], by: str) -> tuple[dict[str, dict[Side, pl.DataFrame]], list[Problem]]:
    """Return the trials of each side by the values of the column; a side without the column is whole in all parts.

    Problems say why trials cannot be divided: no such column, or a part without some kind of trial.
    """
    main = sides.get("cm") or sides["sasv"]
    if CONDITION not in main.frame.columns or by in _UNUSABLE:
        columns = ", ".join(column for column in main.columns if column not in _UNUSABLE) or "none"
        reason = f"no column {by!r} to divide trials by (there is: {columns}); expected a key that has it"
        return {}, [Problem(main.table.name, None, reason)]
    spoofs, others = (main.frame.filter(kind) for kind in (_is_spoof(), ~_is_spoof()))
    shared = not set(spoofs[CONDITION]).isdisjoint(others[CONDITION])
    frame = main.frame if shared else spoofs
    parts = {
        value: {side: _part(joined.frame, value, shared) for side, joined in sides.items()}
        for value in sorted(frame[CONDITION].unique())
    }
    problems = []
    for value, frames in parts.items():
        for side, part in frames.items():
            for kind in sorted(set(KINDS[side]) - set(part["key"]), key=KINDS[side].index):
                reason = f"no {kind} trials with {by} {value!r}; expected {', '.join(KINDS[side])}"
                problems.append(Problem(sides[side].table.name, None, reason))
    return parts, problems


def _is_spoof() -> pl.Expr:
    return pl.col("key") == "spoof"


def _part(frame: pl.DataFrame, value: str, shared: bool) -> pl.DataFrame:
    if CONDITION not in frame.columns:
        return frame
    here = pl.col(CONDITION) == value
    return frame.filter(here if shared else here | ~_is_spoof())


TANDEM_FORMATS = format_names("cm", "asv")
_SIDES: tuple[Side, ...] = get_args(Side)
_FILES = ("cm", "asv", "sasv", "key", "asv_key")
_SINGLE_TRIALS = (  # are read with these
    *("score_column", "label_column", "trial_columns", "infinite", "failures", "negate", "speakers", "sessions"),
)


@dataclass(frozen=True, slots=True)
class LoadedTandem:
    """Scores of a tandem that were read from files.

    Parameters
    ----------
    data
        The scores.
    formats
        How each file was understood.
    phase
        Which part of a key was evaluated, None where the key has no parts.
    relaxed
        The rules that were relaxed.
    parts
        The same trials by the values of the column `by`.
    """

    data: TandemScores
    formats: dict[str, str]
    phase: str | None
    relaxed: tuple[RelaxedRule, ...]
    parts: dict[str, TandemScores] = field(default_factory=dict)


def read_tandem(files: TandemFiles) -> LoadedTandem:
    r"""Return the scores of a tandem, a countermeasure or a single spoofing-robust verifier, from ASVspoof files.

    Raises
    ------
    InputError
        ``file:line: reason`` of the first problem, and how many more there are.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "cm").write_text("u1 - bonafide 2.5\nu2 A07 spoof -1.5\nu3 A08 spoof 0.5\n")
    >>> loaded = read_tandem(TandemFiles(folder / "cm"))
    >>> loaded.data, loaded.formats, loaded.relaxed
    (TandemScores(1 cm_bonafide, 2 cm_spoof), {'cm': '2019'}, ())
    >>> loaded.data.cm_spoof.attacks.tolist()
    ['A07', 'A08']
    """
    loaded, problems = _attempt(files)
    if loaded is None:
        raise InputError.of(problems, "zeroevidence tandem check")
    scale = files.negated, files.reading.llr
    data, rules = scale_tandem(loaded.data, *scale)
    parts = {value: scale_tandem(part, *scale)[0] for value, part in loaded.parts.items()}
    return replace(loaded, data=data, parts=parts, relaxed=(*loaded.relaxed, *rules))


def diagnose_tandem(files: TandemFiles) -> list[Problem]:
    """Return every problem that `read_tandem` would meet with these files; empty when it would succeed."""
    return _attempt(files)[1]


def _attempt(files: TandemFiles) -> tuple[LoadedTandem | None, list[Problem]]:
    """Return the scores, or every reason why there are none."""
    files.reading.check(TANDEM_FORMATS, get_args(Duplicates))
    for name in _SINGLE_TRIALS:
        if getattr(files.reading, name) != getattr(ReadingOptions(), name):
            raise UsageError(f"{name}: is for single trials, not for those of a tandem")
    paths = {name: path for name in _FILES if (path := getattr(files, name)) is not None}
    if [str(path) for path in paths.values()].count("-") > 1:
        raise UsageError("standard input can be only one of the files")
    if "cm" not in paths and "sasv" not in paths:
        raise UsageError("expected the scores of a countermeasure (--cm), or of a single system (--sasv)")
    reading = _Reading(files)
    for name, path in paths.items():
        with collecting(reading.problems):
            reading.files[name] = open_input(path)
    return (None, reading.problems) if reading.problems else reading.result()


class _Reading:
    """One pass over the files, collecting what is wrong with them."""

    def __init__(self, asked: TandemFiles) -> None:
        self.asked = asked
        self.files: dict[str, InputFile] = {}
        self.problems: list[Problem] = []
        self.tables: dict[str, Table | None] = {}

    def result(self) -> tuple[LoadedTandem | None, list[Problem]]:
        """Return the scores, or everything in the way."""
        joined = {side: self.joined(side, table) for side, table in self.sides().items()}
        unused = [name for name in ("key", "asv_key") if name in self.files and name not in self.tables]
        if unused and not self.problems:
            raise UsageError(f"--{unused[0].replace('_', '-')}: none of the scores needs it")
        complete = {side: trials for side, trials in joined.items() if trials is not None}
        if not self.problems:
            self.problems += disagreements(complete)
        if "cm" in complete and "asv" in complete:
            complete["cm"] = with_speakers(complete["cm"], complete["asv"].frame)
        parts: dict[str, dict[Side, pl.DataFrame]] = {}
        if self.asked.by is not None and not self.problems:
            parts, self.problems = divide(complete, self.asked.by)
        # Sides that share a file share its problems.
        problems = list(dict.fromkeys(self.problems))
        return (None, problems) if problems else (self.built(complete, parts), [])

    def sides(self) -> dict[Side, Table]:
        """Return the table of each side: its own file, or a table of ASVspoof 5 that has its scores too."""
        given = {side: self.table(side, "cm" if side == "cm" else "asv") for side in _SIDES if side in self.files}
        sides = {side: table for side, table in given.items() if table is not None}
        for table in list(sides.values()):
            for side in _SIDES if table.format == ASVSPOOF5 else ():
                if side not in self.files and side not in sides and has_scores_of(table, side):
                    sides[side] = table
        cm = sides.get("cm")
        if cm is not None and cm.format == ASVSPOOF5 and "sasv" in sides and not has_scores_of(cm, "cm"):
            del sides["cm"]  # a single system's table; its other columns are there and empty
        if "cm" not in sides and "cm" not in given and "asv" in sides:
            if "asv" in given:
                raise UsageError("--asv: expected the countermeasure in front of it too (--cm)")
            del sides["asv"]
        return sides

    def table(self, name: str, role: Role) -> Table | None:
        """Return one file, read once; None where it cannot be understood at all."""
        if name not in self.tables:
            self.tables[name] = None
            with collecting(self.problems):
                self.tables[name] = read_side(self.files[name], role, self.asked)
        return self.tables[name]

    def key_table(self, side: Side) -> tuple[bool, Table | None]:
        """Return whether this side has a key, and its table."""
        if side != "cm" and "asv_key" in self.files:
            return True, self.table("asv_key", "asv_key")
        if "key" not in self.files:
            return False, None
        table = self.table("key", "cm_key" if "cm" in self.files else "asv_key")
        # Only a table with a header has the labels of both; any other key is the countermeasure's own.
        serves = side == "cm" or "cm" not in self.files or table is None or table.format == ASVSPOOF5
        return serves, table if serves else None

    def joined(self, side: Side, scores: Table) -> JoinedSide | None:
        """Return the trials of one side with their labels."""
        keyed, key = self.key_table(side)
        if keyed and key is None:
            return None
        checked: list[tuple[Table, int]] = []
        for table in (scores, key):
            if table is not None:
                with collecting(self.problems):
                    checked.append(side_columns(table, side, key=table is not scores))
        self.problems += [problem for table, _ in checked for problem in table.problems]
        tables = [table for table, _ in checked]
        if len(tables) < 1 + keyed or any(table.problems or table.frame.is_empty() for table in tables):
            return None
        trials: JoinedSide | None = None
        with collecting(self.problems):
            trials, problems = join_side(tables[0], tables[1] if keyed else None, side, self.asked)
            self.problems += problems
        if trials is None:
            return None
        lacking = [kind for kind in KINDS[side] if not (trials.frame["key"] == kind).any()]
        if lacking:
            reason = f"no {lacking[0]} trials; expected {', '.join(KINDS[side])}"
            self.problems.append(Problem(tables[-1].name, None, reason))
            return None
        unnamed = sum(number for _, number in checked)
        relaxed = (RelaxedRule("no-attack", unnamed),) if unnamed else ()
        return replace(trials, relaxed=(*trials.relaxed, *relaxed))

    def built(self, sides: dict[Side, JoinedSide], parts: dict[str, dict[Side, pl.DataFrame]]) -> LoadedTandem:
        """Return the result."""
        return LoadedTandem(
            _scores({side: trials.frame for side, trials in sides.items()}),
            {name: table.format for name, table in self.tables.items() if table is not None},
            self.asked.phase if any(trials.phased for trials in sides.values()) else None,
            tuple(replace(rule, side=side) for side, trials in sides.items() for rule in trials.relaxed),
            {value: _scores(frames) for value, frames in parts.items()},
        )


def _scores(frames: Mapping[Side, pl.DataFrame]) -> TandemScores:
    """Return the scores of each kind of trial."""
    scores: dict[str, TrialScores] = {}
    for side, frame in frames.items():
        for kind in KINDS[side]:
            trials = frame.filter(pl.col("key") == kind)
            columns = (trials[column] for column in ("speaker", "trial", "attack")[: 3 if kind == "spoof" else 2])
            values = (None if (column == "").all() else column.to_numpy().astype(str) for column in columns)
            scores[f"{side}_{kind}"] = TrialScores(trials["score"].to_numpy(), *values)
    return TandemScores(**scores)
