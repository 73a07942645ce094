"""What reading a score file gives."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Scores


@dataclass(frozen=True, slots=True)
class LoadedScores:
    """What a file held, how it was understood, and which rules were loosened to read it."""

    data: Scores | ScoreMatrix
    format: str
    key_format: str | None
    loosened: tuple[RelaxedRule, ...]
