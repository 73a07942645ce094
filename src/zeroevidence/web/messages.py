"""Messages that name options of the command line, reworded for the page."""

from __future__ import annotations

import re

# The longer spelling of an option first.
FIELDS = {
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
    "--effort standard": "the effort “standard” of `zeroevidence audit`",
    "--effort full": "the effort “full” of `zeroevidence audit`",
}
_OPTION = re.compile("|".join(map(re.escape, sorted(FIELDS, key=len, reverse=True))) + r"(?![a-z-])")
_OTHER_OPTION = re.compile(r"--([a-z][a-z-]+)")
_LISTING_COMMAND = re.compile(r" \(and (\d+) more; `zeroevidence [a-z -]+` lists them\)")


def on_the_page(text: str) -> str:
    """Return a message in which fields of the page stand for options of the command line.

    Examples
    --------
    >>> on_the_page("no labels; expected a key (--key KEY) or a label column")
    'no labels; expected a key (the field “Key”) or a label column'
    >>> on_the_page("expected --score-column with its name, or `zeroevidence tandem --cm FILE`")
    'expected the option “score-column” of the command line with its name, or `zeroevidence tandem --cm FILE`'
    """
    parts = re.split("(`zeroevidence [^`]*`)", _LISTING_COMMAND.sub(r" (and \1 more)", text))
    for place in range(0, len(parts), 2):  # commands stay as they are typed
        with_fields = _OPTION.sub(lambda match: FIELDS[match[0]], parts[place])
        parts[place] = _OTHER_OPTION.sub(r"the option “\1” of the command line", with_fields)
    return "".join(parts)
