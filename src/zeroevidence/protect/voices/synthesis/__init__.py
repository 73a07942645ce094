"""Synthetic voices that come in wheels: the registry, and what every one of them offers.

The modules of this package register them; they are imported when the registry is first read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from zeroevidence.protect.voices.processing import Wave
from zeroevidence.registry import Registry


class Synthesiser(Protocol):
    """A loaded voice; several threads may call it. The same text gives the same speech."""

    def __call__(self, text: str, rate: int) -> Wave:
        """Return a text as speech at a rate."""


@dataclass(frozen=True, slots=True)
class SyntheticVoice:
    """A registered voice.

    Parameters
    ----------
    name
        Its name on the command line.
    title
        What speaks, with its language.
    licence
        Licences of the program, the voice and what the voice was made from.
    version
        What its output depends on: enters cache keys.
    make
        Loads it.
    """

    name: str
    title: str
    licence: str
    version: str
    make: Callable[[], Synthesiser]


SYNTHETIC_VOICES: Registry[SyntheticVoice] = Registry(
    "synthetic voice", package=__name__, order=lambda voice: voice.name
)


@lru_cache
def load_voice(name: str) -> Synthesiser:
    """Return the voice of that name, loaded once."""
    return SYNTHETIC_VOICES.find(name).make()
