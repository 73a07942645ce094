"""Protection between a file and what looks at it."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from zeroevidence.attack.extractors import Wave
from zeroevidence.data.audio import is_silent
from zeroevidence.data.speech import Utterance
from zeroevidence.errors import InputError


class Transform(Protocol):
    """A voice protector, deterministic: the same wave, rate and utterance give the same samples.

    `fingerprint` holds everything else that they depend on: method, parameters, seed.
    """

    @property
    def fingerprint(self) -> str:
        """Method, parameters and seed in one word."""
        ...

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """The protected waveform, at the same rate."""
        ...


def protected(wave: Wave, rate: int, utterance: Utterance, transform: Transform | None) -> Wave:
    """A waveform after protection, if any; refused where nothing is left of it."""
    if transform is None:
        return wave
    result = np.asarray(transform(wave, rate, utterance), np.float32)
    if result.ndim != 1 or not result.size or not np.isfinite(result).all() or is_silent(result):
        raise InputError("is silent or not finite after protection", path=utterance.path)
    return result
