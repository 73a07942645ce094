"""An evaluation from per-trial evidence that was linked from embeddings, without a score matrix."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence._version import __version__
from zeroevidence.evaluation.one_to_n import search_metrics
from zeroevidence.evaluation.results import Curve, Evaluation, Trials
from zeroevidence.linkage.result import Linkage
from zeroevidence.measure.disclosure import ccdf
from zeroevidence.measure.rank import cmc
from zeroevidence.measure.singling import link_curve

_CURVE_POINTS = 200


def linked_evaluation(
    result: Linkage,
    trials: StrArray,
    speakers: StrArray,
    *,
    how: str,
    scoring: str,
    digest: str,
    ddof: int = 0,
    labels: Mapping[str, str] | None = None,
    left_out: Mapping[str, int] | None = None,
) -> Evaluation:
    """The one-to-N measures, named and shaped as those of `evaluate`.

    Singling out is there if the search counted identities above a threshold.
    """
    evidence = result.evidence
    counted = bool((result.fires >= 0).all())
    metrics = search_metrics(evidence, (result.fires == 1).astype(np.int64), how)
    if not counted:
        metrics = {name: metric for name, metric in metrics.items() if name != "singling_out"}
    counts = {
        "target": len(result),
        "nontarget": len(result) * (result.identities - 1),
        "speakers": len(np.unique(speakers)),
        "trials": len(result),
        "identities": result.identities,
        **(left_out or {}),
    }
    parts = ["ZE", "one-to-n", f"link:{scoring}", f"rows:{how.replace(', ', '+').replace(' ', '-')}", f"ddof:{ddof}"]
    parts += [f"search:{counts['trials']}x{counts['identities']}", f"spk:{counts['speakers']}"]
    parts += [f"data:sha256:{digest[:16]}", f"v:{__version__}"]
    return Evaluation(
        metrics=metrics,
        counts=counts,
        signature="|".join(parts),
        labels=labels or {},
        curves=_curves(result),
        trials=Trials(
            trials,
            speakers,
            result.lid,
            1.0 + result.greater + result.equal / 2.0,
            ((result.greater == 0) & (result.equal == 0)).astype(np.int64),
        ),
    )


def _curves(result: Linkage) -> dict[str, Curve]:
    identities = result.identities
    levels, share = ccdf(result.lid)
    keep = np.unique(np.linspace(0, len(levels) - 1, min(_CURVE_POINTS, len(levels))).astype(int))
    ranks = np.unique(np.geomspace(1, identities, min(_CURVE_POINTS, identities)).round().astype(int))
    link = link_curve(result.greater, result.equal, identities)
    return {
        "lid_ccdf": _curve(levels[keep], share[keep]),
        "cmc": _curve(ranks, cmc(result.greater, result.equal, identities)[ranks - 1], ranks / identities),
        "link_probability_over_identities": _curve(link.x, link.y, link.baseline),
    }


def _curve(x: FloatArray | IntArray, y: FloatArray, baseline: FloatArray | None = None) -> Curve:
    return Curve(
        tuple(float(v) for v in x),
        tuple(float(v) for v in y),
        None if baseline is None else tuple(float(v) for v in baseline),
    )
