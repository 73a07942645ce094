"""What an audit makes of a machine, stage by stage: seconds, busy cores and GPU, memory and cache.

    python benchmarks/audit_machine.py WORK [--people 250] [--utterances 8] [--draws 10] [--effort full] [--minutes 8]
    python benchmarks/audit_machine.py WORK --corpus FOLDER [--protect NAME] [--workers N]

The first call makes speech (scripts/make_speech.py), or takes the corpus that is named, and audits it with an empty
cache. A call ends after so many minutes, and the same call continues: what was measured is in WORK. The audit runs as a
process of its own. Its processor time and that of all processes that it started, their memory (each shared page
counted once) and the use of the GPU as `nvidia-smi` says it are read twice a second, and whenever a stage begins or
ends: a stage is what the progress of a terminal has a title for. Each line has the seconds of a stage, those per hour
of original speech, cores that it kept busy on average, their share, cores that nobody used meanwhile (where other
programs run, too, a stage cannot have more than these), and the GPU. Time between stages has a line of its own.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
import soundfile

from zeroevidence.cli.stages import BETWEEN, tree_seconds, watched_gpu

GpuSeconds = Callable[[], float]
_ROOT = Path(__file__).resolve().parents[1]
_TICK = os.sysconf("SC_CLK_TCK")
_PAUSE = 0.5  # seconds between two looks
_CORPUS = "making speech"
_DRAWN = "mcadams:0.5..0.9:utterance+pitch:-6..6:utterance+formant:0.8..1.25:utterance"
# The command with a progress that also tells the pipe whose number comes first which stages run.
_COMMAND = """
import os, signal, sys
from zeroevidence.cli import printing
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
from zeroevidence.cli.stages import StageTimer
pipe = int(sys.argv.pop(1))
class Told(StageTimer):
    title = None
    def enter(self, title):
        if title != self.title:
            self.title = title
            os.write(pipe, (title + chr(10)).encode())
printing.terminal_progress = Told().progress(printing.terminal_progress)
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
    gpu: float = 0.0  # seconds of the GPU
    memory: int = 0  # bytes, the most


@dataclass
class Measured:
    """What was measured in all calls so far."""

    stages: dict[str, Stage] = field(default_factory=dict)
    calls: int = 0
    finished: bool = False
    cache: int = 0  # bytes, the most when a stage began

    @classmethod
    def read(cls, file: Path) -> Measured:
        """Read what earlier calls measured."""
        if not file.exists():
            return cls()
        kept = json.loads(file.read_text())
        return cls(**{**kept, "stages": {name: Stage(**stage) for name, stage in kept["stages"].items()}})

    def add(self, title: str, seconds: float, busy: float, idle: float, gpu: float, memory: int) -> None:
        """Add what was used between two looks."""
        stage = self.stages.setdefault(title, Stage())
        stage.seconds += seconds
        stage.busy += busy
        stage.idle += idle
        stage.gpu += gpu
        stage.memory = max(stage.memory, memory)


def held_by_tree(root: int) -> int:
    """Return the bytes that a process and all below it hold."""
    held, waiting = 0, [root]
    while waiting:
        process = waiting.pop()
        held += held_bytes(process)
        children = Path(f"/proc/{process}/task").glob("*/children")
        try:
            waiting += [int(child) for file in children for child in file.read_text().split()]
        except OSError:  # it has ended
            continue
    return held


def held_bytes(process: int) -> int:
    """Return the memory of a process; of what it shares, its part."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def idle_seconds() -> float:
    """Return the time that cores of this machine had nothing to do, or waited for a disk."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return sum(map(int, fields[4:6])) / _TICK


def watch(command: list[str], measured: Measured, deadline: float, gpu_seconds: GpuSeconds, cache: Path) -> int:
    """Run a command up to a moment, add what its stages use, and return the code that it ended with."""
    reader, writer = os.pipe()
    told = command[:1] == ["audit"]
    title = BETWEEN if told else _CORPUS
    arguments = ["-c", _COMMAND, str(writer), *command] if told else command
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL, pass_fds=[writer])
    os.close(writer)
    heard, interrupted = b"", False
    before = time.monotonic(), 0.0, idle_seconds(), 0.0
    while process.poll() is None:
        ready = select.select([reader], [], [], _PAUSE)[0] if told else time.sleep(_PAUSE)
        on_gpu = float(np.nan_to_num(gpu_seconds()))
        now = time.monotonic(), max(before[1], tree_seconds(process.pid)), idle_seconds(), on_gpu
        spent = [late - early for late, early in zip(now, before, strict=True)]
        measured.add(title, *spent, held_by_tree(process.pid))
        before = now
        if now[0] > deadline and not interrupted:
            process.send_signal(signal.SIGINT)
            interrupted = True
        if ready:
            data = os.read(reader, 65536)
            *lines, heard = (heard + data).split(b"\n")
            title = lines[-1].decode() if lines else title
            measured.cache = max(measured.cache, size_of(cache)) if lines else measured.cache
            if not data:
                time.sleep(_PAUSE)
    os.close(reader)
    return process.returncode


