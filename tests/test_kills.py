"""Killed at any moment, and started again: the old result or the new one, never half, and nothing left behind.

`ZEROEVIDENCE_KILLS=20` kills each command that often; without it once, or three times where everything is tested.
"""

import contextlib
import http.client
import json
import os
import random
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
from tests.effort import repetitions, slow
from tests.onnx_bytes import model as onnx_model
from tests.small_encoder import DIM, save_small_encoder
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.data.audio import write_audio
from zeroevidence.data.writing import TEMPORARY_PREFIX, lock_folder, write_atomically
from zeroevidence.errors import UsageError
from zeroevidence.evaluation.results import read_results
from zeroevidence.report.inputs import ReportInputs

KILLS = int(os.environ.get("ZEROEVIDENCE_KILLS") or repetitions(1, 3))
HOLDS = """
import sys, time
from zeroevidence.data.writing import lock_folder
with lock_folder(sys.argv[1]):
    print("mine", flush=True)
    time.sleep(3600)
"""

# Figures take most of the time of an audit.
WITHOUT_FIGURES = """
from zeroevidence.cli import main
from zeroevidence.report import page
page.draw_figures = lambda *_, **__: ([], {})
main()
"""


def started(*arguments, token=""):
    program = ("-c", WITHOUT_FIGURES) if arguments[0] == "audit" else ("-m", "zeroevidence")
    command = [sys.executable, *program, *map(str, arguments)]
    environment = {**os.environ, "ZEROEVIDENCE_KILL": token}
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)


