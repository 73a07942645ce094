"""SpeechBrain's speaker encoders by name, where SpeechBrain is installed and its hub can be reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zeroevidence.attack.extractors.extractor import EXTRACTORS, ExtractorFamily, Vectors
from zeroevidence.attack.speech.batches import torch_threads
from zeroevidence.data.speech.mixing import Wave
from zeroevidence.errors import InputError, MissingExtra

_EXTRA = "speechbrain"


class SpeechBrain:
    """A model such as ``speechbrain/spkrec-ecapa-voxceleb``, on the CPU, utterances one by one (nothing is padded)."""

    sample_rate = 16_000

    def __init__(self, name: str, *, threads: int = 1) -> None:
        try:
            import torch
            from speechbrain.inference.speaker import EncoderClassifier
        except ImportError:
            raise MissingExtra(_EXTRA, f"{name}: a SpeechBrain speaker encoder") from None
        try:
            encoder: Any = EncoderClassifier.from_hparams(source=name, run_opts={"device": "cpu"})
        except Exception as error:  # the hub, the network and the model's files each fail in their own way
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(
                f"SpeechBrain cannot fetch or load it ({reason}); is its hub reachable?", path=name
            ) from None
        self._torch, self._encoder, self._threads = torch, encoder, threads
        self.name = name
        vector = self._embed_one(np.zeros(self.sample_rate, np.float32) + np.float32(1e-3))
        self.dim = len(vector)
        weights = sum(float(weight.double().abs().sum()) for weight in encoder.mods.parameters())
        self.fingerprint = f"{name}:{weights!r}"

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform."""
        with torch_threads(self._threads):
            return np.stack([self._embed_one(np.asarray(wave, np.float32)) for wave in waves])

    def _embed_one(self, wave: Wave) -> Vectors:
        with self._torch.no_grad():
            vector = self._encoder.encode_batch(self._torch.from_numpy(wave)[None])
        return np.asarray(vector.squeeze().cpu().numpy(), np.float32)


EXTRACTORS.add(
    ExtractorFamily(
        "speechbrain",
        "Speaker encoders of SpeechBrain by name, fetched from their hub",
        forms=("speechbrain/MODEL",),
        extra=_EXTRA,
        takes=lambda name: name.startswith(("speechbrain/", "speechbrain:")),
        needs="torch, and a network when a model is used first",
        load=lambda name, **options: SpeechBrain(name.replace(":", "/", 1), **options),
    )
)
