"""Scores that were read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Scores


@dataclass(frozen=True, slots=True)
class SameSession:
    """What was left out because both sides of a comparison were recorded in one session.

    Parameters
    ----------
    target
        Number of target pairs.
    nontarget
        Number of non-target pairs.
    trials
        Number of trials that still have comparisons, but no longer with every enrolment, so that a search lost them.
    """

    target: int
    nontarget: int
    trials: int = 0

    def __add__(self, other: SameSession) -> SameSession:
        return SameSession(self.target + other.target, self.nontarget + other.nontarget, self.trials + other.trials)

    def apart(self, left_out: Mapping[str, int]) -> dict[str, int]:
        """Return the trials that a search left out, by reason, with those that sessions cost it counted apart.

        Examples
        --------
        >>> SameSession(target=2, nontarget=0, trials=2).apart({"incomplete": 3})
        {'same_session': 2, 'incomplete': 1}
        """
        incomplete = left_out.get("incomplete", 0) - self.trials
        reasons = {"same_session": self.trials, **left_out, "incomplete": incomplete}
        return {reason: trials for reason, trials in reasons.items() if trials > 0}


@dataclass(frozen=True, slots=True)
class LoadedScores:
    """The scores of a file.

    Parameters
    ----------
    data
        The scores.
    format
        How the file was understood.
    key_format
        How its key was understood, None without a key.
    relaxed
        The rules that were relaxed to read it.
    same_session
        What was left out because it is of one session; None where sessions are not known.
    """

    data: Scores | ScoreMatrix
    format: str
    key_format: str | None
    relaxed: tuple[RelaxedRule, ...]
    same_session: SameSession | None = None
