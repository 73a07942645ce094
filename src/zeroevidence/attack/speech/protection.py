"""Protection of waveforms before they are embedded, with a cache."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from zeroevidence.attack.speech.array_store import LARGEST, LimitedStore, array_key
from zeroevidence.data.speech.audio import is_silent
from zeroevidence.data.speech.corpus import Utterance
from zeroevidence.data.speech.mixing import Wave
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


@dataclass(frozen=True, slots=True)
class RepeatedTransform:
    """A voice transform that is run several times on a recording, with another seed in each draw.

    Parameters
    ----------
    transforms
        The transform of each draw, that of the release first.
    draws
        The number of the draw that a recording belongs to and the identifier that the transform draws by, both by the
        recording's own identifier; recordings that are not named belong to the release.
    """

    transforms: Sequence[VoiceTransform]
    draws: Mapping[str, tuple[int, str]]

    @property
    def fingerprint(self) -> str:
        """That of the release; further draws differ in the identifiers of their recordings."""
        return self.transforms[0].fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform of a recording, in the draw that it belongs to."""
        number, name = self.draws.get(utterance.id, (0, utterance.id))
        return self.transforms[number](wave, rate, replace(utterance, id=name))


class CachedTransform:
    """A voice transform that is computed once for each recording, however many encoders embed it.

    Parameters
    ----------
    transform
        The transform.
    folder
        Where waveforms are cached.
    most
        Bytes that may be cached, as in `LimitedStore`; of longer speech the rest is protected anew whenever it is asked
        for.
    """

    def __init__(self, transform: VoiceTransform, folder: Path, most: int = LARGEST) -> None:
        self.transform = transform
        self._store = LimitedStore(folder, 1, most)

    def __reduce__(self) -> tuple[type[CachedTransform], tuple[VoiceTransform, Path, int]]:
        """Send what another process needs: the transform and the folder."""
        return CachedTransform, (self.transform, self._store.folder.absolute(), self._store.most)

    @property
    def fingerprint(self) -> str:
        """That of the transform."""
        return self.transform.fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """Return the protected waveform."""
        key = array_key(wave, self.fingerprint, str(rate), utterance.id, utterance.speaker)
        cached = self._store.load(key)
        if cached is not None:
            return cached[:, 0]
        result = np.asarray(self.transform(wave, rate, utterance), np.float32)
        if result.ndim == 1:
            self._store.save(key, result[:, None])
        return result
