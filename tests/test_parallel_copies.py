"""Work that copies of this process do is what this one would do, whatever becomes of the copies."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.effort import slow
from tests.waiting import wait_until
from zeroevidence.errors import InputError
from zeroevidence.parallel import compute_in_copies
from zeroevidence.run import Run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are copied on Linux")
HERE, TWO = os.getpid(), Run(cores=2)


@pytest.fixture(autouse=True)
def _without_polars(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process be copied although other tests have loaded polars: nothing here uses it."""
    monkeypatch.setattr("zeroevidence.parallel.can_copy", lambda: True)


def test_work_is_done_by_copies_in_order() -> None:
    results = list(compute_in_copies(lambda number: (bytes([number % 256]) * 10_000, os.getpid()), range(600), TWO))
    assert [content for content, _ in results] == [bytes([number % 256]) * 10_000 for number in range(600)]
    copies = {copy for _, copy in results}
    assert HERE not in copies
    for copy in copies:  # none is left behind
        with pytest.raises(ProcessLookupError):
            os.kill(copy, 0)


def test_one_process_or_part_needs_no_copy_unless_there_is_something_to_do_meanwhile() -> None:
    for run, parts in ((Run(cores=1), 3), (TWO, 1), (TWO, 0)):
        assert set(compute_in_copies(lambda _: os.getpid(), range(parts), run)) <= {HERE}
    done: list[int] = []
    assert list(compute_in_copies(lambda _: os.getpid(), [1], TWO, lambda: done.append(os.getpid()))) != [HERE]
    assert done == [HERE]


def test_what_copies_leave_is_done_here() -> None:
    def end_elsewhere(number: int) -> int:
        if os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        return number + 1

    assert list(compute_in_copies(end_elsewhere, range(5), TWO)) == [1, 2, 3, 4, 5]
    functions = compute_in_copies(lambda number: lambda: number, range(5), TWO)  # cannot be sent
    assert [function() for function in functions] == [0, 1, 2, 3, 4]


def test_errors_are_those_of_map() -> None:
    def refuse(number: int) -> int:
        if number == 2:
            raise InputError("two is one too many", path="numbers")
        return number

    with pytest.raises(InputError, match="one too many") as caught:
        list(compute_in_copies(refuse, range(4), TWO))
    assert caught.value.problem.path == "numbers"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_copies_end_with_their_process(number: int, tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "from zeroevidence.errors import interruptible\n"
        "from zeroevidence.parallel import compute_in_copies\n"
        "from zeroevidence.run import Run\n"
        "def work(_):\n"
        "    print(os.getpid(), flush=True, file=open(sys.argv[1], 'a'))\n"
        "    time.sleep(60)\n"
        "with interruptible():\n"
        "    list(compute_in_copies(work, range(4), Run(cores=2)))\n"
    )
    listed = tmp_path / "copies"
    process = subprocess.Popen([sys.executable, "-c", script, str(listed)], stderr=subprocess.DEVNULL)
    wait_until(lambda: listed.exists() and len(listed.read_text().split()) == 2, 60)
    process.send_signal(number)
    assert process.wait(5) != 0
    copies = listed.read_text().split()
    assert len(copies) == 2
    wait_until(lambda: not any(Path(f"/proc/{copy}").exists() for copy in copies), 5)


@pytest.fixture
def score_files(tmp_path: Path) -> list[str]:
    paths = []
    for name, shift in (("a", 0.3), ("b", 0.9), ("c", 1.7)):
        paths.append(str(tmp_path / f"{name}.scores"))
        lines = (
            f"s{i} s{j}-u{k} {((7 * i + 5 * j + 3 * k) % 11) / 5 + shift * (i == j)} {'non' * (i != j)}target\n"
            for i in range(5)
            for j in range(5)
            for k in range(3)
        )
        Path(paths[-1]).write_text("".join(lines))
    return paths


def output_of(cores: int, *words: str) -> tuple[str, bool]:
    """Return what a command writes on a machine with so many cores, and whether it started processes."""
    code = (
        f"import os, resource; from pathlib import Path; os.sched_getaffinity = lambda _: set(range({cores}))\n"
        "from zeroevidence.cli import main\n"
        "try:\n"
        "    main()\n"
        "finally:\n"
        "    running = any(path.read_text() for path in Path('/proc/self/task').glob('*/children'))\n"
        "    ended = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0\n"
        "    if running or ended: os.write(2, b'started processes')\n"
    )
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    return run.stdout, "started processes" in run.stderr


@pytest.mark.parametrize("command", ["evaluate", pytest.param("compare", marks=slow)])
def test_commands_give_the_same_with_any_number_of_cores(command: str, score_files: list[str]) -> None:
    """The list of cores decides whether files are evaluated by copies of the process."""
    few = ("--null", "0") if command == "evaluate" else ()
    words = command, *score_files, "--intervals", "20", *few
    (alone, nobody), (divided, others) = output_of(1, *words), output_of(2, *words)
    asked, also = output_of(1, *words, "--workers", "2")
    assert alone == divided == asked != ""
    assert (nobody, others, also) == (False, True, True)


@pytest.mark.parametrize("compared", [5, 3], ids=["search", "list"])
def test_copies_read_one_file_and_draw_its_null(compared: int, score_files: list[str]) -> None:
    """A list, in which not everybody was compared with everybody, has another null than a search."""
    path = Path(score_files[0])
    lines = (line.split() for line in path.read_text().splitlines())
    kept = [" ".join(line) for line in lines if (int(line[0][1]) - int(line[1][1])) % 5 < compared]
    path.write_text("\n".join(kept) + "\n")
    words = "evaluate", str(path), "--intervals", "20", "-f", "json"
    (alone, nobody), (divided, others) = output_of(1, *words), output_of(4, *words)
    assert alone == divided != ""
    assert (nobody, others) == (False, True)


def test_help_starts_no_process() -> None:
    assert not output_of(4, "evaluate", "--help")[1]
