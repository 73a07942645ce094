"""One case after the other in a process that may die, and what became of each."""

from __future__ import annotations

import contextlib
import json
import math
import multiprocessing
import os
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from tests.fuzz.damage.anything import damaged
from tests.fuzz.damage.certain import UNPACKED, refused_case, sign
from tests.fuzz.damage.file_names import is_named, raw_letters, renamed
from tests.fuzz.doors import DOORS
from tests.fuzz.oracle import eer, link_ranks, scores_of
from tests.fuzz.seeds.target import Files, Target, run

SLOW_S = 10.0
STOPPED_S = 600  # by the clock, on a machine that may be busy
_MEMORY = 6 << 30  # of a worker: files that ask for more must be refused, or end with the exit code for it
_CHUNK = 5000
SELDOM = ("audit",)
EVERY = 97
_DRAWN = {"audit": 8, "plot": 4}  # of so many cases one writes its figures, which takes longer than all else
_WRITTEN = "zeroevidence.plot.canvas._svg"
_ON_PAGES = "zeroevidence.report.html.page.draw_figures"
_ALONE = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}  # tiny files: threads would only wait for each other
FAULTS = (
    *("traceback", "crash", "no file named", "wrong number", "warning", "slow"),
    *("accepted", "raw text", "litter", "input changed"),
)
_LITTER = (".zeroevidence-*", "*.lock")


@dataclass(frozen=True)
class Outcome:
    """What one case came to: a fault, or the exit code of the command."""

    case: int
    command: str
    kind: str
    seconds: float
    message: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether it must not happen."""
        return self.kind in FAULTS


def command_of(targets: Sequence[Target], case: int) -> str:
    """The command of a case: all by turns, but those that take seconds only in one case of `EVERY`."""
    commands = sorted({target.command for target in targets})
    often = [command for command in commands if command not in SELDOM] or commands
    seldom = [command for command in commands if command in SELDOM]
    if seldom and case % EVERY == 0:
        return seldom[case // EVERY % len(seldom)]
    return often[case % len(often)]


class Case(NamedTuple):
    """A command line, its files, and whether they must be refused."""

    target: Target
    files: Files
    refused: bool = False


def case_files(targets: Sequence[Target], seed: int, case: int) -> Case:
    """The command of a case and its damaged files; the same seed gives the same again.

    Every other case has a damage that must be refused, where one suits the command. The others have damages of any
    kind, and some of them a file with a hostile name.
    """
    rng = random.Random(f"{seed} {case}")
    command = command_of(targets, case)
    target = rng.choice([target for target in targets if target.command == command])
    refused = refused_case(target, rng) if rng.random() < 0.5 else None
    if refused is not None:
        return Case(*refused, refused=True)
    files = dict(target.files)
    for name in rng.sample(target.damaged, min(len(target.damaged), rng.choice((0, 1, 1, 1, 1, 1, 1, 2)))):
        files[name] = damaged(files[name], name, rng)
    for name in files:
        if name.endswith("model.safetensors") and files[name] != target.files[name] and rng.random() < 0.9:
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                sign(files, name)
    return Case(*renamed(target, files, rng)) if rng.random() < 0.2 else Case(target, files)


def _stopped(*_: object) -> None:
    raise TimeoutError


def run_case(targets: Sequence[Target], seed: int, case: int) -> Outcome:
    """Run one case in this process, in a folder of its own."""
    target, files, refused = case_files(targets, seed, case)
    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    home = Path(tempfile.mkdtemp(prefix="fuzz-", dir=place))
    try:
        os.environ |= {"ZEROEVIDENCE_HOME": "added", "ZEROEVIDENCE_UNPACK_LIMIT": str(UNPACKED)}
        with contextlib.chdir(home):
            for name, data in files.items():
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(data)
            start = time.monotonic()
            with _figures(target.command, case):
                kind, message = _judged(target, files, refused=refused)
            return Outcome(case, target.command, kind, time.monotonic() - start, message)
    finally:
        shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def _figures(command: str, case: int) -> Iterator[None]:
    """A command that writes its figures, or makes them only; an audit's figures show nothing that was damaged."""
    if command not in _DRAWN or random.Random(case).randrange(_DRAWN[command]) == 0:
        yield
    elif command in SELDOM:
        with mock.patch(_ON_PAGES, return_value=([], {})):
            yield
    else:
        with mock.patch(_WRITTEN, return_value="<svg/>"):
            yield


