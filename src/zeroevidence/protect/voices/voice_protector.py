"""The interface of voice protectors."""

from __future__ import annotations

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
