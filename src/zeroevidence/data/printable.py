"""Names that others gave, without what would disturb the text around them."""

from __future__ import annotations

import unicodedata

_TURNING = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")


def printable(text: str) -> str:
    """Text without control characters; those that turn the direction of writing could turn what follows a name too."""
    return "".join("\ufffd" if _is_control(letter) else letter for letter in text)


def _is_control(letter: str) -> bool:
    if unicodedata.category(letter) == "Cf":
        return unicodedata.bidirectional(letter) in _TURNING
    return unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t"
