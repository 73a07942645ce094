"""Reading of ASVspoof files: countermeasure, verifier and single-system scores with their keys.

Scores are joined with their key on identifiers: the utterance for a countermeasure, (speaker, utterance) for a
verifier. The verifier's scores of 2019 have none; their protocol has the same lines, and is checked that way.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

import polars as pl

from zeroevidence._typing import StrArray
from zeroevidence.data.formats.asvspoof.conditions import divide, division_problems
from zeroevidence.data.formats.asvspoof.join import (
    JoinedSide,
    TandemDuplicates,
    TandemRequest,
    disagreements,
    join_side,
    with_speakers,
)
from zeroevidence.data.formats.asvspoof.layout import TANDEM_FORMATS, Side
from zeroevidence.data.formats.asvspoof.table import UtteranceTable, has_scores_of, read_table, side_columns
from zeroevidence.data.formats.input_file import InputFile, open_input
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.preparing.scale import Base, scale_tandem
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.tandem import KINDS, TandemScores, TrialScores
from zeroevidence.errors import InputError, Problem, UsageError

_SIDES: tuple[Side, ...] = get_args(Side)


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


def read_tandem(
    cm: str | Path | None = None,
    asv: str | Path | None = None,
    *,
    sasv: str | Path | None = None,
    key: str | Path | None = None,
    asv_key: str | Path | None = None,
    format: str = "auto",
    duplicates: TandemDuplicates = "error",
    allow_missing: bool = False,
    phase: str = "eval",
    by: str | None = None,
    negate: Collection[Side] = (),
    llr_base: Base = "e",
) -> LoadedTandem:
    r"""Return the scores of a tandem, a countermeasure or a single spoofing-robust verifier, from ASVspoof files.

    Parameters
    ----------
    cm
        Scores of the countermeasure ("-" is standard input). A table of ASVspoof 5 gives each side that it has.
    asv
        Scores of the verifier behind it.
    sasv
        Scores of a single system that does both.
    key
        Labels of the countermeasure's utterances; a key of ASVspoof 5 serves the verifier too.
    asv_key
        Labels of the verifier's trials, or the protocol beside its scores of 2019.
    format
        How to understand the score files, one of `TANDEM_FORMATS`.
    duplicates
        "keep-last" takes the later score of a trial that occurs twice, "keep-all" counts each line of files that
        carry their own labels.
    allow_missing
        Evaluate what scores and key have in common.
    phase
        Which part of a key of 2021 to evaluate: eval, progress, hidden, or all.
    by
        A column of the key, such as codec, to divide trials by. Where it applies to spoofs only, all other trials
        belong to each part.
    negate
        The sides whose higher scores speak against acceptance.
    llr_base
        The base of scores that are log-likelihood ratios.

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
    >>> loaded = read_tandem(folder / "cm")
    >>> loaded.data, loaded.formats, loaded.relaxed
    (TandemScores(1 cm_bonafide, 2 cm_spoof), {'cm': '2019'}, ())
    >>> loaded.data.cm_spoof.attacks.tolist()
    ['A07', 'A08']
    """
    paths = {"cm": cm, "asv": asv, "sasv": sasv, "key": key, "asv_key": asv_key}
    loaded, problems = _attempt(paths, TandemRequest(format, duplicates, allow_missing, phase, by))
    if loaded is None:
        raise InputError.of(problems, "zeroevidence tandem check")
    data, rules = scale_tandem(loaded.data, negate, llr_base)
    parts = {value: scale_tandem(part, negate, llr_base)[0] for value, part in loaded.parts.items()}
    return replace(loaded, data=data, parts=parts, relaxed=(*loaded.relaxed, *rules))


def diagnose_tandem(
    cm: str | Path | None = None,
    asv: str | Path | None = None,
    *,
    sasv: str | Path | None = None,
    key: str | Path | None = None,
    asv_key: str | Path | None = None,
    format: str = "auto",
    duplicates: TandemDuplicates = "error",
    allow_missing: bool = False,
    phase: str = "eval",
    by: str | None = None,
) -> list[Problem]:
    """Return every problem that `read_tandem` would meet; empty when it would succeed."""
    paths = {"cm": cm, "asv": asv, "sasv": sasv, "key": key, "asv_key": asv_key}
    return _attempt(paths, TandemRequest(format, duplicates, allow_missing, phase, by))[1]


def _attempt(paths: dict[str, str | Path | None], request: TandemRequest) -> tuple[LoadedTandem | None, list[Problem]]:
    if request.format not in TANDEM_FORMATS:
        raise UsageError(f"unknown format {request.format!r}; expected one of {', '.join(TANDEM_FORMATS)}")
    if request.duplicates not in get_args(TandemDuplicates):
        rules = ", ".join(get_args(TandemDuplicates))
        raise UsageError(f"unknown rule for duplicates {request.duplicates!r}; expected one of {rules}")
    if [str(path) for path in paths.values()].count("-") > 1:
        raise UsageError("standard input (-) can be given once")
    if paths["cm"] is None and paths["sasv"] is None:
        raise UsageError("expected the scores of a countermeasure (--cm), or of a single system (--sasv)")
    sources: dict[str, InputFile] = {}
    problems: list[Problem] = []
    for name, path in paths.items():
        if path is not None:
            try:
                sources[name] = open_input(path)
            except InputError as error:
                problems.append(error.problem)
    if problems:
        return None, problems
    # By polars first; where anything is wrong, once more line by line.
    loaded, problems = _Reading(sources, request, careful=False).result()
    return (loaded, problems) if loaded is not None else _Reading(sources, request, careful=True).result()


class _Reading:
    """One pass over the files, collecting what is wrong with them."""

    def __init__(self, sources: dict[str, InputFile], request: TandemRequest, *, careful: bool) -> None:
        self.sources, self.request, self.careful = sources, request, careful
        self.problems: list[Problem] = []
        self.tables: dict[str, Table | None] = {}

    def result(self) -> tuple[LoadedTandem | None, list[Problem]]:
        """Return the scores, or everything in the way."""
        sides = self.sides()
        joined = {side: self.joined(side, table) for side, table in sides.items()}
        unused = [name for name in ("key", "asv_key") if name in self.sources and name not in self.tables]
        if unused and not self.problems:
            raise UsageError(f"--{unused[0].replace('_', '-')}: none of the scores needs it")
        complete = {side: trials for side, trials in joined.items() if trials is not None}
        if not self.problems:
            self.problems += disagreements(complete)
        if self.request.by is not None and not self.problems:
            self.problems += division_problems(complete, self.request.by)
        # Sides that share a file share its problems.
        problems = list(dict.fromkeys(self.problems))
        return (None, problems) if problems else (self.built(complete), [])

    def sides(self) -> dict[Side, Table]:
        """Return the table of each side: its own file, or a table of ASVspoof 5 that has its scores too."""
        own_files = {side: self.table(side, side, key=False) for side in _SIDES if side in self.sources}
        sides = {side: table for side, table in own_files.items() if table is not None}
        for table in list(sides.values()):
            for side in _SIDES if table.format == "asvspoof5" else ():
                if side not in self.sources and side not in sides and has_scores_of(table, side):
                    sides[side] = table
        cm = sides.get("cm")
        if cm is not None and cm.format == "asvspoof5" and "sasv" in sides and not has_scores_of(cm, "cm"):
            del sides["cm"]  # a single system's table; its other columns are there and empty
        if "cm" not in sides and "cm" not in own_files and "asv" in sides:
            if "asv" in own_files:
                raise UsageError("--asv: expected the countermeasure in front of it too (--cm)")
            del sides["asv"]
        return sides

    def table(self, name: str, side: Side, *, key: bool) -> Table | None:
        """Return one file, read once; None where it cannot be understood at all."""
        if name not in self.tables:
            forced = "auto" if key else self.request.format
            try:
                self.tables[name] = read_table(
                    self.sources[name], side, key=key, forced=forced, careful=self.careful, by=self.request.by
                )
            except InputError as error:
                self.problems.append(error.problem)
                self.tables[name] = None
        return self.tables[name]

    def key_table(self, side: Side) -> tuple[bool, Table | None]:
        """Return whether this side has a key, and the table of the key."""
        if side != "cm" and "asv_key" in self.sources:
            table = self.table("asv_key", "asv", key=True)
        elif "key" in self.sources:
            table = self.table("key", "cm" if "cm" in self.sources else "asv", key=True)
            # Only a table with a header has the labels of both; any other key is the countermeasure's own.
            if table is not None and side != "cm" and "cm" in self.sources and table.format != "asvspoof5":
                return False, None
        else:
            return False, None
        return True, None if table is None else self.side_table(table, side, key=True)

    def side_table(self, table: Table, side: Side, *, key: bool) -> Table | None:
        """Return the columns of one side, or None where the table lacks them."""
        try:
            return side_columns(table, side, key=key)
        except InputError as error:
            self.problems.append(error.problem)
            return None

    def joined(self, side: Side, raw: Table) -> JoinedSide | None:
        """Return the trials of one side with their labels."""
        scores = self.side_table(raw, side, key=False)
        keyed, key = self.key_table(side)
        tables = [table for table in (scores, key) if table is not None]
        self.problems += [problem for table in tables for problem in table.problems]
        if scores is None or (keyed and key is None) or any(t.problems or t.frame.is_empty() for t in tables):
            return None
        try:
            joined, problems = join_side(scores, key, side, self.request)
        except InputError as error:
            joined, problems = None, [error.problem]
        self.problems += problems
        if joined is None or problems:
            return None
        unnamed = sum(table.unnamed for table in tables if isinstance(table, UtteranceTable))
        if unnamed:
            joined = replace(joined, relaxed=(*joined.relaxed, RelaxedRule("no-attack", unnamed)))
        lacking = [kind for kind in KINDS[side] if not (joined.frame["key"] == kind).any()]
        if lacking:
            reason = f"no {lacking[0]} trials; expected {', '.join(KINDS[side])}"
            self.problems.append(Problem((key or scores).name, None, reason))
            return None
        return joined

    def built(self, sides: dict[Side, JoinedSide]) -> LoadedTandem:
        """Return the result; a countermeasure's speakers may be known from the verifier's protocol."""
        if "cm" in sides and "asv" in sides and (sides["cm"].frame["speaker"] == "").all():
            sides = {**sides, "cm": with_speakers(sides["cm"], sides["asv"].frame)}
        parts = {} if self.request.by is None else divide(sides)
        return LoadedTandem(
            _scores({side: trials.frame for side, trials in sides.items()}),
            {name: table.format for name, table in self.tables.items() if table is not None},
            self.request.phase if any(trials.phased for trials in sides.values()) else None,
            tuple(replace(rule, side=side) for side, trials in sides.items() for rule in trials.relaxed),
            {value: _scores(frames) for value, frames in parts.items()},
        )


def _scores(frames: Mapping[Side, pl.DataFrame]) -> TandemScores:
    """Return the scores of each kind of trial."""
    return TandemScores(
        **{
            f"{side}_{kind}": _trial_scores(frame.filter(pl.col("key") == kind), kind)
            for side, frame in frames.items()
            for kind in KINDS[side]
        }
    )


def _trial_scores(frame: pl.DataFrame, kind: str) -> TrialScores:
    def values(column: str) -> StrArray | None:
        return None if (frame[column] == "").all() else frame[column].to_numpy().astype(str)

    return TrialScores(
        frame["score"].to_numpy(),
        speakers=values("speaker"),
        utterances=values("trial"),
        attacks=values("attack") if kind == "spoof" else None,
    )
