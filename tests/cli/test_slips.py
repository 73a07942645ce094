"""Everyday slips end in one line that names the file, never in a traceback."""

import subprocess
import sys
from pathlib import Path

import pytest

from zeroevidence.data.writing import write_atomically
from zeroevidence.evaluation.score_files import distinct_names
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
    assert (code, LONG in out + err) == (3, True)
    code, _, err = run("evaluate", SCORES, "--key", KEY, "-o", LONG)
    assert (code, err.startswith(LONG)) == (2, True)


def test_the_folder_here(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = run("evaluate", ".")
    assert code == 3
    assert err.startswith(".: no VoicePrivacy results found")
    assert distinct_names([".", "/"]) == [tmp_path.name, "/"]


@needs_device
@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        ("metrics >/dev/full", 6, "standard output: cannot be written: No space left on device\n"),
        ("metrics >&-", 6, "standard output: cannot be written: Bad file descriptor\n"),
        ("--help | true; exit ${PIPESTATUS[0]}", 6, "standard output: cannot be written: Broken pipe\n"),
        ("evaluate - <&-", 3, "<stdin>: cannot be read: Bad file descriptor\n"),
        ("anonymise - -o - --protect mcadams <&-", 3, "standard input: cannot be read: Bad file descriptor\n"),
        ("evaluate missing 2>/dev/full", 3, ""),
    ],
)
def test_streams_that_are_full_or_closed(command, code, said):
    line = f"{sys.executable} -m zeroevidence {command}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, said)


@needs_device
def test_a_device_is_written_to_and_never_replaced(run):
    code, _, err = run("evaluate", SCORES, "--key", KEY, "--intervals", 0, "--null", 0, "-o", DEVICE)
    assert (code, err) == (6, "/dev/full: cannot be written: No space left on device\n")
    assert DEVICE.is_char_device()


def test_a_link_is_replaced_and_not_followed(tmp_path):
    outside, link = tmp_path / "outside", tmp_path / "link"
    outside.write_text("mine")
    link.symlink_to(outside)
    write_atomically(link, lambda temporary: temporary.write_text("new"))
    assert (outside.read_text(), link.read_text(), link.is_symlink()) == ("mine", "new", False)
