"""What a voice protector is, and the names by which the command line knows them."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from zeroevidence.errors import UsageError
from zeroevidence.protect.external import External
from zeroevidence.protect.mcadams import McAdams
from zeroevidence.protect.shift import FormantShift, PitchShift
from zeroevidence.protect.waves import Per, Utterance, Wave

RANDOM_COEFFICIENT = (0.5, 0.9)  # of the reference's random variant
NAMES = (
    "mcadams (coefficient 0.8), mcadams:0.7, mcadams:0.5..0.9 (one per speaker), mcadams-random (the same), "
    "pitch:4 (semitones), pitch:-4..4, formant:1.2 (ratio), formant:0.8..1.25, "
    "command:'PROGRAM {input} {output}'; a range may end in :utterance (one draw per utterance)"
)


class VoiceProtector(Protocol):
    """Maps a waveform to one of the same length that should no longer sound like its speaker."""

    @property
    def name(self) -> str:
        """Short, for tables and labels."""

    @property
    def fingerprint(self) -> str:
        """Name, parameters and version: two protectors with one fingerprint give the same output."""

    def __call__(self, wave: NDArray[Any], rate: int, utterance: Utterance) -> Wave:
        """The protected waveform: single precision, one channel, within [-1, 1]."""


def load_protector(text: str, *, seed: int = 0) -> VoiceProtector:
    """The protector that a name on the command line stands for; the seed decides what is drawn from ranges."""
    kind, _, rest = text.strip().partition(":")
    if kind == "command":
        return External(rest)
    if kind == "mcadams-random" and not rest:
        return McAdams(RANDOM_COEFFICIENT, per="speaker", seed=seed)
    if kind == "mcadams" and not rest:
        return McAdams()
    if kind not in ("mcadams", "pitch", "formant") or not rest:
        raise _unknown(text)
    value, per = _number_or_range(rest, text)
    if kind == "mcadams":
        return McAdams(value, per, seed)
    if kind == "pitch":
        return PitchShift(value, per, seed)
    return FormantShift(value, per, seed)


def _number_or_range(rest: str, text: str) -> tuple[float | tuple[float, float], Per | None]:
    numbers, _, per = rest.partition(":")
    try:
        parts = [float(part) for part in numbers.split("..")]
    except ValueError:
        raise _unknown(text) from None
    if len(parts) == 1 and not per:
        return parts[0], None
    if len(parts) == 2 and per in ("", "speaker"):
        return (parts[0], parts[1]), "speaker"
    if len(parts) == 2 and per == "utterance":
        return (parts[0], parts[1]), "utterance"
    raise _unknown(text)


def _unknown(text: str) -> UsageError:
    return UsageError(f"no protector is called {text!r}; there are {NAMES}")
