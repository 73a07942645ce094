"""An evaluation from per-trial evidence that was linked from embeddings, without a score matrix."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from zeroevidence._typing import StrArray
from zeroevidence._version import __version__
from zeroevidence.data.formats.linked import LinkedTrials
from zeroevidence.errors import InputError
from zeroevidence.evaluation.one_to_n import evidence_curves, people_of, search_metrics
from zeroevidence.evaluation.results import Evaluation, Options, Trials
from zeroevidence.evaluation.trust import Replicates, search_replicates, with_intervals
from zeroevidence.linkage.result import Linkage
from zeroevidence.measure.disclosure import RowEvidence


def linked_evaluation(
    result: Linkage,
    trials: StrArray,
    speakers: StrArray,
    *,
    how: str,
    scoring: str,
    digest: str,
    ddof: int = 0,
    options: Options | None = None,
    labels: Mapping[str, str] | None = None,
    left_out: Mapping[str, int] | None = None,
) -> tuple[Evaluation, Replicates | None]:
    """The one-to-N measures, named and shaped as those of `evaluate`, with intervals by speaker, and their replicates.

    Singling out is there if the search counted identities above a threshold. There is no null: it would take the scores
    of every pair.
    """
    options = options or Options()
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
    replicates = None
    if options.intervals:
        replicates = search_replicates(evidence, (result.fires == 1).astype(np.int64), speakers, options)
        metrics = with_intervals(metrics, replicates, options)
        parts += [f"ci:{replicates.unit}{options.intervals}:{options.interval_method}", f"seed:{options.seed}"]
    parts += [f"data:sha256:{digest[:16]}", f"v:{__version__}"]
    table = Trials(
        trials,
        speakers,
        result.lid,
        1.0 + result.greater + result.equal / 2.0,
        ((result.greater == 0) & (result.equal == 0)).astype(np.int64),
    )
    evaluation = Evaluation(
        metrics=metrics,
        counts=counts,
        signature="|".join(parts),
        labels=labels or {},
        curves=evidence_curves(evidence),
        trials=table,
        people=people_of(table),
    )
    return evaluation, replicates


def linked_replicates(trials: LinkedTrials, options: Options) -> Replicates:
    """Replicates of a search that was written to a folder; for the same trials and seed they are paired."""
    evidence = RowEvidence(trials.lid, trials.greater, trials.equal, trials.identities)
    found = search_replicates(evidence, np.zeros(len(trials.lid), dtype=np.int64), trials.speaker, options)
    values = {name: drawn for name, drawn in found.values.items() if name != "singling_out"}
    return replace(found, values=values)


def check_same_linked(systems: Sequence[LinkedTrials]) -> None:
    """Refuse searches of other trials or through another number of identities."""
    first = systems[0]
    for other in systems[1:]:
        different = np.setxor1d(first.trial, other.trial)
        if len(different):
            raise InputError(
                f"{len(different)} trial(s) are in {first.folder} or {other.folder} only, among them "
                f"{str(different[0])!r}; expected the same trials in all systems"
            )
        if first.identities != other.identities:
            raise InputError(
                f"{first.folder} searches {first.identities} identities and {other.folder} {other.identities}; "
                "expected the same search"
            )
