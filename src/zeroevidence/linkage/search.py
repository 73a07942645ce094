"""A search through embeddings: trial and enrolment vectors in, evidence of each trial out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from zeroevidence._typing import FloatArray
from zeroevidence.calibrate.rows import RowScaling
from zeroevidence.linkage.engines.engine import AUTO, Engine, EngineName, EngineSettings, Requirements, Runs, choose
from zeroevidence.linkage.evidence.plan import SearchPlan, plan_search
from zeroevidence.linkage.evidence.trial_evidence import TrialEvidence
from zeroevidence.linkage.inputs.scoring import Scoring
from zeroevidence.linkage.inputs.vectors import vector_sets
from zeroevidence.linkage.result import CalibrationFacts, Identities, LinkResult, search_digest


def link(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    weight: float | FloatArray,
    bias: float | FloatArray = 0.0,
    scoring: Scoring = "dot",
    ddof: int = 0,
    row_scaling: RowScaling = "standardise",
    threshold: float | FloatArray | None = None,
    engine: EngineName = AUTO,
    scheduler: Any = None,
    device: str | None = None,
    threads: int | None = None,
    dtype: Any = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LinkResult:
    r"""Evidence of each trial in a search through N enrolled identities, without the T x N matrix of scores.

    :math:`LLR_{ij} = w (s_{ij} - \mu_i) / \sigma_i + b` and
    :math:`LID_i = \log_2 (N e^{LLR_{i m_i}} / \sum_j e^{LLR_{ij}})`.

    Parameters
    ----------
    trial_vectors
        T x d: an array of floats (memory-mapped is fine, also beyond the memory of the machine), `Embeddings`, or the
        address of a file, which ``dask`` opens where its workers are.
    enrol_vectors
        N x d, likewise.
    mated
        For each trial the row of its true identity in `enrol_vectors`.
    weight
        Calibration weight of scaled scores, one for all or one per trial; `fit_link` fits one on other speakers. Times
        the deviation of a scaled row, which is 1 for a standardised one, it is at most a million.
    bias
        Calibration bias, likewise.
    scoring
        ``dot``, ``cosine``, or a function of two blocks of vectors.
    ddof
        The divisor of the row variance is N - `ddof`.
    row_scaling
        What is done to each row: ``standardise``, as above; ``centre``, without the division; ``none``, neither.
    threshold
        Identities that score above it are counted (`fires`).
    engine
        Name of the engine; by default the fastest here that keeps the precision.
    scheduler
        Client or address of ``dask``.
    device
        Device of ``torch`` and ``triton``.
    threads
        Threads of ``numpy``, or of a task of ``dask``.
    dtype
        Precision of the products' inputs.
    chunk
        Trials computed together; the results differ by no more than rounding.
    progress
        Called with the number of trials done and in all.

    Examples
    --------
    >>> result = link([[1.0, 0.2], [0.1, 1.0]], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [0, 1], weight=3.0)
    >>> result.lid.round(2).tolist(), result.top.tolist()
    ([1.51, 1.58], [0, 1])
    """
    settings = EngineSettings(None if dtype is None else np.dtype(dtype), device, threads, scheduler)
    calibration = {"weight": weight, "bias": bias, "threshold": threshold}
    rows = {"ddof": ddof, "row_scaling": row_scaling}
    job = prepare_search(
        trial_vectors, enrol_vectors, mated, engine=engine, settings=settings, scoring=scoring, **rows, **calibration
    )
    evidence = job.join(job.runs(chunk), progress)
    identities = Identities.of(trial_vectors, enrol_vectors, job.plan.mated)
    return LinkResult.build(
        evidence,
        job.plan,
        identities,
        scoring=scoring,
        calibration=CalibrationFacts("given"),
        data=partial(search_digest, job.plan, identities, settings.dtype),
    )


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """A checked search and the engine that does it."""

    plan: SearchPlan
    engine: Engine
    settings: EngineSettings

    def runs(self, trials: int | None = None) -> list[tuple[int, int]]:
        """Runs of trials: as many as fit a modest memory, so that the enrolment is read few times."""
        step = trials or self.engine.run_trials(self.plan.trial.dim)
        return [(start, min(self.plan.trials, start + step)) for start in range(0, self.plan.trials, step)]

    def work(self, runs: Runs) -> Iterator[tuple[int, TrialEvidence]]:
        """Yield the evidence of runs of trials with their index in `runs`, in the order in which they are done."""
        return self.engine.run(self.plan, runs, self.settings)

    def join(self, runs: Runs, progress: Callable[[int, int], None] | None = None) -> TrialEvidence:
        """Return the evidence of all runs in their order."""
        parts, done = dict[int, TrialEvidence](), 0
        for index, part in self.work(runs):
            parts[index] = part
            done += len(part)
            if progress is not None:
                progress(done, self.plan.trials)
        return TrialEvidence.join([parts[index] for index in range(len(runs))])


def prepare_search(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    scoring: Scoring,
    engine: EngineName,
    settings: EngineSettings,
    **options: Any,
) -> SearchJob:
    """Check a search and choose its engine; `options` are those of `plan_search`."""
    trial, enrol = vector_sets(trial_vectors, enrol_vectors, scoring)
    chosen = choose_engine(trial, enrol, scoring=scoring, name=engine, settings=settings)
    moments = partial(chosen.moments, settings=settings)
    dtype = chosen.sums or settings.dtype
    plan = plan_search(trial, enrol, mated, scoring=scoring, dtype=dtype, moments=moments, **options)
    return SearchJob(plan, chosen, settings)


def choose_engine(
    trial_vectors: Any, enrol_vectors: Any, *, scoring: Scoring, name: EngineName, settings: EngineSettings
) -> Engine:
    """Return the engine of that name, or the best one; an error says why it cannot do this search."""
    trial, enrol = vector_sets(trial_vectors, enrol_vectors, scoring)
    double = settings.dtype == np.float64 or (settings.dtype is None and not (trial.single and enrol.single))
    return choose(name, Requirements(enrol.dim, double, callable(scoring)), settings)
