"""Protection between a file and what looks at it."""

from __future__ import annotations

import hashlib
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

import numpy as np

from zeroevidence.attack.extractors.extractor import Wave
from zeroevidence.attack.speech.array_store import FrameStore
from zeroevidence.data.speech.audio import is_silent
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


def protected(wave: Wave, rate: int, utterance: Utterance, transform: VoiceTransform | None) -> Wave:
    """A waveform after protection, if any; refused where nothing is left of it."""
    if transform is None:
        return wave
    result = np.asarray(transform(wave, rate, utterance), np.float32)
    if result.ndim != 1 or not result.size or not np.isfinite(result).all() or is_silent(result):
        raise InputError("is silent or not finite after protection", path=utterance.path)
    return result


_MOST = 1 << 30  # bytes of protected speech that are kept


class CachedTransform:
    """A protector that is asked once for each recording, however many encoders hear it.

    Parameters
    ----------
    transform
        The protector.
    folder
        Where waveforms are kept.
    most
        Bytes that may be kept; of longer speech the rest is protected anew whenever it is asked for.
    """

    def __init__(self, transform: VoiceTransform, folder: Path, most: int = _MOST) -> None:
        self.transform, self.most = transform, most
        self._store, self._held, self._lock = FrameStore(folder, 1), 0, threading.Lock()

    @property
    def fingerprint(self) -> str:
        """That of the protector."""
        return self.transform.fingerprint

    def __call__(self, wave: Wave, rate: int, utterance: Utterance) -> Wave:
        """The protected waveform."""
        words = (self.fingerprint, str(rate), utterance.id, utterance.speaker, "")
        key = hashlib.sha256("\0".join(words).encode() + np.asarray(wave, "<f4").tobytes()).hexdigest()
        known = self._store.load(key)
        if known is not None:
            return known[:, 0]
        made = np.asarray(self.transform(wave, rate, utterance), np.float32)
        with self._lock:
            fits = made.ndim == 1 and self._held + made.nbytes <= self.most
            self._held += made.nbytes if fits else 0
        if fits:
            with suppress(OSError):  # a full disk is no reason to stop
                self._store.save(key, made[:, None])
        return made


@contextmanager
def cached_transform(transform: VoiceTransform | None) -> Iterator[VoiceTransform | None]:
    """The protector with a memory, in a temporary folder that is gone after the block."""
    if transform is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="zeroevidence-") as folder:
        yield CachedTransform(transform, Path(folder))
