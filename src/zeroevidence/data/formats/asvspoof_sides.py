"""One side of a tandem: its files, joined, and what both sides say about a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from zeroevidence._typing import IntArray
from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile, refuse_pickle
from zeroevidence.data.formats.scores.detect import detect, first_lines
from zeroevidence.data.formats.scores.join import compose_tables, join, label_conflicts, repeated_rows
from zeroevidence.data.formats.scores.layout import Role, Table, label_text, labels_differ, with_measured_scores
from zeroevidence.data.formats.scores.score_format import AUTO, ReadingOptions
from zeroevidence.data.formats.scores.text_formats import ASVSPOOF5
from zeroevidence.data.formats.scores.text_reader import read_text
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.data.scores import KINDS
from zeroevidence.errors import InputError, Problem, UsageError
from zeroevidence.run import setting

Side = Literal["cm", "asv", "sasv"]
Phase = Literal["eval", "progress", "hidden", "all"]  # parts of a key of 2021

CONDITION = "condition"  # the column that trials are divided by
_COLUMNS = ("score", "key", "attack", "speaker", "trial")
_ABSENT = "-"
_UNNAMED = "A00"  # on bona fide lines of some published scores


@dataclass(frozen=True, slots=True)
class TandemFiles:
    """The files of a tandem, a countermeasure or a single spoofing-robust verifier, and how they are read.

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
    phase
        Which part of a key of 2021 to evaluate.
    by
        A column of the key, such as codec, to divide trials by. Where it applies to spoofs only, all other trials
        belong to each part.
    negated
        The sides whose higher scores speak against acceptance.
    reading
        Format, rules for duplicates and missing trials, and the base of scores that are log-likelihood ratios.

    Examples
    --------
    >>> from zeroevidence import TandemFiles
    >>> TandemFiles("cm.txt", "asv.txt", key="keys/CM/trial_metadata.txt").phase
    'eval'
    """

    cm: str | Path | None = setting(None, "Scores of the countermeasure.", metavar="FILE")
    asv: str | Path | None = setting(None, "Scores of the speaker verifier behind it.", metavar="FILE")
    sasv: str | Path | None = setting(None, "Scores of a single spoofing-robust verifier.", metavar="FILE")
    key: str | Path | None = setting(
        None,
        "File with the labels of the trials; of the countermeasure, and with ASVspoof 5 of all scores.",
        metavar="KEY",
    )
    asv_key: str | Path | None = setting(
        None, "Labels of the verifier's trials, or the protocol of its scores of 2019.", metavar="FILE"
    )
    phase: Phase = setting("eval", "Part of a key of 2021 to evaluate.")
    by: str | None = setting(
        None,
        "Column of the key, such as attack or codec: add a row for each of its values, below the row for all.",
        metavar="COLUMN",
    )
    negated: tuple[Side, ...] = setting(
        (), "Negate these scores, where lower scores support acceptance; may be repeated.", spelling="--negate-side"
    )
    reading: ReadingOptions = ReadingOptions()


@dataclass(frozen=True, slots=True)
class JoinedSide:
    """The trials of one side.

    Parameters
    ----------
    frame
        The trials with the columns score, key, attack, speaker and trial, "" where unknown, and `CONDITION` where they
        are divided.
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
    columns: tuple[str, ...]


def read_side(file: InputFile, role: Role, files: TandemFiles) -> Table:
    """Return the content of a file, whose keys and attacks are not checked yet."""
    refuse_pickle(file, "one line for each trial, in text")
    file.check_text()
    asked = AUTO if role.endswith("_key") else files.reading.format
    layout = detect(first_lines(file), file.name, role, forced=asked)
    if layout.titles and files.by is not None:
        titles = zip(layout.columns, layout.titles, strict=True)
        columns = (column or (files.by if title.lower() == files.by else "") for column, title in titles)
        layout = replace(layout, columns=tuple(columns))
    table = with_measured_scores(read_text(file, layout), None, "", "")
    return replace(table, frame=table.frame.cast({pl.Categorical: pl.String}))


def has_scores_of(table: Table, side: Side) -> bool:
    """Return whether a table with a header has a score of this side on any line."""
    column = f"{side}_score"
    return table.has(column) and bool((table.frame[column] != _ABSENT).any())


