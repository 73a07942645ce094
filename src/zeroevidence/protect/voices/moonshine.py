"""Files of the speech recogniser Moonshine tiny for English (MIT), found in the installed wheel ``moonshine-voice``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from zeroevidence.protect.voices.wheels import Wheel

MoonshinePart: TypeAlias = Literal["encoder", "decoder", "tokenizer"]

WHEEL = Wheel("moonshine-voice==0.0.62", "moonshine_voice", "assets/tiny-en")
_FILES: dict[MoonshinePart, tuple[str, str]] = {  # name and SHA-256 of each file in that wheel
    "encoder": ("encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
    "decoder": ("decoder_model_merged.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
    "tokenizer": ("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
}


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
