"""Parameters of voice protectors: a number, or a range from which each speaker or utterance gets a value."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, apply_change, check_wave

Per: TypeAlias = Literal["speaker", "utterance"]
RANGE_HELP = "a range may end in :utterance (one draw per utterance)"  # for help and messages


@dataclass(frozen=True, slots=True)
class VoiceParameter:
    """The value of a parameter, or the range from which it is drawn.

    Parameters
    ----------
    protector
        Name of the protector.
    value
        A number, or a range (low, high).
    per
        With a range: whether a value is drawn for each speaker (also if None) or for each utterance.
    seed
        Decides the values drawn from a range.
    limits
        The lowest and the highest number that the protector accepts.
    """

    protector: str
    value: float | tuple[float, float]
    per: Per | None
    seed: int
    limits: tuple[float, float]

    def __post_init__(self) -> None:
        """Refuse numbers that the protector cannot use."""
        lowest, highest = self.limits
        ends = self.value if isinstance(self.value, tuple) else (self.value, self.value)
        if len(ends) != 2 or not all(lowest <= end <= highest for end in ends) or ends[0] > ends[1]:
            raise UsageError(
                f"{self.protector}: {self.value} is neither a number from {lowest:g} to {highest:g} "
                "nor a range (low, high) of such numbers"
            )
        if self.per not in (None, *get_args(Per)):
            raise UsageError(f"{self.protector}: a value is drawn per speaker or utterance, not per {self.per!r}")
        if self.per is not None and not isinstance(self.value, tuple):
            raise UsageError(f"{self.protector}: nothing to draw per {self.per} from one number; give a range")

    def of(self, utterance: UtteranceInfo) -> float:
        """Return the value for one utterance, the same in every run.

        It is drawn uniformly, by a hash of the protector's name, the seed and the identifier. So it depends neither on
        the order of utterances nor on who else is in the corpus.
        """
        if not isinstance(self.value, tuple):
            return float(self.value)
        low, high = self.value
        identifier = utterance.id if self.per == "utterance" else utterance.speaker
        digest = hashlib.sha256(f"{self.protector}\0{self.seed}\0{identifier}".encode()).digest()
        return low + (high - low) * (int.from_bytes(digest[:7], "big") / 2**56)

    @property
    def text(self) -> str:
        """As it is written on the command line."""
        if not isinstance(self.value, tuple):
            return f"{self.value:g}"
        per = ":utterance" if self.per == "utterance" else ""
        return f"{self.value[0]:g}..{self.value[1]:g}{per}"

    @property
    def record(self) -> str:
        """Everything that decides the value, to the last digit."""
        if not isinstance(self.value, tuple):
            return repr(float(self.value))
        return f"{float(self.value[0])!r}..{float(self.value[1])!r} per {self.per or 'speaker'} seed {self.seed}"


def number_or_range(text: str) -> tuple[float | tuple[float, float], Per | None]:
    """Return value and `per` from a text such as ``4``, ``-4..4`` or ``-4..4:utterance``, or raise ValueError."""
    numbers, _, per = text.partition(":")
    parts = [float(part) for part in numbers.split("..")]
    if len(parts) == 1 and not per:
        return parts[0], None
    if len(parts) != 2 or per not in ("", *get_args(Per)):
        raise ValueError(f"{text!r} is neither a number nor a range")
    return (parts[0], parts[1]), "utterance" if per == "utterance" else "speaker"


class ParameterisedProtector(ABC):
    """Base class of protectors with a parameter that is a number or a range; they are frozen dataclasses."""

    kind: ClassVar[str]  # name before the colon on the command line
    parameter_name: ClassVar[str]
    limits: ClassVar[tuple[float, float]]
    version: ClassVar[int] = 1  # of the algorithm: enters cache keys, so raise it with any change of the output

    per: Per | None
    seed: int

    def __post_init__(self) -> None:
        """Refuse invalid parameters, before any audio is read."""
        self.parameter()

    def parameter(self) -> VoiceParameter:
        """Return the parameter, checked."""
        return VoiceParameter(self.kind, getattr(self, self.parameter_name), self.per, self.seed, self.limits)

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        return f"{self.kind}:{self.parameter().text}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"{self.kind}/{self.version}({self.parameter_name}={self.parameter().record})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the protected waveform."""
        value = self.parameter().of(utterance)
        return apply_change(check_wave(wave, rate, utterance), lambda speech: self._change(speech, value, rate))

    @abstractmethod
    def _change(self, speech: FloatArray, value: float, rate: int) -> FloatArray:
        """Return changed speech of the same length, for one value of the parameter."""
