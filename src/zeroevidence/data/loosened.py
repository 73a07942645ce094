"""Which rule was loosened while reading, and how often: a value that words and signatures are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Loosened:
    """One rule that was not applied because the caller said so.

    Parameters
    ----------
    rule
        "duplicates" (trials that are scored more than once), "missing" (trials that one of two files lacks), or
        "infinite" (scores that are).
    count
        How many scores were left out, counted again or taken; how many trials were left out.
    how
        What was done with duplicates.
    side
        Whose trials they are where there are several systems: "cm", "asv" or "sasv" of a tandem.

    Examples
    --------
    >>> str(Loosened("duplicates", 12, how="keep-last"))
    'duplicates:keep-last:12'
    >>> str(Loosened("missing", 3, side="cm"))
    'cm-missing:3'
    """

    rule: Literal["duplicates", "missing", "infinite"]
    count: int
    how: Literal["keep-last", "keep-all"] | None = None
    side: str | None = None

    def __str__(self) -> str:
        rule = self.rule if self.side is None else f"{self.side}-{self.rule}"
        return ":".join([rule, *([] if self.how is None else [self.how]), str(self.count)])
