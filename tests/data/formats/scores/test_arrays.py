"""Binary formats: NumPy matrices, Parquet tables, BOSARIS HDF5."""

from io import BytesIO

import numpy as np
import polars as pl
import pytest

from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError

MATRIX = np.array([[0.9, 0.1], [0.2, 0.3], [0.5, 0.4]])
MATED = np.array([0, 1, -1])


def reason(path, key=None, **options):
    with pytest.raises(InputError) as caught:
        read_scores(path, key, ReadingOptions(**options))
    found = diagnose(path, key, ReadingOptions(**options))
    assert found[0] == caught.value.problem
    assert found[0].path in (str(path), str(key), str(options.get("speakers")))
    return found[0].reason


def test_npz(tmp_path):
    path = tmp_path / "m.npz"
    ids = {"trials": ["u", "v", "w"], "enrolments": ["a", "b"], "trial_speakers": ["a", "b", ""]}
    np.savez(path, scores=MATRIX, mated=MATED, enrolment_speakers=np.array([b"a", b"b"]), other=1, **ids)
    loaded = read_scores(path)
    assert (loaded.format, loaded.key_format) == ("matrix", None)
    assert isinstance(loaded.data, ScoreMatrix)
    assert np.array_equal(loaded.data.scores, MATRIX)
    assert loaded.data.mated.tolist() == [0, 1, -1]
    assert loaded.data.trials.tolist() == ["u", "v", "w"]
    assert loaded.data.enrolment_speakers.tolist() == ["a", "b"]
    assert read_scores(path, options=ReadingOptions(format="matrix")).format == "matrix"
    assert "expected kaldi" in reason(path, format="kaldi")


def test_npy_with_key(tmp_path):
    scores, key, full = tmp_path / "s.npy", tmp_path / "k.npy", tmp_path / "k.npz"
    np.save(scores, MATRIX.astype(np.float32))
    np.save(key, MATED)
    np.savez(full, mated=MATED, trials=["u", "v", "w"])
    assert read_scores(scores, key).data.scores.dtype == np.float32
    assert read_scores(scores, full).data.trials.tolist() == ["u", "v", "w"]
    assert "no array named mated" in reason(scores)


def test_npy_of_python_2_is_read_without_a_warning(tmp_path):
    np.save(tmp_path / "both.npy", np.array([[2.0, 0.5, 1.0], [1.0, 0.0, 0.0]]))
    data = (tmp_path / "both.npy").read_bytes()
    (tmp_path / "both.npy").write_bytes(data.replace(b"(2, 3), }  ", b"(2L, 3L), }"))
    loaded = read_scores(tmp_path / "both.npy")
    assert (loaded.format, loaded.data.to_scores().target.tolist()) == ("arrays", [2.0])


def test_matrix_speakers(tmp_path):
    path, utt2spk = tmp_path / "m.npz", tmp_path / "u"
    np.savez(path, scores=MATRIX, mated=MATED, trials=["u", "v", "w"], enrolments=["a", "b"])
    utt2spk.write_text("u a\nv b\nw c\n")
    data = read_scores(path, options=ReadingOptions(speakers=utt2spk)).data
    assert data.trial_speakers.tolist() == ["a", "b", "c"]
    assert data.enrolment_speakers.tolist() == ["a", "b"]
    utt2spk.write_text("u a\nv b\n")
    assert "no speaker for trial 'w'" in reason(path, speakers=utt2spk)


