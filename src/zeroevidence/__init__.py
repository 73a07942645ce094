"""zeroevidence: how much does this protected voice still give away?

Public names are imported when first used, so that ``import zeroevidence`` stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from zeroevidence._version import __version__

if TYPE_CHECKING:
    from zeroevidence import protect
    from zeroevidence.audit import Audit, EmbeddingSets, audit_embeddings
    from zeroevidence.data.embeddings import Embeddings
    from zeroevidence.data.formats import read_scores
    from zeroevidence.data.matrix import ScoreMatrix
    from zeroevidence.data.scores import Pairs, Scores
    from zeroevidence.errors import InputError, MissingExtra, UsageError, ZeroEvidenceError
    from zeroevidence.evaluation import Evaluation, Metric, Options, evaluate
    from zeroevidence.linkage import link
    from zeroevidence.measure.linkability import linkability, local_linkability
    from zeroevidence.measure.similarity import deid, similarity_matrix, voice_distinctiveness_gain
    from zeroevidence.measure.verification import cllr, cllr_min, dcf_act, dcf_min, eer, tpr_at_fpr
    from zeroevidence.measure.zebra import d_ece, ece_profile, tag, tag_counts, worst_case

_HOMES = {
    "audit": ("Audit", "EmbeddingSets", "audit_embeddings"),
    "data.embeddings": ("Embeddings",),
    "data.formats": ("read_scores",),
    "data.matrix": ("ScoreMatrix",),
    "data.scores": ("Pairs", "Scores"),
    "errors": ("InputError", "MissingExtra", "UsageError", "ZeroEvidenceError"),
    "evaluation": ("Evaluation", "Metric", "Options", "evaluate"),
    "linkage": ("link",),
    "measure.linkability": ("linkability", "local_linkability"),
    "measure.similarity": ("deid", "similarity_matrix", "voice_distinctiveness_gain"),
    "measure.verification": ("cllr", "cllr_min", "dcf_act", "dcf_min", "eer", "tpr_at_fpr"),
    "measure.zebra": ("d_ece", "ece_profile", "tag", "tag_counts", "worst_case"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Audit",
    "EmbeddingSets",
    "Embeddings",
    "Evaluation",
    "InputError",
    "Metric",
    "MissingExtra",
    "Options",
    "Pairs",
    "ScoreMatrix",
    "Scores",
    "UsageError",
    "ZeroEvidenceError",
    "__version__",
    "audit_embeddings",
    "cllr",
    "cllr_min",
    "d_ece",
    "dcf_act",
    "dcf_min",
    "deid",
    "ece_profile",
    "eer",
    "evaluate",
    "link",
    "linkability",
    "local_linkability",
    "protect",
    "read_scores",
    "similarity_matrix",
    "tag",
    "tag_counts",
    "tpr_at_fpr",
    "voice_distinctiveness_gain",
    "worst_case",
]


def __getattr__(name: str) -> Any:
    if name == "protect":
        return importlib.import_module("zeroevidence.protect")
    try:
        home = _HOME_OF[name]
    except KeyError:
        raise AttributeError(f"module 'zeroevidence' has no attribute {name!r}") from None
    value = getattr(importlib.import_module(f"zeroevidence.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
