"""Published encoders that need no card of their own: what they are, and what they take.

None is fetched. A file that is given for one is recognised by what goes into its graph and comes out of it, and by the
embedding that it gives of the check utterance, so that it does not matter who exported it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.attack.onnx_models.runtime import open_model
from zeroevidence.data.files.errors import is_file
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
    """The card of a file that is said to be a published encoder, with the names that its graph has.

    Raises
    ------
    InputError
        Naming the file, when what goes into its graph or comes out of it is not as that encoder has it.
    """
    known = PUBLISHED_ENCODERS.find(name.lower())
    if not is_file(file):
        raise InputError("no such file", path=file)
    model = open_model(file)
    inputs, outputs = model.session.get_inputs(), model.session.get_outputs()
    if len(inputs) != 1 or not _fits(inputs[0].shape, (None, None, known.features)):
        expected = f"one of utterances x frames x {known.features}, as {known.name} has it"
        raise InputError(f"has inputs {_listed(inputs)}; expected {expected}", path=file)
    if len(outputs) != 1 or not _fits(outputs[0].shape, (None, known.dim)):
        expected = f"one of utterances x {known.dim}, as {known.name} has it"
        raise InputError(f"has outputs {_listed(outputs)}; expected {expected}", path=file)
    return EncoderCard(
        known.name,
        file,
        known.sample_rate,
        known.dim,
        known.front_end,
        inputs[0].name,
        outputs[0].name,
        known.architecture,
        known.licence,
        known.origin,
        sha256=model.sha256,
        reference=known.name,
    )


def _fits(shape: list[Any], wanted: tuple[int | None, ...]) -> bool:
    """Whether a shape can be the wanted one; the graph need not say the length of each dimension."""
    pairs = zip(shape, wanted, strict=False)
    return len(shape) == len(wanted) and all(
        there == one or one is None or not isinstance(there, int) for there, one in pairs
    )


def _listed(ends: list[Any]) -> str:
    return ", ".join(f"{one.name} {one.shape}" for one in ends) or "none"
