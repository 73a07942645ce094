"""Speech of the synthetic voices, and what the content encoder makes of it on the time axis of the voice to be learnt.

Every sentence is read by the target voice, and by all voices (the target's too) at other rates, sizes of the vocal
tract and pitches. The synthesiser says when each sound ends, so that frames of any reading can be laid over those
of the target. The network that learns from it hears many voices say what one voice says.
"""

from __future__ import annotations

import subprocess
import tempfile
import wave as wave_file
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from scipy.signal import butter, fftconvolve, firwin2, resample_poly, sosfilt

RATE = 16_000
HOP = 384  # samples of a frame of the content encoder
FIRST_CENTRE = 447  # samples: the middle of its first frame
STEP = 128  # samples of a frame of the decoder
WIDTH = 288
SILENCE = "pau"


@dataclass(frozen=True)
class Reading:
    """A sentence as one voice reads it, with the end of each sound in seconds."""

    wave: np.ndarray
    sounds: tuple[str, ...]
    ends: np.ndarray


def read_aloud(
    program: list[str], voice: str, text: str, stretch: float, pitch: float | None, spread: float | None
) -> Reading:
    """Let Flite read a text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "speech.wav"
        settings = ["--setf", f"duration_stretch={stretch:.3f}"]
        if pitch is not None:
            settings += ["--setf", f"int_f0_target_mean={pitch:.1f}"]
        if spread is not None:
            settings += ["--setf", f"int_f0_target_stddev={spread:.1f}"]
        command = [*program, "-psdur", "-voice", voice, *settings, "-t", text, "-o", str(path)]
        said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        with wave_file.open(str(path)) as file:
            assert file.getframerate() == RATE
            assert file.getnchannels() == 1
            samples = np.frombuffer(file.readframes(file.getnframes()), dtype=np.int16).astype(np.float32) / 32768
    pairs = [part.rsplit(":", 1) for part in said.split()]
    return Reading(samples, tuple(name for name, _ in pairs), np.array([float(end) for _, end in pairs]))


def load_encoder(path: Path) -> onnxruntime.InferenceSession:
    """Load the content encoder, on one thread: sentences are processed side by side."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def content(encoder: onnxruntime.InferenceSession, wave: np.ndarray) -> np.ndarray:
    """Return frames of features; frame k lies over samples 384 k to 384 (k + 1)."""
    frames = max(1, -(-len(wave) // HOP))
    before = FIRST_CENTRE - HOP // 2
    size = HOP * (frames - 1) + FIRST_CENTRE * 2 + 1
    padded = np.zeros(size, dtype=np.float32)
    padded[before : before + len(wave)] = wave[: size - before]
    mask = np.ones((1, size), dtype=np.int64)
    features = encoder.run(None, {"input_values": padded[None], "attention_mask": mask})[0][0]
    return features[:frames]


def change_size(reading: Reading, factor: float) -> Reading:
    """Play a reading faster: pitch and resonances rise by the factor, as those of a smaller person."""
    down = round(100 * factor)
    wave = resample_poly(reading.wave, 100, down).astype(np.float32)
    return Reading(wave, reading.sounds, reading.ends * 100 / down)


def change_room(wave: np.ndarray, source: np.random.Generator) -> np.ndarray:
    """Play speech in a room, with noise, to a device, each drawn; some hardly change it."""
    bands = np.linspace(0.0, 1.0, 9)
    gains = 10.0 ** (source.uniform(0.0, 10.0) * source.uniform(-1.0, 1.0, len(bands)) / 20)
    result = fftconvolve(wave, firwin2(129, bands, gains), "same")
    if source.random() < 0.5:
        decay = np.exp(-np.arange(2 * RATE // 5) / (RATE * source.uniform(0.01, 0.1)))
        echo = source.standard_normal(len(decay)) * decay
        echo[0] = source.uniform(3.0, 12.0)
        result = fftconvolve(result, echo)[: len(wave)]
    colour = firwin2(129, bands, 10.0 ** (source.uniform(-30.0, 10.0) * bands / 20))
    noise = fftconvolve(source.standard_normal(len(wave)), colour, "same")
    level = float(np.sqrt(np.mean(result**2) / np.mean(noise**2))) * 10 ** (-source.uniform(5.0, 45.0) / 20)
    result = result + level * noise
    if source.random() < 0.3:
        edges = (source.uniform(50.0, 350.0), source.uniform(3000.0, 7000.0))
        result = sosfilt(butter(3, edges, "bandpass", fs=RATE, output="sos"), result)
    result /= max(float(np.abs(result).max()), 1e-6)
    if source.random() < 0.15:
        largest = source.uniform(0.2, 0.8)
        result = np.clip(result, -largest, largest) / largest
    if source.random() < 0.15:  # 8 bits of a telephone
        logarithm = np.sign(result) * np.log1p(255.0 * np.abs(result)) / np.log(256.0)
        rounded = np.rint(127.0 * logarithm) / 127.0
        result = np.sign(rounded) * (256.0 ** np.abs(rounded) - 1.0) / 255.0
    return (result * source.uniform(0.1, 0.9)).astype(np.float32)


def lay_over(features: np.ndarray, reading: Reading, target: Reading) -> np.ndarray:
    """Return features of a reading on the time axis of the target, sound by sound."""
    frames = -(-len(target.wave) // HOP)
    times = (np.arange(frames) + 0.5) * HOP / RATE
    edges = [
        np.concatenate([[0.0], item.ends, [max(item.ends[-1], len(item.wave) / RATE) + 1.0]])
        for item in (target, reading)
    ]
    place = np.interp(times, edges[0], edges[1]) * RATE / HOP - 0.5
    place = np.clip(place, 0, len(features) - 1)
    low = np.minimum(place.astype(int), max(len(features) - 2, 0))
    high = np.minimum(low + 1, len(features) - 1)
    part = (place - low)[:, None]
    return (features[low] * (1 - part) + features[high] * part).astype(np.float16)


def track_pitch(wave: np.ndarray) -> np.ndarray:
    """Return the fundamental in hertz every 128 samples; without voice, the value between its neighbours."""
    size, lowest, highest = 1024, 90.0, 360.0
    frames = -(-len(wave) // STEP)
    padded = np.pad(wave, (size // 2, size + STEP))
    cut = np.lib.stride_tricks.sliding_window_view(padded, size)[::STEP][:frames]
    cut = (cut - cut.mean(1, keepdims=True)) * np.hanning(size)
    power = np.abs(np.fft.rfft(cut, 2 * size)) ** 2
    correlation = np.fft.irfft(power)[:, :size]
    window = np.fft.irfft(np.abs(np.fft.rfft(np.hanning(size), 2 * size)) ** 2)[:size]
    correlation = correlation / np.maximum(correlation[:, :1], 1e-9) / (window / window[0]).clip(0.05)
    first, last = int(RATE / highest), int(RATE / lowest)
    lag = correlation[:, first:last].argmax(1) + first
    strength = np.take_along_axis(correlation, lag[:, None], 1)[:, 0]
    energy = np.sqrt((cut**2).mean(1))
    voiced = (strength > 0.6) & (energy > 0.02 * energy.max())
    if not voiced.any():
        return np.full(frames, 180.0, dtype=np.float32)
    place = np.flatnonzero(voiced)
    return np.interp(np.arange(frames), place, RATE / lag[place]).astype(np.float32)


def prepare_sentence(
    text: str,
    seed: int,
    program: list[str],
    encoder: onnxruntime.InferenceSession,
    target: str,
    voices: list[str],
    copies: int,
) -> dict[str, np.ndarray] | None:
    """Return target waveform, its pitch and sounds, and the features of several readings of a sentence.

    The pitch of the target is drawn: as the voice speaks, flatter, or monotonous. So is its rate, down to that of
    people who read word by word.
    """
    source = np.random.default_rng(seed)
    spread = (None, None, 12.0, 0.0)[source.integers(4)]
    if source.random() < 0.3:
        text = " ".join(word + "," if source.random() < 0.3 else word for word in text.split())
    slow = 2.0 if source.random() < 0.5 else 1.2
    goal = read_aloud(program, target, text, source.uniform(0.75, slow), None, spread)
    variants = [lay_over(content(encoder, goal.wave), goal, goal)]
    for _ in range(copies):
        voice = voices[source.integers(len(voices))]
        if voice == target:
            reading = goal
        else:
            reading = read_aloud(program, voice, text, source.uniform(0.7, slow), None, source.uniform(5.0, 40.0))
        if reading.sounds != goal.sounds:
            reading = goal
        highest = 1.45 if voice != target else 1.25
        reading = change_size(reading, source.uniform(0.8, highest))
        reading = Reading(change_room(reading.wave, source), reading.sounds, reading.ends)
        variants.append(lay_over(content(encoder, reading.wave), reading, goal))
    frames = len(variants[0])
    times = (np.arange(frames) + 0.5) * HOP / RATE
    sound = np.minimum(np.searchsorted(goal.ends, times), len(goal.sounds) - 1)
    wave = np.pad(goal.wave, (0, frames * HOP - len(goal.wave)))
    return {
        "wave": np.clip(np.rint(wave * 32767), -32768, 32767).astype(np.int16),
        "pitch": track_pitch(wave).astype(np.float16),
        "sounds": np.array(goal.sounds)[sound],
        "features": np.stack(variants),
    }
