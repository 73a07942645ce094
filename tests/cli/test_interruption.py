"""Commands that are asked to end: nobody's speech stays, no program runs on, and one line says what was kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import slow
from tests.onnx_bytes import save as save_model
from tests.speech import write_noise
from tests.waiting import is_running, wait_until

PATIENCE = 600.0  # seconds: ends what hangs
# A protector that starts a program of its own, says who both are, and does not end.
PROTECTOR = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3600)"])
with open(sys.argv[1] + "/" + str(os.getpid()), "x") as stream:
    stream.write(f"{os.getpid()} {child.pid}\\n")
time.sleep(3600)
"""
# Sends itself a signal when a module is imported, then runs the command line.
AT_IMPORT = """
import os, runpy, signal, sys
_, number, name, *sys.argv[1:] = sys.argv
class Finder:
    def find_spec(self, module, path=None, target=None):
        if module == name:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), int(number))
sys.meta_path.insert(0, Finder())
runpy.run_module("zeroevidence", run_name="__main__")
"""


@pytest.fixture
def speech(tmp_path):
    pytest.importorskip("soundfile")
    pytest.importorskip("onnxruntime")
    write_noise(tmp_path / "original", 6, 2, 6400)
    save_model(tmp_path, "bands")
    return tmp_path


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes in /proc")
def test_an_audit_with_a_program(speech):
    (speech / "protector.py").write_text(PROTECTOR)
    for name in ("temporary", "started"):
        (speech / name).mkdir()
    program = f"command:{sys.executable} {speech / 'protector.py'} {speech / 'started'} {{input}} {{output}}"
    arguments = ("audit", speech / "original", "--protect", program, "--extractor", speech / "bands.json")
    command = [sys.executable, "-m", "zeroevidence", *map(str, arguments), "-o", str(speech / "out")]
    environment = {**os.environ, "TMPDIR": str(speech / "temporary")}
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    started = speech / "started"
    wait_until(lambda: process.poll() is not None or any(path.stat().st_size for path in started.iterdir()))
    assert process.poll() is None, process.stderr.read()
    assert list((speech / "temporary").rglob("*.wav"))  # people's speech
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 143, err
    kept = f"{speech / 'out' / 'cache'} keeps 24 files, from which the same command continues"
    assert err.splitlines()[-1] == f"interrupted by SIGTERM; {kept}"
    assert [path for name in ("zeroevidence-*", "*.wav") for path in (speech / "temporary").rglob(name)] == []
    pids = [int(pid) for path in (speech / "started").iterdir() for pid in path.read_text().split()]
    assert len(pids) >= 2
    wait_until(lambda: not any(map(is_running, pids)))
    assert not (speech / ".out.lock").exists()


@pytest.mark.parametrize(
    ("name", "number", "code", "line"),
    [
        ("click", signal.SIGTERM, 143, "interrupted by SIGTERM\n"),
        pytest.param("polars", signal.SIGINT, 130, "interrupted\n", marks=slow),
    ],
)
def test_while_modules_are_imported(tmp_path, name, number, code, line):
    (tmp_path / "scores").write_text("a u 1.0 target\nb u 0.0 nontarget\n")
    arguments = (str(int(number)), name, "evaluate", str(tmp_path / "scores"))
    command = [sys.executable, "-c", AT_IMPORT, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", line)
