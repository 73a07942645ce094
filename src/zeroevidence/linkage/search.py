"""A search through embeddings: trial and enrolment vectors in, evidence of each trial out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import FloatArray, IntArray, StrArray
from zeroevidence.calibrate.rows import RowScaling
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage.engines import AUTO, Engine, EngineName, EngineSettings, Requirements, Runs, choose
from zeroevidence.linkage.evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs import Scoring, vector_sets
from zeroevidence.linkage.plan import SearchPlan, plan_search

_BLOCK_BYTES = 1 << 24


def array_digest(*arrays: NDArray[Any] | None) -> str:
    """SHA-256 of arrays with their types and shapes, read in blocks so that memory-mapped ones stay on disk.

    Of an array of several blocks the digests of its blocks are hashed, which threads compute.
    """
    hasher = hashlib.sha256()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for array in arrays:
            if array is None:
                hasher.update(b"none")
                continue
            hasher.update(f"{array.dtype.str}{array.shape}".encode())
            blocks = list(_blocks(array))
            if len(blocks) == 1:
                hasher.update(_bytes(blocks[0]))
                continue
            for digest in pool.map(lambda block: hashlib.sha256(_bytes(block)).digest(), blocks):
                hasher.update(digest)
    return hasher.hexdigest()


def _blocks(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    step = max(1, _BLOCK_BYTES // max(1, array.itemsize * (array.shape[1] if array.ndim > 1 else 1)))
    for start in range(0, len(array), step):
        yield array[start : start + step]


def _bytes(block: NDArray[Any]) -> memoryview:
    return np.ascontiguousarray(block).data.cast("B")


CalibrationMethod: TypeAlias = Literal["logistic", "given"]


@dataclass(frozen=True, slots=True)
class CalibrationFacts:
    """Method by which a search was calibrated."""

    method: CalibrationMethod  # fitted to pairs of other speakers, or given by the caller
    cross_fitted: bool = False  # each speaker's trials calibrated on those of the other speakers


@dataclass(frozen=True, slots=True, eq=False)
class Identities:
    """Names of trials and people; a trial or person without a name is called by its number."""

    mated: IntArray  # row of each trial's true identity
    ids: StrArray | None = None  # of the trials
    speakers: StrArray | None = None  # of the trials
    people: StrArray | None = None  # of the enrolled, one per row

    @classmethod
    def of(cls, trial_vectors: Any, enrol_vectors: Any, mated: IntArray) -> Identities:
        """Return the names in `Embeddings`; arrays and addresses have none."""
        ids = speakers = people = None
        if isinstance(trial_vectors, Embeddings):
            ids, speakers = trial_vectors.ids, trial_vectors.speakers
        if isinstance(enrol_vectors, Embeddings):
            people = enrol_vectors.ids if enrol_vectors.speakers is None else enrol_vectors.speakers
        return cls(mated, ids, speakers, people)


# without slots, because names and digest are computed when first asked for, and kept
@dataclass(frozen=True, eq=False)
class LinkResult(TrialEvidence):
    """Evidence of a whole search with everything that an evaluation needs."""

    names: Identities
    scoring: Scoring
    ddof: int
    calibration: CalibrationFacts
    not_enrolled: int  # trials left out because their speaker is not enrolled
    data: Callable[[], str]  # computes the digest
    row_scaling: RowScaling = "standardise"

    @classmethod
    def build(
        cls,
        evidence: TrialEvidence,
        plan: SearchPlan,
        names: Identities,
        *,
        scoring: Scoring,
        calibration: CalibrationFacts,
        not_enrolled: int = 0,
        data: Callable[[], str],
    ) -> Self:
        """Return the result of a search; `data` computes its digest when asked for."""
        return cls(
            identities=evidence.identities,
            **{name: getattr(evidence, name) for name in ARRAYS},
            names=names,
            scoring=scoring,
            ddof=plan.ddof,
            calibration=calibration,
            not_enrolled=not_enrolled,
            data=data,
            row_scaling=plan.row_scaling,
        )

    @classmethod
    def of(cls, other: LinkResult) -> Self:
        """Return the same result as an instance of a subclass that adds methods."""
        return cls(**{field.name: getattr(other, field.name) for field in fields(LinkResult)})

    @cached_property
    def trial(self) -> StrArray:
        """Identifier of each trial, its number where none was given."""
        return np.arange(len(self)).astype(np.str_) if self.names.ids is None else self.names.ids

    @cached_property
    def speaker(self) -> StrArray:
        """Speaker of each trial: as the trial has it, else the name or number of its true identity."""
        names = self.names
        if names.speakers is not None:
            return names.speakers
        return names.mated.astype(np.str_) if names.people is None else names.people[names.mated]

    @cached_property
    def digest(self) -> str:
        """SHA-256 that identifies the search; the vectors must not have changed since."""
        return self.data()


def search_digest(plan: SearchPlan, names: Identities, dtype: np.dtype[Any] | None) -> str:
    """SHA-256 of vectors, names, calibration and the precision that was asked for; engines do not enter it."""
    calibrated = plan.trial.vectors, plan.enrol.vectors, plan.mated, plan.weight, plan.bias
    precision = None if dtype is None else np.array([dtype.name])
    return array_digest(*calibrated, names.ids, names.speakers, names.people, plan.threshold, precision)


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
