"""Scores, searches and tandems in, typed results out; comparisons between them, and what follows from them."""

from __future__ import annotations

from zeroevidence.evaluation.about import About
from zeroevidence.evaluation.comparison import Comparison, compare
from zeroevidence.evaluation.finding import Finding, findings, together
from zeroevidence.evaluation.flags import Flag
from zeroevidence.evaluation.jsonfile import read_result, read_results, save_results
from zeroevidence.evaluation.measuring import evaluate
from zeroevidence.evaluation.options import Options
from zeroevidence.evaluation.replicates import Replicates
from zeroevidence.evaluation.results import Curve, Evaluation, Measured, People, Points, Recordings, Surface, Trials
from zeroevidence.evaluation.setup import Setup, joint_signature
from zeroevidence.evaluation.similarity import add_similarity

__all__ = [
    "About",
    "Comparison",
    "Curve",
    "Evaluation",
    "Finding",
    "Flag",
    "Measured",
    "Options",
    "People",
    "Points",
    "Recordings",
    "Replicates",
    "Setup",
    "Surface",
    "Trials",
    "add_similarity",
    "compare",
    "evaluate",
    "findings",
    "joint_signature",
    "read_result",
    "read_results",
    "save_results",
    "together",
]
