"""Cascade: a recogniser writes down what is said, and a synthetic voice reads it; one cascade keeps the timing.

There, what the synthetic voice reads begins and pauses when the recording did.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray
from zeroevidence.attack.cues.speech_signal import HOP, SpeechSignal, runs
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect.voices import (
    Chain,
    ProtectorPart,
    Spelling,
    VoiceProtector,
    register_voice,
    speech_models,
    split_names,
)
from zeroevidence.protect.voices.onevoice import HOP as CODE_HOP
from zeroevidence.protect.voices.onevoice import load_networks
from zeroevidence.protect.voices.processing import (
    UtteranceInfo,
    Wave,
    check_wave,
    fit_length,
    limit_peak,
    resampled,
    stretched,
)
from zeroevidence.protect.voices.speech_models import ENGLISH, RATE, RecogniserKind, Transcript

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_WRITTEN = re.compile(r"(?<![\w.,-])\d+(?:-\d+)*(?![\w-]|[.,]\d)")
_YEARS = re.compile(r"[12]\d{3}-(?:[12]\d{3}|\d\d-\d\d)")  # and days
_LEAST_JOINED = 7  # digits of a telephone number
_LEAST = 5  # digits; numbers of that size are written with commas


def spell_digits(text: str, language: str = ENGLISH) -> str:
    """Return a text with the digits of telephone numbers and codes one by one; other numbers stay as they are.

    The digits become words in English, and stand apart in other languages, whose voices know the words.

    Examples
    --------
    >>> spell_digits("Call 592-437-6081.")
    'Call five nine two, four three seven, six zero eight one.'
    >>> spell_digits("In 1984 it cost 1,250,000 dollars, 12 a day.")
    'In 1984 it cost 1,250,000 dollars, 12 a day.'
    >>> spell_digits("Rufen Sie 0592-4376.", "de")
    'Rufen Sie 0 5 9 2, 4 3 7 6.'
    """
    digits = _DIGITS if language == ENGLISH else tuple("0123456789")
    return _WRITTEN.sub(lambda match: _spell_code(match[0], digits) if _is_code(match[0]) else match[0], text)


def _is_code(written: str) -> bool:
    groups = written.split("-")
    if len(groups) == 1:
        return len(written) >= _LEAST or (written[0] == "0" and len(written) > 1)
    if all(len(group) == 1 for group in groups):
        return len(groups) > 2
    return sum(map(len, groups)) >= _LEAST_JOINED and _YEARS.fullmatch(written) is None


def _spell_code(code: str, digits: Sequence[str]) -> str:
    groups = code.split("-")
    groups = ["".join(groups)] if all(len(group) == 1 for group in groups) else groups
    return ", ".join(" ".join(digits[int(digit)] for digit in group) for group in groups)


_REMEDY = "--transcripts FILE, whose words are read in place of those that the recogniser hears"
_VERSION = 5  # of what is between recogniser and voice: enters cache keys
_USUAL_RECOGNISER, _USUAL_VOICE = "moonshine", "hibari"  # benchmarks/cascade.py compares them
_KINDS = ("cascade", "timed-cascade")
_UNSPACED = ("zh", "ja", "th", "my")  # languages that are written without spaces between words
_LETTERS_PER_WORD = 2  # in these
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
        What was said in utterances, in place of the recogniser; it hears the others.

    Examples
    --------
    >>> Cascade().name
    'cascade:moonshine/hibari'
    """

    recogniser: str = _USUAL_RECOGNISER
    voice: str = _USUAL_VOICE
    transcripts: Mapping[str, str] | None = None

    kind: ClassVar[str] = "cascade"

    def __post_init__(self) -> None:
        """Refuse unknown parts and such as do not fit, before any audio is read."""
        if self.language not in speech_models.RECOGNISERS.find(self.recogniser).languages:
            others = ", ".join(kind.name for kind in _recognisers_of(self.language))
            raise UsageError(f"{self.recogniser} does not understand {self.language!r}; expected {others}")

    @property
    def language(self) -> str:
        """The language that is understood and spoken."""
        return speech_models.SYNTHETIC_VOICES.find(self.voice).language

    @property
    def name(self) -> str:
        """As `load_protector` reads it."""
        return f"{self.kind}:{self.recogniser}/{self.voice}"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        source = speech_models.RECOGNISERS[self.recogniser].version
        if self.transcripts is not None:
            listed = "\n".join(f"{name}\t{text}" for name, text in sorted(self.transcripts.items()))
            source = f"{source}, transcripts {hashlib.sha256(listed.encode()).hexdigest()}"
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
            text = spell_digits(self._text(speech, rate, utterance), self.language)
            return speech_models.load_voice(self.voice)(text, rate)
        except InputError as error:
            place = f"utterance {utterance.id}"
            raise InputError(error.reason, path=place, remedy=error.remedy, heard=error.heard) from None

    def _text(self, speech: FloatArray, rate: int, utterance: UtteranceInfo) -> str:
        if self.transcripts is not None and utterance.id in self.transcripts:
            return self.transcripts[utterance.id]
        heard = resampled(speech, Fraction(RATE, rate)).astype(np.float32)
        recognised = speech_models.recognise(self.recogniser, heard, self.language)
        least_confidence = speech_models.RECOGNISERS[self.recogniser].least_confidence
        reason = unclear_reason(recognised, audible_seconds(heard), least_confidence, self.language)
        if reason:
            raise InputError(reason, remedy=_REMEDY, heard=recognised.text)
        return recognised.text


