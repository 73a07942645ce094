"""Cascade: a recogniser writes down what is said, and a synthetic voice reads it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.voices import Chain, ProtectorPart, Spelling, VoiceProtector, register_voice, speech_models
from zeroevidence.protect.voices.processing import UtteranceInfo, Wave, check_wave, resampled
from zeroevidence.protect.voices.speech_models import RATE, Transcript

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WRITTEN = re.compile(r"(?<![\w.,-])\d+(?:-\d+)*(?![\w-]|[.,]\d)")
_YEARS = re.compile(r"\d{4}-\d{4}|\d{4}-\d\d-\d\d")  # and days
_LEAST_JOINED = 7  # digits of a telephone number
_LEAST = 5  # digits; numbers of that size are written with commas


def spell_digits(text: str) -> str:
    """Return a text with the digits of telephone numbers and codes as words; other numbers stay as they are.

    Examples
    --------
    >>> spell_digits("Call 592-437-6081.")
    'Call five nine two, four three seven, six zero eight one.'
    >>> spell_digits("In 1984 it cost 1,250,000 dollars, 12 a day.")
    'In 1984 it cost 1,250,000 dollars, 12 a day.'
    """
    return _WRITTEN.sub(lambda match: _spell_code(match[0]) if _is_code(match[0]) else match[0], text)


def _is_code(written: str) -> bool:
    groups = written.split("-")
    if len(groups) == 1:
        return len(written) >= _LEAST or (written[0] == "0" and len(written) > 1)
    if all(len(group) == 1 for group in groups):
        return len(groups) > 2
    return sum(map(len, groups)) >= _LEAST_JOINED and _YEARS.fullmatch(written) is None


def _spell_code(code: str) -> str:
    groups = code.split("-")
    groups = ["".join(groups)] if all(len(group) == 1 for group in groups) else groups
    return ", ".join(" ".join(_DIGITS[int(digit)] for digit in group) for group in groups)


_REMEDY = "--transcripts FILE, whose words are read in place of those that the recogniser hears"
_VERSION = 4  # of what is between recogniser and voice: enters cache keys
_USUAL = "moonshine/joe"
_SPOKEN = "en"  # the language of the voices
_FRAME = 0.05  # seconds over which loudness is measured
_AUDIBLE = 1e-4  # of the power of the loudest frame, -40 dB
_LEAST_WORDS = 1 / 3  # per second of audible sound; somebody who speaks says more
_INVENTED = ("you", "thank you")  # what recognisers write where nobody speaks
_LOOPS, _LOOP_WORDS = 4, 8  # a phrase repeated so often, with so many words in all, was not said


@dataclass(frozen=True)
class Cascade:
    """Speech to text to speech.

    Nothing of the recording but the text reaches the output, so the voice, its pitch, rate and pauses are gone. What
    stays are the words, with the recogniser's errors, and with them the length and how somebody chooses words.

    Parameters
    ----------
    recogniser
        Name of the recogniser.
    voice
        Name of the synthetic voice.
    transcripts
        What was said in each utterance, in place of the recogniser; None to recognise it.

    Examples
    --------
    >>> Cascade().name
    'cascade:moonshine/joe'
    """

    recogniser: str = "moonshine"
    voice: str = "joe"
    transcripts: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        """Refuse unknown parts, before any audio is read."""
        speech_models.RECOGNISERS.find(self.recogniser)
        speech_models.SYNTHETIC_VOICES.find(self.voice)

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        return f"cascade:{self.recogniser}/{self.voice}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        source = speech_models.RECOGNISERS[self.recogniser].version
        if self.transcripts is not None:
            listed = "\n".join(f"{name}\t{text}" for name, text in sorted(self.transcripts.items()))
            source = f"transcripts {hashlib.sha256(listed.encode()).hexdigest()}"
        return f"cascade/{_VERSION}({source}, {speech_models.SYNTHETIC_VOICES[self.voice].version})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the text of the recording, read by the voice: of another length.

        Raises
        ------
        InputError
            Naming the utterance, where no words were recognised, or only such as cannot be relied on.
        """
        speech = check_wave(wave, rate, utterance)
        try:
            return speech_models.load_voice(self.voice)(spell_digits(self._text(speech, rate, utterance)), rate)
        except InputError as error:
            raise InputError(error.reason, path=f"utterance {utterance.id}", remedy=error.remedy) from None

    def _text(self, speech: FloatArray, rate: int, utterance: UtteranceInfo) -> str:
        if self.transcripts is not None:
            if utterance.id not in self.transcripts:
                raise InputError(
                    "no transcript; expected one for every utterance", remedy="a line each in --transcripts"
                )
            return self.transcripts[utterance.id]
        heard = resampled(speech, Fraction(RATE, rate)).astype(np.float32)
        recognised = speech_models.recognise(self.recogniser, heard)
        least_confidence = speech_models.RECOGNISERS[self.recogniser].least_confidence
        reason = unclear_reason(recognised, audible_seconds(heard), least_confidence)
        if reason:
            raise InputError(reason, remedy=_REMEDY)
        return recognised.text


