"""A short run of the fuzzer, and its parts; `python -m tests.fuzz --cases 100000` is the long one.

`ZEROEVIDENCE_FUZZ=24000` runs as many cases; without it a few, or some hundreds where everything is tested.
"""

import os
import random

import click
import pytest

from tests.effort import repetitions, slow
from tests.fuzz.oracle import eer, scores_of
from tests.fuzz.running import Lane, case_files, command_of, run_cases, summary
from tests.fuzz.seeds.target import run
from tests.fuzz.seeds.targets import targets
from zeroevidence.cli import cli
from zeroevidence.measure.pairs.verification import eer as measured_eer

CASES = int(os.environ.get("ZEROEVIDENCE_FUZZ") or repetitions(40, 640))
PARTS = 16 if CASES >= 640 else 1  # so that many can run side by side


@pytest.fixture(scope="module")
def made():
    for package in ("torch", "safetensors", "matplotlib", "soundfile"):
        pytest.importorskip(package)
    return targets()


@pytest.fixture(scope="module")
def lane(made):
    worker = Lane(made, 1)
    yield worker
    worker.close()


@pytest.mark.parametrize("part", range(PARTS))
def test_damaged_files_end_in_a_number_that_is_right_or_in_a_line_that_names_one(lane, part):
    cases = range(part * CASES // PARTS, (part + 1) * CASES // PARTS)
    outcomes = [lane.run(case) for case in cases]
    assert not [outcome for outcome in outcomes if outcome.is_fault], summary(outcomes)
    assert {outcome.kind for outcome in outcomes} >= {"exit 0", "exit 3"}


@slow
def test_a_process_that_dies_is_a_crash_and_the_next_case_is_run(lane):
    lane.pool.submit(os._exit, 1)
    assert [lane.run(case).kind == "crash" for case in range(3)] == [True, False, False]


@slow
def test_any_number_of_processes_gives_the_same(made):
    cheap = [target for target in made if target.command in ("doctor", "models")]
    alone, shared = (
        [(outcome.case, outcome.command, outcome.kind) for outcome in run_cases(cheap, 3, range(60), workers)]
        for workers in (1, 3)
    )
    assert alone == shared


def test_the_undamaged_files_are_read(made, tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROEVIDENCE_HOME", "added")
    monkeypatch.setattr("zeroevidence.report.page.draw_figures", lambda *_, **__: [])
    for number, target in enumerate(made[:: repetitions(3, 1)]):
        if target.command not in ("plot", "compare", "report"):
            home = tmp_path / str(number)
            for name, data in target.files.items():
                (home / name).parent.mkdir(parents=True, exist_ok=True)
                (home / name).write_bytes(data)
            monkeypatch.chdir(home)
            code, _, err = run(target.command, *target.arguments)
            assert code == 0, (target.arguments, err)


def test_a_case_is_the_same_each_time(made):
    for case in range(100):
        first, second = (case_files(made, 7, case) for _ in range(2))
        assert first[1] == second[1]
    assert case_files(made, 7, 0)[1] != case_files(made, 8, 0)[1]


def test_every_command_that_reads_files_has_its_turn(made):
    commands = {target.command for target in made}
    assert {command_of(made, case) for case in range(1000)} == commands
    # or only what they bring; the server and the cache have tests of their own
    without_files = {"serve", "demo", "metrics", "cite", "cache"}
    dear = {"train-attacker"}  # minutes for each case; its corpora and cards are read as those of audit and models are
    assert commands == set(cli.list_commands(click.Context(cli))) - without_files - dear


def test_the_oracle_agrees_on_what_is_right():
    rng = random.Random(0)
    for _ in range(50):
        target = [round(rng.gauss(1.0, 1.0), 1) for _ in range(rng.randrange(1, 20))]
        nontarget = [round(rng.gauss(0.0, 1.0), 1) for _ in range(rng.randrange(1, 40))]
        assert measured_eer(target, nontarget) == pytest.approx(eer(target, nontarget), abs=1e-12)
    assert scores_of(b"\xef\xbb\xbfa u 1\r\n\nb u -2e0\n", b"b u 0\na u target\n") == ([1.0], [-2.0])
