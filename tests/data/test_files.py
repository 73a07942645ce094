"""Readers of files: typed values, or one error that names the file and the place."""

import os
import pickle
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl
import pytest

from zeroevidence.data.files import ArrayOnDisk, naming_file, open_array, reading_file, silent_panics
from zeroevidence.data.formats.attack_scores import read_linked
from zeroevidence.data.formats.input_file import InputFile, load_parquet
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.data.json_values import read_json, typed
from zeroevidence.errors import InputError, UsageError


@dataclass(frozen=True)
class Part:
    size: int
    share: float | None = None


@dataclass(frozen=True)
class Whole:
    name: str
    kind: Literal["a", "b"]
    parts: tuple[Part, ...] = ()
    is_new: bool = False
    free: Any = None

    def __post_init__(self):
        if self.name == "bad":
            raise UsageError("name: expected a good one")


def test_what_fits_comes_out_typed():
    given = {"name": "x", "kind": "b", "parts": [{"size": 3, "share": "inf"}, {"size": 0}], "free": [1]}
    assert typed(Whole, given, "whole") == Whole("x", "b", (Part(3, float("inf")), Part(0)), False, [1])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": 3}, "whole.name: expected text, got 3"),
        ({"name": "\ud800"}, "whole.name: expected text"),
        ({"kind": "c"}, "whole.kind: invalid enum value 'c'"),
        ({"parts": [3]}, r"whole.parts\[0\]: expected names and values, got 3"),
        ({"parts": [{"size": True}]}, r"whole.parts\[0\].size: expected a whole number, got True"),
        ({"parts": [{"size": 1, "share": 10**400}]}, r"parts\[0\].share: number out of range"),
        ({"parts": [{"share": 0.5}]}, r"whole.parts\[0\]: has no 'size'"),
        ({"is_new": 1}, "whole.is_new: expected true or false, got 1"),
        ({"newer": 1}, "whole: has no field 'newer'"),
        ({"name": "bad"}, "whole: name: expected a good one"),
    ],
)
def test_what_does_not_fit_is_said_by_place(change, words):
    with pytest.raises(InputError, match=words):
        typed(Whole, {"name": "x", "kind": "a", **change}, "whole")


def test_without_msgspec_values_are_built_and_damage_is_still_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgspec", None)
    given = {"name": "x", "kind": "b", "parts": [{"size": 3, "share": "inf"}, {"size": 0}]}
    assert typed(Whole, given, "whole") == Whole("x", "b", (Part(3, float("inf")), Part(0)))
    for change in ({"newer": 1}, {"parts": 3}, {"parts": [{"share": 0.5}]}, {"name": "bad"}):
        with pytest.raises(InputError, match=r"^whole"):
            typed(Whole, {**given, **change}, "whole")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{\n,", r"r.json:2: not JSON"),
        ("[NaN]", "r.json: not JSON: NaN is no number"),
        ("[" * 100_000, "r.json: lists are nested too deeply"),
        ("9" * 5000, "r.json: not JSON"),
    ],
)
def test_what_is_no_json(text, words):
    with pytest.raises(InputError, match=words):
        read_json(text, "r.json")


def test_a_door_names_the_file_and_lets_pass_what_is_not_its_own():
    with pytest.raises(InputError, match=r"^x.bin: cannot be read as a thing: odd$"), reading_file("x.bin", "a thing"):
        raise RuntimeError("odd\nmore")
    with pytest.raises(InputError, match=r"^y.bin:3: odd$"), reading_file("x.bin", "a thing"):
        raise InputError("odd", path="y.bin", line=3)
    with pytest.raises(InputError, match=r"^a.npz: odd$"), naming_file("a.npz"):
        raise InputError("odd")
    with pytest.raises(MemoryError), reading_file("x.bin", "a thing"):
        raise MemoryError
    with pytest.raises(UsageError), reading_file("x.bin", "a thing"):
        raise UsageError("odd")


