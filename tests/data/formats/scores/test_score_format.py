"""Formats of scores are registered: a binary one is added, read and taken out, and the documentation lists them all."""

import re
import struct
from pathlib import Path

import polars as pl
import pytest

from zeroevidence.data.formats.input_file import Container
from zeroevidence.data.formats.scores.layout import Table
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import (
    SCORE_FORMATS,
    Binary,
    Columns,
    ReadingOptions,
    ScoreFormat,
    format_names,
)
from zeroevidence.data.formats.vectors.read import VECTOR_FORMATS
from zeroevidence.errors import UsageError

DOCS = Path(__file__).resolve().parents[4] / "docs" / "formats.md"


PACKED = Container("packed", "packed pairs", (b"TWENTY BYTES OF NAME",))


def read_packed(file, role):
    pairs = struct.iter_unpack("<d?", file.read()[20:])
    frame = pl.DataFrame(list(pairs), schema={"score": pl.Float64, "label": pl.Boolean}, orient="row")
    return Table(file.name, "packed", frame, None)


@pytest.fixture
def packed_format():
    SCORE_FORMATS.add(ScoreFormat(name="packed", description="pairs", binary=Binary((PACKED,), read_packed)))
    yield
    SCORE_FORMATS.remove("packed")


def test_a_container(packed_format, tmp_path):
    path = tmp_path / "scores"
    path.write_bytes(b"TWENTY BYTES OF NAME" + struct.pack("<d?d?", 2.5, True, 0.5, False))
    for format in ("packed", "auto"):
        loaded = read_scores(path, options=ReadingOptions(format=format))
        assert (loaded.format, loaded.data.target.tolist()) == ("packed", [2.5])
    problem, *_ = diagnose(path, options=ReadingOptions(format="kaldi"))
    assert str(problem) == f"{path}: is a packed file; expected kaldi text"
    (tmp_path / "text").write_text("1 target\n2 nontarget\n")
    (problem,) = diagnose(tmp_path / "text", options=ReadingOptions(format="packed"))
    assert problem.reason == "is a text file; expected packed pairs"


def test_a_name_is_taken_once():
    with pytest.raises(UsageError, match="already a format called 'kaldi'"):
        SCORE_FORMATS.add(ScoreFormat(name="kaldi", description="again", text=Columns(scores=("score", "label"))))


@pytest.mark.parametrize(
    ("heading", "table"),
    [
        ("## Scores and keys", {name: SCORE_FORMATS[name] for name in format_names()[1:]}),
        ("## Embeddings", VECTOR_FORMATS),
    ],
)
def test_the_page_has_a_row_for_every_format(heading, table):
    section = DOCS.read_text(encoding="utf-8").split(f"\n{heading}\n")[1].split("\n#")[0]
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", section, re.M)
    assert rows == [(name, format.description) for name, format in table.items()]
