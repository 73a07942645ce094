"""Moonshine tiny for English: an encoder and a decoder that are run with onnxruntime, the likeliest token at each step.

N. Jeffries et al.: Moonshine: speech recognition for live transcription and voice commands. arXiv 2410.15608 (2024).
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence.protect.voices.recognisers import RECOGNISERS, RecogniserKind, Transcript, most_tokens
from zeroevidence.protect.voices.wheels import Wheel, one_thread_session

MoonshinePart: TypeAlias = Literal["encoder", "decoder", "tokenizer"]

WHEEL = Wheel("moonshine-voice==0.0.62", "moonshine_voice", "assets/tiny-en")
_FILES: dict[MoonshinePart, tuple[str, str]] = {  # name and SHA-256 of each file in that wheel
    "encoder": ("encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
    "decoder": ("decoder_model_merged.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
    "tokenizer": ("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
}
_BEGIN, _END = 1, 2  # special tokens, as is 0 for unknown text
_HEADS, _WIDTH = 8, 36  # of the keys and values that the decoder keeps
_SPACE = "\u2581"


@lru_cache
def moonshine_file(part: MoonshinePart, *, extra: str = "cascade", needed_for: str = "Moonshine") -> Path:
    """Return a file of Moonshine tiny, as `Wheel.file` does.

    Parameters
    ----------
    part
        The encoder (``.ort``, from 16 kHz to 288 numbers 41.6 times a second), the decoder or the tokenizer.
    extra
        Extra of this package that installs the wheel, for the message where it is missing.
    needed_for
        What asks for it, for that message.
    """
    return WHEEL.file(*_FILES[part], extra=extra, needed_for=needed_for)


class Moonshine:
    """The recogniser, with one thread for each call."""

    def __init__(self) -> None:
        self._encoder, self._decoder = (
            one_thread_session(str(moonshine_file(part)), extra="cascade", needed_for="Moonshine")
            for part in ("encoder", "decoder")
        )
        self._kept = [each.name for each in self._decoder.get_inputs() if each.name.startswith("past")]
        self._outputs = ["logits", *(name.replace("past_key_values", "present") for name in self._kept)]
        self._pieces = _read_pieces(moonshine_file("tokenizer").read_bytes())

    def __call__(self, wave: NDArray[np.float32]) -> Transcript:
        """Return the transcript of at most 30 s of speech at 16 kHz."""
        tokens, logarithms = self._decode(np.asarray(wave, np.float32)[None])
        data = b"".join(self._pieces[token] for token in tokens if token > _END)
        text = data.decode("utf-8", "replace").replace(_SPACE, " ").split()
        return Transcript(" ".join(text), float(np.mean(logarithms)), ended=tokens[-1] == _END)

    def _decode(self, wave: NDArray[np.float32]) -> tuple[list[int], list[float]]:
        """Return the likeliest token of each step and the logarithm of its probability."""
        mask = np.ones(wave.shape, np.int64)
        (hidden,) = self._encoder.run(None, {"input_values": wave, "attention_mask": mask})
        inputs: dict[str, Any] = {
            "encoder_hidden_states": hidden,
            "encoder_attention_mask": mask,  # of samples: the decoder itself takes one for each frame
            **{name: np.zeros((1, _HEADS, 0, _WIDTH), np.float32) for name in self._kept},
        }
        tokens, logarithms = [_BEGIN], []
        for step in range(most_tokens(wave.shape[1])):
            inputs |= {"input_ids": np.array([[tokens[-1]]]), "use_cache_branch": np.array([step > 0])}
            logits, *states = self._decoder.run(self._outputs, inputs)
            scores = logits[0, -1].astype(np.float64)
            tokens.append(int(scores.argmax()))
            logarithms.append(float(scores.max() - np.logaddexp.reduce(scores)))
            if tokens[-1] == _END:
                break
            # what the decoder keeps of the encoder's output is given at the first step only
            new = {
                name: state for name, state in zip(self._kept, states, strict=True) if not step or ".decoder." in name
            }
            inputs |= new
        return tokens[1:], logarithms


def _read_pieces(data: bytes) -> list[bytes]:
    """Return the text of each token: a length of one byte, or two where the first is 128 or more, and the bytes."""
    pieces, at = [], 0
    while at < len(data):
        length, at = data[at], at + 1
        if length >= 128:
            length, at = length - 128 + 128 * data[at], at + 1
        pieces.append(data[at : at + length])
        at += length
    return pieces


RECOGNISERS.add(
    RecogniserKind(
        name="moonshine",
        title="Moonshine tiny, English, 27 million parameters",
        licence="MIT (program and English weights)",
        version=WHEEL.version,
        extra="cascade",
        least_confidence=-0.6,  # fewest errors on half of the people: benchmarks/cascade.py
        make=Moonshine,
    )
)
