"""An evaluation from per-trial evidence that was linked from embeddings, without a score matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from zeroevidence.data.formats.linked_trials import read_linked
from zeroevidence.errors import InputError
from zeroevidence.evaluation.reading.results import read_results
from zeroevidence.evaluation.rows.evaluation import Evaluation
from zeroevidence.evaluation.rows.flags import resampling_flags
from zeroevidence.evaluation.rows.options import Options
from zeroevidence.evaluation.rows.setup import Resampling, SearchSetup, Setup
from zeroevidence.evaluation.rows.trials import Trials
from zeroevidence.evaluation.scores.resampling import search_replicates, with_intervals
from zeroevidence.evaluation.search.curves import evidence_curves
from zeroevidence.evaluation.search.people import exposed_curves, exposure_by_person, with_named_limits
from zeroevidence.evaluation.search.task import search_metrics, trial_table
from zeroevidence.linkage import search
from zeroevidence.linkage.result import LinkResult
from zeroevidence.measure.search.disclosure import RowEvidence
from zeroevidence.measure.search.named import count_names
from zeroevidence.measure.views import NameCounts


class LinkedSearch(LinkResult):
    """What a search through embeddings found, trial by trial, and the evaluation of it."""

    def evaluate(
        self, *, labels: Mapping[str, str] | None = None, options: Options | None = None, **settings: Any
    ) -> Evaluation:
        """The measures of the search, named and shaped as those of `evaluate`, with intervals by speaker.

        Singling out is there if the search counted identities above a threshold. There is no null: it would take the
        scores of every pair.

        Parameters
        ----------
        labels
            What the search is of: system, dataset, ...
        options
            How to measure; only intervals, level and seed matter here.
        **settings
            Fields of `Options` by name.
        """
        return linked_evaluation(self, labels=labels, options=(options or Options()).changed(settings))


@wraps(search.link)
def link(*arguments: Any, **settings: Any) -> LinkedSearch:
    """`linkage.link`, whose result can be evaluated."""
    return LinkedSearch.of(search.link(*arguments, **settings))


link.__signature__ = signature(search.link).replace(return_annotation="LinkedSearch")  # type: ignore[attr-defined]


def linked_evaluation(
    links: LinkResult, *, labels: Mapping[str, str] | None = None, options: Options | None = None
) -> Evaluation:
    """`LinkedSearch.evaluate` of any search."""
    options = options or Options()
    setup = SearchSetup(
        links.calibration.method,
        links.calibration.cross_fitted,
        links.ddof,
        scoring=links.scoring if isinstance(links.scoring, str) else "function",
        row_scaling=links.row_scaling,
    )
    evidence = links.evidence
    singled = (links.fires == 1).astype(np.int64) if (links.fires >= 0).all() else None
    table = trial_table(links.trial, links.speaker, evidence)
    names = _names(links, table)
    metrics = search_metrics(evidence, singled, setup, names)
    counts = {
        "target": len(links),
        "nontarget": len(links) * (links.identities - 1),
        "speakers": len(table.by_speaker.speaker),
        "trials": len(links),
        "identities": links.identities,
        **({"not_enrolled": links.not_enrolled} if links.not_enrolled else {}),
    }
    replicates = None
    if options.intervals:
        replicates = search_replicates(evidence, singled, links.speaker, options, links.trial)
        metrics = with_named_limits(with_intervals(metrics, replicates, options.level), names, options.level)
    return Evaluation(
        metrics=metrics,
        counts=counts,
        setup=Setup(
            families=("search",),
            search=setup,
            intervals=None if replicates is None else Resampling(replicates.unit, replicates.groups),
            level=options.level,
            seed=options.seed,
            data=links.digest,
        ),
        labels=labels or {},
        flags=tuple(
            []
            if replicates is None
            else resampling_flags(replicates.unit, replicates.fewest.clusters, replicates.fewest.effective)
        ),
        curves=evidence_curves(evidence) | exposed_curves(table, options.level),
        trials=table,
        people=exposure_by_person(table, names),
        replicates=replicates,
    )


def _names(links: LinkResult, trials: Trials) -> NameCounts:
    """How often each person's name came first; of others that score the same, the first is taken."""
    whose = trials.by_speaker.whose
    people = np.full(links.identities, -1, dtype=np.int64)
    people[links.names.mated] = whose
    alone = (links.top != links.names.mated) | (trials.linked == 1)
    return count_names(whose, np.where(alone, people[links.top], -1), np.arange(int(whose.max()) + 1))


def read_search(folder: str | Path, options: Options, *, system: str | None = None) -> Evaluation:
    """The result of a folder that `link` wrote, with replicates, so that it can be compared with others."""
    row = read_results(folder)[0]
    if not row.is_search:
        raise InputError("has no search; expected a folder that `zeroevidence link` wrote", path=folder)
    counts, identities = row.counts, row.counts["identities"]
    if counts.get("nontarget") != counts.get("trials", 0) * (identities - 1):
        raise InputError("its numbers of trials, identities and scores do not agree", path=folder)
    links = read_linked(folder, identities)
    if len(links.trial) != counts["trials"]:
        raise InputError(f"{len(links.trial)} trials in the table, {counts['trials']} in the result", path=folder)
    evidence = RowEvidence(links.lid, links.greater, links.equal, links.identities)
    return replace(
        row,
        labels=row.labels if system is None else {"system": system},
        setup=replace(row.setup, intervals=Resampling("speaker", options.intervals), seed=options.seed),
        replicates=search_replicates(evidence, None, links.speaker, options, links.trial),
    )
