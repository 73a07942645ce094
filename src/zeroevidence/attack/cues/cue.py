"""The table of cues: what each measures, and how a measured value becomes a number between others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.attack.cues.speech_signal import SpeechSignal
from zeroevidence.registry import Registry

Measure: TypeAlias = Callable[[SpeechSignal], Sequence[float] | FloatArray]

_FARTHEST = 10.0  # spreads from the usual value: one odd recording must not outweigh all others


@dataclass(frozen=True, slots=True)
class Feature:
    """One number that is measured of an utterance."""

    name: str
    unit: str
    usual: float  # of read speech; also what stands for a value that an utterance does not tell
    spread: float  # one standard deviation or so: brings features of all units to one scale


@dataclass(frozen=True, slots=True)
class Cue:
    """Features that belong together, so that an attacker can use them or leave them out."""

    name: str
    words: str  # one line: what it measures
    features: tuple[Feature, ...]
    measure: Measure  # one value per feature; NaN where the utterance does not tell


CUES: Registry[Cue] = Registry("cue", package="zeroevidence.attack.cues", order=lambda cue: cue.name)


def find_cues(names: Iterable[str]) -> tuple[Cue, ...]:
    """The entries of these names, in the order of the table, each once."""
    return tuple(sorted({CUES.find(name) for name in sorted(set(names))}, key=lambda cue: cue.name))


def cue_values(wave: NDArray[Any], *names: str) -> dict[str, dict[str, float]]:
    """What an utterance at 16 kHz tells, by cue and feature, in the units of the features.

    Parameters
    ----------
    wave
        One channel, in [-1, 1].
    names
        Of cues; all of them unless given. A value that the utterance does not tell (the pitch of a whisper) is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.attack.cues.cue import cue_values
    >>> tone = 0.5 * np.sin(2 * np.pi * 200 * np.arange(16000) / 16000)
    >>> values = cue_values(tone, "level", "pitch")
    >>> round(values["level"]["level"], 2)
    -9.03
    >>> round(float(np.exp(values["pitch"]["median"])), 1)
    200.0
    """
    sound = SpeechSignal(wave)
    return {
        cue.name: dict(zip((one.name for one in cue.features), _measured(cue, sound).tolist(), strict=True))
        for cue in find_cues(names or CUES)
    }


def cue_vector(wave: NDArray[Any], cues: Sequence[Cue]) -> NDArray[np.float32]:
    """The features of cues in one vector: over their spreads, from their usual values, at most ten spreads away.

    A value that the utterance does not tell becomes zero, its usual value. So every vector is finite.
    """
    sound = SpeechSignal(wave)
    parts = []
    for cue in cues:
        usual = np.array([one.usual for one in cue.features])
        spread = np.array([one.spread for one in cue.features])
        parts.append((_measured(cue, sound) - usual) / spread)
    scaled = np.nan_to_num(np.concatenate(parts), nan=0.0, posinf=_FARTHEST, neginf=-_FARTHEST)
    return np.asarray(np.clip(scaled, -_FARTHEST, _FARTHEST), np.float32)


def _measured(cue: Cue, sound: SpeechSignal) -> NDArray[np.float64]:
    values = np.asarray(cue.measure(sound), np.float64)
    if values.shape != (len(cue.features),):
        raise ValueError(f"{cue.name}: measured {values.shape}, registered {len(cue.features)} features")
    return values
