"""Rules that were relaxed while reading, and changes to the scores; they are part of signatures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Rule: TypeAlias = Literal["duplicates", "missing", "no-attack", "negated", "llr-base", "pooled", "infinite"]


@dataclass(frozen=True, slots=True)
class RelaxedRule:
    """One rule that was not applied, or one change to the scores.

    Parameters
    ----------
    rule
        "duplicates" (trials that are scored more than once), "missing" (trials that one of two files lacks),
        "no-attack" (bona fide speech with a name where others write a dash), "negated" (higher scores spoke against
        the target), "llr-base" (logarithms to another base than e), "pooled" (groups of people taken together),
        "infinite" (scores that are).
    count
        How many scores were left out, counted again or changed; how many trials were left out, or groups pooled.
    how
        What was done with duplicates, the base, or the label that groups differ by.
    side
        Whose trials they are where there are several systems: "cm", "asv" or "sasv" of a tandem.

    Examples
    --------
    >>> str(RelaxedRule("duplicates", 12, how="keep-last"))
    'duplicates:keep-last:12'
    >>> str(RelaxedRule("missing", 3, side="cm"))
    'cm-missing:3'
    """

    rule: Rule
    count: int
    how: str | None = None
    side: str | None = None

    def __str__(self) -> str:
        rule = self.rule if self.side is None else f"{self.side}-{self.rule}"
        return ":".join([rule, *([] if self.how is None else [self.how]), str(self.count)])
