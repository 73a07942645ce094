"""Cues beside the voice: the registry of what remains about the speaker, scaled to one vector."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import BoolArray, FloatArray
from zeroevidence.attack.cues.speech_signal import SpeechSignal
from zeroevidence.registry import Registry

Measure: TypeAlias = Callable[[SpeechSignal], Sequence[float] | FloatArray]

_FARTHEST = 10.0  # spreads from the usual value: one odd recording must not outweigh all others


@dataclass(frozen=True, slots=True)
class Feature:
    """One number that is measured of an utterance."""

    name: str
    unit: str
    usual: float  # of read speech; also replaces a value that cannot be measured
    spread: float  # one standard deviation or so: brings features of all units to one scale


@dataclass(frozen=True, slots=True)
class Cue:
    """Features that belong together, so that an attacker can use them or leave them out."""

    name: str
    description: str
    features: tuple[Feature, ...]
    measure: Measure  # one value per feature; NaN where it cannot be measured


CUES: Registry[Cue] = Registry("cue", package="zeroevidence.attack.cues", order=lambda cue: cue.name)


def find_cues(names: Iterable[str]) -> tuple[Cue, ...]:
    """Return the cues of these names in alphabetical order, each once."""
    return tuple(CUES.find(name) for name in sorted(set(names)))


def cue_columns(names: Collection[str]) -> BoolArray:
    """Return which entries of a vector of all cues are of these."""
    return np.concatenate([np.full(len(cue.features), cue.name in names) for cue in CUES.values()])


def cue_values(wave: NDArray[Any], *names: str) -> dict[str, dict[str, float]]:
    """Return the values of an utterance at 16 kHz by cue and feature, in the units of the features.

    Parameters
    ----------
    wave
        One channel, in [-1, 1].
    names
        Names of cues; by default all. A value that cannot be measured (the pitch of a whisper) is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.attack.cues import cue_values
    >>> tone = 0.5 * np.sin(2 * np.pi * 200 * np.arange(16000) / 16000)
    >>> values = cue_values(tone, "level", "pitch")
    >>> round(values["level"]["level"], 2)
    -9.03
    >>> round(float(np.exp(values["pitch"]["median"])), 1)
    200.0
    """
    signal = SpeechSignal(wave)
    return {
        cue.name: dict(zip((feature.name for feature in cue.features), _measure(cue, signal).tolist(), strict=True))
        for cue in find_cues(names or CUES)
    }


def cue_vector(wave: NDArray[Any], cues: Sequence[Cue]) -> NDArray[np.float32]:
    """Return the features of cues in one vector, as deviations from usual values in spreads, at most ten.

    A value that cannot be measured becomes zero, its usual value. So every vector is finite.
    """
    signal = SpeechSignal(wave)
    values = np.concatenate([_measure(cue, signal) for cue in cues])
    usual, spread = np.array([(feature.usual, feature.spread) for cue in cues for feature in cue.features]).T
    scaled = np.nan_to_num((values - usual) / spread, nan=0.0, posinf=_FARTHEST, neginf=-_FARTHEST)
    return np.asarray(np.clip(scaled, -_FARTHEST, _FARTHEST), np.float32)


def _measure(cue: Cue, signal: SpeechSignal) -> NDArray[np.float64]:
    values = np.asarray(cue.measure(signal), np.float64)
    if values.shape != (len(cue.features),):
        raise ValueError(f"{cue.name}: measured {values.shape}, registered {len(cue.features)} features")
    return values
