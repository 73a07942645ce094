"""Voice protectors: their interface, their parameters, and the registry by which the command line finds them."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, TypeAlias, TypeVar, get_args

from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.errors import UsageError, ZeroEvidenceError
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, apply_change, check_wave
from zeroevidence.registry import Registry

Per: TypeAlias = Literal["speaker", "utterance"]
RANGE_HELP = "a range may end in :utterance (one draw per utterance)"  # for help and messages


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
    """Base class of protectors with a parameter that is a number, or a range from which a value is drawn.

    They are frozen dataclasses with a field for the parameter, `per` (with a range: whether a value is drawn for each
    speaker, also if None, or for each utterance) and `seed`, which decides the values drawn.
    """

    kind: ClassVar[str]  # name before the colon on the command line
    parameter_name: ClassVar[str]
    limits: ClassVar[tuple[float, float]]  # the lowest and the highest number that it accepts
    version: ClassVar[int] = 1  # of the algorithm: enters cache keys, so raise it with any change of the output

    per: Per | None
    seed: int

    @property
    def parameter(self) -> float | tuple[float, float]:
        """The number, or the range."""
        value: float | tuple[float, float] = getattr(self, self.parameter_name)
        return value

    def __post_init__(self) -> None:
        """Refuse numbers that the protector cannot use, before any audio is read."""
        (lowest, highest), value = self.limits, self.parameter
        ends = value if isinstance(value, tuple) else (value, value)
        if len(ends) != 2 or not all(lowest <= end <= highest for end in ends) or ends[0] > ends[1]:
            raise UsageError(
                f"{self.kind}: {value} is neither a number from {lowest:g} to {highest:g} "
                "nor a range (low, high) of such numbers"
            )
        if self.per not in (None, *get_args(Per)):
            raise UsageError(f"{self.kind}: a value is drawn per speaker or utterance, not per {self.per!r}")
        if self.per is not None and not isinstance(value, tuple):
            raise UsageError(f"{self.kind}: nothing to draw per {self.per} from one number; give a range")

    def value_for(self, utterance: UtteranceInfo) -> float:
        """Return the value for one utterance, the same in every run.

        It is drawn uniformly, by a hash of the protector's name, the seed and the identifier. So it depends neither on
        the order of utterances nor on who else is in the corpus.
        """
        if not isinstance(self.parameter, tuple):
            return float(self.parameter)
        low, high = self.parameter
        identifier = utterance.id if self.per == "utterance" else utterance.speaker
        digest = hashlib.sha256(f"{self.kind}\0{self.seed}\0{identifier}".encode()).digest()
        return low + (high - low) * (int.from_bytes(digest[:7], "big") / 2**56)

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        if not isinstance(self.parameter, tuple):
            return f"{self.kind}:{self.parameter:g}"
        low, high = self.parameter
        return f"{self.kind}:{low:g}..{high:g}{':utterance' if self.per == 'utterance' else ''}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys: everything that decides the output, to the last digit."""
        if isinstance(self.parameter, tuple):
            low, high = map(float, self.parameter)
            record = f"{low!r}..{high!r} per {self.per or 'speaker'} seed {self.seed}"
        else:
            record = repr(float(self.parameter))
        return f"{self.kind}/{self.version}({self.parameter_name}={record}{self._further})"

    @property
    def _further(self) -> str:
        """What else decides the output, for the fingerprint."""
        return ""

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the protected waveform."""
        value = self.value_for(utterance)
        return apply_change(check_wave(wave, rate, utterance), lambda speech: self._change(speech, value, rate))

    @abstractmethod
    def _change(self, speech: FloatArray, value: float, rate: int) -> FloatArray:
        """Return changed speech of the same length, for one value of the parameter."""


class VoiceProtector(Protocol):
    """Maps a waveform to one that should no longer sound like its speaker.

    It has the same length, unless the protector speaks the words anew, as cascades do.

    Any object with these members is one; nothing needs to be inherited.

    Examples
    --------
    >>> from zeroevidence.protect import McAdams, VoiceProtector
    >>> protector: VoiceProtector = McAdams(0.7)
    >>> protector.name, protector.fingerprint
    ('mcadams:0.7', 'mcadams/2(coefficient=0.7, order=20)')
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


Leaves: TypeAlias = Literal["voice", "timing", "words"]  # from most to least
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
    leaves
        What of the speaker is left to programs that compare voices, as audits of the protectors have shown.
    language
        The only language whose words it keeps; empty where that does not matter.
    needs
        One sentence: what it requires.
    parts
        Returns the models and programs that it is made of, from the text after the colon.
    """

    name: str
    description: str
    spellings: tuple[Spelling, ...]
    make: Make
    keeps: str = "Not stated."
    needs: str = "Not stated."
    parts: Parts = lambda _: ()
    leaves: Leaves | None = None
    language: str = ""


VOICE_PROTECTORS: Registry[VoiceProtectorKind] = Registry(
    "voice protector", package=__name__, order=lambda kind: kind.name
)


def register_voice(name: str, description: str, *spellings: Spelling, **facts: Any) -> Callable[[M], M]:
    """Return a decorator that registers a function that makes a protector from the text after the colon and a seed.

    The parameters are those of `VoiceProtectorKind`.
    """

    def register(make: M) -> M:
        VOICE_PROTECTORS.add(VoiceProtectorKind(name, description, spellings, make, **facts))
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
    parts = split_names(text)
    if len(parts) > 1:
        return Chain(tuple(load_protector(part, seed=seed) for part in parts))
    (kind,) = find_voice_protectors(text)
    try:
        return kind.make(text.strip().partition(":")[2], seed)
    except ZeroEvidenceError:  # a ValueError too, but with a message of its own
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
    for part in split_names(text):
        name = part.strip().partition(":")[0]
        if name not in VOICE_PROTECTORS:
            raise _unknown(part)
        kinds.append(VOICE_PROTECTORS[name])
    return tuple(kinds)


def find_stronger(text: str | None) -> VoiceProtectorKind | None:
    """Return the kind of protector that leaves least of a speaker; None where a protector, by its name, leaves no more.

    Examples
    --------
    >>> find_stronger("mcadams+pitch:2").name, find_stronger("mcadams+cascade")
    ('cascade', None)
    """
    order = get_args(Leaves)
    least = max((kind for kind in VOICE_PROTECTORS.values() if kind.leaves), key=lambda kind: order.index(kind.leaves))
    names = [part.strip().partition(":")[0] for part in split_names(text or "")]
    leaves = [VOICE_PROTECTORS[name].leaves for name in names if name in VOICE_PROTECTORS]
    return None if least.leaves in leaves else least


def protector_parts(text: str) -> tuple[ProtectorPart, ...]:
    """Return the models and programs of the protectors that a name on the command line stands for."""
    kinds, texts = find_voice_protectors(text), (part.strip().partition(":")[2] for part in split_names(text))
    return tuple(part for kind, argument in zip(kinds, texts, strict=True) for part in kind.parts(argument))


def split_names(text: str) -> list[str]:
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
