"""Files of the speech recogniser Moonshine tiny (MIT), found in the installed wheel ``moonshine-voice``.

Nothing is downloaded and nothing of the wheel is imported: protectors may run the files themselves.
"""

from __future__ import annotations

import hashlib
import importlib.util
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

from zeroevidence.errors import InputError, MissingExtra

MoonshinePart: TypeAlias = Literal["encoder", "decoder", "tokenizer"]

WHEEL = "moonshine-voice==0.0.62"
_FOLDER = "assets/tiny-en"
_FILES: dict[MoonshinePart, tuple[str, str]] = {  # name and SHA-256 of each file in that wheel
    "encoder": ("encoder_model.ort", "94e90a4654fc45cdfedb77c4c08e1739f48862998e58fada384b25118134f221"),
    "decoder": ("decoder_model_merged.ort", "cf524c4862d36e9e5ab032eddc73637efd822d70e868ac575cf1a46e1e4708a0"),
    "tokenizer": ("tokenizer.bin", "6884b35fd6377d4c4d32336a0bc152f36b64d1e45b6503683cdc238250a8472d"),
}


@lru_cache
def moonshine_file(part: MoonshinePart, *, extra: str = "cascade", needed_for: str = "Moonshine") -> Path:
    """Return a file of Moonshine tiny for English, checked by its digest.

    Parameters
    ----------
    part
        The encoder (``.ort``, from 16 kHz to 288 numbers 41.6 times a second), the decoder or the tokenizer.
    extra
        Extra of this package that installs the wheel, for the message where it is missing.
    needed_for
        What asks for it, for that message.

    Raises
    ------
    MissingExtra
        Where the wheel is not installed.
    InputError
        Where the file is not that of the version that was tried.
    """
    name, digest = _FILES[part]
    path = moonshine_folder(extra=extra, needed_for=needed_for) / name
    try:
        with path.open("rb") as stream:
            actual = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; expected {WHEEL}", path=path) from None
    if actual != digest:
        raise InputError(f"SHA-256 {actual[:12]}...; expected {digest[:12]}... of {WHEEL}", path=path)
    return path


def moonshine_folder(*, extra: str = "cascade", needed_for: str = "Moonshine") -> Path:
    """Return the folder of the files; the parameters are those of `moonshine_file`."""
    spec = importlib.util.find_spec("moonshine_voice")
    places = [] if spec is None else spec.submodule_search_locations or []
    for place in places:
        return Path(place) / _FOLDER
    raise MissingExtra(extra, needed_for)
