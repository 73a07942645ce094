"""zeroevidence: how much does this protected voice still give away?

Public names are imported when first used, so that ``import zeroevidence`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from zeroevidence._version import __version__

if TYPE_CHECKING:
    from zeroevidence import plot, protect, scorers
    from zeroevidence.auditing import Audit, EmbeddingSets, audit, audit_corpora
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.data.formats import read_embeddings, read_scores, read_tandem
    from zeroevidence.data.matrix import ScoreMatrix
    from zeroevidence.data.scores import Pairs, Scores
    from zeroevidence.data.tandem import TandemScores
    from zeroevidence.data.threat import ThreatModel
    from zeroevidence.errors import InputError, MissingExtra, UsageError, ZeroEvidenceError
    from zeroevidence.evaluation import (
        About,
        Comparison,
        Evaluation,
        Finding,
        Flag,
        Measured,
        Options,
        compare,
        evaluate,
        findings,
        read_result,
        read_results,
        save_results,
    )
    from zeroevidence.evaluation.linked import link
    from zeroevidence.evaluation.pilots import plan_from_pilot
    from zeroevidence.evaluation.planned_comparison import PlannedComparison, plan_comparison
    from zeroevidence.evaluation.planning import Plan, plan
    from zeroevidence.evaluation.runs import compare_runs
    from zeroevidence.evaluation.tandem import evaluate_tandem
    from zeroevidence.measure.devpav import devpav
    from zeroevidence.measure.elub import elub
    from zeroevidence.measure.linkability import linkability, local_linkability
    from zeroevidence.measure.similarity import deid, similarity_matrix, voice_distinctiveness_gain
    from zeroevidence.measure.verification import cllr, cllr_min, dcf_act, dcf_min, eer, tpr_at_fpr
    from zeroevidence.measure.zebra import d_ece, d_ece_actual, ece_profile, tag, tag_counts, worst_case

_HOMES = {
    "auditing": ("Audit", "EmbeddingSets", "audit", "audit_corpora"),
    "data.embeddings": ("Embeddings",),
    "data.formats": ("read_embeddings", "read_scores", "read_tandem"),
    "data.matrix": ("ScoreMatrix",),
    "data.scores": ("Pairs", "Scores"),
    "data.tandem": ("TandemScores",),
    "data.threat": ("ThreatModel",),
    "errors": ("InputError", "MissingExtra", "UsageError", "ZeroEvidenceError"),
    "evaluation": (
        "About",
        "Comparison",
        "Evaluation",
        "Finding",
        "Flag",
        "Measured",
        "Options",
        "compare",
        "evaluate",
        "findings",
        "read_result",
        "read_results",
        "save_results",
    ),
    "evaluation.linked": ("link",),
    "evaluation.pilots": ("plan_from_pilot",),
    "evaluation.planned_comparison": ("PlannedComparison", "plan_comparison"),
    "evaluation.planning": ("Plan", "plan"),
    "evaluation.runs": ("compare_runs",),
    "evaluation.tandem": ("evaluate_tandem",),
    "measure.linkability": ("linkability", "local_linkability"),
    "measure.similarity": ("deid", "similarity_matrix", "voice_distinctiveness_gain"),
    "measure.verification": ("cllr", "cllr_min", "dcf_act", "dcf_min", "eer", "tpr_at_fpr"),
    "measure.devpav": ("devpav",),
    "measure.elub": ("elub",),
    "measure.zebra": ("d_ece", "d_ece_actual", "ece_profile", "tag", "tag_counts", "worst_case"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MODULES = ("plot", "protect", "scorers")

__all__ = [
    "About",
    "Audit",
    "Comparison",
    "EmbeddingSets",
    "Embeddings",
    "Evaluation",
    "Finding",
    "Flag",
    "InputError",
    "Measured",
    "MissingExtra",
    "Options",
    "Pairs",
    "Plan",
    "PlannedComparison",
    "ScoreMatrix",
    "Scores",
    "TandemScores",
    "ThreatModel",
    "UsageError",
    "ZeroEvidenceError",
    "__version__",
    "audit",
    "audit_corpora",
    "cllr",
    "cllr_min",
    "compare",
    "compare_runs",
    "d_ece",
    "d_ece_actual",
    "dcf_act",
    "dcf_min",
    "deid",
    "devpav",
    "ece_profile",
    "eer",
    "elub",
    "evaluate",
    "evaluate_tandem",
    "findings",
    "link",
    "linkability",
    "local_linkability",
    "plan",
    "plan_comparison",
    "plan_from_pilot",
    "plot",
    "protect",
    "read_embeddings",
    "read_result",
    "read_results",
    "read_scores",
    "read_tandem",
    "save_results",
    "scorers",
    "similarity_matrix",
    "tag",
    "tag_counts",
    "tpr_at_fpr",
    "voice_distinctiveness_gain",
    "worst_case",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"zeroevidence.{name}")
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module 'zeroevidence' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"zeroevidence.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