def unclear_reason(recognised: Transcript, seconds: float, least_confidence: float) -> str:
    """Return why recognised words must not be spoken, as those that nobody said; empty where they may.

    Parameters
    ----------
    recognised
        What the recogniser heard.
    seconds
        Length of the audible sound.
    least_confidence
        Confidence below which the recogniser has not understood.

    Examples
    --------
    >>> unclear_reason(Transcript("We call it bear.", -0.2), 2.0, -0.8)
    ''
    >>> unclear_reason(Transcript("Stop it, stop it, stop it, stop it.", -0.2), 2.0, -0.8)
    "'stop it' was recognised again and again, as when a recogniser loops"
    >>> unclear_reason(Transcript("Okay.", -0.2), 8.0, -0.8)
    'only 1 word was recognised in 8.0 s of sound, as in music or noise'
    >>> unclear_reason(Transcript("592-437-6081.", -0.2), 8.0, -0.8)
    ''
    """
    words = spell_digits(recognised.text).split()
    plain = " ".join(word.strip(".,!?").lower() for word in words)
    if not any(character.isalnum() for character in recognised.text):
        return "no words were recognised"
    if recognised.language not in (None, _SPOKEN):
        return f"speech in another language ({recognised.language}) was recognised; expected English"
    letters = [letter for letter in recognised.text if letter.isalpha()]
    if foreign := [letter for letter in letters if not unicodedata.name(letter, "").startswith("LATIN")]:
        return f"letters of another language ({foreign[0]}) were recognised; expected English"
    if recognised.confidence < least_confidence:
        return (
            f"not understood: the recogniser is not sure of the words (mean log-probability "
            f"{recognised.confidence:.2f}; at least {least_confidence:g} is needed)"
        )
    if not recognised.ended:
        return "the recogniser wrote more than anybody says in that time, as when it loops"
    if phrase := _repeated_phrase(plain.replace("-", " ").split()):
        return f"{phrase!r} was recognised again and again, as when a recogniser loops"
    if plain in _INVENTED:
        return f"only {recognised.text!r} was recognised, as where nobody speaks"
    if len(words) < _LEAST_WORDS * seconds:
        count = f"{len(words)} word{'s were' if len(words) > 1 else ' was'}"
        return f"only {count} recognised in {seconds:.1f} s of sound, as in music or noise"
    return ""


def _repeated_phrase(words: Sequence[str]) -> str:
    """Return the shortest phrase that is said over and over; empty where there is none."""
    for size in range(1, len(words) // _LOOPS + 1):
        times = max(_LOOPS, -(-_LOOP_WORDS // size))
        for first in range(len(words) - times * size + 1):
            phrase = words[first : first + size]
            if all(words[first + k * size : first + (k + 1) * size] == phrase for k in range(1, times)):
                return " ".join(phrase)
    return ""


def audible_seconds(wave: NDArray[np.float32]) -> float:
    """Return how long sound at 16 kHz is within 40 dB of its loudest part.

    Examples
    --------
    >>> audible_seconds(np.concatenate([np.zeros(RATE), np.ones(RATE)]).astype(np.float32))
    1.0
    """
    size = int(_FRAME * RATE)
    power = (wave[: len(wave) // size * size].reshape(-1, size).astype(np.float64) ** 2).mean(axis=1)
    return _FRAME * int((power > _AUDIBLE * power.max(initial=0.0)).sum())


def with_transcripts(protector: VoiceProtector, transcripts: Mapping[str, str]) -> VoiceProtector:
    """Return a protector that reads transcripts in place of recognising speech; one that does neither is refused."""
    if isinstance(protector, Cascade):
        return replace(protector, transcripts=transcripts)
    if isinstance(protector, Chain) and any(isinstance(part, Cascade) for part in protector.parts):
        parts = (with_transcripts(part, transcripts) if isinstance(part, Cascade) else part for part in protector.parts)
        return Chain(tuple(parts))
    raise UsageError(f"{protector.name} does not recognise speech; expected a cascade to give transcripts to")


def _names(text: str) -> tuple[str, str]:
    recogniser, _, voice = (text or _USUAL).partition("/")
    return recogniser, voice or _USUAL.partition("/")[2]


def _cascade_parts(text: str) -> tuple[ProtectorPart, ...]:
    names = _names(text)
    recogniser, voice = speech_models.RECOGNISERS.find(names[0]), speech_models.SYNTHETIC_VOICES.find(names[1])
    return (
        ProtectorPart("recogniser", recogniser.name, recogniser.title, recogniser.licence),
        ProtectorPart("voice", voice.name, voice.title, voice.licence),
    )


@register_voice(
    "cascade",
    "Recognises the words and lets a synthetic voice read them.",
    Spelling("cascade"),
    Spelling("cascade:moonshine/joe", "the same: recogniser/voice"),
    keeps="Words as far as they are recognised; voice, rate, pauses and everything else of the recording are gone.",
    needs="A speech recogniser and a synthetic voice, trained on speech of others.",
    parts=_cascade_parts,
    leaves="words",
    language="English",
)
def cascade(text: str, _: int) -> Cascade:
    """Return the cascade of a recogniser and a voice."""
    return Cascade(*_names(text))
