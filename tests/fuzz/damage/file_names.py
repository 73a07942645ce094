"""Files with hostile names, and what a command may print of them."""

import random
import re
import unicodedata
from dataclasses import replace

from tests.fuzz.seeds.target import Files, Target

# A turned direction, colours of a terminal, a bell, a byte that is not UTF-8, blanks, quotes, letters of other scripts.
HOSTILE = ("\u202e", "\u2066", "\x1b[31m", "\x07", "lat\udce9", "a b", "'\"", "\u00e9\u4e2d", "%s{}", "x" * 200)
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def renamed(target: Target, files: Files, rng: random.Random) -> tuple[Target, Files]:
    """The case with another name of a file that an argument names; the same where there is none."""
    choices = sorted(name for name in target.damaged if name in target.arguments)
    if not choices:
        return target, files
    name = rng.choice(choices)
    other = rng.choice(HOSTILE) + name
    names = {old: other if old == name else old for old in files}
    arguments = tuple(other if word == name else word for word in target.arguments)
    changed = replace(target, arguments=arguments, files={names[old]: data for old, data in target.files.items()})
    return changed, {names[old]: data for old, data in files.items()}


def raw_letters(text: str) -> str:
    """Letters that would disturb a terminal: control characters, turned directions, bytes that are no text."""
    wrong = {letter for letter in text if unicodedata.category(letter) in ("Cc", "Cs") and letter not in "\n\t\r"}
    return "".join(sorted(wrong | set(_TURNING.findall(text))))


def is_named(name: str, text: str) -> bool:
    """Whether a text holds a name, with anything in the place of letters that must not be printed."""
    if name in text:
        return True
    shown = (re.escape(letter) if not raw_letters(letter) else ".{0,8}" for letter in name)
    return re.search("".join(shown), text) is not None
