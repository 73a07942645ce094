"""Time, memory and use of the GPU of a training on so many recordings, reading included.

    python benchmarks/training_size.py WORK --recordings 1000 10000 100000 [--epochs 2] [--device cuda]

Makes noise that is coloured like voices, 4 seconds a recording on average, as links to at most 500 files, and trains
the encoder on it by `train_attacker`. The same runs as `benchmarks/trained_attacker.py time`. Each row has the seconds
of every phase, the cost of an epoch per recording, the most memory that the processes took together (proportional set
size, so that what they share counts once) and that the GPU took, and how much of the time a kernel ran on the GPU in
epochs and in passes over whole utterances.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

RATE = 16_000
FILES = 500
PER_PERSON = 20
QUERY = ["nvidia-smi", "--query-gpu=utilization.gpu,memory.used", "--format=csv,noheader,nounits", "-lms", "200"]


def make_speech(folder: Path, recordings: int) -> Path:
    """Write as many recordings, most of them as links."""
    import soundfile

    corpus = folder / f"speech-{recordings}"
    if corpus.exists():
        return corpus
    rng = np.random.default_rng(0)
    files = min(FILES, recordings)
    pool = folder / "files"
    pool.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        path = pool / f"{number:04d}.wav"
        if path.exists():
            continue
        samples = int(RATE * rng.uniform(1.5, 6.5))
        spectrum = np.fft.rfft(rng.normal(size=samples))
        colour = np.interp(np.linspace(0, 1, len(spectrum)), np.linspace(0, 1, 12), rng.normal(size=12))
        wave = np.fft.irfft(spectrum * np.exp(2 * colour), samples)
        wave *= 1 + 0.9 * np.sin(2 * np.pi * 4 * np.arange(samples) / RATE)
        soundfile.write(path, 0.5 * wave / np.abs(wave).max(), RATE, subtype="PCM_16")
    corpus.mkdir()
    for number in range(recordings):
        person = corpus / f"p{number // PER_PERSON:05d}"
        person.mkdir(exist_ok=True)
        (person / f"{person.name}-{number % PER_PERSON:03d}.wav").symlink_to(
            (pool / f"{number % files:04d}.wav").absolute()
        )
    return corpus


class Monitor:
    """Samples memory and the use of the GPU while it runs, and notes phases."""

    def __init__(self) -> None:
        self.host = self.gpu = 0.0  # most, in GB
        self.seconds: dict[str, float] = defaultdict(float)
        self.busy: dict[str, list[float]] = defaultdict(list)
        self.now = ""
        self._stop = threading.Event()
        self._smi: subprocess.Popen[str] | None = None

    def __enter__(self) -> Monitor:
        self._threads = [threading.Thread(target=self._watch_host)]
        with suppress(OSError):
            self._smi = subprocess.Popen(QUERY, stdout=subprocess.PIPE, text=True)
            self._threads.append(threading.Thread(target=self._watch_gpu))
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._smi is not None:
            self._smi.terminate()
        for thread in self._threads:
            thread.join()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Context that counts to a phase; one within another counts to itself alone."""
        outer, start = self.now, time.perf_counter()
        self.now = name
        try:
            yield
        finally:
            spent = time.perf_counter() - start
            self.now = outer
            self.seconds[name] += spent
            if outer:
                self.seconds[outer] -= spent

    def _watch_host(self) -> None:
        while not self._stop.wait(0.5):
            with suppress(OSError):
                self.host = max(self.host, sum(map(_proportional, _tree(os.getpid()))) / 1e9)

    def _watch_gpu(self) -> None:
        assert self._smi is not None
        assert self._smi.stdout is not None
        for line in self._smi.stdout:
            with suppress(ValueError):
                use, memory = map(float, line.split(","))
                self.busy[self.now].append(use)
                self.gpu = max(self.gpu, memory * 2**20 / 1e9)

    def use(self, phase: str) -> str:
        """Return how busy the GPU was in a phase, without the samples at its ends."""
        samples = self.busy.get(phase, [])[1:-1]
        return f"{np.mean(samples):.0f} %" if samples else "-"


def _tree(process: int) -> list[int]:
    """Return a process and those that it started; the monitor of the GPU not."""
    found = [process]
    for parent in found:
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def _proportional(process: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return 1024.0 * float(line.split()[1])
    return 0.0


def measure(corpus: Path, folder: Path, *, epochs: int, device: str | None, scope: str | None, encoder: str) -> Monitor:
    """Train on a corpus, and return what was seen."""
    from zeroevidence.attack.training import TrainingSettings, attacker, loop
    from zeroevidence.attack.training.compute import EncoderPasses
    from zeroevidence.run import Run

    settings = TrainingSettings(epochs=epochs, scope=scope, look=epochs)
    shutil.rmtree(folder, ignore_errors=True)
    monitor = Monitor()
    watched = (
        (attacker, "read_features", "reading"),
        (attacker, "estimate_text", "estimate"),
        (loop.TrainingRun, "__init__", "set-up"),
        (EncoderPasses, "embed", "passes"),
        (loop.TrainingRun, "epoch", "epochs"),
        (loop.TrainingRun, "look", "looks"),
    )
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in watched]

    def timed(function, phase):
        def call(*arguments, **options):
            if monitor.now == "estimate" or (monitor.now in ("set-up", "looks") and phase != "passes"):
                return function(*arguments, **options)
            with monitor.phase(phase):
                return function(*arguments, **options)

        return call

    try:
        for (owner, name, function), (_, _, phase) in zip(before, watched, strict=True):
            setattr(owner, name, timed(function, phase))
        with monitor, monitor.phase("rest"):
            options = attacker.AttackerOptions(encoder, settings=settings)
            attacker.train_attacker(corpus, folder, options, run=Run(say=print, device=device))
    finally:
        for owner, name, function in before:
            setattr(owner, name, function)
    return monitor


def report(work: Path, recordings: list[int], **options) -> None:
    """Print a row for each number of recordings."""
    names = ("reading", "estimate", "set-up", "passes", "epochs", "looks", "rest")
    print(
        "| recordings | " + " | ".join(f"{name} [s]" for name in names) + " | all [s] | epoch [ms/recording] | "
        "host [GB] | GPU [GB] | busy in epochs | in passes |"
    )
    print("| ---: " * (len(names) + 7) + "|")
    for number in recordings:
        corpus = make_speech(work, number)
        seen = measure(corpus, work / "attacker", **options)
        learned = 0.75 * number * options["epochs"]
        cells = [f"{number}", *(f"{seen.seconds[name]:.1f}" for name in names), f"{sum(seen.seconds.values()):.1f}"]
        cells += [f"{1e3 * seen.seconds['epochs'] / learned:.2f}", f"{seen.host:.1f}", f"{seen.gpu:.1f}"]
        print(f"| {' | '.join(cells)} | {seen.use('epochs')} | {seen.use('passes')} |", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("--recordings", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--device")
    parser.add_argument("--scope", choices=("all", "last"))
    parser.add_argument("--encoder", default="campplus")
    arguments = vars(parser.parse_args())
    report(arguments.pop("work"), arguments.pop("recordings"), **arguments)


if __name__ == "__main__":
    main()
