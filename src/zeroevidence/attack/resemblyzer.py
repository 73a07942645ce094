"""Resemblyzer's speaker encoder, whose weights come with its wheel, used as its authors do.

The volume of quiet utterances is raised, long pauses are cut out, and the vectors of overlapping windows of 1.6 s are
averaged. Its own front end is used; it needs a setuptools older than 81 (for ``pkg_resources``) and torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.errors import InputError, MissingExtra

_RATE, _DIM = 16_000, 256


class Resemblyzer:
    """The encoder on the CPU; utterances one by one, each of them a batch of windows."""

    name = "resemblyzer"
    sample_rate = _RATE
    dim = _DIM

    def __init__(self, *, threads: int = 1) -> None:
        package, version = _package()
        self._preprocess = package.preprocess_wav
        self._encoder = package.VoiceEncoder("cpu", verbose=False)
        self._threads = threads
        self.fingerprint = f"resemblyzer:{version}"

    def embed(self, waves: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """One vector per waveform.

        Raises
        ------
        InputError
            When no voice is found in one of them.
        """
        import torch

        before = torch.get_num_threads()
        torch.set_num_threads(self._threads)
        try:
            return np.stack([self._one(np.asarray(wave, np.float32)) for wave in waves])
        finally:
            torch.set_num_threads(before)

    def _one(self, wave: NDArray[np.float32]) -> NDArray[np.float32]:
        voiced = self._preprocess(wave)
        if not len(voiced):
            raise InputError("Resemblyzer's voice detector finds no voice in it")
        vector: NDArray[np.float32] = self._encoder.embed_utterance(voiced)
        return vector.astype(np.float32, copy=False)


def _package() -> tuple[Any, str]:
    from importlib.metadata import PackageNotFoundError, version

    try:
        with warnings.catch_warnings():
            # It imports from places that SciPy and setuptools have announced to close.
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", UserWarning)
            import resemblyzer

        return resemblyzer, version("resemblyzer")
    except (ImportError, PackageNotFoundError):
        raise MissingExtra("resemblyzer", "the Resemblyzer speaker encoder") from None