def side_columns(table: Table, side: Side, *, key: bool) -> tuple[Table, int]:
    """Return the columns of one side, and how many bona fide rows name an attack that stands for none.

    An attack is "" for bona fide speech and where it is unknown. Invalid rows are added to the problems.

    Raises
    ------
    InputError
        When a column is missing as a whole.
    """
    problems, kinds = list(table.problems), KINDS[side]
    frame = _named_columns(table, side, key, problems) if table.format == ASVSPOOF5 else table.frame
    if "key" in frame.columns:
        keys = frame["key"]
        unknown = np.flatnonzero(~keys.is_in(list(kinds)).to_numpy())
        expected = f"{', '.join(kinds[:-1])} or {kinds[-1]}"
        wrong = keys.gather(unknown)
        problems += table.problems_of(unknown, lambda at: f"unknown key {wrong[at]!r}; expected {expected}")
    unnamed = 0
    if "attack" in frame.columns:
        frame, unnamed = _known_attacks(table, frame, kinds, problems)
    if {"codec", "channel", "enrol"} <= set(frame.columns):
        # A verifier's speaker of 2021 carries the channel behind the name; the person is the same on all channels.
        channel = pl.concat_str(pl.lit(_ABSENT), "codec", pl.lit(_ABSENT), "channel")
        frame = frame.with_columns(speaker=pl.col("enrol").str.strip_suffix(channel))
    return replace(table, frame=frame, problems=tuple(problems)), unnamed


def _named_columns(table: Table, side: Side, key: bool, problems: list[Problem]) -> pl.DataFrame:
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
    if (cells == _ABSENT).all():
        raise InputError(f"no {side} score on any line; expected numbers", path=table.name)
    values = [text.parse_score(cell) for cell in cells]
    wrong = np.array([row for row, value in enumerate(values) if isinstance(value, str)], dtype=np.int64)

    def reason(at: int) -> str:
        row = int(wrong[at])
        return f"no {side} score here but on other lines; expected one" if cells[row] == _ABSENT else str(values[row])

    problems += table.problems_of(wrong, reason)
    scores = [None if isinstance(value, str) else value for value in values]
    return frame.with_columns(score=pl.Series(scores, dtype=pl.Float64))


def _known_attacks(
    table: Table, frame: pl.DataFrame, kinds: tuple[str, ...], problems: list[Problem]
) -> tuple[pl.DataFrame, int]:
    """Return the columns with "" for no attack, and how many rows have a name for none; add those that contradict."""
    attack = pl.col("attack")
    none = attack.is_in([_ABSENT, "bonafide"])
    if "key" not in frame.columns:
        return frame.with_columns(attack=pl.when(none).then(pl.lit("")).otherwise(attack)), 0
    key = pl.col("key")
    spoof = key == "spoof"
    unnamed = (attack == _UNNAMED) & ~spoof
    # Bona fide speech has no attack, and a spoof was not made by being bona fide.
    contradict = (spoof & (attack == "bonafide")) | (key.is_in(list(kinds)) & ~spoof & ~none & ~unnamed)
    wrong = frame.with_row_index("row").filter(contradict)

    def reason(at: int) -> str:
        if wrong["key"][at] == "spoof":
            return "a spoof whose attack is 'bonafide'; expected the name of an attack"
        return f"{wrong['key'][at]} speech with the attack {wrong['attack'][at]!r}; expected - or bonafide"

    problems += table.problems_of(wrong["row"].to_numpy(), reason)
    count = int(frame.select(unnamed.sum()).item())
    return frame.with_columns(attack=pl.when(none | unnamed).then(pl.lit("")).otherwise(attack)), count


def join_side(
    scores: Table, key: Table | None, side: Side, files: TandemFiles
) -> tuple[JoinedSide | None, list[Problem]]:
    """Return the labelled trials of one side, or the problems in the way.

    Raises
    ------
    InputError
        When the files as a whole do not fit together.
    """
    if key is None and not scores.has("key"):
        option = "--key KEY" if side == "cm" or scores.format == ASVSPOOF5 else "--asv-key KEY"
        raise InputError(f"no labels; expected a key ({option})", path=scores.name)
    if not scores.has("trial") and key is not None:
        problems = _misaligned(scores, key)
        if problems:
            return None, problems
        scores, key = replace(key, frame=key.frame.with_columns(scores.frame["score"])), None
    every_row = np.arange(len(scores.frame))
    if not scores.has("trial"):
        return _select(scores, scores.name, every_row, files, ()), []
    if files.reading.duplicates == "keep-all" and key is not None:
        raise UsageError("keep-all is for files that carry their own labels; these have a key")
    if key is not None and key.has("enrol") and not scores.has("enrol"):
        key = replace(key, frame=key.frame.rename({"enrol": "speaker"}))
    if key is not None and scores.has("enrol") and not key.has("enrol"):
        raise InputError(f"no column of speakers to join with {scores.name}; expected one", path=key.name)
    pair = ["enrol", "trial"] if scores.has("enrol") else ["trial"]
    tables = [scores] if key is None else [scores, key]
    # Trials of a countermeasure are utterances, which have one label whoever is compared with them.
    conflicts = [p for table in tables for p in label_conflicts(table, ["trial"] if side == "cm" else pair)]
    if files.reading.duplicates == "keep-all":
        extra = len(repeated_rows(scores.frame, pair)[0])
        relaxed = (RelaxedRule("duplicates", extra, how="keep-all"),) if extra else ()
        return (None, conflicts) if conflicts else (_select(scores, scores.name, every_row, files, relaxed), [])
    scores, key, composed = compose_tables(scores, key)
    joined, problems = join(_with_enrol(scores), None if key is None else _with_enrol(key), files.reading)
    problems = list(dict.fromkeys(conflicts + problems))
    if joined is None or problems:
        return None, problems
    frame = scores.frame[joined.score_row]
    if key is not None:  # columns that both have are taken from the key
        further = key.frame.drop(pair)[joined.key_row]
        frame = pl.concat([frame.drop(further.columns, strict=False), further], how="horizontal")
    labelled = replace(scores, frame=frame)
    return _select(labelled, tables[-1].name, every_row[joined.score_row], files, (*joined.relaxed, *composed)), []


