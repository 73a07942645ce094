"""Small files that unpack to giants are refused before they take memory, with the limit and how to raise it."""

import io
import resource
import struct
import zipfile

import numpy as np
import polars as pl
import pytest

from zeroevidence.data.formats import read_scores
from zeroevidence.data.formats.linked import read_linked
from zeroevidence.data.formats.vectors import read_embeddings
from zeroevidence.data.unpacking import VARIABLE, unpack_limit
from zeroevidence.errors import InputError, UsageError

REFUSED = rf"unpacks to .* GiB, and the limit is .* GiB; {VARIABLE}=1G raises it"


@pytest.fixture(autouse=True)
def limit(monkeypatch):
    monkeypatch.setenv(VARIABLE, "64M")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # MiB


def bomb_npz(path, name, rows):
    """An archive of zeros, written as it is compressed: 512 MiB become half a megabyte."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (rows, 1024)})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open(f"{name}.npy", "w") as member:
        member.write(header.getvalue())
        for _ in range(rows // 1024):
            member.write(bytes(4 << 20))


def test_an_archive_of_vectors(tmp_path):
    bomb_npz(tmp_path / "v.npz", "vectors", 128 * 1024)
    assert (tmp_path / "v.npz").stat().st_size < 1 << 20
    before = peak()
    with pytest.raises(InputError, match=rf"v\.npz: {REFUSED}"):
        read_embeddings(tmp_path / "v.npz")
    assert peak() - before < 100


def test_an_archive_of_scores(tmp_path):
    bomb_npz(tmp_path / "s.npz", "scores", 32 * 1024)
    with pytest.raises(InputError, match=rf"s\.npz: {REFUSED}"):
        read_scores(tmp_path / "s.npz")


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
    with pytest.raises(InputError, match=r"v\.np.*: says that it holds \d+ bytes, but has \d+; it is damaged"):
        read_embeddings(path)


def test_a_table_of_equal_rows(tmp_path):
    rows = 10_000_000
    frame = pl.DataFrame({"score": np.zeros(rows, np.float32), "label": np.zeros(rows, np.int8)})
    frame.write_parquet(tmp_path / "s.parquet")
    assert (tmp_path / "s.parquet").stat().st_size < 1 << 20
    with pytest.raises(InputError, match=rf"s\.parquet: {REFUSED}"):
        read_scores(tmp_path / "s.parquet")


def test_a_dataset_that_was_never_written(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "s.h5", "w") as file:
        file["ID/row_ids"], file["ID/column_ids"] = [b"a", b"b"], [b"u", b"v"]
        file.create_dataset("scores", (1 << 20, 1 << 10), "f4", chunks=(64, 64), compression="gzip")
    with h5py.File(tmp_path / "key.h5", "w") as file:
        file["ID/row_ids"], file["ID/column_ids"], file["trial_mask"] = [b"a", b"b"], [b"u", b"v"], np.eye(2)
    with pytest.raises(InputError, match=r"s\.h5: unpacks to 4\.0 GiB"):
        read_scores(tmp_path / "s.h5", tmp_path / "key.h5")


def test_tensors(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.zeros(8, 4), tmp_path / "v.pt")
    with zipfile.ZipFile(tmp_path / "v.pt") as plain, zipfile.ZipFile(tmp_path / "w.pt", "w") as packed:
        for one in plain.namelist():
            packed.writestr(one, plain.read(one))
        packed.writestr("archive/data/99", bytes(128 << 20), zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match=rf"w\.pt: {REFUSED}"):
        read_embeddings(tmp_path / "w.pt")


def test_a_packed_table_of_a_search(tmp_path):
    import gzip

    (tmp_path / "trials.csv").write_bytes(gzip.compress(b"trial,speaker,lid,greater,equal\n"))
    with pytest.raises(InputError, match=r"trials\.csv: compressed; expected text"):
        read_linked(tmp_path, 3)


def test_archives_within_the_limit_are_read(tmp_path):
    np.savez_compressed(tmp_path / "v.npz", vectors=np.eye(3))
    assert len(read_embeddings(tmp_path / "v.npz")) == 3


@pytest.mark.parametrize(("text", "size"), [("5", 5), ("2k", 2048), ("3G", 3 << 30), ("1T", 1 << 40)])
def test_the_limit_can_be_set(monkeypatch, text, size):
    monkeypatch.setenv(VARIABLE, text)
    assert unpack_limit() == size


@pytest.mark.parametrize("text", ["", "much", "-1", "1.5G", "\u00b2"])
def test_a_limit_that_is_none(monkeypatch, text):
    monkeypatch.setenv(VARIABLE, text)
    with pytest.raises(UsageError, match=VARIABLE):
        unpack_limit()


def test_kaldi_vectors_that_say_too_much(tmp_path):
    (tmp_path / "v.ark").write_bytes(b"u1 \x00BFV \x04" + struct.pack("<i", 2**31 - 1) + bytes(8))
    with pytest.raises(InputError, match=r"v\.ark: .*the file ends before"):
        read_embeddings(tmp_path / "v.ark")
