"""What every speaker encoder offers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Wave = NDArray[np.float32]
Vectors = NDArray[np.float32]


class Extractor(Protocol):
    """What turns waveforms into vectors, one each, independent of what else is in the batch.

    `fingerprint` changes whenever the same waveform would give another vector; it is part of the key of every
    stored vector.
    """

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def sample_rate(self) -> int:
        """The rate of the waveforms that it takes, in Hz."""
        ...

    @property
    def dim(self) -> int:
        """The length of its vectors."""
        ...

    @property
    def fingerprint(self) -> str:
        """Weights and front end in one word."""
        ...

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """One vector per mono waveform in [-1, 1]."""
        ...
