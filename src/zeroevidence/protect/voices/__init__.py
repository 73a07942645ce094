"""Voice protectors: the registry by which the command line finds them.

The modules of this package register their protectors; they are imported when the registry is first read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.voices.parameters import RANGE_HELP
from zeroevidence.protect.voices.voice_protector import Chain
from zeroevidence.protect.voices.voice_protector import VoiceProtector as VoiceProtector
from zeroevidence.registry import Registry

Make: TypeAlias = Callable[[str, int], VoiceProtector]
Parts: TypeAlias = "Callable[[str], tuple[ProtectorPart, ...]]"
M = TypeVar("M", bound=Make)


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to name a protector on the command line, and in brackets what it means."""

    text: str
    meaning: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.meaning})" if self.meaning else self.text


@dataclass(frozen=True, slots=True)
class ProtectorPart:
    """A model or program that a protector is made of.

    Parameters
    ----------
    role
        What it does.
    name
        Its name on the command line.
    title
        What it is.
    licence
        The licences that it comes under.
    """

    role: Literal["recogniser", "voice", "encoder"]
    name: str
    title: str
    licence: str

    def __str__(self) -> str:
        return f"{self.role.capitalize()} {self.name}: {self.title}. Licences: {self.licence}."


@dataclass(frozen=True, slots=True)
class VoiceProtectorKind:
    """A registered kind of voice protector.

    Parameters
    ----------
    name
        What stands before the colon on the command line.
    description
        One sentence: what it does to a voice.
    spellings
        Examples for help and messages.
    make
        Makes a protector from the text after the colon and a seed; raises ValueError if it cannot read the text.
    keeps
        One sentence: what of the speech stays useful.
    needs
        One sentence: what it requires.
    parts
        Returns the models and programs that it is made of, from the text after the colon.
    """

    name: str
    description: str
    spellings: tuple[Spelling, ...]
    make: Make
    keeps: str
    needs: str
    parts: Parts = lambda _: ()


VOICE_PROTECTORS: Registry[VoiceProtectorKind] = Registry(
    "voice protector", package=__name__, order=lambda kind: kind.name
)


def register_voice(
    name: str,
    description: str,
    *spellings: Spelling,
    keeps: str = "Not stated.",
    needs: str = "Not stated.",
    parts: Parts = lambda _: (),
) -> Callable[[M], M]:
    """Return a decorator that registers a function that makes a protector from the text after the colon and a seed.

    The parameters are those of `VoiceProtectorKind`.
    """

    def register(make: M) -> M:
        VOICE_PROTECTORS.add(VoiceProtectorKind(name, description, spellings, make, keeps, needs, parts))
        return make

    return register


def spelling_help() -> str:
    """Return how protectors are named on the command line, for help and messages."""
    examples = ", ".join(str(spelling) for kind in VOICE_PROTECTORS.values() for spelling in kind.spellings)
    return f"{examples}; {RANGE_HELP}; several are joined by +"


def load_protector(text: str, *, seed: int = 0) -> VoiceProtector:
    """Return the protector that a name on the command line stands for.

    Parameters
    ----------
    text
        For example ``mcadams``, ``pitch:4``, ``formant:0.8..1.25`` or ``command:PROGRAM {input} {output}``; several,
        joined by a plus, are applied one after the other.
    seed
        Decides what is drawn from a range.

    Examples
    --------
    >>> from zeroevidence.protect import load_protector
    >>> load_protector("pitch:4")
    PitchShift(semitones=4.0, per=None, seed=0)
    >>> load_protector("mcadams:0.5..0.9:utterance", seed=7)
    McAdams(coefficient=(0.5, 0.9), per='utterance', seed=7, order=20)
    """
    parts = _parts(text)
    if len(parts) > 1:
        return Chain(tuple(load_protector(part, seed=seed) for part in parts))
    (kind,) = find_voice_protectors(text)
    try:
        return kind.make(text.strip().partition(":")[2], seed)
    except InputError:  # a ValueError too, but with a message of its own
        raise
    except ValueError:
        raise _unknown(text) from None


def find_voice_protectors(text: str) -> tuple[VoiceProtectorKind, ...]:
    """Return the kinds of the protectors that a name on the command line stands for, in order of application.

    Examples
    --------
    >>> [kind.name for kind in find_voice_protectors("mcadams:0.7+pitch:2")]
    ['mcadams', 'pitch']
    """
    kinds = []
    for part in _parts(text):
        name = part.strip().partition(":")[0]
        if name not in VOICE_PROTECTORS:
            raise _unknown(part)
        kinds.append(VOICE_PROTECTORS[name])
    return tuple(kinds)


def protector_parts(text: str) -> tuple[ProtectorPart, ...]:
    """Return the models and programs of the protectors that a name on the command line stands for."""
    kinds, texts = find_voice_protectors(text), (part.strip().partition(":")[2] for part in _parts(text))
    return tuple(part for kind, argument in zip(kinds, texts, strict=True) for part in kind.parts(argument))


def _parts(text: str) -> list[str]:
    """Return the names that are joined by a plus; a plus in the arguments of a program does not separate."""
    return [text] if text.strip().partition(":")[0] == "command" else text.split("+")


def _unknown(text: str) -> UsageError:
    return UsageError(f"unknown voice protector {text!r}; expected {spelling_help()}")


def seeded_protectors(name: str, seed: int, number: int) -> tuple[VoiceProtector, ...]:
    """Return the protector of each draw, by its name on the command line."""
    return tuple(load_protector(name, seed=draw_seed(seed, draw)) for draw in range(number))


def draw_seed(seed: int, draw: int) -> int:
    """Return the seed of a draw: that of the audit for the release, and of 31 bits of a hash of both for further ones.

    Examples
    --------
    >>> draw_seed(7, 0), draw_seed(7, 1) != draw_seed(7, 2)
    (7, True)
    """
    if draw == 0:
        return seed
    return int.from_bytes(hashlib.sha256(f"{seed} draw {draw}".encode()).digest()[:4], "big") >> 1
