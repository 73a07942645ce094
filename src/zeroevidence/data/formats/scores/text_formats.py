"""Formats of score files that are text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import PARQUET, InputFile, load_parquet
from zeroevidence.data.formats.scores.layout import (
    SAMPLE,
    TANDEM_ROLES,
    ColumnNames,
    Layout,
    Lines,
    Role,
    Table,
    column_unit,
    sample_lines,
)
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, Columns, FirstLines, ScoreFormat
from zeroevidence.data.formats.scores.text_reader import read_text
from zeroevidence.data.scores import KINDS
from zeroevidence.errors import InputError

_SRE = "sre"
_SRE_COLUMNS = {"modelid": "enrol", "segmentid": "trial", "side": "side", "llr": "score", "targettype": "label"}
_FIRST_SIDE = "a"


def sre_layout(lines: Lines, _name: str) -> Layout | None:
    """Return the columns that the first line names; commas, tabs or blanks separate them."""
    number, line = lines[0]
    for separator, cells in _splits(line, "\t, "):
        columns = tuple(_SRE_COLUMNS.get(cell.lower(), "") for cell in cells)
        if {"enrol", "trial"} <= set(columns) and len(set(columns) - {""}) == sum(map(bool, columns)):
            return Layout(_SRE, columns, separator, number)
    return None


def read_sre(data: bytes, name: str, _role: Role) -> Table:
    """Return the table with each side's segment as a trial of its own."""
    layout = sre_layout(sample_lines(data, name)[:SAMPLE], name)
    assert layout is not None
    table = read_text(InputFile.holding(name, data), layout)
    if not table.has("side"):
        return table
    trial, side = pl.col("trial").cast(pl.String), pl.col("side").cast(pl.String)
    named = pl.when(side == _FIRST_SIDE).then(trial).otherwise(pl.concat_str(trial, pl.lit(":"), side))
    return replace(table, frame=table.frame.with_columns(trial=named).drop("side"))


ASVSPOOF5 = "asvspoof5"
_ASVSPOOF5_COLUMNS = {
    **dict.fromkeys(("spk", "speaker", "tar_spk_anon"), "enrol"),
    **dict.fromkeys(("filename", "utterance", "trial", "trial_anon"), "trial"),
    **{f"{side}{mark}score": f"{side}_score" for side in KINDS for mark in "-_"},
    **{f"{side}{mark}label": f"{side}_key" for side in ("cm", "asv") for mark in "-_"},
    **dict.fromkeys(("attack", "attack_anon"), "attack"),
}


