"""Transforms that protect a voice: run in several draws, and once for each recording."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from zeroevidence.data.audio import is_silent
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store, digest
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError


class VoiceTransform(Protocol):
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


def protect(wave: Wave, rate: int, utterance: Utterance, transform: VoiceTransform | None) -> Wave:
    """Return a waveform after protection, if any; refused where nothing is left of it."""
    if transform is None:
        return wave
    result = np.asarray(transform(wave, rate, utterance), np.float32)
    if result.ndim != 1 or not result.size or not np.isfinite(result).all() or is_silent(result):
        raise InputError("is silent or not finite after protection", path=utterance.path)
    return result


NAMED_DRAW = re.compile("(.+), draw ([0-9]+)", re.DOTALL)


def name_draw(name: str, number: int) -> str:
    """Return the identifier of a recording in a further draw of the anonymiser; the released one is the first."""
    return f"{name}, draw {number}"


@dataclass(frozen=True, slots=True)
class RepeatedTransform:
    """A voice transform that is run several times on a recording, with another seed in each draw.

    Parameters
    ----------
    transforms
        The transform of each draw, that of the release first.
    released
        Identifiers of released recordings that look like those of `name_draw`.
    """

    transforms: Sequence[VoiceTransform]
    released: frozenset[str] = frozenset()

    @property
    def fingerprint(self) -> str:
        """That of the release; further draws differ in the identifiers of their recordings."""
        return self.transforms[0].fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform of a recording, in the draw that it belongs to."""
        further = None if utterance.id in self.released else NAMED_DRAW.fullmatch(utterance.id)
        if further is None:
            return self.transforms[0](wave, rate, utterance)
        return self.transforms[int(further[2]) - 1](wave, rate, replace(utterance, id=further[1]))


@dataclass(frozen=True, slots=True)
class CachedTransform:
    """A voice transform that is computed once for each recording, however many encoders embed it.

    Parameters
    ----------
    transform
        The transform.
    store
        Keeps waveforms.
    """

    transform: VoiceTransform
    store: Store

    @property
    def fingerprint(self) -> str:
        """That of the transform."""
        return self.transform.fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform."""
        key = digest(self.fingerprint, str(rate), utterance.id, utterance.speaker, wave)
        return self.store.array(key, lambda: np.asarray(self.transform(wave, rate, utterance), np.float32))
