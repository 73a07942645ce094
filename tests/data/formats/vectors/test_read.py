"""Files of embeddings, each format by files written here byte by byte or by the library that defines it."""

import json
import struct

import numpy as np
import polars as pl
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.files import ArrayOnDisk
from zeroevidence.data.formats.vectors.read import read_embeddings, read_labelled, write_embeddings
from zeroevidence.errors import InputError, UsageError

VECTORS = np.array([[1.0, 2.5, -3.0], [0.5, 0.0, 4.0]], np.float32)
NAMES, PEOPLE = ["u1", "u2"], ["s1", "s2"]
VOICES = np.arange(6, dtype=np.float32).reshape(3, 2)


def check(found, people=True):
    np.testing.assert_array_equal(found.vectors, VECTORS)
    assert found.ids.tolist() == NAMES
    assert (None if found.speakers is None else found.speakers.tolist()) == (PEOPLE if people else None)


def test_npz(tmp_path):
    np.savez(tmp_path / "v.npz", vectors=VECTORS, utterance=NAMES, speaker=PEOPLE, sex=["f", "m"])
    found = read_embeddings(tmp_path / "v.npz")
    check(found)
    assert found.attributes["sex"].tolist() == ["f", "m"]


def test_npy_with_a_list_beside_it_or_given(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    assert read_embeddings(tmp_path / "v.npy").ids.tolist() == ["0", "1"]
    (tmp_path / "list").write_text("u1 s1\nu2 s2\n")
    check(read_embeddings(tmp_path / "v.npy", ids=tmp_path / "list"))
    (tmp_path / "v.ids").write_text("u1\nu2\n")
    found = read_embeddings(tmp_path / "v.npy")
    check(found, people=False)
    on_disk = read_embeddings(tmp_path / "v.npy", on_disk=True)
    check(on_disk, people=False)
    assert (type(on_disk.vectors), type(found.vectors)) == (ArrayOnDisk, np.ndarray)
    (tmp_path / "v.ids").write_text("u1 s1\n")
    with pytest.raises(InputError, match="1 lines for 2 vectors"):
        read_embeddings(tmp_path / "v.npy")
    (tmp_path / "v.ids").write_text("u1 s1\nu2 s2 more\n")
    with pytest.raises(InputError, match=r"v\.ids:2: 3 columns"):
        read_embeddings(tmp_path / "v.npy")


@pytest.mark.parametrize("kind", [pl.List(pl.Float32), pl.Array(pl.Float32, 3)])
def test_parquet(tmp_path, kind):
    frame = pl.DataFrame({"utterance_id": NAMES, "speaker_id": PEOPLE, "embedding": VECTORS.tolist(), "sex": [*"fm"]})
    frame.with_columns(pl.col("embedding").cast(kind)).write_parquet(tmp_path / "v.parquet")
    found = read_embeddings(tmp_path / "v.parquet")
    check(found)
    assert (found.vectors.dtype, found.attributes["sex"].tolist()) == (np.float32, ["f", "m"])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"utterance_id": NAMES}, "no column embedding"),
        ({"embedding": [1.0, 2.0]}, "expected lists of numbers"),
        ({"embedding": [["a"], ["b"]]}, "expected lists of numbers"),
        ({"embedding": [[1.0, 2.0], [1.0]]}, "row 1: 1 entries, the first row has 2"),
        ({"embedding": [[1.0, 2.0], [1.0, None]]}, "row 1: a null entry"),
        ({"embedding": [[1.0], None]}, "row 1: null"),
        ({"embedding": [[1.0], [np.nan]]}, "row 1 .*entry 0 is NaN"),
        ({"embedding": [[1.0], [2.0]], "utterance_id": ["a", None]}, "row 1: no utterance_id"),
        ({"embedding": [[1.0], [2.0]], "utterance_id": ["a", "a"]}, "identifier 'a' is already"),
    ],
)
def test_a_parquet_file_that_is_wrong(tmp_path, columns, words):
    pl.DataFrame(columns).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(InputError, match=words) as caught:
        read_embeddings(tmp_path / "v.parquet")
    assert caught.value.path == str(tmp_path / "v.parquet")


def binary(name, vector, kind=b"FV ", dtype="<f4"):
    return name.encode() + b" \x00B" + kind + b"\x04" + struct.pack("<i", len(vector)) + vector.astype(dtype).tobytes()


def test_kaldi_text_and_binary(tmp_path):
    (tmp_path / "t.ark").write_text("u1  [ 1 2.5 -3 ]\nu2  [ 0.5 0 4 ]\n")
    check(read_embeddings(tmp_path / "t.ark"), people=False)
    (tmp_path / "b.ark").write_bytes(binary("u1", VECTORS[0]) + binary("u2", VECTORS[1], b"DV ", "<f8"))
    check(read_embeddings(tmp_path / "b.ark"), people=False)
    (tmp_path / "utt2spk").write_text("u1 s1\nu2 s2\nu3 s3\n")
    check(read_embeddings(tmp_path / "b.ark"))
    offset = len(binary("u1", VECTORS[0])) + len("u2 ")
    (tmp_path / "v.scp").write_text(f"u1 {tmp_path}/b.ark:3\nu2 b.ark:{offset}\n")
    check(read_embeddings(tmp_path / "v.scp"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"u1\n", "no vector after the identifier"),
        (b"u1 [ 1 2 ]\nu1 [ 3 4 ]\n", "'u1' occurs twice"),
        (b"u1 [ 1 2 ]\nu2 [ 3 ]\n", "'u2' has 1 entries, the first vector 2"),
        (b"u1 [ 1 x ]\n", "'u1': an entry is not a number"),
        (b"u1 [\n 1 2\n 3 4 ]\n", "a matrix"),
        (b"u1 1 2\n", "expected `\\[ 1.0 2.0 \\]`"),
        (binary("u1", VECTORS[0])[:-2], "it is cut off"),
        (binary("u1", VECTORS[0])[:9], "damaged or cut off"),
        (binary("u1", VECTORS[0], b"FM "), "binary type"),
        (b"u1 [ 1 nan ]\n", "row 0 .*entry 1 is NaN"),
    ],
)
def test_an_archive_that_is_wrong(tmp_path, data, words):
    (tmp_path / "v.ark").write_bytes(data)
    with pytest.raises(InputError, match=words):
        read_embeddings(tmp_path / "v.ark")


