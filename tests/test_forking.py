"""Work that copies of this process do is what this one would do, whatever becomes of the copies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import slow
from zeroevidence.errors import InputError
from zeroevidence.forking import forked_map

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")
HERE = os.getpid()


@pytest.fixture(autouse=True)
def _without_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be copied although other tests have loaded polars: nothing here uses it."""
    monkeypatch.setattr("zeroevidence.forking.can_fork", lambda: True)


def test_work_is_done_by_copies_in_order() -> None:
    with forked_map(2) as each:
        results = list(each(lambda number: (bytes([number]) * 1_000_000, os.getpid()), range(8)))
    assert [content for content, _ in results] == [bytes([number]) * 1_000_000 for number in range(8)]
    pids = {pid for _, pid in results}
    assert HERE not in pids
    for pid in pids:  # no copy is left behind
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_one_process_or_job_needs_no_copy_unless_there_is_something_to_do_meanwhile() -> None:
    for processes, jobs in ((1, 3), (2, 1)):
        with forked_map(processes) as each:
            assert set(each(lambda _: os.getpid(), range(jobs))) == {HERE}
    done: list[int] = []
    with forked_map(2, meanwhile=lambda: done.append(os.getpid())) as each:
        assert list(each(lambda _: os.getpid(), [1])) != [HERE]
        assert list(each(abs, [-1, -2])) == [1, 2]
    assert done == [HERE]  # once


def test_what_killed_copies_leave_is_done_here() -> None:
    def ends_elsewhere(number: int) -> int:
        if os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        return number + 1

    with forked_map(2) as each:
        assert list(each(ends_elsewhere, range(5))) == [1, 2, 3, 4, 5]


def test_errors_are_those_of_map() -> None:
    def refuse(number: int) -> int:
        if number == 2:
            raise InputError("two is one too many", path="numbers")
        return number

    with forked_map(2) as each, pytest.raises(InputError, match="one too many") as caught:
        list(each(refuse, range(4)))
    assert caught.value.problem.path == "numbers"


@pytest.mark.parametrize("command", ["evaluate", pytest.param("compare", marks=slow)])
def test_commands_give_the_same_with_any_number_of_cores(command: str, tmp_path: Path) -> None:
    """The list of cores decides whether files are evaluated by copies of the process."""
    paths = []
    for name, shift in (("a", 0.3), ("b", 0.9), ("c", 1.7)):
        path = tmp_path / f"{name}.scores"
        scores = [
            (f"s{i}", f"s{j}-u{k}", ((7 * i + 5 * j + 3 * k) % 11) / 5 + shift * (i == j), i == j)
            for i in range(5)
            for j in range(5)
            for k in range(3)
        ]
        path.write_text(
            "".join(f"{a} {b} {score} {'target' if same else 'nontarget'}\n" for a, b, score, same in scores)
        )
        paths.append(str(path))
    outputs = []
    for cores in (1, 2):
        code = (
            f"import os; os.sched_getaffinity = lambda _: set(range({cores})); fork = os.fork\n"
            "def counted():\n    pid = fork()\n    if pid: os.write(2, b'copied')\n    return pid\n"
            "os.fork = counted\nfrom zeroevidence.cli import main; main()"
        )
        few = ("--null", "0") if command == "evaluate" else ()
        words = [sys.executable, "-c", code, command, *paths, "--intervals", "20", *few]
        run = subprocess.run(words, capture_output=True, text=True, check=True)
        assert ("copied" in run.stderr) is (cores > 1)
        outputs.append(run.stdout)
    assert outputs[0] == outputs[1]
    assert outputs[0]
