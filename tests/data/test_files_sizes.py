"""Small files that unpack to giants are refused before they take memory, with the limit and how to raise it."""

import io
import re
import zipfile

import numpy as np
import pytest

from benchmarks.bombs import BOMBS, both
from tests.effort import spread
from tests.fuzz.seeds.target import run
from zeroevidence.data.files import LIMIT_VARIABLE, unpack_limit
from zeroevidence.data.formats.attack_scores import read_linked
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.errors import InputError, UsageError


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setenv(LIMIT_VARIABLE, "64M")


@pytest.mark.parametrize("bomb", BOMBS, ids=lambda one: one.name)
def test_bombs_are_refused(tmp_path, bomb):
    for needed in bomb.needs:
        pytest.importorskip(needed)
    code, _, err = run(*bomb.written(tmp_path, lambda path: bomb.bomb(path, 128 << 20)))
    held = tmp_path / bomb.file
    assert sum(one.stat().st_size for one in ([held] if held.is_file() else held.iterdir())) < 8 << 20
    assert code == 3
    assert re.search(bomb.said, err.replace(f"{tmp_path}/", ""))
    assert not list(tmp_path.glob("out*"))


@pytest.mark.parametrize(
    "bomb", spread([one for one in BOMBS if one.name in ("npz, scores", "gzip")], 1), ids=lambda one: one.name
)
def test_bombs_take_no_memory(bomb):
    good, found = both(bomb, 256 << 20, "64M")
    assert (good.code, found.code) == (0, 3)
    assert found.peak - good.peak < 32 << 20


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_a_header_that_asks_for_more_than_there_is(tmp_path, kind):
    array = io.BytesIO()
    np.lib.format.write_array_header_1_0(array, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 512)})
    path = tmp_path / f"v.{kind}"
    if kind == "npy":
        path.write_bytes(array.getvalue() + bytes(64))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("vectors.npy", array.getvalue() + bytes(64))
    with pytest.raises(InputError, match=r"v\.np.*: announces \d+ bytes, but has \d+; the file is damaged"):
        read_embeddings(path)


def test_a_packed_table_of_a_search(tmp_path, monkeypatch):
    import gzip

    (tmp_path / "trials.csv").write_bytes(gzip.compress(b"trial,speaker,lid,greater,equal\n" + bytes(4 << 20)))
    monkeypatch.setenv(LIMIT_VARIABLE, "1M")
    with pytest.raises(InputError, match=r"trials\.csv: unpacks to at least 0\.0 GiB, and the limit is 0\.0 GiB"):
        read_linked(tmp_path, 3)


@pytest.mark.parametrize(("text", "size"), [("5", 5), ("2k", 2048), ("3G", 3 << 30), ("1T", 1 << 40)])
def test_the_limit_can_be_set(monkeypatch, text, size):
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    assert unpack_limit() == size


@pytest.mark.parametrize("text", ["", "much", "-1", "1.5G", "\u00b2"])
def test_a_limit_that_is_none(monkeypatch, text):
    monkeypatch.setenv(LIMIT_VARIABLE, text)
    with pytest.raises(UsageError, match=LIMIT_VARIABLE):
        unpack_limit()
