"""Seconds of stages are those that passed, of cores those of all processes, and a long command ends with them."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from zeroevidence.cli import stages
from zeroevidence.cli.stages import BETWEEN, StageTimer, tree_seconds
from zeroevidence.parallel import compute_beside

BURN = "import time\nwhile time.process_time() < 0.4: pass"


def test_stages_add_up_and_count_other_processes():
    gpu = iter([0.0, 0.0, 3.0, 3.0, 3.0, 3.0, 3.0]).__next__
    began = time.monotonic()
    timer = StageTimer(gpu)
    step = timer.progress(lambda title, units: lambda done, total: None)("speech", "utterances")
    step(1, 2)
    subprocess.run([sys.executable, "-c", BURN], check=True)
    step(2, 2)
    time.sleep(0.2)
    spent = timer.stages()
    passed = time.monotonic() - began
    assert list(spent) == ["speech, utterances", BETWEEN]
    seconds, cores, gpus = np.array(list(spent.values())).T
    assert cores[0] >= 0.3 > cores[1]  # the system counts in hundredths, rounded down
    assert (seconds >= [0.4, 0.2]).all()
    assert seconds.sum() <= passed
    assert gpus.tolist() == [3.0, 0.0]


def test_what_two_threads_do_at_once_is_one_stage():
    timer = StageTimer()
    progress = timer.progress(lambda title, units: lambda done, total: None)
    training = progress("training", "epochs")

    def compute_cues():
        cues = progress("cues", "utterances")
        cues(2, 2)

    compute_beside(lambda: None, compute_cues)
    training(1, 1)
    assert list(timer.stages()) == ["training, epochs", "training, epochs + cues, utterances", BETWEEN]
    progress("nothing", "rows")
    progress("the next", "rows")(1, 1)
    assert list(timer.stages())[-3:] == ["nothing, rows", "the next, rows", BETWEEN]


def test_a_tree_has_the_time_of_its_root():
    code = f"{BURN}\nimport os\nfrom zeroevidence.cli.stages import tree_seconds\n"
    code += "print(sum(os.times()[:4]), tree_seconds(os.getpid()))"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    used, measured = map(float, printed.split())
    assert measured == pytest.approx(used, abs=0.1)
    assert tree_seconds(os.getpid()) >= sum(os.times()[:4]) - 0.1  # more where it has children
    assert np.isnan(tree_seconds(2**30))


@pytest.mark.parametrize(("given", "long", "said"), [(["--verbose"], 0.0, 1), (["--verbose"], 1e6, 0), ([], 0.0, 0)])
def test_a_long_command_ends_with_where_its_time_went(run, monkeypatch, tmp_path, given, long, said):
    soundfile = pytest.importorskip("soundfile")
    monkeypatch.setattr(stages, "_LONG", long)
    (tmp_path / "speech" / "ada").mkdir(parents=True)
    soundfile.write(tmp_path / "speech" / "ada" / "u.wav", 0.1 * np.random.default_rng(0).normal(size=6_000), 16_000)
    command = "anonymise", tmp_path / "speech", "-o", tmp_path / "out", "--protect", "mcadams", "--workers", 1
    code, printed, err = run(*command, *given)
    assert (code, err.count("where the time went"), printed.count("where")) == (0, said, 0)
    if said:
        assert err.splitlines()[-1].startswith("all ")
        assert any(line.startswith("anonymising, recordings ") for line in err.splitlines())
