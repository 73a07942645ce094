"""Nothing that a killed command has started is left, and its folder may be taken over."""

import contextlib
import http.client
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import numpy as np
import pytest

import zeroevidence.sample
from tests.speech import write_noise
from tests.waiting import wait_until
from zeroevidence.data.writing import TEMPORARY_PREFIX, lock_folder, write_atomically
from zeroevidence.errors import UsageError

HOLDS = """
import sys, time
from zeroevidence.data.writing import lock_folder
with lock_folder(sys.argv[1]):
    print("mine", flush=True)
    time.sleep(3600)
"""


def started(*arguments, token=""):
    command = [sys.executable, "-m", "zeroevidence", *map(str, arguments)]
    environment = {**os.environ, "ZEROEVIDENCE_KILL": token}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def processes(token):
    """Return the processes, as they call themselves, that have a token in their environment."""
    marked = {}
    for file in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has ended, or is that of another user
            if token.encode() in file.read_bytes():
                marked[int(file.parent.name)] = (file.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return marked


def kill_among(process, token, fewest):
    """Kill a command, and nothing else, once it has started so many processes; after five seconds none may be left."""
    wait_until(lambda: process.poll() is not None or len(processes(token)) > fewest, 120.0)
    assert process.poll() is None, process.stderr.read()
    process.kill()
    process.wait()
    process.stderr.close()
    deadline = time.monotonic() + 5.0
    while (left := processes(token)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert left == {}


@pytest.fixture
def voices(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("enrol", "trial"):
        np.savez(tmp_path / name, vectors=rng.normal(size=(400, 16)), speaker=[f"s{i // 10}" for i in range(400)])
    return tmp_path


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """Ten people who hiss."""
    pytest.importorskip("soundfile")
    return write_noise(tmp_path_factory.mktemp("speech"), 10, 4, 6400)


SCORES = Path(zeroevidence.sample.__file__).parent / "scores" / "eval"


def test_no_worker_is_left(speech, tmp_path):
    arguments = ("anonymise", speech, "--protect", "mcadams+pitch:2", "--seed", "1", "--workers", "2")
    token = uuid.uuid4().hex
    kill_among(started(*arguments, "-o", tmp_path / "out", token=token), token, 3)


def test_no_program_is_left(speech, tmp_path):
    token = uuid.uuid4().hex
    protector = "command:sh -c 'sleep 3600 & setsid sleep 3600 & sleep 3600' {input} {output}"
    arguments = ("anonymise", speech, "--protect", protector, "--seed", "1", "--workers", "2")
    kill_among(started(*arguments, "-o", tmp_path / "out", token=token), token, 5)


def test_no_copy_is_left(tmp_path):
    token = uuid.uuid4().hex
    files = [SCORES / f"{name}.scores" for name in ("oo", "oa", "aa")]
    arguments = ("compare", *files, "--key", SCORES / "trials", "--intervals", "100000", "--workers", "2")
    kill_among(started(*arguments, token=token), token, 2)


def test_no_worker_of_a_cluster_is_left(voices):
    pytest.importorskip("distributed")
    token = uuid.uuid4().hex
    arguments = ("link", "--enrol", voices / "enrol.npz", "--trial", voices / "trial.npz", "--engine", "dask")
    kill_among(started(*arguments, "--block", "1", "-o", voices / "out", token=token), token, 2)


def test_no_job_of_the_page_is_left(tmp_path):
    pytest.importorskip("uvicorn")
    pytest.importorskip("python_multipart")
    token = uuid.uuid4().hex
    process = started("serve", "--port", "0", token=token)
    port = int(re.search(r"127\.0\.0\.1:(\d+)", process.stderr.readline())[1])
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=300)) as connection:
        connection.request("GET", "/")
        form = re.search(r'action="(/sample/[^"]+)"', connection.getresponse().read().decode())[1]
        connection.request("POST", form)
        assert connection.getresponse().status == 303
    kill_among(process, token, 1)


def test_the_second_of_two_is_refused_and_a_killed_one_taken_over(tmp_path):
    with subprocess.Popen([sys.executable, "-c", HOLDS, tmp_path / "out"], stdout=subprocess.PIPE, text=True) as first:
        try:
            assert first.stdout.readline() == "mine\n"
            message = rf"out: process {first.pid} on .* since .* UTC writes into it"
            with pytest.raises(UsageError, match=message), lock_folder(tmp_path / "out"):
                pass
            with lock_folder(tmp_path / "other"):
                pass
        finally:
            first.kill()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"{TEMPORARY_PREFIX}x").touch()
    with lock_folder(tmp_path / "out"):
        assert list((tmp_path / "out").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_lock_is_not_written_through_a_link(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / ".out.lock").symlink_to(tmp_path / "mine")
    with pytest.raises(Exception, match="out: cannot be written"), lock_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "mine").read_text() == "precious"


def test_an_interrupted_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def write(temporary):
        temporary.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, write)
    assert (path.read_text(), list(tmp_path.iterdir())) == ("old", [path])
