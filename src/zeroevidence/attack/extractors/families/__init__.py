"""Families of extractors: cues, ONNX files, and encoders of packages that need torch."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from zeroevidence.attack.cues import CUES, cue_vector, find_cues
from zeroevidence.attack.cues.speech_signal import RATE
from zeroevidence.attack.encoders import added_card, examine_apart, find_encoder
from zeroevidence.attack.extractors import DEFAULT_EXTRACTOR, EXTRACTORS, Extractor, ExtractorFamily, Vectors
from zeroevidence.attack.onnx_cards import card_parts, read_card
from zeroevidence.attack.onnx_runtime import EXTRA, OnnxExtractor
from zeroevidence.data.files import is_file
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.optional import torch_threads

_VERSION = 2  # of all cues: enters cache keys, so raise it with any change of a vector
_ALL, _SOME = "cues", "cue:"


class CueExtractor:
    """Features of cues in alphabetical order, as deviations from usual values in spreads.

    Parameters
    ----------
    name
        ``cues`` for all, ``cue:rate`` for one, ``cue:rate+pitch`` for several.

    Examples
    --------
    >>> import numpy as np
    >>> from zeroevidence.attack.extractors import load_extractor
    >>> model = load_extractor("cue:rate+pitch")
    >>> [cue.name for cue in model.cues], model.dim
    (['pitch', 'rate'], 15)
    >>> model.embed([np.zeros(1600, np.float32)]).shape
    (1, 15)
    """

    sample_rate = RATE

    def __init__(self, name: str = _ALL) -> None:
        self.cues = find_cues(CUES if name == _ALL else name.removeprefix(_SOME).split("+"))
        self.name = _ALL if len(self.cues) == len(CUES) else _SOME + "+".join(cue.name for cue in self.cues)
        self.dim = sum(len(cue.features) for cue in self.cues)
        self.fingerprint = f"cues/{_VERSION}({'+'.join(cue.name for cue in self.cues)})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the name to another process."""
        return _load_once, (CueExtractor, self.name)

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform; always finite, since a value that cannot be measured has its usual value."""
        return np.array([cue_vector(wave, self.cues) for wave in waves], np.float32).reshape(len(waves), self.dim)


@lru_cache
def _load_once(family: Callable[..., Extractor], *arguments: str) -> Extractor:
    """Return an extractor of another process, loaded once in this one."""
    return family(*arguments)


def load_installed(name: str, /) -> OnnxExtractor:
    """Load the bundled encoder, or one that was added, by its name."""
    return OnnxExtractor(find_encoder(name).card)


def _load_file(name: str) -> OnnxExtractor:
    """Load an encoder from a file, which nobody has examined yet."""
    card = read_card(*card_parts(name))
    examine_apart(card)
    return OnnxExtractor(card)


class _UtteranceEncoder(ABC):
    """An encoder on the CPU that embeds utterances one by one: nothing is padded."""

    sample_rate = 16_000

    def embed(self, waves: Sequence[Wave]) -> Vectors:
        """Return one vector per waveform."""
        with torch_threads(1):
            return np.stack([self._embed_one(np.asarray(wave, np.float32)) for wave in waves])

    @abstractmethod
    def _embed_one(self, wave: Wave) -> Vectors:
        """Return the vector of a waveform."""


class SpeechBrain(_UtteranceEncoder):
    """A model such as ``speechbrain/spkrec-ecapa-voxceleb``."""

    def __init__(self, name: str) -> None:
        try:
            import torch
            from speechbrain.inference.speaker import EncoderClassifier
        except ImportError:
            raise MissingExtra("speechbrain", f"{name}: a SpeechBrain speaker encoder") from None
        try:
            encoder: Any = EncoderClassifier.from_hparams(source=name, run_opts={"device": "cpu"})
        except Exception as error:  # the hub, the network and the model's files each fail in their own way
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            reason = f"SpeechBrain cannot fetch or load it ({reason}); is its hub reachable?"
            raise InputError(reason, path=name) from None
        self._torch, self._encoder, self.name = torch, encoder, name
        vector = self._embed_one(np.zeros(self.sample_rate, np.float32) + np.float32(1e-3))
        self.dim = len(vector)
        weights = sum(float(weight.double().abs().sum()) for weight in encoder.mods.parameters())
        self.fingerprint = f"{name}:{weights!r}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the name to another process."""
        return _load_once, (SpeechBrain, self.name)

    def _embed_one(self, wave: Wave) -> Vectors:
        with self._torch.no_grad():
            vector = self._encoder.encode_batch(self._torch.from_numpy(wave)[None])
        return np.asarray(vector.squeeze().cpu().numpy(), np.float32)