def test_an_index_that_is_wrong(tmp_path):
    (tmp_path / "v.scp").write_text("u1 nowhere.ark:3\n")
    with pytest.raises(InputError, match=r"v\.scp:1: nowhere.ark: no such archive"):
        read_embeddings(tmp_path / "v.scp")
    (tmp_path / "v.scp").write_text("u1 nowhere.ark\n")
    with pytest.raises(InputError, match="expected `utterance archive:offset`"):
        read_embeddings(tmp_path / "v.scp")


def test_voiceprivacy_tensors_are_joined_by_index(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.from_numpy(VECTORS[::-1].copy()), tmp_path / "speaker_vectors.pt")
    (tmp_path / "id2idx").write_text(json.dumps({"u1": 1, "u2": 0}))
    found = read_embeddings(tmp_path / "speaker_vectors.pt")
    assert (found.ids.tolist(), found.speakers.tolist()) == (["u2", "u1"], ["u2", "u1"])
    np.testing.assert_array_equal(found.vectors, VECTORS[::-1])
    torch.save({"u1": 1, "u2": 0}, tmp_path / "id2idx")
    assert read_embeddings(tmp_path / "speaker_vectors.pt").ids.tolist() == ["u2", "u1"]
    torch.save({"vectors": torch.from_numpy(VECTORS), "id2idx": {"u1": 0, "u2": 5}}, tmp_path / "other.pt")
    with pytest.raises(InputError, match="names row 5"):
        read_embeddings(tmp_path / "other.pt")


def test_tensors_with_code_in_them_are_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"vectors": Harmful()}, tmp_path / "v.pt")
    saved = (tmp_path / "v.pt").read_bytes()
    for content in (saved, saved[:300], b"no tensors", b""):
        (tmp_path / "v.pt").write_bytes(content)
        with pytest.raises(InputError, match="damaged, or holds more than tensors, which is never read") as caught:
            read_embeddings(tmp_path / "v.pt")
        assert "weights_only" not in str(caught.value)  # torch advises to run the code


class Harmful:
    def __reduce__(self):
        return print, ("run",)


@pytest.mark.parametrize(("suffix", "separator"), [("csv", ","), ("csv", ";"), ("tsv", "\t")])
def test_tables_of_features(tmp_path, suffix, separator):
    path = tmp_path / f"features.{suffix}"
    rows = ("name F0 loudness speaker sex", "u1 1.5 2 ada f", "u2 -1e3 3 bob m")
    path.write_text("".join(row.replace(" ", separator) + "\n" for row in rows))
    found = read_embeddings(path)
    assert found.vectors.tolist() == [[1.5, 2.0], [-1000.0, 3.0]]
    assert (found.ids.tolist(), found.speakers.tolist()) == (["u1", "u2"], ["ada", "bob"])
    assert found.attributes["sex"].tolist() == ["f", "m"]


def test_tables_without_features_are_refused(tmp_path):
    path = tmp_path / "features.csv"
    path.write_text("name,sex\nu1,f\n")
    with pytest.raises(InputError, match="no columns of numbers"):
        read_embeddings(path)
    path.write_text("name,a,b\nu1,1,2\nu2,,3\n")
    with pytest.raises(InputError, match="column a is empty") as caught:
        read_embeddings(path)
    assert caught.value.line == 3


@pytest.fixture
def made(tmp_path):
    path = tmp_path / "voices.npz"
    write_embeddings(Embeddings(VOICES, ["u1", "u2", "u3"], ["ada", "ada", "bob"], {"accent": ["n", "n", "s"]}), path)
    return path


def test_no_file_is_replaced_unasked_and_the_name_says_the_format(made, tmp_path):
    before = made.read_bytes()
    with pytest.raises(UsageError, match="exists"):
        write_embeddings(Embeddings(VOICES), made)
    assert made.read_bytes() == before
    write_embeddings(Embeddings(VOICES), made, overwrite=True)
    assert read_embeddings(made).speakers is None
    with pytest.raises(UsageError, match=r"ends in \.npz"):
        write_embeddings(Embeddings(VOICES), tmp_path / "voices.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["voices.npz"]


@pytest.mark.parametrize("lines", ["ada f\nbob m\n", "u1 f\nu2 f\nu3 m\n", "u3 m\nada f\n"])
def test_labels_by_utterance_or_by_speaker(made, tmp_path, lines):
    labels = tmp_path / "labels"
    labels.write_text(lines)
    found = read_labelled(made, "sex", labels=labels)
    assert found.attributes["sex"].tolist() == ["f", "f", "m"]
    assert found.attributes["accent"].tolist() == ["n", "n", "s"]
    assert "sex" not in read_labelled(made, "sex").attributes


def test_a_voice_without_a_label_is_named(made, tmp_path):
    labels = tmp_path / "labels"
    labels.write_text("ada f\n")
    with pytest.raises(InputError, match="no label for 'u3'") as error:
        read_labelled(made, "sex", labels=labels)
    assert error.value.path == str(labels)
