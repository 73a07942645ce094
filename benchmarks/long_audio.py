"""Time and memory of reading hours of speech in one file, as a Markdown table.

python benchmarks/long_audio.py SPEECH [--hours 3] [--rate 44100]

SPEECH is a folder of recordings, which are written one after the other, as often as it takes, to one file at the rate
asked for. Each step runs in a process of its own; memory is the largest that it had, beyond that of a process which
has only imported what the step imports.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

import numpy as np
import soundfile
import soxr

from zeroevidence.data.audio import load_audio
from zeroevidence.data.corpus import SUFFIXES

STEPS = {
    "nothing": "None",
    "ten seconds in the middle": "load_audio(path, start=middle, end=middle + 160_000)",
    "ten seconds at the end": "load_audio(path, start=2 * middle - 160_000)",
    "its facts (`doctor`)": "inspect_audio(path)",
    "all of it, at 16 kHz": "load_audio(path)",
}
PROCESS = """
import json, resource, sys, time
import numpy, soundfile, soxr
from zeroevidence.data.audio import read_header, inspect_audio, load_audio

path = sys.argv[1]
rate, seconds, *_ = read_header(path)
middle = int(seconds / 2 * 16_000)
start = time.perf_counter()
{step}
seconds = time.perf_counter() - start
print(json.dumps({{"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}}))
"""


def recordings(folder: Path) -> Iterator[np.ndarray]:
    """Yield the waveforms of a folder at 16 kHz, again and again."""
    files = sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES)
    if not files:
        raise SystemExit(f"{folder}: no audio")
    for file in cycle(files):
        yield load_audio(file)


def write_hours(folder: Path, path: Path, hours: float, rate: int) -> None:
    """Write so many hours of speech to one file."""
    resampler = soxr.ResampleStream(16_000, rate, 1, dtype="float32")
    with soundfile.SoundFile(path, "w", rate, 1, subtype="PCM_16") as target:
        for wave in recordings(folder):
            target.write(np.clip(resampler.resample_chunk(wave), -1.0, 1.0))
            if target.tell() >= hours * 3600 * rate:
                return


def measured(step: str, path: Path) -> dict[str, float]:
    """Return seconds and peak memory of a step in a process of its own."""
    command = [sys.executable, "-c", PROCESS.format(step=step), str(path)]
    found: dict[str, float] = json.loads(subprocess.check_output(command, text=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("speech", type=Path)
    parser.add_argument("--hours", type=float, default=3.0)
    parser.add_argument("--rate", type=int, default=44_100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.wav"
        write_hours(options.speech, path, options.hours, options.rate)
        found = {name: measured(step, path) for name, step in STEPS.items()}
    floor = found.pop("nothing")["peak"]
    print(f"| of {options.hours:g} h at {options.rate} Hz | time | memory |")
    print("| --- | ---: | ---: |")
    for name, cost in found.items():
        print(f"| {name} | {cost['seconds']:.2f} s | {(cost['peak'] - floor) / 1e6:.0f} MB |")


if __name__ == "__main__":
    main()
