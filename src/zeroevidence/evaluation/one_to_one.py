"""The battery of one-to-one measures."""

from __future__ import annotations

from zeroevidence.calibrate.pav import Blocks, Ranked, pool_laplace
from zeroevidence.evaluation.results import Metric, Options, Value
from zeroevidence.measure.catalogue import CATALOGUE
from zeroevidence.measure.linkability import linkability, linkability_of
from zeroevidence.measure.verification import cllr, cllr_of, dcf_act, dcf_min_of, eer_of, tpr_at_fpr_of
from zeroevidence.measure.zebra import d_ece_of, tag_counts_of, tag_of, worst_case_of


def one_to_one(ranked: Ranked, blocks: Blocks, options: Options) -> dict[str, Metric]:
    """Every one-to-one measure of ranked scores and their PAV blocks."""
    laplace = pool_laplace(blocks)
    worst = worst_case_of(laplace)
    prior = options.dcf_prior
    at_prior = f"prior {prior:g}"
    if options.linkability == "histogram":
        linked = linkability(ranked.target, ranked.nontarget, method="histogram")
    else:
        linked = linkability_of(ranked, blocks, method=options.linkability, seed=options.seed)
    values: dict[str, tuple[Value, str | None]] = {
        "eer": (eer_of(ranked.counts), "interpolated"),
        "eer_rocch": (eer_of(blocks), None),
        "cllr": (cllr(ranked.target, ranked.nontarget), None),
        "cllr_min": (cllr_of(blocks), "pav"),
        "dcf_act": (dcf_act(ranked.target, ranked.nontarget, prior=prior), at_prior),
        "dcf_min": (dcf_min_of(blocks, prior=prior), at_prior),
        "tpr_at_fpr": ({f"{k:g}": v for k, v in tpr_at_fpr_of(ranked.counts).items()}, None),
        "d_ece": (d_ece_of(blocks), "pav"),
        "worst_case": (worst, "pav, laplace"),
        "tag": (tag_of(worst), "zebra"),
        "tag_counts": (tag_counts_of(laplace), "zebra"),
        "linkability": (linked, options.linkability),
    }
    return {name: Metric(value, CATALOGUE[name].unit, method) for name, (value, method) in values.items()}
