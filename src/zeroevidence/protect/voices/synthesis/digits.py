"""Digits of telephone numbers and codes, which recognisers write together and people say one by one."""

from __future__ import annotations

import re

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
    return ", ".join(_spell(group) for group in groups)


def _spell(digits: str) -> str:
    return " ".join(_DIGITS[int(digit)] for digit in digits)
