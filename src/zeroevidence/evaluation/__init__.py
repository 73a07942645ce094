"""Scores, searches and tandems in, typed results out; comparisons between them, and what follows from them."""

from __future__ import annotations

from zeroevidence.evaluation.comparison import Comparison, compare
from zeroevidence.evaluation.curves import add_similarity
from zeroevidence.evaluation.finding.beside import flag_rows
from zeroevidence.evaluation.finding.facts import Finding
from zeroevidence.evaluation.finding.finding import findings
from zeroevidence.evaluation.results import read_result, read_results, save_results
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.curves import Curve, People, Points, Recordings, Surface, Trials
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult, Replicates
from zeroevidence.evaluation.rows.setup import Options, Setup, joint_signature
from zeroevidence.evaluation.scores import evaluate

__all__ = [
    "About",
    "Comparison",
    "Curve",
    "Evaluation",
    "Finding",
    "Flag",
    "MeasureResult",
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
    "flag_rows",
    "joint_signature",
    "read_result",
    "read_results",
    "save_results",
]