def asvspoof5_layout(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a first line that names a known column beside the file names."""
    number, line = lines[0]
    for separator, cells in _splits(line, ", "):
        columns = tuple(_ASVSPOOF5_COLUMNS.get(cell.lower(), "") for cell in cells)
        named = Counter(filter(None, columns))
        if "trial" not in named or named.total() < 2 or any(map(text.is_number, cells)):
            continue
        column, times = named.most_common(1)[0]
        if times > 1:
            both = " and ".join(repr(cell) for cell in cells if _ASVSPOOF5_COLUMNS.get(cell.lower()) == column)
            raise InputError(f"columns {both} mean the same; expected one", path=name, line=number)
        return Layout(ASVSPOOF5, columns, separator, number, tuple(cells))
    return None


_TABLE = "table"
_TABLE_COLUMNS = {
    **dict.fromkeys(("enrol", "enroll", "enrolment", "enrollment", "enrol_id", "enroll_id"), "enrol"),
    **dict.fromkeys(("enrolment_id", "enrollment_id", "model", "known", "known_id"), "enrol"),
    **dict.fromkeys(("trial", "trial_id", "test", "utterance", "utterance_id", "questioned", "questioned_id"), "trial"),
    **dict.fromkeys(("enrol_speaker", "enroll_speaker", "enrolment_speaker", "enrollment_speaker"), "enrol_speaker"),
    **dict.fromkeys(("known_speaker", "bio_ref_subject_id"), "enrol_speaker"),
    **dict.fromkeys(("trial_speaker", "questioned_speaker", "probe_subject_id"), "trial_speaker"),
    **dict.fromkeys(("bio_ref_template_id", "bio_ref_reference_id"), "enrol"),
    **dict.fromkeys(("probe_template_id", "probe_reference_id"), "trial"),
    **dict.fromkeys(("score", "scores", "llr"), "score"),
    **dict.fromkeys(("label", "labels", "target", "is_target"), "label"),
    **dict.fromkeys(("hypothesis", "same-source", "same_source", "same source"), "label"),
}
_SEPARATORS = ",;\t"
_ENDINGS = ("score", "label")  # of the names of columns that may hold them, such as sasv_label


def header_layout(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a first line that names at least two known columns and holds no number."""
    number, line = lines[0]
    for separator, cells in _splits(line):
        # Between blanks `target` is rather the label of a trial than the name of a column.
        lower = [cell.lower() for cell in cells]
        meanings = {_known_meaning(cell) for cell in lower if separator != " " or cell not in text.LABELS}
        like = {ending for ending in _ENDINGS for cell in lower if cell.endswith(ending)}
        if len((meanings | like) - {""}) >= 2 and not any(map(text.is_number, cells)):
            return Layout(_TABLE, column_meanings(cells, name, number), separator, number, tuple(cells))
    return None


def _known_meaning(title: str) -> str:
    """Return what a column of a known name in lower case holds, "" for others."""
    return _TABLE_COLUMNS.get(title) or ("" if column_unit(title) is None else "score")


def unknown_layout(lines: Lines, name: str) -> Layout | None:
    """Return the layout of a table of whose columns hardly any is known, for messages to name them; None for others.

    Numbers stand below a name, and no name stands below itself, as it would if the first line were a line like others.
    """
    number, line = lines[0]
    for separator, cells in _splits(line, _SEPARATORS):
        if len(cells) < 2 or any(map(text.is_number, cells)) or len(set(cells)) < len(cells):
            continue
        rows = [row for _, line in lines[1:] if isinstance(row := text.split(line, separator), list)]
        columns = list(zip(*(row for row in rows if len(row) == len(cells)), strict=True))
        numeric = any(2 * sum(map(text.is_decimal, column)) >= len(lines) - 1 > 0 for column in columns)
        if numeric and not any(cell in column for cell, column in zip(cells, columns, strict=True)):
            return Layout(_TABLE, column_meanings(cells, name, number), separator, number, tuple(cells))
    return None


def named_layout(lines: Lines, name: str, names: ColumnNames) -> Layout:
    """Return the layout of a table of which some columns are named by the user.

    Raises
    ------
    InputError
        When the first line has no such columns.
    """
    number, line = lines[0]
    splits = list(_splits(line))
    for separator, cells in splits:
        if set(names.given.values()) <= set(cells):
            return Layout(_TABLE, column_meanings(cells, name, number, names), separator, number, tuple(cells))
    widest = max((cells for _, cells in splits), key=len, default=[])
    raise InputError(_lacking(names, widest), path=name, line=number)


def column_meanings(
    cells: Sequence[str], name: str, line: int | None, names: ColumnNames | None = None
) -> tuple[str, ...]:
    """Return what the columns of a table hold: by the names given, by known names, or by how their names end.

    The plain name of a column wins over its aliases, and these over names that only end like one.

    Raises
    ------
    InputError
        When two columns claim the same meaning, or one that was named is not there.
    """
    given = {} if names is None else names.given
    if missing := [column for column in given.values() if column not in cells]:
        raise InputError(_lacking(ColumnNames(missing[0]), cells), path=name, line=line)
    lower = [cell.strip().lower() for cell in cells]
    meaning = list(map(_known_meaning, lower))
    for ending in _ENDINGS:
        if ending not in meaning:
            likely = [ending if cell.endswith(ending) else "" for cell in lower]
            meaning = [before or like for before, like in zip(meaning, likely, strict=True)]
    for column, title in given.items():
        others = ["" if before == column else before for before in meaning]
        meaning = [column if cell == title else other for other, cell in zip(others, cells, strict=True)]
    for column in set(filter(None, meaning)):
        at = [i for i, other in enumerate(meaning) if other == column]
        plain = [i for i in at if lower[i] == column]
        if len(at) > 1 and len(plain) != 1:
            both = " and ".join(repr(cells[i]) for i in at)
            advice = f", or --{column}-column with the name of one" if column in _ENDINGS else ""
            raise InputError(f"columns {both} both mean {column}; expected one{advice}", path=name, line=line)
        for i in at:
            if len(at) > 1 and i != plain[0]:
                meaning[i] = ""
    return tuple(meaning)


def _splits(line: str, separators: str = f"{_SEPARATORS} ") -> Iterator[tuple[str, list[str]]]:
    """Yield separators with the cells that they make of a line."""
    for separator in separators:
        cells = text.split(line, separator)
        if not isinstance(cells, str):
            yield separator, cells


def _lacking(names: ColumnNames, cells: Sequence[str]) -> str:
    wanted = next(name for name in names.given.values() if name not in cells)
    return f"no column named {wanted!r}; expected one of {', '.join(map(repr, filter(None, cells)))}"


def read_parquet(file: InputFile, _role: Role, names: ColumnNames | None = None) -> Table:
    """Return the table of a Parquet file; "line" in its problems is the row, counted from 1.

    Parameters
    ----------
    file
        The file.
    _role
        Whether it should hold scores or a key.
    names
        Names of columns that the user gave.

    Raises
    ------
    InputError
        When the file is broken or a column has a type that cannot hold what it should.
    """
    raw = load_parquet(file)
    meaning = column_meanings(raw.columns, file.name, None, names)
    frame = raw.select(pl.col(column).alias(name) for column, name in zip(raw.columns, meaning, strict=True) if name)
    if raw.is_empty():
        raise InputError("empty; expected one trial per row", path=file.name)
    problems = text.FileProblems(file.name)
    frame = frame.with_columns(_convert(frame[column], file.name, problems) for column in frame.columns)
    rows = np.arange(1, len(frame) + 1)
    unit = Layout(_TABLE, meaning, titles=tuple(raw.columns)).unit
    return Table(file.name, _TABLE, frame, rows, tuple(problems.all()), tuple(raw.columns), unit)


def _convert(column: pl.Series, name: str, problems: text.FileProblems) -> pl.Series:
    if column.dtype.is_nested() or column.dtype == pl.Binary or column.dtype == pl.Object:
        raise InputError(f"column {column.name} is of type {column.dtype}; expected plain values", path=name)
    if column.name == "score":
        if not column.dtype.is_numeric():
            raise InputError(f"column score is of type {column.dtype}; expected numbers", path=name)
        return column.cast(pl.Float64).fill_null(np.nan)
    cells = column.cast(pl.String)
    if column.name == "label":
        if column.dtype == pl.Boolean:
            cells = column.replace_strict({True: "target", False: "nontarget"}, default=None, return_dtype=pl.String)
        elif column.dtype.is_float():  # which whole numbers become beside missing ones
            cells = cells.str.strip_suffix(".0")
        labels = cells.replace_strict(text.LABELS, default=None, return_dtype=pl.Boolean)
        for row in labels.is_null().arg_true():
            problems.add(row + 1, f"unknown label {cells[row]!r}; {text.LABELS_EXPECTED}")
        return labels
    if column.name.endswith("speaker"):
        return cells.fill_null("")
    for row in (cells.is_null() | (cells == "")).arg_true():
        problems.add(row + 1, f"empty {column.name}; expected an identifier")
    return cells.fill_null("")


SCORE_FORMATS.add(
    ScoreFormat(
        name=_SRE,
        description="NIST SRE, `modelid segmentid side LLR` in the header",
        text=FirstLines(sre_layout, lacking="no header; expected modelid, segmentid, side and LLR", read=read_sre),
        identities=False,
        place=52,
    ),
    ScoreFormat(
        name=ASVSPOOF5,
        description="ASVspoof 5, a header such as `spk filename cm-score`",
        text=FirstLines(
            asvspoof5_layout,
            lacking="no header; expected column names such as spk filename cm-score",
            roles=TANDEM_ROLES,
        ),
        place=219,
    ),
    ScoreFormat(
        name=_TABLE,
        description="table with named columns: CSV, TSV or text with a header, Parquet",
        text=FirstLines(header_layout, lacking="no header; expected column names such as enrol,trial,score,label"),
        binary=Binary((PARQUET,), read_parquet),
        place=50,
    ),
)

_COLUMNS: dict[str, dict[Role, str]] = {  # "..." is ignored
    "kaldi": {"scores": "enrol trial score", "key": "enrol trial label"},
    "voxceleb": {"scores": "score enrol trial", "key": "label enrol trial"},
    "two-column": {"scores": "score label"},
    "label-first": {"scores": "label score"},
    "labelled": {"scores": "enrol trial score label", "key": "enrol trial ... label"},
    "speechbrain": {"scores": "enrol trial label score", "key": "enrol trial label ..."},
    "bob4": {"scores": "enrol trial_speaker trial score"},
    "bob5": {"scores": "enrol_speaker enrol trial_speaker trial score"},
    "2019": {
        "cm": "trial attack key score",
        "asv": "attack key score",
        "cm_key": "speaker trial environment attack key",
        "asv_key": "enrol trial attack key",
    },
    "2021": {
        "cm": "trial score",
        "asv": "enrol trial score",
        "cm_key": "speaker trial codec channel attack key trim phase",
        "asv_key": "enrol trial codec channel attack key trim phase",
    },
    "adcf": {"asv": "enrol trial score key"},
    "2021 DF": {"cm_key": "speaker trial codec channel attack key trim phase vocoder task team gender_pair language"},
    "2021 PA": {"cm_key": "speaker trial asv_room asv_mic dis_to_asv att_room att_mic att_d att_to_spk key trim phase"},
    "5 track 1": {"cm_key": "speaker trial gender codec codec_q codec_seed attack_tag attack key tmp"},
    "5 track 2": {"asv_key": "enrol trial gender attack key"},
}
_DESCRIPTIONS = {
    "kaldi": "Kaldi, `enrol trial score` on each line",
    "voxceleb": "VoxCeleb, `score enrol trial` on each line, both sides utterances",
    "two-column": "two columns, `score label` on each line",
    "label-first": "two columns, `label score` on each line, as bob.measure reads them",
    "labelled": "four columns, `enrol trial score label` on each line",
    "speechbrain": "SpeechBrain, `enrol trial label score` on each line, both sides utterances",
    "bob4": "bob, `claimed real probe score` on each line; a pair of one person is a target",
    "bob5": "bob, `claimed model real probe score` on each line; a pair of one person is a target",
    "2019": "ASVspoof 2019, `trial attack key score` of a countermeasure, `attack key score` of a verifier",
    "2021": "ASVspoof 2021, `trial score` of a countermeasure, `enrol trial score` of a verifier",
    "adcf": "a-DCF, `enrol trial score key` of a verifier",
    "2021 DF": "key of the deepfake task of ASVspoof 2021",
    "2021 PA": "key of the physical access task of ASVspoof 2021",
    "5 track 1": "protocol of the first track of ASVspoof 5",
    "5 track 2": "protocol of the second track of ASVspoof 5",
}
_KEY_LINES = {"voxceleb": "1|0 enrol trial", "labelled": "", "speechbrain": ""}
_OF_UTTERANCES = ("voxceleb", "speechbrain")

for _place, (_name, _lines) in enumerate(_COLUMNS.items(), 10):
    _roles = {role: tuple(line.replace("...", "").split(" ")) for role, line in _lines.items()}
    SCORE_FORMATS.add(
        ScoreFormat(
            name=_name,
            description=_DESCRIPTIONS[_name],
            text=Columns(_roles.pop("scores", ()), _roles.pop("key", ()), _KEY_LINES.get(_name), tandem=_roles),
            identities=_name not in _OF_UTTERANCES,
            place=_place if "scores" in _lines else 200 + _place,
        )
    )
