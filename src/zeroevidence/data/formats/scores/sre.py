"""NIST speaker recognition evaluations: a header that begins with ``modelid segmentid side``, and columns by its names.

A side is a channel of the segment. Nearly all segments have the side ``a`` only, so ``seg.sph`` on side ``a`` is the
trial ``seg.sph``, and on any other side ``seg.sph:b``. A person may have several models, so speakers are unknown.
"""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from zeroevidence.data.formats import text
from zeroevidence.data.formats.input_file import InputFile
from zeroevidence.data.formats.scores.reading.layout import SAMPLE, Layout, Lines, Role, sample_lines
from zeroevidence.data.formats.scores.reading.line_reader import read_text
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, FirstLines, ScoreFormat

_NAME = "sre"
_NAMES = {"modelid": "enrol", "segmentid": "trial", "side": "side", "llr": "score", "targettype": "label"}
_FIRST_SIDE = "a"


def header(lines: Lines, _name: str) -> Layout | None:
    """Return the columns that the first line names; commas, tabs or blanks separate them."""
    number, line = lines[0]
    for separator in ("\t", ",", " "):
        cells = text.split(line, separator)
        columns = () if isinstance(cells, str) else tuple(_NAMES.get(cell.lower(), "") for cell in cells)
        if {"enrol", "trial"} <= set(columns) and len(set(columns) - {""}) == sum(map(bool, columns)):
            return Layout(_NAME, columns, separator, number)
    return None


def read_sre(data: bytes, name: str, _role: Role) -> Table:
    """Return the table with each side's segment as a trial of its own."""
    layout = header(sample_lines(data, name)[:SAMPLE], name)
    assert layout is not None
    table = read_text(InputFile.holding(name, data), layout)
    if not table.has("side"):
        return table
    trial, side = pl.col("trial").cast(pl.String), pl.col("side").cast(pl.String)
    named = pl.when(side == _FIRST_SIDE).then(trial).otherwise(pl.concat_str(trial, pl.lit(":"), side))
    return replace(table, frame=table.frame.with_columns(trial=named).drop("side"))


SCORE_FORMATS.add(
    ScoreFormat(
        name=_NAME,
        description="NIST SRE, `modelid segmentid side LLR` in the header",
        text=FirstLines(header, lacking="no header; expected modelid, segmentid, side and LLR", read=read_sre),
        identities=False,
        place=52,
    )
)
