"""Word errors of original and protected speech, by a recogniser that had no part in the protection.

Recognisers write "Twenty-one bears!", "21 bears" or "TWENTY ONE BEARS" for the same words, and only the words count.
So texts are compared without case and punctuation, and with numbers written out.
"""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from math import ceil
from pathlib import Path

from zeroevidence.attack.voice_transforms import VoiceTransform, protect
from zeroevidence.auditing.options import AuditOptions
from zeroevidence.auditing.protected_speech import AuditedSpeech
from zeroevidence.auditing.speech_utility import CachedRecogniser, transcribe
from zeroevidence.data.audio import load_speech
from zeroevidence.data.corpus import Corpus, Utterance, random_key
from zeroevidence.data.formats.lists import read_transcripts
from zeroevidence.data.threat import UNPROTECTED, Training
from zeroevidence.data.waves import Wave
from zeroevidence.errors import InputError, MissingExtra, UsageError
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.setup import Options
from zeroevidence.evaluation.utility import evaluate_transcripts, word_errors
from zeroevidence.protect.voices import ProtectorPart
from zeroevidence.protect.voices.speech_models import RATE, RECOGNISERS, Transcript, load_recogniser
from zeroevidence.run import Run

NO_RECOGNISER = "none"  # in place of the name of a recogniser: word errors are not measured
WIDTH = 0.1  # to either side of a word error rate: so narrow an interval suffices
HEARD = (30, 200)  # recordings that are transcribed at least (with no error in 30, at most 0.1 is likely), and at most
WEAK = 0.5  # word error rate of original speech above which a recogniser says little
PREFERRED = ("moonshine", "whisper")  # the fastest first
_COLUMNS = ("text", "transcript")  # attributes of utterances that hold what was said
_EXTRA = "recogniser"
_ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((10**9, "billion"), (10**6, "million"), (1000, "thousand"), (100, "hundred"))
_LARGEST = 10**12  # larger numbers are read digit by digit
_SIGNS = {"%": " percent ", "&": " and ", "+": " plus ", "$": " dollars ", "£": " pounds ", "€": " euros "}
_LEAST_EXPLAINED, _EXPLAINED_SHARE = 0.02, 0.25  # of words, and of errors, that spelling makes
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}\b)")
_NUMBER = re.compile(r"\d+")
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘ʼ`´", "'"))
_NO_WORD = re.compile(r"[^\w\s']|_")
_LOOSE = re.compile(r"(?<!\w)'+|'+(?!\w)")


def select_recogniser(
    asked: str | None, parts: Sequence[ProtectorPart], run: Run = Run(), *, needed: bool = False
) -> str | None:
    """Return the recogniser that measures word errors: the one asked for, or the first that can.

    None where none is wanted, or, with a message, where none can: a recogniser that is not installed cannot, and one
    that is a part of the protection cannot, as no system judges itself.

    Parameters
    ----------
    asked
        Name of the recogniser, ``none`` for none, None for any.
    parts
        Models and programs of the protection, as far as they are known.
    run
        Messages.
    needed
        Whether there must be one, as where transcripts are given.

    Raises
    ------
    UsageError
        Where the one asked for is a part of the protection.
    MissingExtra
        Where the one asked for is not installed, or none that is needed.
    """
    if asked == NO_RECOGNISER:
        return None
    excluded = {part.name for part in parts if part.role in ("recogniser", "encoder")}
    if asked is not None:
        if RECOGNISERS.find(asked).name in excluded:
            others = ", ".join(name for name in RECOGNISERS if name not in excluded)
            raise UsageError(f"{asked} is a part of the protection and cannot judge it; expected {others}")
        load_recogniser(asked)
        return asked
    counted = importlib.util.find_spec("jiwer") is not None
    selected = next((name for name in PREFERRED if counted and name not in excluded and can_recognise(name)), None)
    if selected is None and needed:
        raise MissingExtra(
            _EXTRA, "word errors against --transcripts", without="give --hypotheses or --recogniser COMMAND"
        )
    if selected is None:
        run.say(
            f"note: word errors of original and protected speech are not measured; pip install 'zeroevidence[{_EXTRA}]'"
            f" installs recognisers for it, and --recogniser {NO_RECOGNISER} says that none is wanted"
        )
    return selected


def can_recognise(name: str) -> bool:
    """Return whether a recogniser is installed."""
    try:
        load_recogniser(name)
    except MissingExtra:
        return False
    return True


def corpus_transcripts(corpus: Corpus, source: str | Path) -> dict[str, str]:
    """Return what was said in each utterance, as far as a corpus tells: a column of its table, or Kaldi's ``text``."""
    said = {
        each.id: each.attributes[name] for each in corpus for name in _COLUMNS if each.attributes.get(name, "").split()
    }
    home = Path(source)
    for file in (home / "text", *sorted(home.glob("*/text"))) if home.is_dir() and not said else ():
        if file.is_file():
            said |= read_transcripts(file)
    return {each.id: said[each.id] for each in corpus if said.get(each.id, "").split()}


def measure_word_errors(
    speech: AuditedSpeech,
    anonymised: Corpus | VoiceTransform,
    recogniser: CachedRecogniser,
    options: AuditOptions,
    run: Run = Run(),
) -> list[Evaluation]:
    """Return the word error rates beside an audit; none, and a message, where they cannot be measured unasked.

    Parameters
    ----------
    speech
        The original speech, whose folder may hold transcripts.
    anonymised
        The protected speech, or what protects the original.
    recogniser
        The recogniser (`select_recogniser`).
    options
        What the user asked for.
    run
        Seed, level, progress and messages.
    """
    given = options.transcripts
    wanted = options.recogniser is not None or given is not None
    said = corpus_transcripts(speech.corpus, speech.path) if given is None else read_transcripts(given)
    try:
        return evaluate_word_errors(speech.corpus, anonymised, said, recogniser, options.measuring, run=run)
    except InputError as error:
        if wanted:
            raise InputError(error.reason, path=error.path or given or speech.path) from None
        run.say(f"note: word errors are not measured: {error}")
        return []


def evaluate_word_errors(
    original: Corpus,
    anonymised: Corpus | VoiceTransform,
    said: Mapping[str, str],
    recogniser: CachedRecogniser,
    options: Options = Options(),
    *,
    heard: tuple[int, int] = HEARD,
    run: Run = Run(),
) -> list[Evaluation]:
    """Return the word error rates of original and of protected speech, of the same recordings.

    Without transcripts, protected speech alone is compared, with what the recogniser understands in the original.
    Recordings are drawn at random, one of each person before a second, until the intervals are narrow enough.

    Parameters
    ----------
    original
        The original speech.
    anonymised
        The protected speech, or what protects the original.
    said
        What was said in each utterance; empty where that is not known.
    recogniser
        The recogniser.
    options
        Intervals.
    heard
        Recordings that are transcribed at least and at most; as many as possible where no intervals are wanted.
    run
        Seed, level and progress.

    Raises
    ------
    InputError
        Where there are no words to compare with.
    """
    transcribed = [each for each in original if not said or spoken_words(said.get(each.id, ""))]
    order, sides = sample_recordings(transcribed, heard[1], run.seed), SpeechSides(anonymised)
    reference, sample = said, list[Utterance]()

    def row(transcripts: Mapping[str, Transcript], speech: Training) -> Evaluation:
        texts = {each.id: closest_words(reference[each.id], transcripts[each.id].text) for each in sample}
        labels = {"recogniser": recogniser.name} | ({"system": UNPROTECTED} if speech == "original" else {})
        spoken, written = ({name: pair[at] for name, pair in texts.items()} for at in (0, 1))
        speakers = {each.id: each.speaker for each in sample}
        return evaluate_transcripts(
            spoken, written, speakers=speakers, labels=labels, speech=speech, options=options, run=run
        )

    before: dict[str, Transcript] = {}
    after: dict[str, Transcript] = {}
    rows: list[Evaluation] = []
    needed = heard[0] if options.intervals else heard[1]
    while len(before) < min(needed, len(order)):
        before |= transcribe(order[len(before) : needed], sides.original, recogniser, "original ", run)
        reference = said or _understood(before, recogniser.name)
        sample = [each for each in order[: len(before)] if spoken_words(reference.get(each.id, ""))]
        new = [each for each in sample if each.id not in after]
        after |= transcribe(new, sides.protected, recogniser, "protected ", run)
        if sample:
            rows = [row(before, "original")] * bool(said) + [row(after, "anonymised")]
        needed = _enough(rows, len(before))
    if not rows:
        raise InputError("no words to compare with; expected transcripts, or speech that the recogniser understands")
    flags = [flag("heard-sample", count=len(before), total=len(transcribed))] if len(before) < len(transcribed) else []
    if not said:
        flags.append(flag("reference-heard", count=len(sample), total=len(before)))
    elif (share := word_error_rate(rows[0])) > WEAK:
        flags.append(flag("recogniser-weak", share=share))
    return [each.with_flags(*flags) for each in rows]


def _understood(transcripts: Mapping[str, Transcript], recogniser: str) -> dict[str, str]:
    """Return the texts of which the recogniser is sure enough."""
    least = RECOGNISERS[recogniser].least_confidence
    return {name: each.text for name, each in transcripts.items() if each.confidence >= least}


def _enough(rows: Sequence[Evaluation], count: int) -> int:
    """Return how many recordings make the widest interval as narrow as it has to be; as yet so many were heard."""
    rates = [row["wer"] for row in rows]
    widths = [(rate.high - rate.low) / 2.0 for rate in rates if rate.low is not None and rate.high is not None]
    return ceil(count * (max(widths, default=0.0) / WIDTH) ** 2)


def sample_recordings(recordings: Sequence[Utterance], most: int, seed: int) -> list[Utterance]:
    """Return at most so many recordings, drawn at random, one of each person before a second."""
    drawn = sorted(recordings, key=lambda each: random_key(f"{seed}:{each.id}"))
    turns: dict[str, Iterator[int]] = defaultdict(count)
    return sorted(drawn, key=lambda each: next(turns[each.speaker]))[:most]


class SpeechSides:
    """Original and protected speech at 16 kHz of an utterance.

    Parameters
    ----------
    anonymised
        The protected speech, or what protects the original.
    """

    def __init__(self, anonymised: Corpus | VoiceTransform) -> None:
        self._transform = None if isinstance(anonymised, Corpus) else anonymised
        self._protected = {each.id: each for each in anonymised} if isinstance(anonymised, Corpus) else {}

    def original(self, utterance: Utterance) -> Wave:
        """Return the original speech."""
        return load_speech(utterance, RATE).wave

    def protected(self, utterance: Utterance) -> Wave:
        """Return the protected speech."""
        wave = self.original(self._protected.get(utterance.id, utterance))
        return protect(wave, RATE, utterance, self._transform)


def spoken_words(text: str, *, digit_by_digit: bool = False) -> str:
    """Return a text in lower case, without punctuation, with numbers written out in English.

    Parameters
    ----------
    text
        As somebody or a recogniser wrote it.
    digit_by_digit
        Whether 35 is three five rather than thirty five.

    Examples
    --------
    >>> spoken_words("It's 1,021 BEARS - isn't it?")
    "it's one thousand twenty one bears isn't it"
    >>> spoken_words("Room 305", digit_by_digit=True)
    'room three zero five'
    """
    plain = unicodedata.normalize("NFKC", text).translate(_APOSTROPHES).casefold()
    for sign, word in _SIGNS.items():
        plain = plain.replace(sign, word)
    plain = _NO_WORD.sub(" ", _GROUPED.sub("", plain))
    plain = _NUMBER.sub(lambda match: f" {_read_number(match[0], digit_by_digit)} ", _LOOSE.sub(" ", plain))
    return " ".join(plain.split())


def closest_words(said: str, recognised: str) -> tuple[str, str]:
    """Return both texts as they are spoken, with numbers read in the way in which they differ least."""
    if not any(character.isdigit() for character in said + recognised):
        return spoken_words(said), spoken_words(recognised)
    pairs = [
        (spoken_words(said, digit_by_digit=first), spoken_words(recognised, digit_by_digit=second))
        for first in (False, True)
        for second in (False, True)
    ]
    spoken = [pair for pair in pairs if pair[0]]
    return min(spoken, key=lambda pair: word_errors([pair[0]], [pair[1]])[0, :3].sum()) if spoken else pairs[0]


def with_spelling_flag(row: Evaluation, said: Mapping[str, str], recognised: Mapping[str, str]) -> Evaluation:
    """Return a row of word errors, with a warning where spelling alone makes at least a quarter of them, and 2 %.

    Parameters
    ----------
    row
        Word errors of texts as they are written.
    said
        The words of each utterance.
    recognised
        The words that a recogniser wrote.
    """
    pairs = [closest_words(said[name], recognised[name]) for name in sorted(said)]
    pairs = [pair for pair in pairs if pair[0]]
    if not pairs:
        return row
    errors = word_errors([pair[0] for pair in pairs], [pair[1] for pair in pairs]).sum(axis=0)
    written, spoken = word_error_rate(row), float(errors[:3].sum() / errors[3])
    explained = written - spoken
    if explained < max(_LEAST_EXPLAINED, _EXPLAINED_SHARE * written):
        return row
    return row.with_flags(flag("spelling-counts", written=written, spoken=spoken))


def word_error_rate(row: Evaluation) -> float:
    """Return the word error rate of a row of words."""
    value = row["wer"].value
    assert isinstance(value, float)
    return value


def _read_number(digits: str, digit_by_digit: bool) -> str:
    if digit_by_digit or (len(digits) > 1 and digits[0] == "0") or int(digits) >= _LARGEST:
        return " ".join(_ONES[int(digit)] for digit in digits)
    return _read_cardinal(int(digits))


def _read_cardinal(number: int) -> str:
    if number < len(_ONES):
        return _ONES[number]
    if number < 100:
        rest = f" {_ONES[number % 10]}" if number % 10 else ""
        return _TENS[number // 10] + rest
    size, name = next(scale for scale in _SCALES if number >= scale[0])
    rest = f" {_read_cardinal(number % size)}" if number % size else ""
    return f"{_read_cardinal(number // size)} {name}{rest}"
