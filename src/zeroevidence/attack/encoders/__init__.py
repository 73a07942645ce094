"""Encoders: one that comes with the package, others that are added with their cards, and checks of both.

`bundled/` holds encoders with card, licence and origin, `check/` the utterance that every encoder is checked on.
"""

from zeroevidence.attack.encoders.adding import add_encoder
from zeroevidence.attack.encoders.checking import Check, check_encoders
from zeroevidence.attack.encoders.known import KNOWN, PublishedEncoder, find_known
from zeroevidence.attack.encoders.people import person_digest, refuse_shared, shared_people, training_people
from zeroevidence.attack.encoders.shelf import Encoder, Inventory, find_card, find_encoder, inventory

__all__ = [
    "KNOWN",
    "Check",
    "Encoder",
    "Inventory",
    "PublishedEncoder",
    "add_encoder",
    "check_encoders",
    "find_card",
    "find_encoder",
    "find_known",
    "inventory",
    "person_digest",
    "refuse_shared",
    "shared_people",
    "training_people",
]
