"""Scores that were read from a file."""

from __future__ import annotations

from dataclasses import dataclass

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.relaxed_rules import RelaxedRule
from zeroevidence.data.scores import Scores


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
    """

    data: Scores | ScoreMatrix
    format: str
    key_format: str | None
    relaxed: tuple[RelaxedRule, ...]
