"""An encoder in two parts, trunk and head: encoders that were fine-tuned behind the trunk share the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.extractors import Extractor
from zeroevidence.attack.networks import load_network
from zeroevidence.attack.networks.onnx_layers import Layer, cut_onnx, read_layers
from zeroevidence.attack.onnx_cards import FRONT_ENDS, EncoderCard, read_card
from zeroevidence.attack.onnx_runtime import OnnxExtractor, open_session
from zeroevidence.attack.training.features import EncoderOutputs, frames_digest
from zeroevidence.data.store import Store
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, MissingExtra


@dataclass(frozen=True, slots=True)
class EncoderTrunk:
    """The trunk of an encoder, computed once for each recording.

    Parameters
    ----------
    encoder
        The encoder.
    session
        Its trunk in the runtime.
    layers
        Its layers with weights.
    outputs
        What it gave, and will give.
    """

    encoder: OnnxExtractor
    session: Any
    layers: tuple[Layer, ...]
    outputs: EncoderOutputs

    def is_of(self, card: EncoderCard) -> bool:
        """Return whether the encoder of a card has this trunk: the same front end and weights."""
        layers = _layers(card)[: len(self.layers)]
        return (
            card.front_end == self.encoder.card.front_end
            and [layer.spec for layer in layers] == [layer.spec for layer in self.layers]
            and all(
                np.array_equal(here, there)
                for layer, other in zip(layers, self.layers, strict=True)
                for here, there in zip(layer.tensors, other.tensors, strict=True)
            )
        )

    def frames(self, features: NDArray[np.float32], digest: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return frames x channels of an utterance."""

        def compute() -> NDArray[np.float32]:
            (output,) = self.session.run(None, {self.encoder.card.input: features[None]})
            return np.ascontiguousarray(output[0].T)

        return self.outputs.trunk_store.array(self.outputs.key(digest), compute)


class SplitExtractor:
    """An encoder whose trunk is computed once for each recording, also for other encoders with the same trunk.

    Its vectors are those of the whole encoder, under the same fingerprint.

    Parameters
    ----------
    encoder
        The whole encoder.
    trunk
        The trunk.
    head
        What comes behind it, in the runtime.
    between
        Name of the input of `head`.
    """

    def __init__(self, encoder: OnnxExtractor, trunk: EncoderTrunk, head: Any, between: str) -> None:
        self.encoder, self.trunk, self.card = encoder, trunk, encoder.card
        self._head, self._between = head, between
        self.name, self.sample_rate, self.dim = encoder.name, encoder.sample_rate, encoder.dim
        self.fingerprint = encoder.fingerprint

    def __reduce__(self) -> tuple[Any, ...]:
        """Send to another process what the parts are cut from."""
        return _reopen, (self.encoder, self.trunk.encoder, len(self.trunk.layers), self.trunk.outputs)

    def embed(self, waves: Sequence[Wave]) -> NDArray[np.float32]:
        """Return one vector per waveform."""
        return self.embed_features([self.encoder.features(wave) for wave in waves])

    def embed_features(self, inputs: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
        """Return one vector for the features of each utterance."""
        return np.stack([self._vector(features) for features in inputs])

    def _vector(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        digest = frames_digest(features.astype(np.float16))
        try:
            frames = self.trunk.frames(features, digest)
            outputs = self._head.run([self.encoder.card.output], {self._between: frames.T[None]})
        except Exception as error:  # the runtime has its own family of errors
            reason = f"cannot be run on features of shape {features.shape}: {str(error).splitlines()[0]}"
            raise InputError(reason, path=self.encoder.card.file) from None
        vector: NDArray[np.float32] = outputs[0][0].astype(np.float32, copy=False)
        if self.encoder is self.trunk.encoder:
            self.trunk.outputs.vector_store.save_array(self.trunk.outputs.key(digest), vector)
        return vector


def split_extractor(encoder: Extractor, cache: Path) -> SplitExtractor | None:
    """Return an encoder in two parts; None where it cannot be cut, or trained.

    Parameters
    ----------
    encoder
        The encoder.
    cache
        Folder that keeps the output of its trunk.
    """
    if not isinstance(encoder, OnnxExtractor) or encoder.card.front_end not in FRONT_ENDS:
        return None
    try:
        number: int = load_network(encoder.card).trunk_layers()
    except (InputError, MissingExtra):
        return None
    outputs = EncoderOutputs(encoder.fingerprint, Store.optional(cache, "outputs"), Store(cache, "vectors"))
    return _cut(encoder, number, outputs)


def _cut(encoder: OnnxExtractor, number: int, outputs: EncoderOutputs) -> SplitExtractor | None:
    parts = cut_onnx(encoder.card.file, number, sha256=encoder.card.sha256)
    if parts is None:
        return None
    trunk = EncoderTrunk(encoder, open_session(parts.first), _layers(encoder.card)[:number], outputs)
    return SplitExtractor(encoder, trunk, open_session(parts.second), parts.between)


@lru_cache(maxsize=4)
def _reopen(encoder: OnnxExtractor, base: OnnxExtractor, number: int, outputs: EncoderOutputs) -> SplitExtractor:
    """Return an extractor of another process, opened once in this one."""
    if encoder is base:
        split = _cut(base, number, outputs)
    else:
        split = _behind(encoder, _reopen(base, base, number, outputs).trunk)
    assert split is not None
    return split


def with_trunk(card: Path, trunk: EncoderTrunk) -> Extractor:
    """Return the encoder of a card, which shares a trunk where it has its weights; else as it is.

    Parameters
    ----------
    card
        The card of an encoder that was fine-tuned from that of the trunk.
    trunk
        The trunk.
    """
    encoder = OnnxExtractor(read_card(card))
    if not trunk.is_of(encoder.card):
        return encoder
    return _behind(encoder, trunk) or encoder


def _behind(encoder: OnnxExtractor, trunk: EncoderTrunk) -> SplitExtractor | None:
    parts = cut_onnx(encoder.card.file, len(trunk.layers), sha256=encoder.card.sha256)
    return None if parts is None else SplitExtractor(encoder, trunk, open_session(parts.second), parts.between)


def _layers(card: EncoderCard) -> tuple[Layer, ...]:
    return read_layers(card.file, sha256=card.sha256, size=card.bytes)
