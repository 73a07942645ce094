"""The check utterance of `zeroevidence models check`, and the embeddings that encoders must give of it.

    python scripts/make_encoder_check.py ENCODER=CARD ...

The utterance is synthetic, so that nobody's voice is in the package: a train of glottal pulses of falling pitch through
four resonances that move between vowels, hissing noise between them, pauses. ENCODER is a name under which cards refer
to the embedding, CARD anything that `load_extractor` takes.
"""

from __future__ import annotations

import json
import sys

import numpy as np
from scipy.signal import lfilter

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.onnx_runtime import EMBEDDINGS, UTTERANCE, check_wave
from zeroevidence.data.audio import write_audio

RATE, BLOCK = 16_000, 160
# Seconds, and the resonances in hertz at the end of each part; None is a hiss.
PARTS = [
    (0.35, (730, 1090, 2440, 3400)),
    (0.30, (270, 2290, 3010, 3600)),
    (0.12, None),
    (0.35, (300, 870, 2240, 3300)),
    (0.30, (530, 1840, 2480, 3500)),
    (0.12, None),
    (0.40, (570, 840, 2410, 3300)),
    (0.36, (660, 1720, 2410, 3400)),
]
WIDTHS = (80, 100, 140, 220)
PAUSE = 0.08


def resonated(signal: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Through one second-order resonance after the other, whose centres (blocks x resonances) move by block."""
    for column, width in enumerate(WIDTHS):
        state = np.zeros(2)
        radius = np.exp(-np.pi * width / RATE)
        out = np.empty_like(signal)
        for block, centre in enumerate(centres[:, column]):
            angle = 2.0 * np.pi * centre / RATE
            poles = [1.0, -2.0 * radius * np.cos(angle), radius**2]
            where = slice(block * BLOCK, (block + 1) * BLOCK)
            out[where], state = lfilter([sum(poles)], poles, signal[where], zi=state)
        signal = out
    return signal


def spoken() -> np.ndarray:
    rng = np.random.default_rng(0)
    at, phase, parts = np.array(PARTS[0][1], float), 0.0, []
    total = sum(seconds for seconds, _ in PARTS)
    passed = 0.0
    for seconds, wanted in PARTS:
        blocks = round(seconds * RATE / BLOCK)
        time = passed + np.arange(blocks * BLOCK) / RATE
        envelope = np.minimum(1.0, np.minimum(time - passed, passed + seconds - time) / 0.03).clip(0.0)
        if wanted is None:
            parts.append(0.03 * envelope * np.diff(rng.normal(size=len(time) + 1)))
        else:
            pitch = 145.0 - 35.0 * time / total + 3.0 * np.sin(2.0 * np.pi * 5.0 * time)
            turns = phase + np.cumsum(pitch) / RATE
            pulses = np.diff(np.floor(turns), prepend=np.floor(phase)) + 0.004 * rng.normal(size=len(time))
            phase = turns[-1]
            centres = at + (np.array(wanted) - at) * np.linspace(0.0, 1.0, blocks)[:, None]
            voice = resonated(lfilter([1.0], [1.0, -0.95], pulses), centres)
            parts.append(0.4 * envelope * voice / np.abs(voice).max())
            at = np.array(wanted, float)
        parts.append(np.zeros(round(PAUSE * RATE)))
        passed += seconds
    wave = np.concatenate(parts)
    return wave + 2e-4 * rng.normal(size=len(wave))


def main() -> None:
    write_audio(UTTERANCE, spoken(), RATE)
    vectors = {}
    for words in sys.argv[1:]:
        name, _, card = words.partition("=")
        model = load_extractor(card)
        vectors[name] = [float(f"{value:.7g}") for value in model.embed([check_wave(model.sample_rate)])[0]]
    EMBEDDINGS.write_text(json.dumps(vectors) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
