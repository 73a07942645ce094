"""What is there: encoders that came with the package, and encoders that were added."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroevidence.attack.onnx_models.cards import EncoderCard, card_parts, read_card
from zeroevidence.attack.onnx_models.folders import BUNDLED, added_home, cards_in, shelved
from zeroevidence.data.files.errors import is_file
from zeroevidence.errors import InputError, Problem

Shelf = Literal["bundled", "added"]


@dataclass(frozen=True, slots=True)
class Encoder:
    """An encoder that has a name: its card, and whether it came with the package or was added."""

    card: EncoderCard
    shelf: Shelf

    @property
    def name(self) -> str:
        """What `load_extractor` knows it by."""
        return self.card.name


@dataclass(frozen=True, slots=True)
class Inventory:
    """The encoders that can be used, and what is wrong with the others."""

    encoders: tuple[Encoder, ...]
    problems: tuple[Problem, ...]


def inventory() -> Inventory:
    """Look through both shelves; no model is loaded.

    Examples
    --------
    >>> first = inventory().encoders[0]
    >>> first.name, first.shelf, first.card.dim
    ('campplus', 'bundled', 192)
    """
    found: list[Encoder] = []
    problems: list[Problem] = []
    shelves: dict[Shelf, Path] = {"bundled": BUNDLED, "added": added_home()}
    for shelf, home in shelves.items():
        for card in cards_in(home):
            try:
                found.append(Encoder(shelved(card), shelf))
            except InputError as error:
                problems.append(error.problem)
    return Inventory(tuple(found), tuple(problems))


def find_encoder(name: str) -> Encoder:
    """The encoder of that name.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.

    Examples
    --------
    >>> find_encoder("campplus").card.licence
    'Apache-2.0'
    """
    there = inventory()
    for one in there.encoders:
        if one.name == name.lower():
            return one
    broken = [one for one in there.problems if Path(one.path).parent.name == name.lower()]
    if broken:
        raise InputError.of(broken, lister="zeroevidence models")
    raise InputError(f"no such encoder; expected one of {', '.join(one.name for one in there.encoders)}", path=name)


def find_card(name: str) -> EncoderCard:
    """The card of an encoder by its name, or in a file: a card, or an ONNX model with one beside it.

    Raises
    ------
    InputError
        When there is none, or its card cannot be used.
    """
    file, chosen = card_parts(name)
    known = any(one.name == name.lower() for one in inventory().encoders)
    return find_encoder(name).card if known or not is_file(file) else read_card(file, chosen)
