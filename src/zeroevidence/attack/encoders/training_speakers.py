"""Whom an encoder learned from: its card tells by digests, so that nobody is evaluated with an encoder that knows them.

A digest is the sha256 of a fixed word and the speaker's name. It finds a name again that is already known; it does not
hide one that can be guessed, so a card is as confidential as a list of the names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.errors import InputError

_PREFIX = "zeroevidence/person/"


def person_digest(name: str) -> str:
    """What a card holds of a person.

    Examples
    --------
    >>> person_digest("ann")[:12]
    'e52a961b2277'
    """
    return hashlib.sha256(f"{_PREFIX}{name}".encode()).hexdigest()


def training_people(card: EncoderCard) -> frozenset[str]:
    """Digests of all people whom an encoder learned from or was stopped on; none where its card does not say."""
    return frozenset(card.training_people) | frozenset(card.development_people)


def shared_people(card: EncoderCard, speakers: Iterable[str]) -> list[str]:
    """Those of some speakers whom an encoder has learned from or was stopped on, in alphabetical order.

    Examples
    --------
    >>> from zeroevidence.attack.encoders.inventory import find_encoder
    >>> shared_people(find_encoder("campplus").card, ["ann", "bob"])
    []
    """
    known = training_people(card)
    return sorted({str(name) for name in speakers if person_digest(str(name)) in known})


def refuse_shared(card: EncoderCard, speakers: Iterable[str]) -> None:
    """Refuse to evaluate people whom an encoder knows.

    Raises
    ------
    InputError
        Naming the encoder's file, one of the people, and how many they are.
    """
    shared = shared_people(card, speakers)
    if shared:
        raise InputError(
            f"{card.name} was trained with {len(shared)} of the evaluated people, among them {shared[0]!r}; expected "
            "an encoder that learned from other people",
            path=card.file,
        )