def _judged(target: Target, files: Files, *, refused: bool) -> tuple[str, str]:
    start = time.process_time()  # of this process alone: other people's work is no fault of ours
    signal.signal(signal.SIGALRM, _stopped)
    signal.alarm(STOPPED_S)
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            code, out, err = run(target.command, *target.arguments)
    except TimeoutError:
        return "slow", "stopped"
    except Exception:
        return "traceback", traceback.format_exc(limit=-4)
    finally:
        signal.alarm(0)
    ours = [warning for warning in warned if "DeprecationWarning" not in warning.category.__name__]
    if ours:
        return "warning", f"{ours[0].filename}:{ours[0].lineno}: {ours[0].message}"
    if time.process_time() - start > SLOW_S:
        return "slow", ""
    if code in (2, 3) and not any(is_named(name, out + err) for name in _names(target)):
        return "no file named", err or out
    if refused and code not in (2, 3):
        return "accepted", f"exit {code}\n{err or out[:500]}"
    left = _left(files)
    if left is not None:
        return left
    raw = raw_letters(_shown(err))
    if raw:
        return "raw text", f"{raw!a} in {_shown(err)[:500]!a}"
    wrong = _checked(target, files, code, out)
    return ("wrong number", wrong) if wrong else (f"exit {code}", "")


def _names(target: Target) -> set[str]:
    """Files of the case, and folders that were named on the command line."""
    return {*target.files, *(name.split("/")[0] for name in target.files if "/" in name)}


def _left(files: Files) -> tuple[str, str] | None:
    """What is wrong with the files that are there after a command: traces of its work, or inputs that it changed."""
    litter = [str(path) for pattern in _LITTER for path in Path().rglob(pattern)]
    if litter:
        return "litter", ", ".join(litter)
    changed = [name for name, data in files.items() if Path(name).read_bytes() != data]
    return ("input changed", ", ".join(changed)) if changed else None


def _shown(err: str) -> str:
    """What people read: messages and pages; what a program may read from standard output holds names as they are."""
    return err + (Path("page").read_text(encoding="utf-8") if Path("page").is_file() else "")


def _checked(target: Target, files: Files, code: int, out: str) -> str:
    """What is wrong with the numbers of a command that went well; "" where nothing is known to be."""
    if code != 0 or target.oracle is None:
        return _checked_file() if code == 0 and Path("out.npz").is_file() else ""
    if not all(name in files for name in target.oracle):  # one has another name
        return ""
    if target.command == "link":
        return _checked_ranks(*(files[name] for name in target.oracle))
    expected = scores_of(*(files[name] for name in target.oracle))
    if expected is None:
        return "evaluated what cannot be read"
    (row,) = json.loads(out)["rows"]
    target_scores, nontarget = expected
    if (row["counts"]["target"], row["counts"]["nontarget"]) != (len(target_scores), len(nontarget)):
        return f"counts {row['counts']}, expected {len(target_scores)} and {len(nontarget)}"
    value, correct = row["metrics"]["eer"]["value"], eer(*expected)
    return "" if math.isclose(value, correct, abs_tol=1e-12) else f"eer {value}, expected {correct}"


def _checked_ranks(enrol: bytes, trial: bytes) -> str:
    """What is wrong with the ranks of a search."""
    import polars as pl

    expected = link_ranks(enrol, trial)
    table = pl.read_parquet("out/trials.parquet")
    for name, rank in zip(table["trial"], table["rank"], strict=True):
        if expected is not None and name in expected and not expected[name][0] <= rank <= expected[name][1]:
            return f"rank of {name} is {rank}, expected {expected[name]}"
    return ""


