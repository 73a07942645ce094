"""Speaker encoders behind one small interface, found by name or by the file that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from zeroevidence.errors import InputError

Wave = NDArray[np.float32]
Vectors = NDArray[np.float32]

_SPEECHBRAIN = ("speechbrain/", "speechbrain:")
_EXPECTED = "expected a model card (.json), an ONNX model with one beside it, resemblyzer, or speechbrain/<model>"


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


def load_extractor(name: str | Path, *, threads: int = 1) -> Extractor:
    """The extractor behind a name.

    Parameters
    ----------
    name
        A model card (``cards.json#ecapa_voxceleb`` picks one of several models), an ONNX file with a card beside
        it, ``resemblyzer``, or ``speechbrain/spkrec-ecapa-voxceleb`` and the like, which are fetched from their hub.
    threads
        Threads of one forward pass; with one, results do not depend on the machine's number of cores.

    Raises
    ------
    InputError
        When there is no such model, or its card does not fit.
    MissingExtra
        When what runs it is not installed.
    """
    words = str(name)
    if words.lower() == "resemblyzer":
        from zeroevidence.attack.resemblyzer import Resemblyzer

        return Resemblyzer(threads=threads)
    if words.startswith(_SPEECHBRAIN):
        from zeroevidence.attack.speechbrain import SpeechBrain

        return SpeechBrain(words.replace(":", "/", 1), threads=threads)
    file, _, model = words.partition("#") if not Path(words).is_file() else (words, "", "")
    if not Path(file).is_file():
        raise InputError(f"no such extractor; {_EXPECTED}", path=words)
    from zeroevidence.attack.onnx import OnnxExtractor, read_card

    return OnnxExtractor(read_card(file, model or None), threads=threads)