def _with_enrol(table: Table) -> Table:
    """Return the table with an enrolment on each row, so that utterances are joined as pairs are."""
    return table if table.has("enrol") else replace(table, frame=table.frame.with_columns(enrol=pl.lit("")))


def _select(
    table: Table, labels: str, rows: IntArray, files: TandemFiles, relaxed: tuple[RelaxedRule, ...]
) -> JoinedSide:
    """Return the columns that are used, of the phase that was asked for; `labels` is the file that names phases."""
    frame = table.frame
    if "speaker" not in frame.columns and "enrol" in frame.columns:
        frame = frame.with_columns(speaker=pl.col("enrol"))
    phased = "phase" in frame.columns
    if phased and files.phase != "all":
        keep = (frame["phase"] == files.phase).to_numpy()
        if not keep.any():
            phases = ", ".join(sorted(frame["phase"].unique()))
            raise InputError(f"no trials of the phase {files.phase!r} (found: {phases})", path=labels)
        frame, rows = frame.filter(keep), rows[keep]
    columns = tuple(frame.columns)
    selected = [pl.col(column) if column in columns else pl.lit("").alias(column) for column in _COLUMNS]
    if files.by is not None and files.by in columns:
        selected.append(pl.col(files.by).alias(CONDITION))
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
    every_row = np.arange(here)
    ours, theirs = scores.labels(every_row), protocol.labels(every_row)
    rows = np.flatnonzero(labels_differ(ours, theirs))

    def reason(at: int) -> str:
        row = int(rows[at])
        labels = f"{label_text(ours, row)} here but {label_text(theirs, row)} in {protocol.where(row)}"
        return f"{labels}; expected the same on each line"

    return scores.problems_of(rows, reason)


def disagreements(sides: Mapping[Side, JoinedSide]) -> list[Problem]:
    """Return the problems of speech that a countermeasure and the verifier behind it label differently."""
    if "cm" not in sides or "asv" not in sides:
        return []
    cm, asv = sides["cm"], sides["asv"]
    verified = asv.frame.filter(pl.col("trial") != "").unique("trial", keep="first", maintain_order=True)
    both = cm.frame.with_row_index("row").join(verified, on="trial", how="inner", maintain_order="left")
    both = both.filter(
        ((pl.col("key") == "spoof") != (pl.col("key_right") == "spoof"))
        | ((pl.col("attack") != pl.col("attack_right")) & (pl.col("attack") != "") & (pl.col("attack_right") != ""))
    )

    def reason(at: int) -> str:
        row = both.row(at, named=True)
        ours, theirs = (f"{row['key' + side]} {row['attack' + side]}".strip() for side in ("", "_right"))
        return f"{row['trial']!r} is {ours} here but {theirs} for the verifier ({asv.table.name}); expected the same"

    return cm.table.problems_of(cm.rows[both["row"].to_numpy()], reason) or _missing_attacks(cm, asv)


def _missing_attacks(cm: JoinedSide, asv: JoinedSide) -> list[Problem]:
    """Return the problems of attacks that only one of both has; none where the attacks of some spoofs are unknown."""
    ours, theirs = (set(side.frame.filter(pl.col("key") == "spoof")["attack"].unique()) for side in (cm, asv))
    problems = []
    for here, there, lacking in ((cm, asv, ours - theirs), (asv, cm, theirs - ours)):
        for attack in sorted(lacking if "" not in ours | theirs else ()):
            row = int(here.rows[np.flatnonzero((here.frame["attack"] == attack).to_numpy())[0]])
            message = f"attack {attack!r} has no scores in {there.table.name}; expected the same attacks in both"
            problems.append(Problem(here.table.name, here.table.line(row), message))
    return problems


def with_speakers(cm: JoinedSide, asv: pl.DataFrame) -> JoinedSide:
    """Return a countermeasure's trials with speakers from a verifier's targets and spoofs, where it has none itself.

    A non-target is another.
    """
    if (cm.frame["speaker"] != "").any():
        return cm
    labelled = asv.filter((pl.col("key") != "nontarget") & (pl.col("trial") != "") & (pl.col("speaker") != ""))
    speakers = labelled.unique(["trial", "speaker"]).unique("trial", keep="none").select("trial", "speaker")
    frame = cm.frame.drop("speaker").join(speakers, on="trial", how="left", maintain_order="left")
    return replace(cm, frame=frame.with_columns(pl.col("speaker").fill_null("")))