class Resemblyzer(_UtteranceEncoder):
    """Resemblyzer's encoder; an utterance is a batch of windows."""

    name = "resemblyzer"
    dim = 256

    def __init__(self) -> None:
        try:
            with warnings.catch_warnings():
                # It imports from places that SciPy and setuptools have announced to close.
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", UserWarning)
                import resemblyzer

            self.fingerprint = f"resemblyzer:{version('resemblyzer')}"
        except (ImportError, PackageNotFoundError):
            raise MissingExtra("resemblyzer", "the Resemblyzer speaker encoder") from None
        self._preprocess = resemblyzer.preprocess_wav
        self._encoder = resemblyzer.VoiceEncoder("cpu", verbose=False)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send nothing to another process: there is one model."""
        return _load_once, (Resemblyzer,)

    def _embed_one(self, wave: Wave) -> Vectors:
        voiced = self._preprocess(wave)
        if not len(voiced):
            raise InputError("Resemblyzer's voice detector finds no voice in it")
        vector: Vectors = self._encoder.embed_utterance(voiced)
        return vector.astype(np.float32, copy=False)


EXTRACTORS.add(
    ExtractorFamily(
        "cues",
        "Cues beside the voice: rate, pitch, level, band, length, background and channel",
        forms=(_ALL, f"{_SOME}NAME"),
        extra="speech",
        takes=lambda name: name == _ALL or name.startswith(_SOME),
        load=CueExtractor,
    ),
    ExtractorFamily(
        DEFAULT_EXTRACTOR,
        "CAM++ for Chinese and English, which comes with the package",
        forms=(DEFAULT_EXTRACTOR,),
        extra=EXTRA,
        takes=lambda name: name.lower() == DEFAULT_EXTRACTOR,
        load=load_installed,
    ),
    ExtractorFamily(
        "added",
        "Encoders that were added with `zeroevidence models add`",
        forms=("the name of an added encoder",),
        extra=EXTRA,
        takes=lambda name: added_card(name) is not None,
        load=load_installed,
    ),
    ExtractorFamily(
        "onnx",
        "Any speaker encoder as an ONNX file, with a model card",
        forms=("a model card (.json)", "an ONNX model with one beside it"),
        extra=EXTRA,
        takes=lambda name: is_file(card_parts(name)[0]),
        files=True,
        load=_load_file,
    ),
    ExtractorFamily(
        "speechbrain",
        "Speaker encoders of SpeechBrain by name, fetched from their hub",
        forms=("speechbrain/MODEL",),
        extra="speechbrain",
        takes=lambda name: name.startswith(("speechbrain/", "speechbrain:")),
        needs="torch, and a network when a model is used first",
        load=lambda name: SpeechBrain(name.replace(":", "/", 1)),
    ),
    ExtractorFamily(
        "resemblyzer",
        "Resemblyzer's encoder, whose weights come with its wheel",
        forms=(Resemblyzer.name,),
        extra="resemblyzer",
        takes=lambda name: name.lower() == Resemblyzer.name,
        needs="torch, a C compiler, a setuptools older than 81",
        load=lambda _: Resemblyzer(),
    ),
)
