"""`cache` as a user meets it: what there is of each kind, and what is left when it is cleaned."""

import json
import os

import numpy as np
import pytest

from zeroevidence.data.store import ENCODERS, Store, digest
from zeroevidence.data.writing import TEMPORARY_PREFIX, lock_folder

KEYS = [digest(str(number)) for number in range(4)]


@pytest.fixture
def output(tmp_path):
    """The output of an audit, with its cache."""
    out = tmp_path / "out"
    for kind in ("vectors", "features"):
        for key in KEYS:
            Store(out / "cache", kind).save_array(key, np.arange(1000.0))
    home = out / "cache" / ENCODERS / KEYS[0]
    Store(home, "checkpoints").save(KEYS[0], b"state")
    (home / "card.json").write_text("{}")
    (out / "result.json").write_text("{}")
    return out


def kinds(run, *arguments):
    out, _ = run.well("cache", *arguments, "-f", "json")
    return {record["kind"]: record for record in json.loads(out)["kinds"]}


def left(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_kinds_are_counted(run, output, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    store = Store(output / "cache", "features")
    cut, empty = (store.path(key) for key in KEYS[:2])
    cut.write_bytes(cut.read_bytes()[:-1])
    empty.write_bytes(b"")
    os.utime(empty, (0, 0))
    (cut.parent / f"{TEMPORARY_PREFIX}x").write_bytes(b"part")
    out, _ = run.well("cache", output)
    lines = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    assert lines["features"][1:5] == ["2", "0.0", "1970-01-01", "00:00"]
    assert lines["features"][-2:] == ["2", "1"]
    found = kinds(run, output)
    entries = {kind: record["entries"] for kind, record in found.items()}
    assert entries == {"checkpoints": 1, "encoders": 1, "features": 2, "vectors": 4}
    assert found["vectors"]["bytes"] == sum(path.stat().st_size for path in store.folder.glob("vectors/*/*"))
    assert [found["features"][name] for name in ("damaged", "unfinished")] == [2, 1]
    assert set(kinds(run, output, "--kind", "vectors")) == {"vectors"}


def test_nothing_but_the_cache_is_removed(run, output):
    (output / "cache" / "mine.txt").write_text("precious")
    objects = output / "objects" / "ab"  # as another program names what it keeps
    objects.mkdir(parents=True)
    (objects / KEYS[0][2:]).write_text("precious")
    assert set(kinds(run, output, "--clean", "--kind", "vectors", "--kind", "encoders")) == {"vectors", "encoders"}
    assert set(kinds(run, output / "cache")) == {"checkpoints", "features"}
    out, _ = run.well("cache", output, "--clean")
    assert out.endswith(f"{output}: 0.0 MB removed\n")
    assert left(output) == ["cache/mine.txt", f"objects/ab/{KEYS[0][2:]}", "result.json"]
    assert sorted(path.name for path in output.parent.iterdir()) == ["out"]


def test_the_journal_beside_an_output_is_its_cache(run, tmp_path):
    (tmp_path / "out").mkdir()
    Store(tmp_path / ".out.progress", "recordings").save(KEYS[0], b"")
    assert set(kinds(run, tmp_path / "out", "--clean")) == {"recordings"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("place", [".", "cache"])
def test_a_running_command_is_not_disturbed(run, output, place):
    with lock_folder(output):
        assert "vectors" in kinds(run, output / place)
        code, out, err = run("cache", output / place, "--clean")
    assert (code, out) == (2, "")
    assert f"process {os.getpid()} on" in err
    assert "vectors" in kinds(run, output / place)


def test_what_is_no_cache_is_refused(run, output, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("precious")
    for name in ("mine", "missing"):
        for clean in ((), ("--clean",)):
            code, out, err = run("cache", tmp_path / name, *clean)
            assert (code, out) == (3, "")
            words = "holds no cache; expected that of an audit, or the output of a command that was interrupted"
            assert err == f"{tmp_path / name}: {words}\n"
    code, _, err = run("cache", output, "--kind", "scores")
    assert code == 2
    assert "--kind scores: not in" in err
    assert "expected checkpoints, encoders, features, vectors" in err
    assert left(tmp_path / "mine") == ["notes.txt"]
