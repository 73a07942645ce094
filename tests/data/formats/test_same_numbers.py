"""Every format holds the same numbers as every other: double precision, or single where the file is in single."""

import json
import struct
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from tests.effort import repetitions
from zeroevidence.data.formats.asvspoof import read_tandem
from zeroevidence.data.formats.asvspoof_sides import TandemFiles
from zeroevidence.data.formats.scores.read import read_score_lists, read_scores
from zeroevidence.data.formats.scores.score_format import SCORE_FORMATS
from zeroevidence.data.formats.vectors.read import VECTOR_FORMATS, read_embeddings

TRIALS, PEOPLE = 6, 3
MATED = np.arange(TRIALS) % PEOPLE
LABELS = (np.arange(PEOPLE) == MATED[:, None]).ravel()
ENROLMENTS = [f"p{person}" for _ in range(TRIALS) for person in range(PEOPLE)]
NAMES = [f"p{MATED[trial]}-u{trial}" for trial in range(TRIALS) for _ in range(PEOPLE)]

HEARD = [name.split("-")[0] for name in NAMES]


def numbers(seed, shape, dtype):
    """Numbers of very different sizes, some of which differ in their last digits alone."""
    rng = np.random.default_rng(seed)
    largest = 37.0 if dtype == "f4" else 300.0
    values = rng.normal(size=shape) * 10.0 ** rng.uniform(-min(largest, 37.0), largest, shape)
    values[:, 0] = np.nextafter(1e9, 2e9) + 1e-3 * rng.integers(0, 9, len(values))
    return values.astype(dtype)


def as_text(value):
    return repr(float(value))


def lines(path, *columns, header="", separator=" "):
    rows = [separator.join(map(str, row)) for row in zip(*columns, strict=True)]
    path.write_text("\n".join([header, *rows] if header else rows) + "\n")
    return path


def archive(path, rows, kind):
    """A Kaldi archive: text, or binary vectors of single (FV) or double precision (DV)."""
    entries, offsets = [], []
    for name, row in rows:
        start = f"{name} ".encode()
        offsets.append(sum(map(len, entries)) + len(start))
        content = f" [ {' '.join(map(as_text, row))} ]\n".encode()
        if kind != "text":
            content = b"\x00B" + kind.encode() + b" \x04" + struct.pack("<i", len(row)) + row.tobytes()
        entries.append(start + content)
    path.write_bytes(b"".join(entries))
    return path, offsets


class Search:
    """One search of trials among people, written in every format of scores."""

    def __init__(self, folder, seed, dtype):
        self.folder, self.dtype = folder, dtype
        self.matrix = numbers(seed, (TRIALS, PEOPLE), dtype)
        self.scores = self.matrix.ravel()
        self.text = [as_text(score) for score in self.scores]
        self.labels = ["target" if label else "nontarget" for label in LABELS]
        self.key = lines(folder / "key", ENROLMENTS, NAMES, self.labels)

    def path(self, name):
        return self.folder / name.replace(" ", "-")

    def text_files(self):
        text, labels = self.text, self.labels
        columns = {
            "kaldi": (ENROLMENTS, NAMES, text),
            "voxceleb": (text, ENROLMENTS, NAMES),
            "two-column": (text, labels),
            "labelled": (ENROLMENTS, NAMES, text, labels),
            "speechbrain": (ENROLMENTS, NAMES, LABELS.astype(int), text),
            "label-first": (labels, text),
            "bob4": (ENROLMENTS, HEARD, NAMES, text),
            "bob5": (ENROLMENTS, [f"model-{name}" for name in ENROLMENTS], HEARD, NAMES, text),
        }
        for name, cells in columns.items():
            path = lines(self.path(name), *cells)
            yield name, path, self.key if name in ("kaldi", "voxceleb") else None
        sre = lines(self.path("sre"), ENROLMENTS, NAMES, ["a"] * len(text), text, header="modelid segmentid side LLR")
        yield "sre", sre, self.key
        for separator in (",", ";", "\t"):
            header = separator.join(("enrol", "trial", "score", "label"))
            path = self.path(f"table{ord(separator)}")
            yield "table", lines(path, *columns["labelled"], header=header, separator=separator), None

    def binary_files(self):
        scores, matrix = self.scores, self.matrix
        frame = pl.DataFrame({"enrol": ENROLMENTS, "trial": NAMES, "score": scores, "label": LABELS})
        frame.write_parquet(self.path("table.parquet"))
        yield "table", self.path("table.parquet"), None
        yield "table", frame, None
        np.savez(self.path("arrays.npz"), scores=scores, labels=LABELS)
        yield "arrays", self.path("arrays.npz"), None
        np.save(self.path("arrays.npy"), np.stack((scores, LABELS.astype(self.dtype))))
        yield "arrays", self.path("arrays.npy"), None
        np.savez(self.path("matrix.npz"), scores=matrix, mated=MATED)
        yield "matrix", self.path("matrix.npz"), None
        np.save(self.path("matrix.npy"), matrix)
        np.save(self.path("mated.npy"), MATED)
        yield "matrix", self.path("matrix.npy"), self.path("mated.npy")
        h5py = pytest.importorskip("h5py")
        for name, values in (("scores", matrix.T), ("key", np.where(LABELS.reshape(matrix.shape).T, 1, -1))):
            with h5py.File(self.path(f"bosaris.{name}"), "w") as file:
                file["ID/row_ids"], file["ID/column_ids"] = ENROLMENTS[:PEOPLE], NAMES[::PEOPLE]
                file["trial_mask" if name == "key" else "scores"] = values
        yield "bosaris", self.path("bosaris.scores"), self.path("bosaris.key")
        key = lines(self.path("ark.key"), NAMES[::PEOPLE], MATED)
        for kind in ("text", "FV" if self.dtype == "f4" else "DV"):
            rows = zip(NAMES[::PEOPLE], matrix, strict=True)
            yield "kaldi-ark", archive(self.path(f"ark.{kind}"), rows, kind)[0], key

    def lists(self):
        """Target and non-target scores in a file each."""
        for ending in ("txt", "npy"):
            sides = []
            for name, chosen in (("target", LABELS), ("nontarget", ~LABELS)):
                path = self.path(f"{name}.{ending}")
                if ending == "npy":
                    np.save(path, self.scores[chosen])
                else:
                    lines(path, np.array(self.text)[chosen])
                sides.append(path)
            yield read_score_lists(*sides).data

    def tandems(self):
        """Targets as bona fide speech and non-targets as spoofs of a countermeasure."""
        ids = [f"u{place}" for place in range(len(LABELS))]
        kinds = np.where(LABELS, "bonafide", "spoof")
        attacks = np.where(LABELS, "-", "A07")
        same = ["x"] * len(LABELS)
        by_name = {
            "2019": (lines(self.path("cm2019"), ids, attacks, kinds, self.text), None),
            "2021": (
                lines(self.path("cm2021"), ids, self.text),
                lines(self.path("key2021"), same, ids, same, same, attacks, kinds, same, ["eval"] * len(same)),
            ),
            "asvspoof5": (
                lines(self.path("cm5"), ids, self.text, kinds, header="filename\tcm-score\tcm-label", separator="\t"),
                None,
            ),
        }
        for name, (path, key) in by_name.items():
            loaded = read_tandem(TandemFiles(cm=path, key=key))
            assert loaded.formats["cm"] == name
            yield name, (loaded.data.cm_bonafide.scores, loaded.data.cm_spoof.scores)

    def read_all(self):
        """Yield the format and both classes of scores of every file."""
        for name, path, key in (*self.text_files(), *self.binary_files()):
            loaded = read_scores(path, key)
            assert loaded.format == name
            yield name, (loaded.data.to_scores().target, loaded.data.to_scores().nontarget)
        yield from (("list", (data.target, data.nontarget)) for data in self.lists())
        yield from self.tandems()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("seed", range(repetitions(3, 40)))
