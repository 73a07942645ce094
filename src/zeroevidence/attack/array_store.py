"""Arrays kept on disk by what they were computed from, protected waveforms among them."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from zeroevidence.data.audio import is_silent
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.waves import Wave
from zeroevidence.data.writing import TEMPORARY_PREFIX
from zeroevidence.errors import InputError

Array = NDArray[np.float32]

LARGEST = 8 << 30  # bytes of a limited store
_CHECK = hashlib.sha256().digest_size


def array_key(wave: NDArray[Any], *parts: str) -> str:
    """Return the key of what is computed from a waveform: the sha256 of `parts`, such as fingerprints, and samples."""
    text = "\0".join([*parts, ""])
    return hashlib.sha256(text.encode() + np.asarray(wave, "<f4").tobytes()).hexdigest()


class ArrayStore:
    """A folder of arrays of `dim` columns and any number of rows by key, as `array_key` makes them."""

    def __init__(self, folder: Path, dim: int) -> None:
        self.folder, self.dim = folder, dim

    def _file(self, key: str) -> Path:
        return self.folder / key[:2] / key[2:]

    def load(self, key: str) -> Array | None:
        """Return the array, rows x columns, or None where there is no complete one."""
        try:
            data = self._file(key).read_bytes()
        except OSError:
            return None
        check, body = data[:_CHECK], data[_CHECK:]
        if not body or len(body) % (4 * self.dim) or hashlib.sha256(body).digest() != check:
            return None
        return np.frombuffer(body, "<f4").astype(np.float32).reshape(-1, self.dim)

    def save(self, key: str, array: Array) -> None:
        """Store an array.

        Raises
        ------
        OSError
            Naming the folder, when it cannot be written.
        """
        file = self._file(key)
        body = array.astype("<f4", copy=False).tobytes()
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(prefix=TEMPORARY_PREFIX, dir=file.parent)
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(body).digest() + body)
                Path(name).replace(file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError as error:
            raise OSError(error.errno, f"vectors cannot be stored: {error.strerror}", str(self.folder)) from None


class LimitedStore(ArrayStore):
    """A store of arrays that can be computed again: it takes them as long as there is room.

    Parameters
    ----------
    folder
        The folder.
    dim
        Columns of each array.
    most
        Bytes that it may hold, what is there included; half of the free disk is never exceeded.
    """

    def __init__(self, folder: Path, dim: int, most: int = LARGEST) -> None:
        super().__init__(folder, dim)
        self._lock = threading.Lock()
        self._used = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        home = folder.absolute()
        there = next(each for each in (home, *home.parents) if each.exists())
        self.most = min(most, self._used + shutil.disk_usage(there).free // 2)

    def save(self, key: str, array: Array) -> None:
        """Store an array if there is room."""
        with self._lock:
            fits = self._used + array.nbytes <= self.most
            self._used += array.nbytes if fits else 0
        if fits:
            with suppress(OSError):  # a full disk is no reason to stop
                super().save(key, array)


class EncoderOutputs:
    """Outputs of an encoder by the digest of the features, as `frames_digest` gives it.

    They are the output of its trunk and the embedding. An encoder that is fine-tuned behind its trunk begins with both,
    and shares the first with the encoder that it came from, so they are computed once for each recording.

    Parameters
    ----------
    folder
        The folder, which encoders may share.
    fingerprint
        Fingerprint of the encoder.
    channels
        Number of channels of its trunk.
    dim
        Dimensions of its embeddings.
    """

    def __init__(self, folder: Path, fingerprint: str, channels: int, dim: int) -> None:
        self._fingerprint = fingerprint
        self._frames, self._vectors = LimitedStore(folder / "frames", channels), ArrayStore(folder / "vectors", dim)

    def frames(self, digest: NDArray[np.uint8]) -> Array | None:
        """Return the output of the trunk, frames x channels, or None where it is not known."""
        return self._frames.load(self._key(digest))

    def vector(self, digest: NDArray[np.uint8]) -> Array | None:
        """Return the embedding, or None where it is not known."""
        stored = self._vectors.load(self._key(digest))
        return None if stored is None else stored[0]

    def save_frames(self, digest: NDArray[np.uint8], frames: Array) -> None:
        """Keep the output of the trunk."""
        self._frames.save(self._key(digest), frames)

    def save_vector(self, digest: NDArray[np.uint8], vector: Array) -> None:
        """Keep an embedding."""
        self._vectors.save(self._key(digest), vector[None])

    def _key(self, digest: NDArray[np.uint8]) -> str:
        return hashlib.sha256(self._fingerprint.encode() + b"\0" + digest.tobytes()).hexdigest()


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
