"""Killed once it has kept something, and started again, a command continues and writes what it would have written."""

import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

PATIENCE = 300.0  # seconds: ends what hangs


def start(*arguments):
    command = [sys.executable, "-m", "zeroevidence", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finish(process):
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, err
    return err


def entries(home):
    """The entries of a store, without those that are being written."""
    return [path for path in home.rglob("[!.]*") if path.is_file()]


def kill_and_resume(arguments, home, store, least):
    """Kill a command once its store has so many entries, start it again, and return what it then says.

    It writes to `out`, and to `whole` where nobody kills it; both have the same bytes.
    """
    finish(start(*arguments, "-o", home / "whole"))
    process = start(*arguments, "-o", home / "out")
    deadline = time.monotonic() + PATIENCE
    while len(entries(store)) < least:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()  # also waits for its workers
    assert len(entries(store)) >= least  # it had not finished
    said = finish(start(*arguments, "-o", home / "out"))
    whole, out = (contents(home / name) for name in ("whole", "out"))
    assert whole == out
    assert not [path for path in home.iterdir() if path.name.startswith(".")]
    return said


def contents(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def voices(tmp_path):
    rng = np.random.default_rng(0)
    people, sex = np.repeat([f"s{i:02d}" for i in range(24)], 6), np.repeat(["f", "m"] * 12, 6)
    vectors = np.repeat(rng.normal(size=(24, 8)), 6, axis=0) + 0.5 * rng.normal(size=(144, 8))
    vectors[:, 0] += np.where(sex == "f", 1.0, -1.0)
    np.savez(tmp_path / "voices.npz", vectors=vectors, speaker=people, sex=sex)
    return tmp_path / "voices.npz"


def test_a_search(voices, tmp_path):
    arguments = ("link", "--enrol", voices, "--trial", voices, "--block", 1)
    said = kill_and_resume(arguments, tmp_path, tmp_path / "out" / "blocks", 2)
    assert re.search(r"continuing: \d+ of 144 blocks are there", said)


def test_the_choice_of_a_protector(voices, tmp_path):
    pytest.importorskip("safetensors")
    arguments = ("protect", "fit", voices, "--attribute", "sex", "--protector", "leace", "--budget", "eer=+50%")
    kill_and_resume(arguments, tmp_path, tmp_path / "out" / "candidates", 1)


def test_anonymised_speech(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    rng = np.random.default_rng(0)
    for number in range(24):
        folder = tmp_path / "original" / f"p{number // 4}"
        folder.mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / f"u{number}.wav", 0.1 * rng.normal(size=32_000), 16_000)
    arguments = ("anonymise", tmp_path / "original", "--protect", "mcadams-random", "--seed", 3, "--workers", 2)
    kill_and_resume(arguments, tmp_path, tmp_path / ".out.progress", 3)
