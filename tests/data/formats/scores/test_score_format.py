"""Adding a format takes one module: each drill writes one, lets the package find it, reads with it and takes it out."""

import re
import struct
import sys
from pathlib import Path

import pytest

from zeroevidence.data.formats import scores, vectors
from zeroevidence.data.formats.scores.reading.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat, format_names
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS
from zeroevidence.errors import InputError, UsageError

DOCS = Path(__file__).resolve().parents[4] / "docs" / "formats.md"


COLUMNS = """
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Columns, ScoreFormat

SCORE_FORMATS.add(
    ScoreFormat(
        name="trial-first",
        description="`trial enrol score` on each line",
        text=Columns(scores=("trial", "enrol", "score"), key=("label", "enrol", "", "trial")),
        identities=False,
    )
)
"""

BINARY = """
import struct

import polars as pl

from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS, Binary, ScoreFormat
from zeroevidence.data.formats.scores.reading.table import Table
from zeroevidence.data.formats.input_file import Container


def read(file, role):
    pairs = struct.iter_unpack("<d?", file.read()[20:])
    frame = pl.DataFrame(list(pairs), schema={"score": pl.Float64, "label": pl.Boolean}, orient="row")
    return Table(file.name, "packed", frame, None)


PACKED = Container("packed", "packed pairs", (b"TWENTY BYTES OF NAME",))
SCORE_FORMATS.add(ScoreFormat(name="packed", description="pairs of double and byte", binary=Binary((PACKED,), read)))
"""


VECTORS = """
import numpy as np

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.vectors.vector_format import VECTOR_FORMATS, VectorFormat


def read(file):
    rows = [line.split(",") for line in file.read().decode().splitlines()]
    return Embeddings(np.array([row[1:] for row in rows], float), np.array([row[0] for row in rows]))


VECTOR_FORMATS.add(VectorFormat(name="dat", description="DAT", read=read, suffix=".dat"))
"""


@pytest.fixture
def drill(tmp_path, monkeypatch):
    """Put a module into a package as if it lay in its folder, and let the package find it."""
    modules = tmp_path / "modules"
    modules.mkdir()
    before = {id(table): set(table) for table in (SCORE_FORMATS, VECTOR_FORMATS)}

    def add(package, name, text):
        (modules / f"{name}.py").write_text(text)
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(modules)])
        for table in (SCORE_FORMATS, VECTOR_FORMATS):  # as if neither had been read yet
            monkeypatch.setattr(table, "_package", package.__name__)
            len(table)
        monkeypatch.delitem(sys.modules, f"{package.__name__}.{name}")

    yield add
    for table in (SCORE_FORMATS, VECTOR_FORMATS):
        for name in set(table) - before[id(table)]:
            table.remove(name)
        assert set(table) == before[id(table)]


def refused_again(path, name):
    """Nothing is left of a format that was taken out."""
    SCORE_FORMATS.remove(name)
    with pytest.raises(UsageError, match="unknown format"):
        read_scores(path, format=name)
    with pytest.raises(InputError):
        read_scores(path)


def test_columns_in_another_order(drill, tmp_path):
    path, key = tmp_path / "scores", tmp_path / "key"
    path.write_text("u1 ada 2.5\nu1 bob 0.5\n")
    key.write_text("ada u1 target\nbob u1 nontarget\n")
    assert diagnose(path, key)[0].reason.startswith("no trial of this file is in the key")
    drill(scores, "trial_first", COLUMNS)
    for format in ("trial-first", "auto"):
        loaded = read_scores(path, key, format=format)
        assert (loaded.format, loaded.data.target.tolist()) == ("trial-first", [2.5])
    # Where its trials are not asked for it is Kaldi, the first of the two that fit.
    assert diagnose(path)[0].reason.startswith("no labels")
    key.write_text("target ada x u1\nnontarget bob x u1\n")
    loaded = read_scores(path, key, format="trial-first")
    assert loaded.key_format == "trial-first"
    assert loaded.data.speakers is None  # both sides are utterances, as the format says
    path.write_text("a\nb\n")
    (problem,) = diagnose(path)
    assert problem.reason.endswith("`enrol trial label score` or `trial enrol score`")
    refused_again(path, "trial-first")


def test_a_container(drill, tmp_path):
    path = tmp_path / "scores"
    path.write_bytes(b"TWENTY BYTES OF NAME" + struct.pack("<d?d?", 2.5, True, 0.5, False))
    assert diagnose(path)
    drill(scores, "packed", BINARY)
    for format in ("packed", "auto"):
        loaded = read_scores(path, format=format)
        assert (loaded.format, loaded.data.target.tolist()) == ("packed", [2.5])
    assert str(diagnose(path, format="kaldi")[0]) == f"{path}: is a packed file; expected kaldi text"
    (tmp_path / "text").write_text("1 target\n2 nontarget\n")
    (problem,) = diagnose(tmp_path / "text", format="packed")
    assert problem.reason == "is a text file; expected packed pairs"
    refused_again(path, "packed")


def test_an_embedding_format(drill, tmp_path):
    path = tmp_path / "vectors.dat"
    path.write_text("u1,1,2\nu2,3,4\n")
    with pytest.raises(InputError):
        read_embeddings(path)
    drill(vectors, "csv_vectors", VECTORS)
    found = read_embeddings(path)
    assert (found.ids.tolist(), found.vectors.tolist()) == (["u1", "u2"], [[1.0, 2.0], [3.0, 4.0]])


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
