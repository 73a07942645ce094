"""Killed at any moment, and started again: the old result or the new one, never half, and nothing left behind.

`ZEROEVIDENCE_KILLS=20` kills each command that often.
"""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from zeroevidence.data.locking import exclusive
from zeroevidence.data.writing import TEMPORARY, write_whole
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.jsonfile import read_results

KILLS = int(os.environ.get("ZEROEVIDENCE_KILLS", "3"))
HOLDS = """
import sys, time
from zeroevidence.data.locking import exclusive
with exclusive(sys.argv[1]):
    print("mine", flush=True)
    time.sleep(60)
"""


def started(*words):
    command = [sys.executable, "-m", "zeroevidence", *map(str, words)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def finished(*words):
    process = started(*words)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 0, err


def leftovers(home):
    return [path for path in home.rglob("*") if path.name.startswith(TEMPORARY) or path.name.endswith(".lock")]


def killed_and_again(words, home, check):
    """Kill a command at moments spread over its run, looking at what is there each time, then let it finish."""
    start = time.monotonic()
    finished(*words, "-o", home / "whole")
    lasts = time.monotonic() - start
    rng = random.Random(0)
    for _ in range(KILLS):
        process = started(*words, "-o", home / "out")
        try:
            process.wait(timeout=rng.uniform(0.3, 1.0) * lasts)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        process.stderr.close()
        check(home / "out")
    if not (home / "out" / "model.json").exists():
        finished(*words, "-o", home / "out")
    assert leftovers(home) == []


@pytest.fixture
def voices(tmp_path):
    rng = np.random.default_rng(0)
    people = np.repeat([f"s{i:02d}" for i in range(40)], 10)
    sex = np.repeat(["f", "m"] * 20, 10)
    vectors = np.repeat(rng.normal(size=(40, 16)), 10, axis=0) + 0.5 * rng.normal(size=(400, 16))
    vectors[:, 0] += np.where(sex == "f", 1.0, -1.0)
    np.savez(tmp_path / "voices.npz", vectors=vectors, speaker=people, sex=sex)
    return tmp_path


def test_a_search(voices):
    def check(folder):
        if (folder / "result.json").exists():
            read_results(folder)

    words = ("link", "--enrol", voices / "voices.npz", "--trial", voices / "voices.npz", "--block", "20")
    killed_and_again(words, voices, check)
    one, two = (read_results(voices / name)[0] for name in ("whole", "out"))
    assert one == two


def test_a_protector(voices):
    def check(folder):
        if (folder / "model.json").exists():
            assert (folder / "model.safetensors").exists()

    words = ("protect", "fit", voices / "voices.npz", "--attribute", "sex", "--protector", "inlp")
    killed_and_again(words, voices, check)
    one, two = ((voices / name / "model.safetensors").read_bytes() for name in ("whole", "out"))
    assert one == two


def test_a_model_that_was_cut_off_is_written_again(voices):
    home = voices / "m"
    home.mkdir()
    (home / "model.safetensors").write_bytes(b"half")
    (home / f"{TEMPORARY}abc").write_bytes(b"ha")
    finished("protect", "fit", voices / "voices.npz", "--attribute", "sex", "--protector", "linear", "-o", home)
    assert sorted(path.name for path in home.iterdir()) == ["model.json", "model.safetensors"]


def test_the_second_of_two_is_refused_and_a_killed_one_taken_over(tmp_path):
    first = subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path / "out"], stdout=subprocess.PIPE, text=True)
    assert first.stdout.readline() == "mine\n"
    words = rf"out: process {first.pid} on .* since .* UTC writes into it"
    with pytest.raises(UsageError, match=words), exclusive(tmp_path / "out"):
        pass
    with exclusive(tmp_path / "other"):
        pass
    first.kill()
    first.wait()
    first.stdout.close()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"{TEMPORARY}x").touch()
    with exclusive(tmp_path / "out"):
        assert list((tmp_path / "out").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_two_commands_into_one_folder(voices):
    words = ("link", "--enrol", voices / "voices.npz", "--trial", voices / "voices.npz", "-o", voices / "out")
    with exclusive(voices / "out"):
        process = started(*words)
        _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert f"process {os.getpid()}" in err


def test_a_lock_is_not_written_through_a_link(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".out.lock").symlink_to(tmp_path / "mine")
    with pytest.raises(Exception, match="out: cannot be written"), exclusive(tmp_path / "out"):
        pass
    assert (tmp_path / "mine").read_text() == "precious"


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write(temporary: Path) -> None:
        temporary.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(path, write)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])
