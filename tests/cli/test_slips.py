"""Everyday slips end in one line that names the file, never in a traceback."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from zeroevidence.data.files.writing import write_atomically
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.errors import InputError, OutputError
from zeroevidence.evaluation.reading.score_files import distinct_names
from zeroevidence.protect import attributes
from zeroevidence.sample import sample_rows

LONG = "x" * 300
SCORES, KEY = sample_rows("eval")[1].scores, sample_rows("eval")[1].key
DEVICE = Path("/dev/full")
needs_device = pytest.mark.skipif(not DEVICE.exists(), reason="there is no /dev/full here")


@pytest.mark.parametrize("command", ["evaluate", "doctor", "report", "plot"])
def test_a_name_that_no_file_can_have(run, command):
    if command == "plot":
        pytest.importorskip("matplotlib")
    words = (command, LONG) if command != "plot" else (command, "det", LONG, "-o", "figure.svg")
    code, out, err = run(*words)
    assert code == 3
    assert LONG in out + err


def test_an_output_that_no_file_can_have(run):
    code, _, err = run("evaluate", SCORES, "--key", KEY, "-o", LONG)
    assert code == 2
    assert err.startswith(LONG)


def test_the_folder_here(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("evaluate", ".")
    assert code == 3
    assert err.startswith(".: no VoicePrivacy results found")
    assert distinct_names([".", "/"]) == [tmp_path.name, "/"]


@needs_device
def test_a_full_disk_behind_standard_output():
    command = [sys.executable, "-m", "zeroevidence", "metrics"]
    with DEVICE.open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (6, "standard output: cannot be written: No space left on device\n")


@needs_device
def test_a_device_is_written_to_and_never_replaced(run):
    code, _, err = run("evaluate", SCORES, "--key", KEY, "--intervals", 0, "--null", 0, "-o", DEVICE)
    assert (code, err) == (6, "/dev/full: cannot be written: No space left on device\n")
    assert DEVICE.is_char_device()


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    old = tmp_path / "result.json"
    old.write_text("old")

    def full(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match=r"result.json: cannot be written: No space left on device"):
        write_atomically(old, full)
    assert [path.name for path in tmp_path.iterdir()] == ["result.json"]
    assert old.read_text() == "old"


def test_a_link_is_replaced_and_not_followed(tmp_path):
    outside, link = tmp_path / "outside", tmp_path / "link"
    outside.write_text("mine")
    link.symlink_to(outside)
    write_atomically(link, lambda temporary: temporary.write_text("new"))
    assert (outside.read_text(), link.read_text(), link.is_symlink()) == ("mine", "new", False)


def test_one_class_only(run, tmp_path):
    vectors, speakers = np.random.default_rng(0).normal(size=(40, 4)), np.repeat(np.arange(10), 4).astype(str)
    np.savez(tmp_path / "one.npz", vectors=vectors, speaker=speakers, sex=["f"] * 40)
    for protector in attributes.ATTRIBUTE_PROTECTORS:
        words = ("--attribute", "sex", "--protector", protector, "-o", tmp_path / "m")
        code, _, err = run("protect", "fit", tmp_path / "one.npz", *words)
        assert code == 3, protector
        assert "at least two classes" in err


def test_a_parameter_with_a_gradient_is_a_tensor_like_any_other(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Parameter(torch.eye(3)), tmp_path / "v.pt")
    np.testing.assert_array_equal(read_embeddings(tmp_path / "v.pt").vectors, np.eye(3))


@pytest.mark.parametrize("offset", ["\u00b2", "\u0663", "1" * 30, "-1", ""])
def test_an_offset_that_is_no_number(tmp_path, offset):
    (tmp_path / "v.scp").write_text(f"u1 v.ark:{offset}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"v.scp:1: expected `utterance archive:offset`"):
        read_embeddings(tmp_path / "v.scp")