@pytest.mark.parametrize(
    ("arrays", "wanted"),
    [
        ({"scores": MATRIX}, "no array named mated"),
        ({"mated": MATED}, "no array named scores (found: mated)"),
        ({"scores": MATRIX, "mated": MATED[:2]}, "mated: expected 3 whole numbers"),
        ({"scores": MATRIX, "mated": MATED + 1}, "mated: trial 1 names column 2"),
        ({"scores": MATRIX[:, :1], "mated": MATED * 0}, "one enrolled identity"),
        ({"scores": MATRIX, "mated": MATED * 0 - 1}, "no trial has its speaker enrolled"),
        ({"scores": MATRIX.astype(str), "mated": MATED}, "expected numbers, trials x identities"),
        ({"scores": np.where(MATRIX > 0.3, np.nan, MATRIX), "mated": MATED}, "identity 0 is not finite (and 2"),
        ({"scores": MATRIX, "mated": MATED, "trials": ["u", "u", "w"]}, "trials: 'u' occurs 2 times"),
        ({"scores": MATRIX, "mated": np.array([0, 1, None])}, "cannot be read as NumPy npz"),
    ],
)
def test_matrix_errors(tmp_path, arrays, wanted):
    path = tmp_path / "m.npz"
    np.savez(path, **arrays)
    assert reason(path).startswith(wanted) or wanted in reason(path)


def test_damaged_npz(tmp_path):
    whole = BytesIO()
    np.savez(whole, scores=MATRIX, mated=MATED)
    data = whole.getvalue()
    path = tmp_path / "m.npz"
    for at in range(4, len(data), 7):
        path.write_bytes(data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :])
        assert (not diagnose(path)) or reason(path)
        path.write_bytes(data[:at])
        assert reason(path)


def test_key_of_the_wrong_kind(tmp_path):
    text, array = tmp_path / "t", tmp_path / "a.npy"
    text.write_text("a u target\na v nontarget\n")
    np.save(array, MATED)
    np.savez(tmp_path / "m.npz", scores=MATRIX, mated=MATED)
    np.savez(tmp_path / "other.npz", mated=MATED * 0)
    assert "is a text file; expected NumPy" in reason(tmp_path / "m.npz", text)
    assert "mated differs" in reason(tmp_path / "m.npz", tmp_path / "other.npz")
    (tmp_path / "s").write_text("a u 1\na v 2\n")
    assert "is a NumPy npy file" in reason(tmp_path / "s", array)


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {"extra": [None, 1], "score": [1, 2], "Trial": [7, 8], "enrol": ["a", "a"], "label": [True, False]}
    frame = pl.DataFrame(columns)
    frame.write_parquet(path)
    loaded = read_scores(path)
    assert (loaded.format, loaded.data.trials.tolist()) == ("table", ["7", "8"])
    assert (loaded.data.target.tolist(), loaded.data.nontarget.tolist()) == ([1.0], [2.0])
    frame.with_columns(label=pl.Series([1, 0])).write_parquet(path)
    assert read_scores(path, options=ReadingOptions(format="table")).data.target.tolist() == [1.0]
    frame.drop("label").write_parquet(path)
    (tmp_path / "k").write_text("a 8 target\na 7 nontarget\n")
    assert read_scores(path, tmp_path / "k").data.target.tolist() == [2.0]
    frame.with_columns(label=pl.Series(["target", "nontarget"], dtype=pl.Categorical)).write_parquet(path)
    assert read_scores(path).data.target.tolist() == [1.0]


@pytest.mark.parametrize(
    ("change", "line", "wanted"),
    [
        ({"score": [1.0, None]}, 2, "score 'nan' is not finite"),
        ({"score": ["1", "2"]}, None, "column score is of type String; expected numbers"),
        ({"label": ["target", "spoof"]}, 2, "unknown label 'spoof'; expected target or nontarget"),
        ({"label": [None, True]}, 1, "unknown label None; expected target or nontarget"),
        ({"trial": ["u", None]}, 2, "empty trial; expected an identifier"),
        ({"trial": [["u"], ["v"]]}, None, "column trial is of type List(String)"),
        ({"trial": ["u", "u"]}, 2, "duplicate of 'a u' (first on line 1)"),
    ],
)
def test_parquet_errors(tmp_path, change, line, wanted):
    path = tmp_path / "t.parquet"
    rows = {"enrol": ["a", "a"], "trial": ["u", "v"], "score": [1.0, 2.0], "label": [1, 1]} | change
    pl.DataFrame(rows, strict=False).write_parquet(path)
    found = diagnose(path)
    assert found[0].line == line
    assert found[0].reason.startswith(wanted)
    assert reason(path)


