"""Cores that an audit of speech keeps busy, stage by stage.

python benchmarks/cores.py FOLDER [--protect mcadams] [--effort quick] [--workers N] [--out DIR]

FOLDER is one that `scripts/make_speech.py` wrote, or any corpus. The audit runs as a process of its own with an empty
cache. The processor time of it and of all processes that it started is read from /proc twice a second, and whenever a
stage begins or ends: a stage is what the progress of a terminal has a title for. Each line has the seconds of a stage,
the cores that it kept busy on average, their share of all cores, and the cores that nobody used meanwhile: where other
programs run, too, a stage cannot have more than these. Time between stages has a line of its own.
"""

from __future__ import annotations

import argparse
import os
import select
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.5  # seconds between two looks
_BETWEEN = "between stages"
# The command with a progress that also tells the pipe whose number comes first which stage begins and ends.
_COMMAND = """
import os, sys
from zeroevidence.cli import printing
pipe, shown = int(sys.argv.pop(1)), printing.terminal_progress
def tell(text):
    os.write(pipe, (text + chr(10)).encode())
def progress(title, units):
    step = shown(title, units)
    tell(f"{title}, {units}")
    def told(done, total):
        step(done, total)
        if done >= total:
            tell("")
    return told
printing.terminal_progress = progress
from zeroevidence.cli import main
sys.argv[0] = "zeroevidence"
main()
"""


@dataclass
class Stage:
    """What was used while a stage was shown."""

    seconds: float = 0.0
    busy: float = 0.0  # seconds of cores
    idle: float = 0.0  # the same, that nobody used


def tree_seconds(root: int) -> float:
    """Return the processor time of a process and all below it, those that have ended included."""
    parents, used = {}, {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdecimal():
            continue
        try:
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        parents[int(entry.name)] = int(fields[1])
        used[int(entry.name)] = sum(map(int, fields[11:15])) / _TICK
    tree, waiting = set[int](), [root]
    while waiting:
        tree.add(parent := waiting.pop())
        waiting += [process for process, above in parents.items() if above == parent]
    return sum(used.get(process, 0.0) for process in tree)


def idle_seconds() -> float:
    """Return the time that cores of this machine had nothing to do, or waited for a disk."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return sum(map(int, fields[4:6])) / _TICK


def watch(command: list[str], errors: int) -> tuple[dict[str, Stage], int]:
    """Return what the stages of a command used, and the code that it ended with."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-c", _COMMAND, str(writer), *command],
        stdout=subprocess.DEVNULL,
        stderr=errors,
        pass_fds=[writer],
    )
    os.close(writer)
    stages: dict[str, Stage] = defaultdict(Stage)
    title, told = _BETWEEN, b""
    before = time.monotonic(), 0.0, idle_seconds()
    while process.poll() is None:
        ready = select.select([reader], [], [], _PAUSE)[0]
        now = time.monotonic(), max(before[1], tree_seconds(process.pid)), idle_seconds()
        stage = stages[title]
        stage.seconds += now[0] - before[0]
        stage.busy += now[1] - before[1]
        stage.idle += now[2] - before[2]
        before = now
        if ready:
            data = os.read(reader, 65536)
            *lines, told = (told + data).split(b"\n")
            title = (lines[-1].decode() or _BETWEEN) if lines else title
            if not data:
                time.sleep(_PAUSE)
    os.close(reader)
    return stages, process.returncode


def main() -> None:
    """Audit speech, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--protect", default="mcadams", metavar="NAME")
    parser.add_argument("--effort", default="quick")
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, help="folder of the audit and of its cache, which must not be there")
    options = parser.parse_args()
    corpus = options.folder / "original" if (options.folder / "original").is_dir() else options.folder
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as temporary:
        out = options.out or Path(temporary, "audit")
        command = ["audit", str(corpus), "--protect", options.protect, "--effort", options.effort, "-o", str(out)]
        command += ["--cache", str(out) + "-cache", "--recogniser", "none"]
        command += ["--workers", str(options.workers)] if options.workers else []
        stages, code = watch(command, sys.stderr.fileno())
    total = Stage(*(sum(getattr(each, name) for each in stages.values()) for name in ("seconds", "busy", "idle")))
    print(f"| stage | seconds | cores busy, of {cores} | share | cores that nobody used |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for title, stage in {**stages, "all": total}.items():
        if stage.seconds:
            busy, idle = stage.busy / stage.seconds, stage.idle / stage.seconds
            print(f"| {title} | {stage.seconds:.1f} | {busy:.2f} | {100 * busy / cores:.0f} % | {idle:.2f} |")
    sys.exit(code)


if __name__ == "__main__":
    main()
