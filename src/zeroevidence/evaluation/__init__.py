"""Scores, searches and tandems in, typed results out; comparisons between them, and what follows from them."""

from __future__ import annotations

from zeroevidence.evaluation.comparing.comparison import Comparison, compare
from zeroevidence.evaluation.finding.finding import Finding, findings
from zeroevidence.evaluation.finding.row_flags import flag_rows
from zeroevidence.evaluation.reading.results import read_result, read_results, save_results
from zeroevidence.evaluation.rows.about import About
from zeroevidence.evaluation.rows.curves import Curve, Points, Surface
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import Flag
from zeroevidence.evaluation.rows.measure_result import MeasureResult
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.replicates import Replicates
from zeroevidence.evaluation.rows.setup import Setup, joint_signature
from zeroevidence.evaluation.rows.trials import People, Recordings, Trials
from zeroevidence.evaluation.scores.evaluate import evaluate
from zeroevidence.evaluation.scores.similarity import add_similarity

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
