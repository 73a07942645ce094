"""What an encoder made of recordings, kept on disk: the output of its trunk, and the embedding.

An encoder that is fine-tuned behind its trunk begins with both, and shares the first with the encoder that it came
from. So they are computed once for each recording.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.speech.array_store import Array, ArrayStore, LimitedStore


@dataclass(frozen=True, slots=True)
class EncoderOutputs:
    """Outputs of an encoder by the digest of the features, as `frames_digest` gives it.

    Parameters
    ----------
    fingerprint
        That of the encoder.
    frames_store
        Output of the trunk, frames x channels.
    vector_store
        Embeddings.
    """

    fingerprint: str
    frames_store: LimitedStore
    vector_store: ArrayStore

    @classmethod
    def in_folder(cls, folder: Path, fingerprint: str, channels: int, dim: int) -> EncoderOutputs:
        """Return the outputs of an encoder that a folder holds, and will hold.

        Parameters
        ----------
        folder
            The folder; of several encoders, if need be.
        fingerprint
            Of the encoder.
        channels
            Number of channels of its trunk.
        dim
            Dimensions of its embeddings.
        """
        return cls(fingerprint, LimitedStore(folder / "frames", channels), ArrayStore(folder / "vectors", dim))

    def frames(self, digest: NDArray[np.uint8]) -> Array | None:
        """Return the output of the trunk, frames x channels, or None where it is not known."""
        return self.frames_store.load(self._key(digest))

    def vector(self, digest: NDArray[np.uint8]) -> Array | None:
        """Return the embedding, or None where it is not known."""
        stored = self.vector_store.load(self._key(digest))
        return None if stored is None else stored[0]

    def save_frames(self, digest: NDArray[np.uint8], frames: Array) -> None:
        """Keep the output of the trunk."""
        self.frames_store.save(self._key(digest), frames)

    def save_vector(self, digest: NDArray[np.uint8], vector: Array) -> None:
        """Keep an embedding."""
        self.vector_store.save(self._key(digest), vector[None])

    def _key(self, digest: NDArray[np.uint8]) -> str:
        return hashlib.sha256(self.fingerprint.encode() + b"\0" + digest.tobytes()).hexdigest()
