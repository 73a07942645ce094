"""Recordings of people, each in a folder of their own."""

from pathlib import Path

import numpy as np

RATE = 16_000


def _write(folder: Path, person: str, number: int, wave: np.ndarray) -> None:
    from zeroevidence.data.audio import write_audio

    (folder / person).mkdir(parents=True, exist_ok=True)
    write_audio(folder / person / f"{person}_{number}.wav", wave, RATE)


def write_noise(folder: Path, people: int, each: int, samples: int) -> Path:
    """Write so many recordings of each person, all of them noise, and return their folder."""
    for person in range(people):
        for number in range(each):
            _write(folder, f"p{person}", number, 0.1 * np.random.default_rng([person, number]).normal(size=samples))
    return folder


def write_voices(folder: Path, people: int, each: int = 4) -> Path:
    """Write so many recordings of each person, all with a pitch and a timbre of their own, and return their folder."""
    rng = np.random.default_rng(0)
    time = np.arange(RATE // 4) / RATE
    for person in range(people):
        pitch, tilt = 90 + 9 * person, rng.uniform(0.4, 0.9)
        for number in range(each):
            harmonics = sum(tilt**h * np.sin(2 * np.pi * pitch * h * time + rng.uniform(0, 6)) for h in range(1, 9))
            _write(folder, f"p{person:02d}", number, 0.1 * harmonics + 0.01 * rng.normal(size=len(time)))
    return folder
