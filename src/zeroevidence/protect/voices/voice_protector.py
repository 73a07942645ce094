"""The interface of voice protectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from numpy.typing import NDArray

from zeroevidence.protect.voices.processing import UtteranceInfo, Wave


class VoiceProtector(Protocol):
    """Maps a waveform to one that should no longer sound like its speaker.

    It has the same length, unless the protector speaks the words anew, as cascades do.

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

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the protected waveform: single precision, one channel, within [-1, 1]."""


@dataclass(frozen=True, slots=True)
class Chain:
    """Protectors that are applied one after the other.

    Examples
    --------
    >>> from zeroevidence.protect import load_protector
    >>> load_protector("mcadams:0.8+pitch:2").name
    'mcadams:0.8+pitch:2'
    """

    parts: tuple[VoiceProtector, ...]

    @property
    def name(self) -> str:
        """As it is written on the command line."""
        return "+".join(part.name for part in self.parts)

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return " then ".join(part.fingerprint for part in self.parts)

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the waveform after all of them."""
        for part in self.parts:
            wave = part(wave, rate, utterance)
        return wave