def finished(*arguments):
    process = started(*arguments)
    _, err = process.communicate(timeout=1800)
    assert process.returncode == 0, err


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
    deadline = time.monotonic() + 120.0
    while len(processes(token)) < 1 + fewest:
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline, processes(token)
        time.sleep(0.05)
    process.kill()
    process.wait()
    process.stderr.close()
    deadline = time.monotonic() + 5.0
    while (left := processes(token)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for number in left:
        os.kill(number, signal.SIGKILL)
    assert left == {}


def leftovers(home):
    return [path for path in home.rglob("*") if path.name.startswith(TEMPORARY_PREFIX) or path.name.endswith(".lock")]


def killed_and_again(arguments, home, check, *, refused=None):
    """Kill a command at moments spread over its run, looking at what is there each time, then let it finish.

    `refused` is the file of a finished result, where a finished result is not written again.
    """
    start = time.monotonic()
    finished(*arguments, "-o", home / "whole")
    lasts = time.monotonic() - start
    rng = random.Random(0)
    for _ in range(KILLS):
        process = started(*arguments, "-o", home / "out")
        try:
            process.wait(timeout=rng.uniform(0.3, 1.0) * lasts)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
        process.stderr.close()
        check(home / "out")
    if refused is None or not (home / "out" / refused).exists() or (home / "out" / "cache").exists():
        finished(*arguments, "-o", home / "out")
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

    arguments = ("link", "--enrol", voices / "voices.npz", "--trial", voices / "voices.npz", "--block", "20")
    killed_and_again(arguments, voices, check)
    whole, resumed = (read_results(voices / name)[0] for name in ("whole", "out"))
    assert whole == resumed


def test_a_protector(voices):
    pytest.importorskip("safetensors")

    def check(folder):
        if (folder / "model.json").exists():
            assert (folder / "model.safetensors").exists()

    arguments = ("protect", "fit", voices / "voices.npz", "--attribute", "sex", "--protector", "linear")
    killed_and_again(arguments, voices, check, refused="model.json")
    one, two = ((voices / name / "model.safetensors").read_bytes() for name in ("whole", "out"))
    assert one == two


@pytest.fixture(scope="module")
def speech(tmp_path_factory):
    """Ten people who buzz, and a speaker encoder that is quickly run."""
    pytest.importorskip("soundfile")
    pytest.importorskip("onnxruntime")
    home = tmp_path_factory.mktemp("speech")
    rng = np.random.default_rng(0)
    time = np.arange(6400) / 16_000
    for person in range(10):
        for number in range(4):
            pitch = (90 + 13 * person) * time
            wave = sum((0.5 + 0.04 * person) ** h * np.sin(2 * np.pi * pitch * h) for h in range(1, 12))
            place = home / "original" / f"p{person}" / f"p{person}_{number}.wav"
            place.parent.mkdir(parents=True, exist_ok=True)
            write_audio(place, 0.1 * wave / np.abs(wave).max() + 0.005 * rng.normal(size=len(time)))
    card = {"sample_rate": 16000, "front_end": "kaldi-fbank", "input": "feats", "output": "embedding"}
    (home / "bands.onnx").write_bytes(onnx_model())
    (home / "bands.json").write_text(json.dumps({**card, "file": "bands.onnx", "dim": 80}))
    return home


def test_an_audit(speech, tmp_path):
    def check(folder):
        for name in ("result.json", "attackers.json"):
            if (folder / name).exists():
                json.loads((folder / name).read_text())
        for name, end in (("trials.csv", b"\n"), ("speakers.csv", b"\n"), ("report.html", b"</html>")):
            if (folder / name).exists():
                assert (folder / name).read_bytes().endswith(end), name
        if (folder / "result.json").exists():
            material = ReportInputs()
            material.add_result(str(folder))
            assert len(material.rows) == 3

    quick = ("--backend", "cosine", "--attacker", "ignorant", "--intervals", "0", "--null", "0", "--overwrite")
    encoder = ("--protect", "mcadams", "--extractor", speech / "bands.json")
    killed_and_again(("audit", speech / "original", *encoder, *quick), tmp_path, check)
    for name in ("result.json", "attackers.json", "trials.csv", "speakers.csv", "summary.txt"):
        whole, resumed = ((tmp_path / folder / name).read_bytes() for folder in ("whole", "out"))
        assert whole == resumed, name


@slow
def test_a_training(speech, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("onnx")
    pytest.importorskip("safetensors")
    encoder = save_small_encoder(tmp_path)

    def check(folder):
        if (folder / "card.json").exists():
            assert load_extractor(folder / "card.json").dim == DIM

    arguments = ("train-attacker", speech / "original", "--extractor", encoder, "--device", "cpu")
    killed_and_again((*arguments, "--epochs", "3", "--scope", "last"), tmp_path, check, refused="card.json")
    one, two = ((tmp_path / name / "attacker.onnx").read_bytes() for name in ("whole", "out"))
    assert one == two
    assert not (tmp_path / "out" / "cache").exists()


SCORES = Path(zeroevidence.sample.__file__).parent / "scores" / "eval"
needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no environments in /proc")


def test_no_worker_is_left(speech, tmp_path):
    arguments = ("anonymise", speech / "original", "--protect", "mcadams+pitch:2", "--seed", "1", "--workers", "2")
    token = uuid.uuid4().hex
    kill_among(started(*arguments, "-o", tmp_path / "out", token=token), token, 3)


def test_no_program_is_left(speech, tmp_path):
    token = uuid.uuid4().hex
    protector = "command:sh -c 'sleep 3600 & setsid sleep 3600 & sleep 3600' {input} {output}"
    arguments = ("anonymise", speech / "original", "--protect", protector, "--seed", "1", "--workers", "2")
    kill_among(started(*arguments, "-o", tmp_path / "out", token=token), token, 5)


def test_no_copy_is_left(tmp_path):
    token = uuid.uuid4().hex
    files = [SCORES / f"{name}.scores" for name in ("oo", "oa", "aa")]
    arguments = ("compare", *files, "--key", SCORES / "trials", "--intervals", "100000", "--workers", "2")
    kill_among(started(*arguments, token=token), token, 2)


def test_no_worker_of_a_cluster_is_left(voices):
    pytest.importorskip("distributed")
    token = uuid.uuid4().hex
    arguments = ("link", "--enrol", voices / "voices.npz", "--trial", voices / "voices.npz", "--engine", "dask")
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
