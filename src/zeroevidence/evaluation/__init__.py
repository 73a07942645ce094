"""One call: scores in, an `Evaluation` out, with the signature that makes its numbers reproducible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.pav import pool, rank
from zeroevidence.data.matrix import ScoreMatrix, searchable
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation.flags import cross_flags, row_flags
from zeroevidence.evaluation.one_to_n import Search, check_disjoint, people_of, search
from zeroevidence.evaluation.one_to_one import one_to_one
from zeroevidence.evaluation.profiles import one_to_one_curves
from zeroevidence.evaluation.results import Curve, Evaluation, Metric, Options, People, Points, Surface, Trials
from zeroevidence.evaluation.signature import joint_signature, signature
from zeroevidence.evaluation.similarity import add_similarity
from zeroevidence.evaluation.trust import Replicates, replicate, with_intervals, with_nulls
from zeroevidence.uncertainty.draws import Progress
from zeroevidence.uncertainty.one_to_one import owners_of

__all__ = [
    "Curve",
    "Evaluation",
    "Metric",
    "Options",
    "People",
    "Points",
    "Replicates",
    "Surface",
    "Trials",
    "add_similarity",
    "cross_flags",
    "evaluate",
    "evaluate_with_replicates",
    "joint_signature",
]


def evaluate(
    scores: Scores | ScoreMatrix,
    *,
    dev: Scores | ScoreMatrix | None = None,
    prior: Mapping[str, float] | None = None,
    labels: Mapping[str, str] | None = None,
    options: Options | None = None,
    notes: Sequence[str] = (),
    workers: int = 1,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure what an attacker learns from scores: one comparison at a time and, where they form rows, by search.

    Every scalar comes with a 95 % interval, resampled by speaker where speakers are known, and disclosures with
    their null: the same measure when speakers are exchanged.

    Parameters
    ----------
    scores
        Two classes of scores, or a matrix of trials against identities. Scores form rows when they say who was compared
        with whom and most trials were compared with every enrolment.
    dev
        Scores of other speakers, to fit the calibration of the search on. Without them it is cross-fitted over the
        speakers of `scores`.
    prior
        Probability of each enrolled identity before the trial is heard; uniform unless given.
    labels
        What the scores are of: system, dataset, split, sex, enrolment, trial, attacker.
    options
        How to measure.
    notes
        What was done to the data before (duplicates dropped, ...); enters the signature.
    workers
        Processes for the resampling; the result is the same for any number.
    progress
        Called with the number of replicates done and wanted.
    """
    return _evaluated(scores, dev, prior, labels, options or Options(), notes, workers, progress)[0]


def evaluate_with_replicates(
    scores: Scores | ScoreMatrix,
    *,
    dev: Scores | ScoreMatrix | None = None,
    labels: Mapping[str, str] | None = None,
    options: Options | None = None,
    notes: Sequence[str] = (),
    workers: int = 1,
    progress: Progress | None = None,
) -> tuple[Evaluation, Replicates]:
    """The same with the bootstrap replicates, which for the same trials and seed are paired between systems."""
    result, replicates = _evaluated(scores, dev, None, labels, options or Options(), notes, workers, progress)
    if replicates is None:
        raise UsageError("replicates were asked for, but the options say no intervals")
    return result, replicates


def _evaluated(
    scores: Scores | ScoreMatrix,
    dev: Scores | ScoreMatrix | None,
    prior: Mapping[str, float] | None,
    labels: Mapping[str, str] | None,
    options: Options,
    notes: Sequence[str],
    workers: int,
    progress: Progress | None,
) -> tuple[Evaluation, Replicates | None]:
    rows, left_out = searchable(scores)
    if isinstance(scores, ScoreMatrix):
        scores = scores.to_scores()
    counts = {"target": len(scores.target), "nontarget": len(scores.nontarget)}
    speakers = scores.speakers
    if speakers is not None:
        counts["speakers"] = len(speakers)
    ranked = rank(scores.target, scores.nontarget)
    blocks = pool(ranked.counts)
    metrics = one_to_one(ranked, blocks, options)
    cllr = metrics["cllr"].value
    assert isinstance(cllr, float)
    curves = one_to_one_curves(ranked, blocks, cllr=cllr, linkability=options.linkability)
    found: Search | None = None
    dev_rows = _development(dev, rows)
    identity_prior = None
    if rows is not None and (dev_rows is not None or len(np.unique(rows.mated)) > 1):
        identity_prior = _prior(prior, rows)
        found = search(rows, dev_rows, options, identity_prior)
        metrics |= found.metrics
        counts |= {"trials": len(rows.mated), "identities": rows.scores.shape[1], **left_out}
    replicates = None
    trust = []
    if options.intervals:
        replicates = replicate(scores, ranked, rows, found, options, workers=workers, progress=progress)
        metrics = with_intervals(metrics, replicates, options)
        trust.append(f"ci:{replicates.unit}{options.intervals}:{options.interval_method}")
    if options.null:
        metrics = with_nulls(metrics, scores, rows, found, options, identity_prior, workers=workers, progress=progress)
        by_people = rows is not None or owners_of(scores) is not None
        trust.append(f"null:{'speaker' if by_people else 'label'}{options.null}")
    result = Evaluation(
        metrics=metrics,
        counts=counts,
        signature=signature(
            ranked,
            counts,
            options,
            search=None if found is None else found.calibration,
            dev=None if found is None or dev_rows is None else dev_rows.scores,
            trust=trust,
            notes=[*notes, "prior:given"] if prior else notes,
        ),
        labels=labels or {},
        flags=row_flags(
            metrics,
            counts,
            notes=notes,
            unit=None if replicates is None else replicates.unit,
            clusters=0 if replicates is None else replicates.clusters,
            dev_checked=None if dev_rows is None else dev_rows.speakers is not None and speakers is not None,
        ),
        curves=curves if found is None else curves | found.curves,
        trials=None if found is None else found.trials,
        people=None if found is None else people_of(found.trials),
    )
    return result, replicates


def _development(dev: Scores | ScoreMatrix | None, rows: ScoreMatrix | None) -> ScoreMatrix | None:
    if dev is None:
        return None
    if rows is None:
        raise InputError("development scores calibrate a search, but the scores to evaluate do not form rows")
    matrix, _ = searchable(dev)
    if matrix is None:
        raise InputError("the development scores do not form rows: expected each trial against every enrolment")
    check_disjoint(rows, matrix)
    return matrix


def _prior(prior: Mapping[str, float] | None, rows: ScoreMatrix) -> FloatArray | None:
    if prior is None:
        return None
    names = rows.enrolment_names
    missing = [str(name) for name in names if name not in prior]
    if missing:
        raise InputError(f"prior: {missing[0]!r} is enrolled but has no probability")
    unknown = sorted(set(prior) - set(names.tolist()))
    if unknown:
        raise InputError(f"prior: {unknown[0]!r} has a probability but is not enrolled")
    return np.array([prior[str(name)] for name in names])
