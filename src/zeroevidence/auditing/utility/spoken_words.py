"""Words as they are spoken: transcripts without case and punctuation, and with numbers written out.

Recognisers write "Twenty-one bears!", "21 bears" or "TWENTY ONE BEARS" for the same words, and only the words count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.scores.utility import word_errors

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


def closest_words(said: str, heard: str) -> tuple[str, str]:
    """Return both texts as they are spoken, with numbers read in the way in which they differ least."""
    if not any(character.isdigit() for character in said + heard):
        return spoken_words(said), spoken_words(heard)
    pairs = [
        (spoken_words(said, digit_by_digit=one), spoken_words(heard, digit_by_digit=other))
        for one in (False, True)
        for other in (False, True)
    ]
    spoken = [pair for pair in pairs if pair[0]]
    return min(spoken, key=lambda pair: word_errors([pair[0]], [pair[1]])[0, :3].sum()) if spoken else pairs[0]


def with_spelling_flag(row: Evaluation, said: Mapping[str, str], heard: Mapping[str, str]) -> Evaluation:
    """Return a row of word errors, with a warning where spelling alone makes at least a quarter of them, and 2 %.

    Parameters
    ----------
    row
        Word errors of texts as they are written.
    said
        The words of each utterance.
    heard
        The words that a recogniser wrote.
    """
    pairs = [closest_words(said[name], heard[name]) for name in sorted(said)]
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
