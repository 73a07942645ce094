"""What messages call an option of the command line, and what the page has in its place."""

from __future__ import annotations

import re

# The longer spelling of an option first.
PLACES = {
    "--key KEY": "the field “Key”",
    "--key": "the field “Key”",
    "--dev-key": "the field “Key of the development scores”",
    "--dev": "the field “Development scores”",
    "--speakers": "a file in the field “Who speaks”",
    "--allow-missing": "the box for trials in common, under “More about the data”",
    "--duplicates keep-last": "the box for pairs that are scored twice, under “More about the data”",
    "--duplicates": "the box for pairs that are scored twice, under “More about the data”",
    "--negate": "the box for scores that point the other way, under “More about the data”,",
    "--infinite accept": "the box for infinite scores, under “More about the data”,",
    "--infinite": "the box for infinite scores, under “More about the data”,",
    "--llr-base 10": "so with the box for log10 likelihood ratios, under “More about the data”",
    "--llr-base 2": "so by multiplying them with ln 2",
}
_OPTION = re.compile("|".join(map(re.escape, sorted(PLACES, key=len, reverse=True))) + r"(?![a-z-])")
_COMMAND = re.compile(r" \(and (\d+) more; `zeroevidence [a-z -]+` lists them\)")


def on_the_page(text: str) -> str:
    """A message for somebody who sees the page and no command line.

    Examples
    --------
    >>> on_the_page("no labels; expected a key (--key KEY) or a label column")
    'no labels; expected a key (the field “Key”) or a label column'
    """
    return _COMMAND.sub(r" (and \1 more)", _OPTION.sub(lambda found: PLACES[found[0]], text))
