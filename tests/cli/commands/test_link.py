"""The command `link`: what it writes, what it refuses, and that a kill costs nothing but time."""

import json
import os
from functools import partial

import numpy as np
import polars as pl
import pytest

from zeroevidence.calibrate.rows import RowFit, fit_rows
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.store import Store
from zeroevidence.evaluation.results import from_json
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.searches import MatrixSearch


@pytest.fixture
def link(run):
    return partial(run, "link")


def save(path, vectors, names, people):
    np.savez(path, vectors=vectors, utterance=names, speaker=people)


@pytest.fixture
def files(tmp_path):
    """40 people, two enrolment vectors and three trials each; one trial of a stranger; 30 others for development."""

    def one(prefix, count, seed):
        rng = np.random.default_rng(seed)
        people = [f"{prefix}{i:02d}" for i in range(count)]
        voices = rng.standard_normal((count, 16)) + 0.5
        enrol = np.repeat(voices, 2, axis=0) + 0.8 * rng.standard_normal((2 * count, 16))
        trial = np.repeat(voices, 3, axis=0) + 1.5 * rng.standard_normal((3 * count, 16))
        names = [np.repeat(people, n) for n in (2, 3)]
        save(tmp_path / f"{prefix}enrol.npz", enrol, [f"{prefix}e{i}" for i in range(2 * count)], names[0])
        if prefix == "p":
            trial, names[1] = np.vstack((trial, trial[:1])), np.append(names[1], "stranger")
        save(tmp_path / f"{prefix}trial.npz", trial, [f"{prefix}t{i}" for i in range(len(trial))], names[1])

    one("p", 40, 0)
    one("d", 30, 1)
    return tmp_path


@pytest.fixture
def arguments(files):
    """A search, and where its results go."""
    return ("--enrol", files / "penrol.npz", "--trial", files / "ptrial.npz", "-o", files / "out")


def matrix(files, prefix):
    """The same search as a score matrix."""
    enrol, trial = (np.load(files / f"{prefix}{name}.npz") for name in ("enrol", "trial"))
    people = np.unique(enrol["speaker"])
    unit = [v["vectors"] / np.linalg.norm(v["vectors"], axis=1, keepdims=True) for v in (enrol, trial)]
    profiles = np.array([unit[0][enrol["speaker"] == one].mean(axis=0) for one in people])
    profiles /= np.linalg.norm(profiles, axis=1, keepdims=True)
    mated = np.array([list(people).index(one) if one in people else -1 for one in trial["speaker"]])
    kept = mated >= 0
    scores = (unit[1] @ profiles.T)[kept]
    return ScoreMatrix(scores, mated[kept], trial["utterance"][kept], people, trial["speaker"][kept], people)


@pytest.mark.parametrize("dev", [False, True])
def test_results_are_those_of_the_matrix(link, files, arguments, dev):
    extra = ["--dev-enrol", files / "denrol.npz", "--dev-trial", files / "dtrial.npz"] if dev else []
    code, out, err = link(*arguments, *extra)
    assert code == 0, err
    assert out == ""
    assert "120 trials x 40 identities, numpy: 4 800 pairs" in err
    (found,) = from_json((files / "out" / "result.json").read_text())
    expected = MatrixSearch(matrix(files, "p"), matrix(files, "d") if dev else None).measure()
    for name, metric in expected.metrics.items():
        assert found.metrics[name].value == pytest.approx(metric.value, abs=1e-8), name
        assert found.metrics[name].method == metric.method
    assert (found.counts["not_enrolled"], found.labels["system"]) == (1, "ptrial")
    table = pl.read_parquet(files / "out" / "trials.parquet")
    np.testing.assert_allclose(table["lid"], expected.trials.lid, atol=1e-8)
    np.testing.assert_array_equal(table["rank"], expected.trials.rank)
    assert table["trial"].to_list() == expected.trials.trial.tolist()
    tops = matrix(files, "p")
    assert table["top"].to_list() == tops.enrolments[tops.scores.argmax(axis=1)].tolist()
    assert sorted(path.name for path in (files / "out").iterdir()) == ["manifest.json", "result.json", "trials.parquet"]


