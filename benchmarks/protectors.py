"""The time of each voice protector over that of `mcadams`, in the same run.

    python benchmarks/protectors.py [WAVE] [--repeats 20]

WAVE is an audio file of one channel; without it, 2.6 s of a synthetic voice at 16 kHz are protected. All take turns and
the best of each counts. The first call is made in a fresh process, after all that comes with the protector is
imported; it shows what is imported or prepared only then.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
from timing import best_of_each

from zeroevidence.data.speech.audio import load_audio
from zeroevidence.protect import load_protector
from zeroevidence.protect.voices import VOICE_PROTECTORS

RATE, SECONDS, FLOOR = 16_000, 2.6, "mcadams"


@dataclass(frozen=True)
class Spoken:
    """What a protector may draw by."""

    id: str = "u1"
    speaker: str = "ada"


def voice():
    """Pulses of a gliding pitch through a slowly moving resonance, with pauses and a little noise."""
    rng = np.random.default_rng(0)
    time_axis = np.arange(int(RATE * SECONDS)) / RATE
    phase = 2.0 * np.pi * np.cumsum(120.0 + 30.0 * np.sin(2.0 * np.pi * time_axis)) / RATE
    wave = sum(np.cos(k * phase) / k ** (1.0 + 0.3 * np.sin(3.0 * time_axis)) for k in range(1, 30))
    wave = wave * (np.sin(2.0 * np.pi * 1.5 * time_axis) > -0.7) + 0.01 * rng.normal(size=len(wave))
    return (0.3 * wave / np.abs(wave).max()).astype(np.float32)


def names():
    """One spelling of each kind; what a program of the user's takes is the program's."""
    return [kind.spellings[0].text for kind in VOICE_PROTECTORS.values() if kind.name != "command"]


def first_call(name, file):
    """Seconds of the first call in this process."""
    protector, wave = load_protector(name), voice() if file is None else load_audio(file, RATE)
    start = time.perf_counter()
    protector(wave, RATE, Spoken())
    return time.perf_counter() - start


def in_fresh_process(name, file, repeats):
    """The shortest first call."""
    command = [sys.executable, __file__, "--first", name, *([file] if file else [])]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(repeats))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wave", nargs="?")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--first", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.first:
        print(first_call(options.first, options.wave))
        return
    wave = voice() if options.wave is None else load_audio(options.wave, RATE)
    protectors = {name: load_protector(name) for name in names()}
    calls = {name: lambda one=one: one(wave, RATE, Spoken()) for name, one in protectors.items()}
    times = best_of_each(calls, options.repeats)
    floor, seconds = times[FLOOR], len(wave) / RATE
    print(f"{FLOOR}: {1e3 * floor:.1f} ms for {seconds:.1f} s of speech, {seconds / floor:.0f} times real time")
    print(f"| protector | times {FLOOR} | first call, times {FLOOR} |")
    print("| --- | ---: | ---: |")
    for name, taken in times.items():
        first = in_fresh_process(name, options.wave, 3)
        print(f"| `{name}` | {taken / floor:.2f} | {first / floor:.2f} |", flush=True)


if __name__ == "__main__":
    main()
