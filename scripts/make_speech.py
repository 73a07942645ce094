"""Make a small corpus of made-up voices, as recorded and as an anonymiser would write it, to try an audit on.

    python scripts/make_speech.py FOLDER [--people 12] [--utterances 4] [--shared voice room]

Writes FOLDER/original and FOLDER/anonymised. A voice is a pitch, the resonances of a vocal tract of some length and a
habit of pausing; an utterance is two rows of vowels with pauses around them. A room is noise with a spectrum,
reverberation, hum, a level and a constant offset. What the recordings of a person share is named by `--shared`: the
voice, the room or both; the other is drawn anew for every recording. It is no speech that anybody spoke, so it shows
that an audit runs, and nothing about any protection.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.signal import fftconvolve, lfilter

from zeroevidence.data.audio import write_audio
from zeroevidence.data.corpus import Utterance
from zeroevidence.protect.voices import load_protector

RATE = 16_000
VOWELS = 3  # in a row
FORMANTS = np.array([[700, 1200, 2600], [300, 2200, 3000], [400, 800, 2500], [500, 1800, 2500], [350, 700, 2400]])


@dataclass(frozen=True)
class Voice:
    """A made-up voice."""

    pitch: float  # Hz
    tract: float  # length over that of the formants
    pause: float  # seconds

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Voice:
        """Draw a voice."""
        return cls(rng.uniform(90.0, 240.0), rng.uniform(0.85, 1.2), rng.uniform(0.25, 0.5))

    def speak(self, rng: np.random.Generator) -> np.ndarray:
        """Return two rows of vowels with a pause before, between and after them, at a mean square of 1 in vowels."""
        said = rng.integers(0, len(FORMANTS), (2, VOWELS))
        rows = [np.concatenate([vowel(self.pitch, self.tract, FORMANTS[which], rng) for which in row]) for row in said]
        pauses = [np.zeros(round(RATE * self.pause * rng.uniform(0.7, 1.3))) for _ in range(3)]
        wave = np.concatenate([pauses[0], rows[0], pauses[1], rows[1], pauses[2]])
        return wave / np.sqrt(np.mean(np.concatenate(rows) ** 2))


@dataclass(frozen=True)
class Room:
    """A made-up room with its recorder."""

    level: float  # dB of full scale, of speech
    noise: float  # dB below speech
    colour: float  # pole of the noise
    resonance: float  # Hz, of the noise
    hum: float  # dB of the noise
    mains: float  # Hz
    reverberation: float  # seconds to -60 dB
    offset: float  # of full scale

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Room:
        """Draw a room."""
        return cls(
            rng.normal(-24.0, 4.0),
            rng.normal(38.0, 5.0),
            rng.uniform(-0.3, 0.9),
            rng.uniform(200.0, 6000.0),
            rng.normal(-10.0, 6.0),
            rng.choice([50.0, 60.0]),
            rng.uniform(0.1, 0.4),
            rng.normal(0.0, 2e-4),
        )

    def record(self, wave: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return speech as recorded in this room, in 16 bits."""
        at = np.arange(round(RATE * self.reverberation)) / RATE
        tail = 0.02 * rng.normal(size=len(at)) * 10.0 ** (-3.0 * at / self.reverberation)
        tail[0] = 1.0
        speech = fftconvolve(wave, tail)[: len(wave)]
        radius = 0.9
        noise = lfilter([1.0], [1.0, -self.colour], rng.normal(size=len(wave)))
        angle = 2.0 * np.pi * self.resonance / RATE
        noise = noise + 0.3 * lfilter([1.0], [1.0, -2.0 * radius * np.cos(angle), radius**2], noise)
        phase = 2.0 * np.pi * self.mains * np.arange(len(wave)) / RATE + rng.uniform(0.0, 2.0 * np.pi)
        noise = noise / noise.std() + 10.0 ** (self.hum / 20.0) * (np.sin(phase) + 0.5 * np.sin(2.0 * phase))
        sound = 10.0 ** (self.level / 20.0) * (speech + 10.0 ** (-self.noise / 20.0) * noise) + self.offset
        return (np.clip(np.round(sound * 32768.0), -32768, 32767) / 32768.0).astype(np.float32)


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


def make_recordings(
    people: int, utterances: int, shared: tuple[str, ...], rng: np.random.Generator
) -> list[tuple[str, str, np.ndarray]]:
    """Return speaker, name and waveform of recordings that share the voice, the room or both within people."""
    recordings = []
    for person in range(people):
        name = f"p{person:03d}"
        voice, room = Voice.draw(rng), Room.draw(rng)
        for number in range(utterances):
            voice = voice if "voice" in shared else Voice.draw(rng)
            room = room if "room" in shared else Room.draw(rng)
            recordings.append((name, f"{name}_{number}", room.record(voice.speak(rng), rng)))
    return recordings


def main() -> None:
    """Write both folders."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--people", type=int, default=12)
    parser.add_argument("--utterances", type=int, default=4)
    parser.add_argument("--shared", nargs="*", choices=["voice", "room"], default=["voice"])
    options = parser.parse_args()
    protect = load_protector("mcadams", seed=0)
    made = make_recordings(options.people, options.utterances, tuple(options.shared), np.random.default_rng(0))
    for speaker, name, wave in made:
        original, anonymised = (options.folder / side / speaker / f"{name}.wav" for side in ("original", "anonymised"))
        for place, sound in ((original, wave), (anonymised, protect(wave, RATE, Utterance(name, speaker, original)))):
            place.parent.mkdir(parents=True, exist_ok=True)
            write_audio(place, sound, RATE)


if __name__ == "__main__":
    main()