def print_table(measured: Measured, corpus: Path, cache: Path) -> None:
    """Print what was used, and the size of the cache beside that of the speech."""
    files = [file for file in corpus.rglob("*") if file.suffix in (".wav", ".flac")]
    hours, flac = 0.0, 0
    for file in files:
        samples, rate = soundfile.read(file, dtype="int16")
        hours += len(samples) / rate / 3600
        soundfile.write(packed := io.BytesIO(), samples, rate, format="FLAC")
        flac += len(packed.getvalue())
    cores, stages = len(os.sched_getaffinity(0)), measured.stages
    audit = [stage for name, stage in stages.items() if name != _CORPUS]
    sums = {name: sum(getattr(stage, name) for stage in audit) for name in ("seconds", "busy", "idle", "gpu")}
    total = Stage(**sums, memory=max((stage.memory for stage in audit), default=0))
    state = "finished" if measured.finished else "NOT finished: the same command continues"
    print(f"{len(files)} recordings, {hours:.2f} h of speech, {cores} cores; call {measured.calls}, {state}")
    print(f"| stage | seconds | seconds per hour of speech | cores busy, of {cores} | share | unused | GPU busy | GB |")
    print(f"|{' --- |' * 8}")
    for title, stage in {**stages, "all of the audit": total}.items():
        if stage.seconds:
            busy, idle, gpu = (value / stage.seconds for value in (stage.busy, stage.idle, stage.gpu))
            line = (
                f"{title} | {stage.seconds:.1f} | {stage.seconds / hours:.0f} | {busy:.2f} | {100 * busy / cores:.0f} %"
            )
            print(f"| {line} | {idle:.2f} | {100 * gpu:.0f} % | {stage.memory / 1e9:.2f} |")
    kinds = {kind: size_of(kind) for kind in sorted(cache.iterdir())} if cache.is_dir() else {}
    size, most = sum(kinds.values()), max(measured.cache, sum(kinds.values()))
    parts = ", ".join(f"{kind.name} {bytes_ / 1e6:.0f}" for kind, bytes_ in kinds.items())
    print(
        f"cache: {size / 1e6:.0f} MB ({parts}), {size / flac:.1f} times the {flac / 1e6:.1f} MB of the speech as FLAC; "
        f"at most {most / 1e6:.0f} MB, {most / flac:.1f} times"
    )


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder, in which others may write and remove."""
    size = 0
    for home, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                size += Path(home, name).stat().st_size
    return size


def main() -> None:
    """Audit speech for some minutes, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--corpus", type=Path, help="instead of made-up speech")
    parser.add_argument("--people", type=int, default=250)
    parser.add_argument("--utterances", type=int, default=8)
    parser.add_argument("--protect", default=_DRAWN, metavar="NAME")
    parser.add_argument("--effort", default="full")
    parser.add_argument("--draws", type=int)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--minutes", type=float, default=8.0)
    options = parser.parse_args()
    deadline, kept = time.monotonic() + 60.0 * options.minutes, options.work / "measured.json"
    options.work.mkdir(parents=True, exist_ok=True)
    measured = Measured.read(kept)
    measured.calls += 1
    code, corpus = 0, options.corpus or options.work / "speech" / "original"
    out, cache = options.work / "audit", options.work / "audit" / "cache"
    made = [str(_ROOT / "scripts" / "make_speech.py"), str(options.work / "speech")]
    made += ["--people", str(options.people), "--utterances", str(options.utterances)]
    if options.corpus is None and _CORPUS not in measured.stages:
        code = watch(made, measured, float("inf"), lambda: 0.0, cache)
    if not code and not measured.finished:
        command = ["audit", str(corpus), "--protect", options.protect, "--effort", options.effort, "-o", str(out)]
        command += ["--recogniser", "none"]
        command += [] if options.draws is None else ["--draws", str(options.draws)]
        command += ["--workers", str(options.workers)] if options.workers else []
        with watched_gpu() as gpu_seconds:
            code = watch(command, measured, deadline, gpu_seconds, cache)
        measured.finished = code == 0
    kept.write_text(json.dumps(asdict(measured), indent=1))
    print_table(measured, corpus, cache)
    sys.exit(0 if measured.finished or time.monotonic() > deadline else code)


if __name__ == "__main__":
    main()