def _checked_file() -> str:
    import numpy as np

    with np.load("out.npz") as written:
        return "" if np.isfinite(written["vectors"]).all() else "vectors that are not finite"


def _work(targets: Sequence[Target], seed: int, pipe: Connection, door: str | None) -> None:
    for each in DOORS:
        if each.name == door:
            each.open()
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    with contextlib.suppress(EOFError):
        while True:
            for case in pipe.recv():
                pipe.send(run_case(targets, seed, case))


class Lane:
    """Cases one after the other, in a process that is replaced when it dies; starting one takes seconds.

    `door` names a check that is broken there.
    """

    def __init__(self, targets: Sequence[Target], seed: int, door: str | None = None) -> None:
        self.targets, self.seed, self.left, self.asked, self.door = targets, seed, range(0), 0, door
        self._start()

    def _start(self) -> None:
        context: Any = multiprocessing.get_context("spawn")  # threads of polars and torch do not survive a fork
        self.pipe, theirs = context.Pipe()
        self.worker = context.Process(target=_work, args=(self.targets, self.seed, theirs, self.door), daemon=True)
        with mock.patch.dict(os.environ, _ALONE):
            self.worker.start()
        theirs.close()
        self.room = _CHUNK  # a fresh process now and then: what libraries keep adds up

    def ask(self, cases: range) -> None:
        """Begin with these; what becomes of each is returned by `next`."""
        self.left = cases
        if not self.room:
            self.close()
            self._start()
        self.asked = min(len(cases), self.room)
        self.room -= self.asked
        with contextlib.suppress(BrokenPipeError):  # of a process that has died, which `next` sees
            self.pipe.send(cases[: self.asked])

    def next(self) -> Outcome:
        """What became of the next case."""
        case, rest = self.left[0], self.left[1:]
        try:
            outcome: Outcome = self.pipe.recv()
        except (EOFError, ConnectionError):
            self.close()
            message = f"exit code {self.worker.exitcode}"
            outcome = Outcome(case, command_of(self.targets, case), "crash", 0.0, message)
            self._start()
            self.asked = 1
        self.left, self.asked = rest, self.asked - 1
        if rest and not self.asked:
            self.ask(rest)
        return outcome

    def run(self, cases: range) -> list[Outcome]:
        """What became of these."""
        self.ask(cases)
        return [self.next() for _ in cases]

    def close(self) -> None:
        """End the process."""
        self.pipe.close()
        self.worker.join()


def run_cases(targets: Sequence[Target], seed: int, cases: range, workers: int = 1) -> Iterator[Outcome]:
    """All cases, shared out among processes; the number of a case decides what it is, whichever process runs it."""
    lanes = []
    for k in range(min(workers, len(cases))):
        lanes.append(Lane(targets, seed))
        lanes[-1].ask(cases[k::workers])
    while busy := [lane for lane in lanes if lane.left]:
        ready = wait([lane.pipe for lane in busy])
        yield from (lane.next() for lane in busy if lane.pipe in ready)
    for lane in lanes:
        lane.close()


def summary(outcomes: Sequence[Outcome]) -> str:
    """A table of what was found, by command."""
    kinds = [*FAULTS, *sorted({outcome.kind for outcome in outcomes} - set(FAULTS))]
    lines = ["| command | cases | " + " | ".join(kinds) + " | ms per case |", "|" + " --- |" * (len(kinds) + 3)]
    for command in [*sorted({outcome.command for outcome in outcomes}), "all"]:
        chosen = [outcome for outcome in outcomes if command in (outcome.command, "all")]
        counts = [sum(outcome.kind == kind for outcome in chosen) for kind in kinds]
        each = 1000 * sum(outcome.seconds for outcome in chosen) / len(chosen)
        lines.append(f"| {command} | {len(chosen)} | " + " | ".join(map(str, counts)) + f" | {each:.0f} |")
    return "\n".join(lines)
