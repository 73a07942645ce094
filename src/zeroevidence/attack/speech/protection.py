"""Protection of waveforms before they are embedded, with a cache."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import numpy as np

from zeroevidence.attack.speech.array_store import ArrayStore, array_key
from zeroevidence.data.speech.audio import Wave, is_silent
from zeroevidence.data.speech.corpus import Utterance
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


_MOST = 1 << 30  # bytes of protected speech that are cached


class CachedTransform:
    """A voice transform that is computed once for each recording, however many encoders embed it.

    Parameters
    ----------
    transform
        The transform.
    folder
        Where waveforms are cached.
    most
        Bytes that may be cached; of longer speech the rest is protected anew whenever it is asked for.
    """

    def __init__(self, transform: VoiceTransform, folder: Path, most: int = _MOST) -> None:
        self.transform, self.most = transform, most
        self._store, self._used, self._lock = ArrayStore(folder, 1), 0, threading.Lock()

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
        with self._lock:
            fits = result.ndim == 1 and self._used + result.nbytes <= self.most
            self._used += result.nbytes if fits else 0
        if fits:
            with suppress(OSError):  # a full disk is no reason to stop
                self._store.save(key, result[:, None])
        return result


@contextmanager
def cached_transform(transform: VoiceTransform | None) -> Iterator[VoiceTransform | None]:
    """Yield a transform with a cache in a temporary folder, which is deleted after the block."""
    if transform is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="zeroevidence-") as folder:
        yield CachedTransform(transform, Path(folder))
