"""Digits of telephone numbers and codes, which recognisers write together and people say one by one."""

from __future__ import annotations

import re

_DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
_CODE = re.compile(
    r"""(?<![\w.,-])(?:
        \d(?:-\d){2,}             # 7-8-1
        | \d{3}(?:-\d{3})?-\d{4}  # 592-437-6081
        | 0\d+ | \d{5,}           # 007, 30116: numbers of that size are written with commas
    )(?![\w-]|[.,]\d)""",
    re.VERBOSE,
)


def spell_digits(text: str) -> str:
    """Return a text with the digits of telephone numbers and codes as words; other numbers stay as they are.

    Examples
    --------
    >>> spell_digits("Call 592-437-6081.")
    'Call five nine two, four three seven, six zero eight one.'
    >>> spell_digits("In 1984 it cost 1,250,000 dollars, 12 a day.")
    'In 1984 it cost 1,250,000 dollars, 12 a day.'
    """
    return _CODE.sub(lambda match: ", ".join(_spell(group) for group in _groups(match[0])), text)


def _groups(code: str) -> list[str]:
    groups = code.split("-")
    return ["".join(groups)] if all(len(group) == 1 for group in groups) else groups


def _spell(digits: str) -> str:
    return " ".join(_DIGITS[int(digit)] for digit in digits)
