"""Published encoders that can be added without a card.

None is fetched. A file is recognised by the inputs and outputs of its graph, and by its embedding of the check
utterance, so that it does not matter who exported it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.onnx_models.runtime import open_model
from zeroevidence.data.files.errors import unreadable_reason
from zeroevidence.errors import InputError
from zeroevidence.registry import Registry


@dataclass(frozen=True, slots=True)
class PublishedEncoder:
    """A published encoder; `features` is the number of bands per frame that its graph takes."""

    name: str
    architecture: str
    licence: str
    origin: str
    sample_rate: int
    dim: int
    front_end: str
    features: int


PUBLISHED_ENCODERS: Registry[PublishedEncoder] = Registry("published encoder")
PUBLISHED_ENCODERS.add(
    PublishedEncoder(
        "ecapa",
        "ECAPA-TDNN (VoxCeleb 1 and 2)",
        "Apache-2.0",
        "SpeechBrain, speechbrain/spkrec-ecapa-voxceleb",
        sample_rate=16_000,
        dim=192,
        front_end="speechbrain-fbank",
        features=80,
    )
)


def published_card(name: str, file: Path) -> EncoderCard:
    """Return a card for the file of a published encoder, with the names that its graph has.

    Raises
    ------
    InputError
        Naming the file, when inputs or outputs of its graph are not those of that encoder.
    """
    encoder = PUBLISHED_ENCODERS.find(name.lower())
    reason = unreadable_reason(file)
    if reason:
        raise InputError(reason, path=file)
    model = open_model(file)
    inputs, outputs = model.session.get_inputs(), model.session.get_outputs()
    ends = (
        ("inputs", inputs, (None, None, encoder.features), f"utterances x frames x {encoder.features}"),
        ("outputs", outputs, (None, encoder.dim), f"utterances x {encoder.dim}"),
    )
    for title, nodes, shape, text in ends:
        if len(nodes) != 1 or not _fits(nodes[0].shape, shape):
            listing = ", ".join(f"{node.name} {node.shape}" for node in nodes) or "none"
            raise InputError(f"has {title} {listing}; expected one of {text}, as {encoder.name} has it", path=file)
    shared = ("name", "sample_rate", "dim", "front_end", "architecture", "licence", "origin")
    return EncoderCard(
        file=file,
        input=inputs[0].name,
        output=outputs[0].name,
        sha256=model.sha256,
        reference=encoder.name,
        **{field: getattr(encoder, field) for field in shared},
    )


def _fits(shape: list[Any], expected: tuple[int | None, ...]) -> bool:
    """Return whether a shape can be the expected one; a graph need not name the length of each dimension."""
    return len(shape) == len(expected) and all(
        size == length or length is None or not isinstance(size, int)
        for size, length in zip(shape, expected, strict=True)
    )