def table(**changes):
    columns = {"trial": ["b", "a"], "speaker": ["p", "q"], "lid": [1.0, 2.0], "greater": [0, 1], "equal": [0, 0]}
    return pl.DataFrame({**columns, **changes})


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_table_of_a_search(tmp_path, kind):
    getattr(table(), f"write_{kind}")(tmp_path / f"trials.{kind}")
    found = read_linked(tmp_path, 3)
    assert (found.trial.tolist(), found.lid.tolist(), found.greater.tolist()) == (["a", "b"], [2.0, 1.0], [1, 0])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trial": ["a", "a"]}, "a trial occurs twice"),
        ({"trial": [[1.0], [2.0]]}, "trial: expected a name"),
        ({"speaker": [None, "q"]}, "speaker: expected a name"),
        ({"lid": [1.0, float("nan")]}, "lid: expected a finite number"),
        ({"greater": [-1, 0]}, "greater: -1 lies outside of 0 to 2"),
        ({"greater": [0, 2], "equal": [0, 1]}, "trial a: ranked below all 3"),
    ],
)
def test_a_table_that_is_none(tmp_path, changes, words):
    table(**changes).write_parquet(tmp_path / "trials.parquet")
    with pytest.raises(InputError, match=f"trials.parquet: {words}"):
        read_linked(tmp_path, 3)


@pytest.mark.parametrize(
    "made",
    [
        lambda torch: torch.zeros(2, 2, 2),
        lambda torch: torch.eye(3).to_sparse(),
        lambda torch: torch.eye(3).bool(),
        lambda torch: {"vectors": torch.eye(3), "id2idx": 3},
        lambda torch: {"vectors": torch.eye(2), "id2idx": {"a": 0, "b": 1.0}},
    ],
)
def test_tensors_that_are_no_vectors(tmp_path, made):
    torch = pytest.importorskip("torch")
    torch.save(made(torch), tmp_path / "v.pt")
    with pytest.raises(InputError, match=r"v\.pt: .*expected"):
        read_embeddings(tmp_path / "v.pt")


@pytest.mark.parametrize("order", ["C", "F"])
def test_an_array_on_disk_gives_the_rows_of_the_array(tmp_path, order):
    array = np.asarray(np.random.default_rng(0).standard_normal((50, 3)), ">f4", order=order)
    np.save(tmp_path / "a.npy", array)
    on_disk = open_array(tmp_path / "a.npy")
    assert isinstance(on_disk, ArrayOnDisk) == (order == "C")
    some = [slice(None), slice(7, 20), slice(45, 99), slice(9, 3), np.array([4, 49, 4, 5, 6, -1, 0]), array[:, 0] > 0.0]
    for rows in (*some, np.array([], dtype=int)):
        np.testing.assert_array_equal(on_disk[rows], array[rows])
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(on_disk)), array)


def damaged(tmp_path, capfd):
    """A Parquet file on which polars panics."""
    path = tmp_path / "scores.parquet"
    pl.DataFrame({"score": [0.5 * row for row in range(50)], "label": [0, 1] * 25}).write_parquet(path)
    content = path.read_bytes()
    for place in range(len(content)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0xFF]) + content[place + 1 :])
        try:
            pl.read_parquet(path)
        except BaseException as error:
            if type(error).__name__ == "PanicException":
                assert "panicked at" in capfd.readouterr().err
                return path
    pytest.skip("this polars does not panic")


def test_a_panic_is_one_line(tmp_path, capfd):
    path = damaged(tmp_path, capfd)
    command = [sys.executable, "-m", "zeroevidence", "evaluate", path.name]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (3, "scores.parquet: cannot be read as Parquet: it is damaged\n")


def test_what_others_write_is_kept(tmp_path, capfd):
    damaged_file = InputFile.holding("f", damaged(tmp_path, capfd).read_bytes())
    with silent_panics():
        os.write(2, b"\nthread 'of ours' says\n")
    assert capfd.readouterr().err == "\nthread 'of ours' says\n"
    with suppress(ValueError), silent_panics():
        os.write(2, b"progress\n")
        raise ValueError
    assert capfd.readouterr().err == "progress\n"
    with pytest.raises(InputError, match="f: cannot be read as Parquet: it is damaged"):
        load_parquet(damaged_file)
    assert capfd.readouterr().err == ""


def test_a_closed_standard_error_is_no_obstacle(tmp_path):
    pl.DataFrame({"score": [2.0, 1.0], "label": [1, 0]}).write_parquet(tmp_path / "scores.parquet")
    command = f"{sys.executable} -m zeroevidence evaluate scores.parquet --intervals 0 --null 0 2>&-"
    ended = subprocess.run(command, cwd=tmp_path, shell=True, stdout=subprocess.PIPE, text=True, check=False)
    assert (ended.returncode, "EER" in ended.stdout) == (0, True)
