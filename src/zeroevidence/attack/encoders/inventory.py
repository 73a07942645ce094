"""The encoders that are installed: bundled with the package, or added by the user."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroevidence.attack.onnx_models.cards import EncoderCard, card_parts, read_card
from zeroevidence.attack.onnx_models.folders import BUNDLED, added_folder, cards_in, read_named_card
from zeroevidence.data.files.errors import is_file
from zeroevidence.errors import InputError, Problem

Source = Literal["bundled", "added"]


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
        for card in cards_in(folder):
            try:
                encoders.append(Encoder(read_named_card(card), source))
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
