"""Resemblyzer's speaker encoder, whose weights come with its wheel, used as its authors do.

The volume of quiet utterances is raised, long pauses are cut out, and the vectors of overlapping windows of 1.6 s are
averaged. Its own front end is used; it needs a setuptools older than 81 (for ``pkg_resources``) and torch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily, Vectors
from zeroevidence.attack.speech.batches import torch_threads
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, MissingExtra

_EXTRA = "resemblyzer"
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

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform.

        Raises
        ------
        InputError
            When no voice is found in one of them.
        """
        with torch_threads(self._threads):
            return np.stack([self._embed_one(np.asarray(wave, np.float32)) for wave in waves])

    def _embed_one(self, wave: Wave) -> Vectors:
        voiced = self._preprocess(wave)
        if not len(voiced):
            raise InputError("Resemblyzer's voice detector finds no voice in it")
        vector: Vectors = self._encoder.embed_utterance(voiced)
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
        raise MissingExtra(_EXTRA, "the Resemblyzer speaker encoder") from None


EXTRACTORS.add(
    ExtractorFamily(
        "resemblyzer",
        "Resemblyzer's encoder, whose weights come with its wheel",
        forms=(Resemblyzer.name,),
        extra=_EXTRA,
        takes=lambda name: name.lower() == Resemblyzer.name,
        needs="torch, a C compiler, a setuptools older than 81",
        load=lambda _, **options: Resemblyzer(**options),
    )
)
