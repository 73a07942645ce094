"""Speaker encoders of packages that run them with torch: SpeechBrain's by name, and Resemblyzer's.

SpeechBrain fetches models from its hub. Resemblyzer's weights come with its wheel; it is used as its authors do: the
volume of quiet utterances is raised, long pauses are cut out, and the vectors of overlapping windows of 1.6 s are
averaged. It needs a setuptools older than 81 (for ``pkg_resources``).
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily, Vectors
from zeroevidence.attack.speech.batches import torch_threads
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, MissingExtra


class _UtteranceEncoder(ABC):
    """An encoder on the CPU that embeds utterances one by one: nothing is padded."""

    sample_rate = 16_000

    def __init__(self, threads: int) -> None:
        self._threads = threads

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform."""
        with torch_threads(self._threads):
            return np.stack([self._embed_one(np.asarray(wave, np.float32)) for wave in waves])

    @abstractmethod
    def _embed_one(self, wave: Wave) -> Vectors:
        """Return the vector of a waveform."""


class SpeechBrain(_UtteranceEncoder):
    """A model such as ``speechbrain/spkrec-ecapa-voxceleb``."""

    def __init__(self, name: str, *, threads: int = 1) -> None:
        try:
            import torch
            from speechbrain.inference.speaker import EncoderClassifier
        except ImportError:
            raise MissingExtra("speechbrain", f"{name}: a SpeechBrain speaker encoder") from None
        try:
            encoder: Any = EncoderClassifier.from_hparams(source=name, run_opts={"device": "cpu"})
        except Exception as error:  # the hub, the network and the model's files each fail in their own way
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"SpeechBrain cannot fetch or load it ({reason}); is its hub reachable?", path=name
            ) from None
        super().__init__(threads)
        self._torch, self._encoder, self.name = torch, encoder, name
        vector = self._embed_one(np.zeros(self.sample_rate, np.float32) + np.float32(1e-3))
        self.dim = len(vector)
        weights = sum(float(weight.double().abs().sum()) for weight in encoder.mods.parameters())
        self.fingerprint = f"{name}:{weights!r}"

    def _embed_one(self, wave: Wave) -> Vectors:
        with self._torch.no_grad():
            vector = self._encoder.encode_batch(self._torch.from_numpy(wave)[None])
        return np.asarray(vector.squeeze().cpu().numpy(), np.float32)


EXTRACTORS.add(
    ExtractorFamily(
        "speechbrain",
        "Speaker encoders of SpeechBrain by name, fetched from their hub",
        forms=("speechbrain/MODEL",),
        extra="speechbrain",
        takes=lambda name: name.startswith(("speechbrain/", "speechbrain:")),
        needs="torch, and a network when a model is used first",
        load=lambda name, **options: SpeechBrain(name.replace(":", "/", 1), **options),
    )
)


class Resemblyzer(_UtteranceEncoder):
    """Resemblyzer's encoder; an utterance is a batch of windows."""

    name = "resemblyzer"
    dim = 256

    def __init__(self, *, threads: int = 1) -> None:
        super().__init__(threads)
        package, version = _package()
        self._preprocess = package.preprocess_wav
        self._encoder = package.VoiceEncoder("cpu", verbose=False)
        self.fingerprint = f"resemblyzer:{version}"

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
        raise MissingExtra("resemblyzer", "the Resemblyzer speaker encoder") from None


EXTRACTORS.add(
    ExtractorFamily(
        "resemblyzer",
        "Resemblyzer's encoder, whose weights come with its wheel",
        forms=(Resemblyzer.name,),
        extra="resemblyzer",
        takes=lambda name: name.lower() == Resemblyzer.name,
        needs="torch, a C compiler, a setuptools older than 81",
        load=lambda _, **options: Resemblyzer(**options),
    )
)