def test_scores(tmp_path, seed, dtype):
    search = Search(tmp_path, seed, dtype)
    files = [(name, [np.sort(side.astype(np.float64)) for side in classes]) for name, classes in search.read_all()]
    written = [np.sort(search.scores[chosen].astype(np.float64)) for chosen in (LABELS, ~LABELS)]
    for (name, classes), (other, others) in combinations([("written", written), *files], 2):
        for values, expected in zip(classes, others, strict=True):
            np.testing.assert_array_equal(values, expected, err_msg=f"{name}, {other}")
    held = {name for name, format in SCORE_FORMATS.items() if format.holds("scores") or format.holds("cm")}
    assert held == {name for name, _ in files} - {"list"}


def write_vectors(folder, vectors):
    """Yield the format and the file of the same vectors, with what lies beside it."""
    ids = [f"u{row}" for row in range(len(vectors))]
    np.save(folder / "v.npy", vectors)
    yield "npy", folder / "v.npy"
    np.savez(folder / "v.npz", vectors=vectors, utterance=ids)
    yield "npz", folder / "v.npz"
    kind = pl.Float32 if vectors.dtype == np.float32 else pl.Float64
    for column in (pl.List(kind), pl.Array(kind, vectors.shape[1])):
        path = folder / f"{column.base_type()}.parquet"
        frame = pl.DataFrame({"utterance_id": ids, "embedding": vectors.tolist()})
        frame.with_columns(pl.col("embedding").cast(column)).write_parquet(path)
        yield "parquet", path
    for name, separator in (("csv", ","), ("csv", ";"), ("tsv", "\t")):
        header = separator.join(("utterance", *(f"x{column}" for column in range(vectors.shape[1]))))
        cells = zip(*(map(as_text, row) for row in vectors), strict=True)
        path = folder / f"v{ord(separator)}.{name}"
        yield name, lines(path, ids, *cells, header=header, separator=separator)
    for kind in ("text", "FV" if vectors.dtype == np.float32 else "DV"):
        path, offsets = archive(folder / f"{kind}.ark", zip(ids, vectors, strict=True), kind)
        yield "kaldi ark", path
        yield "kaldi scp", lines(folder / f"{kind}.scp", ids, [f"{path}:{offset}" for offset in offsets])
    torch = pytest.importorskip("torch")
    torch.save(torch.from_numpy(vectors), folder / "v.pt")
    (folder / "id2idx").write_text(json.dumps({name: row for row, name in enumerate(ids)}))
    yield "pt", folder / "v.pt"


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("seed", range(repetitions(3, 40)))
def test_vectors(tmp_path, seed, dtype):
    vectors = numbers(seed, (5, 4), dtype)
    files = [(name, read_embeddings(path).vectors) for name, path in write_vectors(tmp_path, vectors)]
    for (name, values), (other, expected) in combinations([("written", vectors), *files], 2):
        np.testing.assert_array_equal(values.astype("f8"), expected.astype("f8"), err_msg=f"{name}, {other}")
        assert values.dtype == np.float64 or dtype == "f4"
    assert {name for name, _ in files} == set(VECTOR_FORMATS)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "?"])
def test_whole_numbers_are_kept(tmp_path, dtype):
    largest = True if dtype == "?" else min(int(np.iinfo(dtype).max), 1 << 53)
    whole = np.array([[0, 1], [largest, 0]], dtype)
    np.savez(tmp_path / "v.npz", vectors=whole, utterance=["a", "b"])
    assert read_embeddings(tmp_path / "v.npz").vectors.tolist() == [[0.0, 1.0], [float(largest), 0.0]]