def test_a_weight_and_a_scaling_may_be_given_and_the_table_be_csv(link, files, arguments):
    calibration = fit_rows(matrix(files, "d").scores, matrix(files, "d").mated, RowFit(scaling="none"))
    code, _, err = link(*arguments, "--weight", calibration.weight, "--row-scaling", "none", "--table", "csv")
    assert code == 0, err
    (row,) = from_json((files / "out" / "result.json").read_text())
    expected = MatrixSearch(matrix(files, "p"), matrix(files, "d"), options=Options(row_scaling="none")).measure()
    assert row.metrics["alid"].value == pytest.approx(expected.metrics["alid"].value, abs=1e-8)
    assert "|row-scaling:none|" in row.signature
    assert "singling_out" not in row.metrics
    assert row.metrics["weight"].value == pytest.approx(calibration.weight)
    assert "bias" not in row.metrics
    assert len(pl.read_csv(files / "out" / "trials.csv")) == 120


def test_done_work_is_not_done_again_and_other_work_is_not_replaced(link, files, arguments):
    assert link(*arguments)[0] == 0
    assert json.loads((files / "out" / "manifest.json").read_text())["done"]
    before = (files / "out" / "result.json").stat().st_mtime_ns
    code, _, err = link(*arguments)
    assert (code, "is done" in err) == (0, True)
    assert (files / "out" / "result.json").stat().st_mtime_ns == before
    code, _, err = link(*arguments, "--scoring", "dot")
    assert (code, "holds a search with other scoring" in err) == (2, True)
    assert link(*arguments, "--scoring", "dot", "--overwrite")[0] == 0
    (files / "full").mkdir()
    (files / "full" / "thesis.tex").write_text("years of work")
    code, _, err = link(*arguments[:4], "-o", files / "full")
    assert (code, "is not empty" in err) == (2, True)


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        (["--trial", "nowhere.npz"], 3, "nowhere.npz: no such file"),
        (["--enrol", "denrol.npz"], 3, "no trial has its speaker"),
        (["--dev-enrol", "denrol.npz"], 2, "belong together"),
        (["--dev-enrol", "penrol.npz", "--dev-trial", "ptrial.npz"], 3, "share 40 speaker"),
        (["--trial", "bad.npz"], 3, r"bad.npz: row 1 ('b'): entry 0 is NaN"),
        (["--precision", "16", "--engine", "numpy"], 2, "triton"),
    ],
)
def test_what_is_wrong_is_said(link, files, arguments, changes, code, words):
    save(files / "bad.npz", [[1.0] * 16, [np.nan] * 16], ["a", "b"], ["p01", "p02"])
    status, _, err = link(*arguments, *(files / word if word.endswith(".npz") else word for word in changes))
    assert status == code, err
    assert words in err
    assert not (files / "out").exists()


