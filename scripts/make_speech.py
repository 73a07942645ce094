"""Make a small corpus of made-up voices, as recorded and as an anonymiser would write it, to try an audit on.

    python scripts/make_speech.py FOLDER

Writes FOLDER/original and FOLDER/anonymised, a dozen people with four utterances each. A voice is a pitch and the
resonances of a vocal tract of some length; an utterance is a row of vowels. It is no speech that anybody spoke, so it
shows that an audit runs, and nothing about any protection.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.signal import lfilter

from zeroevidence.data.speech.audio import write_audio
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.protect.voices import load_protector

RATE = 16_000
PEOPLE, UTTERANCES, VOWELS = 12, 4, 6
FORMANTS = np.array([[700, 1200, 2600], [300, 2200, 3000], [400, 800, 2500], [500, 1800, 2500], [350, 700, 2400]])


def vowel(pitch: float, tract: float, formants: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A fifth of a second of one vowel: pulses through the resonances of a vocal tract."""
    samples = RATE // 5
    glide = pitch * (1.0 + 0.05 * np.sin(np.linspace(0.0, np.pi, samples) + rng.uniform(0.0, 1.0)))
    phase = np.cumsum(glide / RATE)
    sound = np.diff(np.floor(phase), prepend=0.0) + 0.01 * rng.normal(size=samples)
    for centre in formants / tract:
        radius = np.exp(-np.pi * 90.0 / RATE)
        sound = lfilter([1.0 - radius], [1.0, -2.0 * radius * np.cos(2.0 * np.pi * centre / RATE), radius**2], sound)
    return np.asarray(sound * np.hanning(samples))


def main(folder: str) -> None:
    """Write both folders."""
    rng = np.random.default_rng(0)
    protect = load_protector("mcadams", seed=0)
    for person in range(PEOPLE):
        name = f"p{person:02d}"
        pitch, tract = rng.uniform(90.0, 240.0), rng.uniform(0.85, 1.2)
        for number in range(UTTERANCES):
            said = rng.integers(0, len(FORMANTS), VOWELS)
            wave = np.concatenate([vowel(pitch, tract, FORMANTS[one], rng) for one in said])
            wave = (0.3 * wave / np.abs(wave).max()).astype(np.float32)
            places = [Path(folder) / side / name / f"{name}_{number}.wav" for side in ("original", "anonymised")]
            changed = protect(wave, RATE, Utterance(places[0].stem, name, places[0]))
            for place, sound in zip(places, (wave, changed), strict=True):
                place.parent.mkdir(parents=True, exist_ok=True)
                write_audio(place, sound, RATE)


if __name__ == "__main__":
    main(sys.argv[1])
