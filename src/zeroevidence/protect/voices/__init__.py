"""What a voice protector is, and the table of names by which the command line knows them.

Each module of this package enters its protectors into the table, which imports them when it is first read.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, TypeVar

from numpy.typing import NDArray

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.voices.waves import RANGES, Utterance, Wave


class VoiceProtector(Protocol):
    """Maps a waveform to one of the same length that should no longer sound like its speaker.

    Any object with these members is one; nothing needs to be inherited.

    Examples
    --------
    >>> from zeroevidence.protect import McAdams, VoiceProtector
    >>> protector: VoiceProtector = McAdams(0.7)
    >>> protector.name, protector.fingerprint
    ('mcadams:0.7', 'mcadams/1(coefficient=0.7, order=20)')
    """

    @property
    def name(self) -> str:
        """Short, for tables and labels."""

    @property
    def fingerprint(self) -> str:
        """Name, parameters and version: two protectors with the same fingerprint give the same output."""

    def __call__(self, wave: NDArray[Any], rate: int, utterance: Utterance) -> Wave:
        """The protected waveform: single precision, one channel, within [-1, 1]."""


Make: TypeAlias = Callable[[str, int], VoiceProtector]
M = TypeVar("M", bound=Make)


@dataclass(frozen=True, slots=True)
class Spelling:
    """One way to name a protector on the command line, and in brackets what it means."""

    text: str
    meaning: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.meaning})" if self.meaning else self.text


@dataclass(frozen=True, slots=True)
class VoiceKind:
    """One kind of voice protector, called by the name before the colon."""

    name: str
    words: str  # one line: what it does to a voice
    spellings: tuple[Spelling, ...]  # examples for help and messages
    make: Make  # from the text after the colon and a seed; a text that cannot be read is a ValueError
    keeps: str  # one sentence: what of the speech stays useful
    needs: str  # one sentence: what it takes


_KINDS: dict[str, VoiceKind] = {}


def voice(
    name: str, words: str, *spellings: Spelling, keeps: str = "Not said.", needs: str = "Not said."
) -> Callable[[M], M]:
    """Enter a function that makes a protector from the text after the colon and a seed into the table.

    `words`, `keeps` and `needs` are sentences for its card: what it does, what it keeps, what it takes.
    """

    def enter(make: M) -> M:
        _KINDS[name] = VoiceKind(name, words, spellings, make, keeps, needs)
        return make

    return enter


def remove_voice(name: str) -> None:
    """Take a kind of voice protector out of the table again, after trying it out."""
    del _KINDS[name]


def kinds() -> dict[str, VoiceKind]:
    """All kinds of voice protector by name, in alphabetical order."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return dict(sorted(_KINDS.items()))


def spellings() -> str:
    """How protectors are named on the command line, in words, for help and messages."""
    examples = ", ".join(str(one) for kind in kinds().values() for one in kind.spellings)
    return f"{examples}; {RANGES}; several are joined by +"


def load_protector(text: str, *, seed: int = 0) -> VoiceProtector:
    """The protector that a name on the command line stands for.

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
        from zeroevidence.protect.voices.chain import Chain

        return Chain(tuple(load_protector(part, seed=seed) for part in parts))
    (kind,) = voice_kinds(text)
    try:
        return kind.make(text.strip().partition(":")[2], seed)
    except InputError:  # a ValueError too, but one that says what is wrong
        raise
    except ValueError:
        raise _unknown(text) from None


def voice_kinds(text: str) -> tuple[VoiceKind, ...]:
    """The kinds of the protectors that a name on the command line stands for, in the order in which they are applied.

    Examples
    --------
    >>> [kind.name for kind in voice_kinds("mcadams:0.7+pitch:2")]
    ['mcadams', 'pitch']
    """
    found = []
    for part in _parts(text):
        kind = kinds().get(part.strip().partition(":")[0])
        if kind is None:
            raise _unknown(part)
        found.append(kind)
    return tuple(found)


def _parts(text: str) -> list[str]:
    """The names that are joined by a plus; a program's arguments are its own."""
    return [text] if text.strip().partition(":")[0] == "command" else text.split("+")


def _unknown(text: str) -> UsageError:
    return UsageError(f"no protector is called {text!r}; there are {spellings()}")
