"""One case after the other in a process that may die, and what became of each."""

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
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from unittest import mock

import numpy as np

from tests.fuzz.damage.anything import damaged
from tests.fuzz.damage.certain import UNPACKED, refused_case, sign
from tests.fuzz.damage.file_names import is_named, raw_letters, renamed
from tests.fuzz.oracle import eer, scores_of
from tests.fuzz.seeds.target import Files, Target, run
from zeroevidence.attack import onnx_runtime

SLOW_S = 10.0
STOPPED_S = 600  # by the clock, on a machine that may be busy
_MEMORY = 6 << 30  # of a worker: files that ask for more must be refused, or end with the exit code for it
_CHUNK = 5000  # cases of a process: what libraries keep adds up
SELDOM, EVERY = "audit", 97  # a command that takes seconds, in one case of so many
_WHOLE = 30  # one case of so many does what takes longest, which is the same whatever was read; the others go without
_QUICKER = (
    mock.patch("zeroevidence.report.page.draw_figures", return_value=[]),
    mock.patch("zeroevidence.plot.canvas._svg", return_value="<svg/>"),
    mock.patch("zeroevidence.run.available_cores", return_value=1),  # no processes start
    mock.patch("zeroevidence.protect.voices.shift.move_resonances", lambda frames, *_: frames),
    mock.patch(
        "zeroevidence.attack.encoders.examine_apart",
        lambda card: onnx_runtime.examine(onnx_runtime.OnnxExtractor(card)),
    ),
)
_ALONE = {"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1"}  # tiny files: threads would only wait for each other
FAULTS = ("traceback", "crash", "no file named", "wrong number", "warning", "slow", "accepted", "raw text")
FAULTS += ("litter", "input changed")
_LITTER = (".zeroevidence-*", "*.lock")
_CASES: list[Any] = []  # of a process that runs cases: its targets and seed


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
    """The command of a case: all by turns, but the one that takes seconds only in one case of `EVERY`."""
    commands = sorted({target.command for target in targets})
    if case % EVERY == 0 and SELDOM in commands:
        return SELDOM
    often = [command for command in commands if command != SELDOM]
    return often[case % len(often)]


def case_files(targets: Sequence[Target], seed: int, case: int) -> tuple[Target, Files, bool]:
    """The command of a case, its damaged files, and whether they must be refused; the same seed gives the same again.

    Every other case has a damage that must be refused, where one suits the command. The others have damages of any
    kind, and some of them a file with a hostile name.
    """
    rng = random.Random(f"{seed} {case}")
    command = command_of(targets, case)
    target = rng.choice([target for target in targets if target.command == command])
    refused = refused_case(target, rng) if rng.random() < 0.5 else None
    if refused is not None:
        return *refused, True
    files = dict(target.files)
    for name in rng.sample(target.damaged, min(len(target.damaged), rng.choice((0, 1, 1, 1, 1, 1, 1, 2)))):
        files[name] = damaged(files[name], name, rng)
    for name in files:
        if name.endswith("model.safetensors") and files[name] != target.files[name] and rng.random() < 0.9:
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                sign(files, name)
    return *(renamed(target, files, rng) if rng.random() < 0.2 else (target, files)), False


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
            with contextlib.ExitStack() as quicker:
                for patch in _QUICKER if random.Random(case).randrange(_WHOLE) else ():
                    quicker.enter_context(patch)
                kind, message = _judged(target, files, refused=refused)
            return Outcome(case, target.command, kind, time.monotonic() - start, message)
    finally:
        shutil.rmtree(home, ignore_errors=True)


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
    names = {*target.files, *(name.split("/")[0] for name in target.files)}  # also of folders
    if code in (2, 3) and not any(is_named(name, out + err) for name in names):
        return "no file named", err or out
    if refused and code not in (2, 3):
        return "accepted", f"exit {code}\n{err or out[:500]}"
    litter = [str(path) for pattern in _LITTER for path in Path().rglob(pattern)]
    if litter:
        return "litter", ", ".join(litter)
    changed = [name for name, data in files.items() if Path(name).read_bytes() != data]
    if changed:
        return "input changed", ", ".join(changed)
    # what people read; what a program may read from standard output holds names as they are
    shown = err + (Path("page").read_text(encoding="utf-8") if Path("page").is_file() else "")
    raw = raw_letters(shown)
    if raw:
        return "raw text", f"{raw!a} in {shown[:500]!a}"
    wrong = "" if code else _wrong_number(target, files, out)
    return ("wrong number", wrong) if wrong else (f"exit {code}", "")


def _wrong_number(target: Target, files: Files, out: str) -> str:
    """What is wrong with the numbers of a command that went well; "" where nothing is known to be."""
    if Path("out.npz").is_file():
        with np.load("out.npz") as written:
            return "" if np.isfinite(written["vectors"]).all() else "vectors that are not finite"
    if target.oracle is None or not all(name in files for name in target.oracle):  # one has another name
        return ""
    expected = scores_of(*(files[name] for name in target.oracle))
    if expected is None:
        return "evaluated what cannot be read"
    (row,) = json.loads(out)["rows"]
    target_scores, nontarget = expected
    if (row["counts"]["target"], row["counts"]["nontarget"]) != (len(target_scores), len(nontarget)):
        return f"counts {row['counts']}, expected {len(target_scores)} and {len(nontarget)}"
    value, correct = row["metrics"]["eer"]["value"], eer(*expected)
    return "" if math.isclose(value, correct, abs_tol=1e-12) else f"eer {value}, expected {correct}"


def _begin(targets: Sequence[Target], seed: int) -> None:
    """Prepare a process for cases."""
    _CASES.extend((targets, seed))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _run_next(case: int) -> Outcome:
    return run_case(*_CASES, case)


class Lane:
    """Cases one after the other, in a process that is replaced when it dies; starting one takes seconds."""

    def __init__(self, targets: Sequence[Target], seed: int) -> None:
        self.targets, self.seed = targets, seed
        os.environ |= _ALONE
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")  # threads of polars and torch do not survive a fork
        arguments = self.targets, self.seed
        self.pool = ProcessPoolExecutor(1, context, _begin, arguments, max_tasks_per_child=_CHUNK)

    def run(self, case: int) -> Outcome:
        """What became of a case."""
        try:
            return self.pool.submit(_run_next, case).result()
        except BrokenProcessPool as error:
            self._start()
            return Outcome(case, command_of(self.targets, case), "crash", 0.0, str(error))

    def close(self) -> None:
        """End the process."""
        self.pool.shutdown()


def run_cases(targets: Sequence[Target], seed: int, cases: range, workers: int = 1) -> Iterator[Outcome]:
    """All cases in their order, shared out among processes; the number of a case decides what it is."""
    lanes = [Lane(targets, seed) for _ in range(workers)]
    idle: SimpleQueue[Lane] = SimpleQueue()
    for lane in lanes:
        idle.put(lane)

    def run(case: int) -> Outcome:
        lane = idle.get()
        try:
            return lane.run(case)
        finally:
            idle.put(lane)

    threads = ThreadPoolExecutor(workers)
    try:
        yield from threads.map(run, cases)
    finally:
        threads.shutdown(cancel_futures=True)
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
