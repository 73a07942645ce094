"""One case after the other in a process that may die, and what became of each."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import multiprocessing
import random
import resource
import shutil
import signal
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import damaged
from tests.fuzz.oracle import eer, scores_of
from tests.fuzz.seeds import Files, Target, run

SLOW_S = 10.0
STOPPED_S = 120
_MEMORY = 6 << 30  # of a worker: files that ask for more must be refused, or end with the exit code for it
_CHUNK = 5000
FAULTS = ("traceback", "crash", "no file named", "wrong number", "warning", "slow")


@dataclass(frozen=True)
class Outcome:
    """What one case came to: a fault, or the exit code of the command."""

    case: int
    command: str
    kind: str
    seconds: float
    told: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether it must not happen."""
        return self.kind in FAULTS


def case_files(targets: Sequence[Target], seed: int, case: int) -> tuple[Target, Files]:
    """The command of a case and its damaged files; the same seed gives the same again."""
    rng = random.Random(f"{seed} {case}")
    commands = sorted({one.command for one in targets})
    command = commands[case % len(commands)]
    target = rng.choice([one for one in targets if one.command == command])
    files = dict(target.files)
    for name in rng.sample(target.damaged, min(len(target.damaged), rng.choice((1, 1, 1, 2)))):
        files[name] = damaged(files[name], name, rng)
    for name in files:
        if name.endswith("model.safetensors") and files[name] != target.files[name] and rng.random() < 0.9:
            _sign(files, name)
    return target, files


def _sign(files: Files, name: str) -> None:
    """Give a damaged model the digest it needs to be looked at at all."""
    card = name.replace(".safetensors", ".json")
    with contextlib.suppress(ValueError, TypeError):
        document = json.loads(files[card])
        document["sha256"] = hashlib.sha256(files[name]).hexdigest()
        files[card] = json.dumps(document).encode()


def _stopped(*_: object) -> None:
    raise TimeoutError


def run_case(targets: Sequence[Target], seed: int, case: int) -> Outcome:
    """Run one case in this process, in a folder of its own."""
    target, files = case_files(targets, seed, case)
    place = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    home = Path(tempfile.mkdtemp(prefix="fuzz-", dir=place))
    try:
        with contextlib.chdir(home):
            for name, data in files.items():
                Path(name).parent.mkdir(exist_ok=True)
                Path(name).write_bytes(data)
            start = time.monotonic()
            kind, told = _judged(target, files)
            return Outcome(case, target.command, kind, time.monotonic() - start, told)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _judged(target: Target, files: Files) -> tuple[str, str]:
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
    ours = [one for one in warned if "DeprecationWarning" not in one.category.__name__]
    if ours:
        return "warning", f"{ours[0].filename}:{ours[0].lineno}: {ours[0].message}"
    if time.process_time() - start > SLOW_S:
        return "slow", ""
    if code in (2, 3) and not any(name in out + err for name in _names(target)):
        return "no file named", err or out
    wrong = _checked(target, files, code, out)
    return ("wrong number", wrong) if wrong else (f"exit {code}", "")


def _names(target: Target) -> set[str]:
    """Files of the case, and folders that were named on the command line."""
    return {*target.files, *(name.split("/")[0] for name in target.files if "/" in name)}


def _checked(target: Target, files: Files, code: int, out: str) -> str:
    """What is wrong with the numbers of a command that went well; "" where nothing is known to be."""
    if code != 0 or target.oracle is None:
        return _checked_file() if code == 0 and target.command == "protect" else ""
    expected = scores_of(*(files[name] for name in target.oracle))
    if expected is None:
        return "evaluated what cannot be read"
    (row,) = json.loads(out)["rows"]
    target_scores, nontarget = expected
    if (row["counts"]["target"], row["counts"]["nontarget"]) != (len(target_scores), len(nontarget)):
        return f"counts {row['counts']}, expected {len(target_scores)} and {len(nontarget)}"
    found, wanted = row["metrics"]["eer"]["value"], eer(*expected)
    return "" if math.isclose(found, wanted, abs_tol=1e-12) else f"eer {found}, expected {wanted}"


def _checked_file() -> str:
    import numpy as np

    with np.load("out.npz") as written:
        return "" if np.isfinite(written["vectors"]).all() else "vectors that are not finite"


def _work(targets: Sequence[Target], seed: int, cases: range, pipe: Connection) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    for case in cases:
        pipe.send(("began", case))
        pipe.send(("ended", run_case(targets, seed, case)))
    pipe.close()


def run_cases(targets: Sequence[Target], seed: int, cases: range) -> Iterator[Outcome]:
    """All cases, in processes that are replaced when one dies."""
    context: Any = multiprocessing.get_context("spawn")  # threads of polars and torch do not survive a fork
    at = cases.start
    commands = sorted({one.command for one in targets})
    while at < cases.stop:
        mine, theirs = context.Pipe(duplex=False)
        part = range(at, min(cases.stop, at + _CHUNK))
        worker = context.Process(target=_work, args=(targets, seed, part, theirs))
        worker.start()
        theirs.close()
        with contextlib.suppress(EOFError):
            while True:
                what, value = mine.recv()
                if what == "ended":
                    yield value
                    at = value.case + 1
        worker.join()
        if worker.exitcode:
            yield Outcome(at, commands[at % len(commands)], "crash", 0.0, f"exit code {worker.exitcode}")
            at += 1


def summary(outcomes: Sequence[Outcome]) -> str:
    """A table of what was found, by command."""
    kinds = [*FAULTS, *sorted({one.kind for one in outcomes} - set(FAULTS))]
    counts = Counter((one.command, one.kind) for one in outcomes)
    lines = ["| command | cases | " + " | ".join(kinds) + " |", "|" + " --- |" * (len(kinds) + 2)]
    for command in sorted({one.command for one in outcomes}):
        own = [counts[command, kind] for kind in kinds]
        lines.append(f"| {command} | {sum(own)} | " + " | ".join(map(str, own)) + " |")
    total = [sum(one.kind == kind for one in outcomes) for kind in kinds]
    lines.append(f"| all | {len(outcomes)} | " + " | ".join(map(str, total)) + " |")
    return "\n".join(lines)