def unclear_reason(recognised: Transcript, seconds: float, least_confidence: float, language: str = ENGLISH) -> str:
    """Return why recognised words must not be spoken, as those that nobody said; empty where they may.

    Parameters
    ----------
    recognised
        What the recogniser heard.
    seconds
        Length of the audible sound.
    least_confidence
        Confidence below which the recogniser has not understood.
    language
        The language that is expected.

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
    words = spell_digits(recognised.text, language).split()
    plain = " ".join(word.strip(".,!?").lower() for word in words)
    if not any(character.isalnum() for character in recognised.text):
        return "no words were recognised"
    if recognised.language not in (None, language):
        return f"speech in another language ({recognised.language}) was recognised; expected {language}"
    letters = [letter for letter in recognised.text if letter.isalpha()]
    foreign = [letter for letter in letters if not unicodedata.name(letter, "").startswith("LATIN")]
    if foreign and language == ENGLISH:
        return f"letters of another language ({foreign[0]}) were recognised; expected {language}"
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
    number = len(letters) // _LETTERS_PER_WORD if language in _UNSPACED else len(words)
    if number < _LEAST_WORDS * seconds:
        count = f"{number} word{' was' if number == 1 else 's were'}"
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


def _recognisers_of(language: str) -> list[RecogniserKind]:
    """Return the recognisers that understand a language, the usual one first."""
    kinds = sorted(speech_models.RECOGNISERS.values(), key=lambda kind: kind.name != _USUAL_RECOGNISER)
    return [kind for kind in kinds if language in kind.languages]


def cascade_names(text: str, language: str | None = None) -> tuple[str, str]:
    """Return the names of recogniser and voice; those that are not given are the usual ones of the language."""
    recogniser, _, voice = text.partition("/")
    spoken = {each.language: each.name for each in speech_models.SYNTHETIC_VOICES.values()}
    spoken[ENGLISH] = _USUAL_VOICE
    if not voice and language not in (None, *spoken):
        raise UsageError(f"no synthetic voice speaks {language!r}; expected one of {', '.join(sorted(spoken))}")
    voice = voice or spoken[language or ENGLISH]
    speaks = speech_models.SYNTHETIC_VOICES.find(voice).language
    if language not in (None, speaks):
        raise UsageError(
            f"the voice {voice} speaks {speaks!r}; expected one of the language {language!r}, or none named"
        )
    return recogniser or _recognisers_of(speaks)[0].name, voice


def with_language(name: str, language: str) -> str:
    """Return the name of a protector whose cascade understands and speaks a language.

    Examples
    --------
    >>> with_language("cascade", "de"), with_language("cascade:moonshine+mcadams", "en")
    ('cascade:whisper/espeak-de', 'cascade:moonshine/hibari+mcadams')
    """
    parts = [part.strip().partition(":") for part in split_names(name)]
    if not any(kind in _KINDS for kind, _, _ in parts):
        raise UsageError(f"{name} does not recognise speech; expected a cascade to give a language to")
    return "+".join(
        f"{kind}:{'/'.join(cascade_names(text, language))}" if kind in _KINDS else f"{kind}{colon}{text}"
        for kind, colon, text in parts
    )


def recognise_language(waves: Iterable[NDArray[np.float32]]) -> Counter[str]:
    """Return how many recordings at 16 kHz are in each language, as far as a recogniser of many hardly doubts it."""
    name = max(speech_models.RECOGNISERS.values(), key=lambda kind: len(kind.languages)).name
    languages = (speech_models.recognise(name, wave).language for wave in waves)
    return Counter(language for language in languages if language is not None)


def cascade_parts(text: str) -> tuple[ProtectorPart, ...]:
    """Return recogniser and voice, from the text after the colon."""
    names = cascade_names(text)
    recogniser, voice = speech_models.RECOGNISERS.find(names[0]), speech_models.SYNTHETIC_VOICES.find(names[1])
    return (
        ProtectorPart("recogniser", recogniser.name, recogniser.title, recogniser.licence),
        ProtectorPart("voice", voice.name, voice.title, voice.licence),
    )


@register_voice(
    "cascade",
    "Recognises the words and lets a synthetic voice read them.",
    Spelling("cascade"),
    Spelling("cascade:moonshine/hibari", "the same: recogniser/voice"),
    Spelling("cascade:whisper/espeak-de", "German; so for other languages"),
    keeps="Words as far as they are recognised; voice, rate, pauses and everything else of the recording are gone.",
    needs="A speech recogniser and a synthetic voice, trained on speech of others.",
    parts=cascade_parts,
    leaves="words",
    language="English",
)
def cascade(text: str, _: int) -> Cascade:
    """Return the cascade of a recogniser and a voice."""
    return Cascade(*cascade_names(text))


_TIMED_VERSION = 1  # of what happens to the speech of the voice: enters cache keys
_SHORTEST = 10  # frames of 10 ms: a phrase of the synthetic speech
_SEARCHED = 12  # frames to either side of a pause, in which synthetic speech is cut where it is quietest
_PER_FRAME = 0.5  # dB that a frame further away must be quieter
_FASTEST, _SLOWEST = 0.5, 2.0  # how much synthetic speech is stretched
_FADE = 80  # samples at both ends of a phrase


@dataclass(frozen=True)
class TimedCascade(Cascade):
    """Speech to text to speech, each phrase as long as it was said.

    Phrases are what lies between pauses. Within one, the rate of the voice is even: of the timing, the output has the
    pauses and the lengths of phrases, and nothing finer.

    Examples
    --------
    >>> TimedCascade().name
    'timed-cascade:moonshine/hibari'
    """

    kind: ClassVar[str] = "timed-cascade"

    @property
    def fingerprint(self) -> str:
        """Enters cache keys."""
        return f"timed/{_TIMED_VERSION}({super().fingerprint})"

    def __call__(self, wave: NDArray[Any], rate: int, utterance: UtteranceInfo) -> Wave:
        """Return the text of the recording, read by the voice when it was said."""
        spoken = super().__call__(wave, rate, utterance)
        recording = resampled(check_wave(wave, rate, utterance), Fraction(RATE, rate))
        timed = keep_timing(recording / np.abs(recording).max(initial=1e-9), resampled(spoken, Fraction(RATE, rate)))
        return limit_peak(fit_length(resampled(timed, Fraction(rate, RATE)), max(len(wave), len(timed) * rate // RATE)))


@register_voice(
    "timed-cascade",
    "Recognises the words and lets a synthetic voice read them, with the pauses and phrases of the recording.",
    Spelling("timed-cascade", "with the pauses of the recording"),
    Spelling("timed-cascade:whisper/hibari"),
    keeps="Words as far as they are recognised, pauses and the length of phrases; the voice is that of a synthesiser.",
    needs="A speech recogniser and a synthetic voice, trained on speech of others.",
    parts=cascade_parts,
    leaves="timing",
    language="English",
)
def timed_cascade(text: str, _: int) -> TimedCascade:
    """Return the cascade of a recogniser and a voice that keeps the timing."""
    return TimedCascade(*cascade_names(text))


def keep_timing(recording: FloatArray, spoken: FloatArray) -> FloatArray:
    """Return synthetic speech whose phrases begin and end when they do in a recording of the same words (16 kHz).

    It is longer than the recording only where phrases cannot be spoken that fast.
    """
    starts, ends = runs(SpeechSignal(recording).speech)
    voice = SpeechSignal(spoken)
    voiced = np.flatnonzero(voice.speech)
    if not len(starts) or not len(voiced):
        return fit_length(spoken, max(len(recording), len(spoken)))
    networks, frames = load_networks(), CODE_HOP / HOP
    place = align(networks.vectors(recording), networks.vectors(spoken))
    begins, cuts, last = [starts[0]], [voiced[0]], voiced[-1] + 1
    stops = list[int]()
    for end, start in zip(ends[:-1], starts[1:], strict=True):
        codes = np.minimum((np.array([end, start]) / frames).astype(int), len(place) - 1)
        cut = _quietest(voice.levels, round(float(place[codes].mean()) * frames))
        if min(cut - cuts[-1], last - cut) >= _SHORTEST:
            begins, stops, cuts = [*begins, start], [*stops, end], [*cuts, cut]
    parts, position = [], 0
    for begin, stop, first, after in zip(begins, [*stops, ends[-1]], cuts, [*cuts[1:], last], strict=True):
        ratio = float(np.clip((stop - begin) / (after - first), _FASTEST, _SLOWEST))
        phrase = _faded(stretched(spoken[first * HOP : after * HOP], ratio, RATE))
        parts += [np.zeros(max(begin * HOP - position, 0)), phrase]
        position = max(begin * HOP, position) + len(phrase)
    return fit_length(np.concatenate(parts), max(len(recording), position))


def align(first: FloatArray, second: FloatArray) -> IntArray:
    """Return the row of the second vectors that each row of the first is laid on, by dynamic time warping.

    The sum of one minus the cosines along the path is the least.

    Examples
    --------
    >>> align(np.eye(3)[[0, 0, 1, 2]], np.eye(3)[[0, 1, 1, 2]]).tolist()
    [0, 0, 2, 3]
    """
    first, second = (rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-9) for rows in (first, second))
    cost = 1.0 - first @ second.T
    total = np.full((len(first) + 1, len(second) + 1), np.inf)
    total[0, 0] = 0.0
    for row, costs in enumerate(cost):
        sums = np.cumsum(costs)  # of steps along the row; the best place to enter it is a running minimum
        entered = np.minimum(total[row, :-1], total[row, 1:]) - np.append(0.0, sums[:-1])
        total[row + 1, 1:] = sums + np.minimum.accumulate(entered)
    place, row, column = np.zeros(len(first), np.int64), len(first), len(second)
    while row:
        place[row - 1] = max(place[row - 1], column - 1)
        steps = ((row - 1, column - 1), (row - 1, column), (row, column - 1))
        row, column = min(steps, key=lambda step: total[step])
    return place


def _quietest(levels: FloatArray, frame: int) -> int:
    """Return the quietest frame near a frame; of two that are as quiet, the nearer one."""
    nearby = np.arange(max(frame - _SEARCHED, 0), min(frame + _SEARCHED + 1, len(levels)))
    return int(nearby[np.argmin(levels[nearby] + _PER_FRAME * np.abs(nearby - frame))]) if len(nearby) else frame


def _faded(wave: FloatArray) -> FloatArray:
    ramp = np.minimum((np.arange(len(wave)) + 0.5) / _FADE, 1.0)
    return wave * ramp * ramp[::-1]