def test_blocks_that_are_there_are_used_and_others_are_not(link, files, tmp_path, monkeypatch):
    """Stop after some blocks, damage some of them in every way, go on."""
    arguments = ["--enrol", files / "penrol.npz", "--trial", files / "ptrial.npz", "--block", 10]
    assert link(*arguments, "-o", tmp_path / "whole")[0] == 0
    out = tmp_path / "out"

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("zeroevidence.cli.commands.link._write", stop)  # after the last block
        assert link(*arguments, "-o", out)[0] == 130
    blocks = sorted(path for path in (out / "blocks").glob("*/*") if b"log_sum" in path.read_bytes())
    assert len(blocks) == 12  # and the calibration
    whole = blocks[0].read_bytes()
    blocks[0].write_bytes(whole[:-1])  # cut off
    blocks[1].write_bytes(whole)  # well-formed, of other trials
    blocks[2].write_bytes(b"")
    blocks[3].write_bytes(blocks[3].read_bytes()[:90] + b"\xff" + blocks[3].read_bytes()[91:])
    blocks[4].unlink()
    (out / "blocks" / ".zeroevidence-x").write_bytes(b"half")
    code, _, err = link(*arguments, "-o", out)
    assert code == 0, err
    assert "continuing: 7 of 12 blocks are there" in err
    for name in ("result.json", "trials.parquet"):
        assert (out / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_recordings_on_both_sides_are_refused_unless_they_are_meant(link, tmp_path):
    rng, out = np.random.default_rng(0), tmp_path / "out"
    names, people = [f"u{i}" for i in range(60)], np.repeat([f"p{i}" for i in range(20)], 3)
    noise = rng.standard_normal((60, 8))
    save(tmp_path / "s.npz", noise, names, people)
    save(tmp_path / "renamed.npz", noise[40:], [f"v{i}" for i in range(20)], people[40:])
    sides = ["--enrol", tmp_path / "s.npz", "-o", out, "--trial"]
    for trial, name, more in (("s.npz", "u0", 59), ("renamed.npz", "v0", 19)):
        code, _, err = link(*sides, tmp_path / trial)
        words = f"{tmp_path / trial}: {name!r} is compared with itself, as are {more} more; expected another recording"
        assert (code, err.splitlines()[-1]) == (3, f"{words} of the same person, or --allow-same")
        assert not out.exists()
    assert link(*sides, tmp_path / "s.npz", "--allow-same")[0] == 0
    row = from_json((out / "result.json").read_text())[0]
    assert "same-recordings:60" in row.signature
    assert "60 targets compare" in next(flag.sentence for flag in row.flags if flag.code == "same-recordings")
    save(tmp_path / "others.npz", np.vstack((noise[:2], noise[2:] + 1.0)), [f"v{i}" for i in range(60)], people[::-1])
    assert link(*sides, tmp_path / "others.npz", "--overwrite")[0] == 0
    row = from_json((out / "result.json").read_text())[0]
    assert "equal-vectors:2" in row.signature
    assert "equal-vectors" in [flag.code for flag in row.flags]


def zeroed(path):
    """Write other vectors over those of a file and give it its time again: only its digest shows that."""
    before = path.stat().st_mtime_ns
    with path.open("r+b") as stream:
        stream.seek(-640, 2)
        stream.write(np.ones(160, np.float32).tobytes())
    os.utime(path, ns=(before, before))


@pytest.mark.parametrize("side", ["enrol", "trial"])
@pytest.mark.parametrize(
    "change", [lambda path: np.save(path, np.ones((40, 16), np.float32)), lambda path: os.truncate(path, 200), zeroed]
)
def test_a_file_that_changes_or_gets_shorter_while_it_is_searched_is_refused(link, tmp_path, monkeypatch, side, change):
    rng, arguments = np.random.default_rng(0), ["-o", tmp_path / "out", "--block", 8, "--weight", 2]
    for name in ("enrol", "trial"):
        np.save(tmp_path / f"{name}.npy", rng.standard_normal((40, 16), np.float32))
        (tmp_path / f"{name}.ids").write_text("".join(f"{name}{i} p{i}\n" for i in range(40)))
        arguments += [f"--{name}", tmp_path / f"{name}.npy"]
    save_arrays = Store.save_arrays

    def save_and_change(*args):
        save_arrays(*args)
        monkeypatch.setattr(Store, "save_arrays", save_arrays)
        change(tmp_path / f"{side}.npy")

    monkeypatch.setattr(Store, "save_arrays", save_and_change)
    code, _, err = link(*arguments)
    words = f"{tmp_path / side}.npy: changed while it was read; expected a file that stays as it is"
    assert (code, err.splitlines()[-1]) == (3, words)
    assert not (tmp_path / "out" / "result.json").exists()


def test_results_feed_evaluate_and_compare(run, link, files):
    """What `link` wrote can be shown in any format, gated, and compared with another search of the same trials."""
    arguments = ("--enrol", files / "penrol.npz", "--trial", files / "ptrial.npz")
    for name, scoring in (("one", "cosine"), ("two", "dot")):
        assert link(*arguments, "--scoring", scoring, "-o", files / name)[0] == 0
    row = run.rows("evaluate", files / "one")[0]
    assert row == json.loads((files / "one" / "result.json").read_text())["rows"][0]
    assert row["metrics"]["alid"]["low"] < row["metrics"]["alid"]["value"] < row["metrics"]["alid"]["high"]
    assert run("evaluate", files / "one", "--fail-if", "alid>-99")[0] == 1
    out, _ = run.well("compare", files / "one", files / "two", "-f", "json", "--intervals", 100)
    first = json.loads(out)["comparisons"][0]
    assert first["measure"] == "alid"
    assert {one["system"] for one in first["ranking"]} == {"one", "two"}
