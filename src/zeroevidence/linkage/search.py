"""One call, several engines: trial and enrolment vectors in, evidence of each trial out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import zeroevidence.linkage.engines  # noqa: F401 (the engines register themselves)
from zeroevidence._typing import FloatArray
from zeroevidence.linkage.engines.engine import AUTO, Engine, EngineName, EngineSettings, Requirements, choose
from zeroevidence.linkage.evidence.plan import SearchPlan, plan_search
from zeroevidence.linkage.evidence.trial_evidence import TrialEvidence
from zeroevidence.linkage.inputs.scoring import Scoring
from zeroevidence.linkage.inputs.vectors import VectorSet
from zeroevidence.linkage.result import CalibrationFacts, Identities, LinkResult


def link(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    weight: float | FloatArray,
    bias: float | FloatArray = 0.0,
    scoring: Scoring = "dot",
    ddof: int = 0,
    threshold: float | FloatArray | None = None,
    engine: EngineName = AUTO,
    scheduler: Any = None,
    device: str | None = None,
    threads: int | None = None,
    dtype: Any = None,
    chunk: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LinkResult:
    r"""What a search through N enrolled identities learns from each trial, without the T x N matrix of scores.

    :math:`LLR_{ij} = w (s_{ij} - \mu_i) / \sigma_i + b` and
    :math:`LID_i = \log_2 (N e^{LLR_{i m_i}} / \sum_j e^{LLR_{ij}})`.

    Parameters
    ----------
    trial_vectors, enrol_vectors
        T x d and N x d: arrays of floats (memory-mapped is fine, also beyond the memory of the machine), `Embeddings`,
        or addresses of files, which ``dask`` opens where its workers are.
    mated
        For each trial the row of its true identity in `enrol_vectors`.
    weight, bias, threshold
        Calibration of standardised scores, one for all or one per trial; `fit_link` fits one on other speakers.
        Identities that score above `threshold` are counted (`fires`).
    scoring, ddof
        ``dot``, ``cosine``, or a function of two blocks of vectors. The divisor of the row variance is N - `ddof`.
    engine, scheduler, device, threads, dtype
        The engine, by default the fastest here that keeps the precision; client or address of ``dask``; device of
        ``torch`` and ``triton``; threads of ``numpy``, or of a task of ``dask``; precision of the products' inputs.
    chunk, progress
        Trials worked out together, which changes nothing beyond rounding; called with the number of trials done and
        in all.

    Examples
    --------
    >>> found = link([[1.0, 0.2], [0.1, 1.0]], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [0, 1], weight=3.0)
    >>> found.lid.round(2).tolist(), found.top.tolist()
    ([1.51, 1.58], [0, 1])
    """
    request = EngineSettings(None if dtype is None else np.dtype(dtype), device, threads, scheduler)
    calibration = {"weight": weight, "bias": bias, "threshold": threshold}
    job = prepare(
        trial_vectors, enrol_vectors, mated, engine=engine, request=request, scoring=scoring, ddof=ddof, **calibration
    )
    found = job.join(job.runs(chunk), progress)
    who = Identities.known(trial_vectors, enrol_vectors, job.plan.mated)
    return LinkResult.build(found, job.plan, who, scoring=scoring, calibration=CalibrationFacts("given"))


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """A checked search and the engine that does it."""

    plan: SearchPlan
    engine: Engine
    request: EngineSettings

    def runs(self, trials: int | None = None) -> list[tuple[int, int]]:
        """Runs of trials: as many as fit a modest memory, so that the enrolment is read few times."""
        step = trials or self.engine.run_trials(self.plan.trial.dim)
        return [(start, min(self.plan.trials, start + step)) for start in range(0, self.plan.trials, step)]

    def work(self, runs: Sequence[tuple[int, int]]) -> Iterator[tuple[int, TrialEvidence]]:
        """Results of runs of trials with their place in `runs`, in the order in which they are done."""
        return self.engine.run(self.plan, runs, self.request)

    def join(
        self, runs: Sequence[tuple[int, int]], progress: Callable[[int, int], None] | None = None
    ) -> TrialEvidence:
        """Results of all runs in their order."""
        whole, done = TrialEvidence.blank(self.plan.identities, self.plan.trials), 0
        for index, part in self.work(runs):
            whole.put(runs[index][0], part)
            done += len(part)
            if progress is not None:
                progress(done, self.plan.trials)
        return whole


def prepare(
    trial_vectors: Any,
    enrol_vectors: Any,
    mated: Any,
    *,
    scoring: Scoring,
    engine: EngineName = AUTO,
    request: EngineSettings | None = None,
    **options: Any,
) -> SearchJob:
    """Check a search and choose its engine; `options` are those of `make_plan`."""
    request = request or EngineSettings()
    trial = VectorSet.of(trial_vectors, "trial", cosine=scoring == "cosine")
    enrol = VectorSet.of(enrol_vectors, "enrolment", cosine=scoring == "cosine")
    engine = engine_for(trial, enrol, scoring=scoring, engine=engine, request=request)
    plan = plan_search(
        trial,
        enrol,
        mated,
        scoring=scoring,
        dtype=engine.sums or request.dtype,
        moments=partial(engine.moments, request=request),
        **options,
    )
    return SearchJob(plan, engine, request)


def engine_for(
    trial: VectorSet, enrol: VectorSet, *, scoring: Scoring, engine: EngineName, request: EngineSettings
) -> Engine:
    """The engine that is meant by a name, or an error that says why it cannot do this search."""
    asked = request.dtype
    double = asked == np.float64 or (asked is None and not (trial.single and enrol.single))
    return choose(engine, Requirements(enrol.dim, double, callable(scoring)), request)
