"""The people whom an encoder was trained on, as digests in its card: they must not be evaluated with it.

A digest is the sha256 of a fixed prefix and the speaker's name. It does not hide a name that can be guessed, so a card
is as confidential as a list of the names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.errors import InputError

_PREFIX = "zeroevidence/person/"


def person_digest(name: str) -> str:
    """Return the digest of a person that a card holds.

    Examples
    --------
    >>> person_digest("ann")[:12]
    'e52a961b2277'
    """
    return hashlib.sha256(f"{_PREFIX}{name}".encode()).hexdigest()


def training_people(card: EncoderCard) -> frozenset[str]:
    """Return the digests of all people whom an encoder was trained or stopped on; none where its card has none."""
    return frozenset(card.training_people) | frozenset(card.development_people)


def shared_people(card: EncoderCard, speakers: Iterable[str]) -> list[str]:
    """Return those of some speakers whom an encoder was trained or stopped on, in alphabetical order.

    Examples
    --------
    >>> from zeroevidence.attack.encoders.inventory import find_encoder
    >>> shared_people(find_encoder("campplus").card, ["ann", "bob"])
    []
    """
    digests = training_people(card)
    return sorted({str(name) for name in speakers if person_digest(str(name)) in digests})


def refuse_shared(card: EncoderCard, speakers: Iterable[str]) -> None:
    """Refuse to evaluate people whom an encoder was trained on.

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
