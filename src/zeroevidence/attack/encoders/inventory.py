"""The encoders that are installed: bundled with the package, or added by the user.

Each has a folder of its name, with its model and its card.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from zeroevidence.attack.onnx_models.cards import CARD, EncoderCard, card_parts, read_card
from zeroevidence.data.files.errors import is_file
from zeroevidence.errors import InputError, Problem

Source = Literal["bundled", "added"]
BUNDLED = Path(__file__).resolve().parent / "bundled"
HOME_VARIABLE = "ZEROEVIDENCE_HOME"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder that has a name: its card, and whether it was bundled or added."""

    card: EncoderCard
    source: Source

    @property
    def name(self) -> str:
        """The name that `load_extractor` takes."""
        return self.card.name


@dataclass(frozen=True, slots=True)
class Inventory:
    """The encoders that can be used, and the problems of the others."""

    encoders: tuple[Encoder, ...]
    problems: tuple[Problem, ...]


def inventory() -> Inventory:
    """Return the installed encoders; no model is loaded.

    Examples
    --------
    >>> first = inventory().encoders[0]
    >>> first.name, first.source, first.card.dim
    ('campplus', 'bundled', 192)
    """
    encoders: list[Encoder] = []
    problems: list[Problem] = []
    folders: dict[Source, Path] = {"bundled": BUNDLED, "added": added_folder()}
    for source, folder in folders.items():
        for card in sorted(folder.glob(f"*/{CARD}")):
            if not is_encoder_name(card.parent.name):
                continue
            try:
                encoders.append(Encoder(replace(read_card(card), name=card.parent.name), source))
            except InputError as error:
                problems.append(error.problem)
    return Inventory(tuple(encoders), tuple(problems))


def find_encoder(name: str) -> Encoder:
    """Return the encoder of a name.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.

    Examples
    --------
    >>> find_encoder("campplus").card.licence
    'Apache-2.0'
    """
    installed = inventory()
    for encoder in installed.encoders:
        if encoder.name == name.lower():
            return encoder
    broken = [problem for problem in installed.problems if Path(problem.path).parent.name == name.lower()]
    if broken:
        raise InputError.of(broken, lister="zeroevidence models")
    names = ", ".join(encoder.name for encoder in installed.encoders)
    raise InputError(f"no such encoder; expected one of {names}", path=name)


def find_card(name: str) -> EncoderCard:
    """Return the card of an encoder by its name, or in a file: a card, or an ONNX model with one beside it.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.
    """
    file, chosen = card_parts(name)
    installed = any(encoder.name == str(name).lower() for encoder in inventory().encoders)
    return find_encoder(name).card if installed or not is_file(file) else read_card(file, chosen)


def added_folder() -> Path:
    """Return the folder of added encoders, which need not exist.

    ``$ZEROEVIDENCE_HOME/encoders`` where that variable is set, else where the system keeps data of its users.

    Examples
    --------
    >>> import os
    >>> os.environ["ZEROEVIDENCE_HOME"] = "/data/voices"
    >>> added_folder().as_posix()
    '/data/voices/encoders'
    >>> del os.environ["ZEROEVIDENCE_HOME"]
    """
    home = os.environ.get(HOME_VARIABLE)
    return (Path(home) if home else _user_data() / "zeroevidence") / "encoders"


def is_encoder_name(name: str) -> bool:
    """Return whether a name is valid: small letters, digits, dots, dashes; no path to another folder.

    Examples
    --------
    >>> is_encoder_name("ecapa-2.0"), is_encoder_name("../ecapa"), is_encoder_name("ECAPA")
    (True, False, False)
    """
    return _NAME.fullmatch(name) is not None


def added_card(name: str) -> Path | None:
    """Return the card of an added encoder, or None where there is none of that name."""
    card = added_folder() / name.lower() / CARD
    return card if is_encoder_name(name.lower()) and card.is_file() else None


def _user_data() -> Path:
    try:
        home = Path.home()
    except RuntimeError:  # a user without a home has added nothing; adding fails with a message
        home = Path(os.sep)
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