def test_damaged_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and nothing else PAR1")
    assert reason(path).startswith("cannot be read as Parquet")
    pl.DataFrame({"score": [], "label": []}).write_parquet(path)
    assert reason(path).startswith("empty")


def bosaris(path, models, segments, **arrays):
    h5py = pytest.importorskip("h5py")
    names = ("modelset", "segset") if arrays.pop("sidekit", False) else ("ID/row_ids", "ID/column_ids")
    with h5py.File(path, "w") as file:
        for name, ids in zip(names, (models, segments), strict=True):
            file[name] = np.array(ids, dtype="S")
        for name, array in arrays.items():
            file[name] = array


@pytest.mark.parametrize("sidekit", [False, True])
def test_bosaris(tmp_path, sidekit):
    scores, key = tmp_path / "s.h5", tmp_path / "k.h5"
    mask = np.array([[1, 1, 0], [1, 0, 1]], dtype=np.int8)
    values = np.array([[1.0, 2.0, np.nan], [4.0, np.nan, 6.0]], dtype=np.float32)
    bosaris(scores, ["a", "b"], ["u", "v", "w"], scores=values, score_mask=mask, sidekit=sidekit)
    # The key lists models and segments in another order: only names count.
    trial_mask = np.array([[1, -1, 0], [0, -1, 1]], dtype=np.int8)
    bosaris(key, ["b", "a"], ["w", "u", "v"], trial_mask=trial_mask, sidekit=sidekit)
    loaded = read_scores(scores, key)
    assert (loaded.format, loaded.key_format) == ("bosaris", "bosaris")
    assert loaded.data.target.tolist() == [6.0, 2.0]
    assert loaded.data.nontarget.tolist() == [4.0, 1.0]
    (tmp_path / "k").write_text("b w target\nb u nontarget\na v target\na u nontarget\n")
    assert read_scores(scores, tmp_path / "k", ReadingOptions(format="bosaris")).data.target.tolist() == [6.0, 2.0]
    (tmp_path / "s").write_text("b w 6\nb u 4\na v 2\na u 1\n")
    assert read_scores(tmp_path / "s", key).data.nontarget.tolist() == [4.0, 1.0]


def test_bosaris_errors(tmp_path):
    path, key = tmp_path / "s.h5", tmp_path / "k"
    key.write_text("a u target\nb u nontarget\n")
    bosaris(path, ["a", "b"], ["u"], scores=np.array([[np.inf], [1.0]]))
    assert "score 'inf' of 'a u' is not finite" in reason(path, key)
    bosaris(path, ["a", "b"], ["u"], scores=np.array([[2.0, 1.0]]))
    assert "expected numbers, models x segments = 2 x 1" in reason(path, key)
    bosaris(path, ["a", "a"], ["u"], scores=np.array([[2.0], [1.0]]))
    assert "identifiers repeat" in reason(path, key)
    bosaris(path, ["a", "b"], ["u"], other=1)
    assert "no dataset scores or score_mat" in reason(path, key)
    bosaris(path, ["a", "b"], ["u"], score_mat=np.array([[2.0], [1.0]]))
    assert read_scores(path, key).data.target.tolist() == [2.0]
    assert "no labels" in reason(path)
    bosaris(tmp_path / "k.h5", ["a", "b"], ["u"], trial_mask=np.array([[1], [-2]]))
    assert "trial_mask holds -2" in reason(path, tmp_path / "k.h5")
    (tmp_path / "bad.h5").write_bytes(path.read_bytes()[:900])
    assert "cannot be read as HDF5" in reason(tmp_path / "bad.h5", key)
