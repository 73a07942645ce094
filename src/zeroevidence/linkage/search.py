"""A search through embeddings: trial and enrolment vectors in, evidence of each trial out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zeroevidence._typing import IntArray, StrArray
from zeroevidence.data.embeddings import Embeddings, rank_names
from zeroevidence.data.files import ArrayOnDisk
from zeroevidence.data.loaded_scores import RelaxedRule
from zeroevidence.linkage.calibration import cross_fit
from zeroevidence.linkage.engines import Engine, Requirements, choose
from zeroevidence.linkage.evidence import ARRAYS, TrialEvidence
from zeroevidence.linkage.inputs import Pairing, pair, vector_sets
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration, SearchPlan, plan_search
from zeroevidence.run import Run

_BLOCK_BYTES = 1 << 24


def array_digest(*arrays: NDArray[Any] | ArrayOnDisk | None) -> str:
    """SHA-256 of arrays with their types and shapes, read in blocks so that those on disk stay there.

    Of an array of several blocks the digests of its blocks are hashed, which threads compute.
    """
    hasher = hashlib.sha256()
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for array in arrays:
            if array is None:
                hasher.update(b"none")
                continue
            hasher.update(f"{array.dtype.str}{array.shape}".encode())
            width = array.shape[1] if array.ndim > 1 else 1
            step = max(1, _BLOCK_BYTES // max(1, array.dtype.itemsize * width))
            contents = (partial(_bytes, array, start, start + step) for start in range(0, len(array), step))
            if len(array) <= step:
                hasher.update(b"".join(content() for content in contents))
                continue
            for digest in pool.map(lambda content: hashlib.sha256(content()).digest(), contents):
                hasher.update(digest)
    return hasher.hexdigest()


def _bytes(array: NDArray[Any] | ArrayOnDisk, start: int, stop: int) -> memoryview:
    return np.ascontiguousarray(array[start:stop]).data.cast("B")


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
    options: LinkOptions
    calibration: SearchCalibration
    not_enrolled: int  # trials left out because their speaker is not enrolled
    relaxed: tuple[RelaxedRule, ...]  # recordings on both sides
    data: Callable[[], str]  # computes the digest

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


def link(
    trial: Any,
    enrol: Any,
    mated: Any = None,
    options: LinkOptions = LinkOptions(),
    calibration: SearchCalibration | None = None,
    run: Run = Run(),
) -> LinkResult:
    r"""Evidence of each trial in a search through N enrolled identities, without the T x N matrix of scores.

    :math:`LLR_{ij} = w (s_{ij} - \mu_i) / \sigma_i + b` and
    :math:`LID_i = \log_2 (N e^{LLR_{i m_i}} / \sum_j e^{LLR_{ij}})`.

    Parameters
    ----------
    trial
        T x d: an array of floats (memory-mapped is fine, also beyond the memory of the machine), `Embeddings`, or the
        address of a file, which ``dask`` opens where its workers are.
    enrol
        N x d, likewise.
    mated
        For each trial the row of its true identity in `enrol`. Embeddings with speakers need none: several vectors of
        an enrolled person are averaged, and trials of people who are not enrolled are left out.
    options
        Scoring, calibration weight, scaling of rows, engine and precision.
    calibration
        Weight, bias and threshold, such as `calibrate_search` fits, in place of the weight of the options. Without
        either, the trials of each person are calibrated on those of other people, by a second pass over all pairs.
    run
        Seed of the folds of people, cores, device and scheduler of the engine, and the progress in trials.

    Examples
    --------
    >>> people = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]]
    >>> result = link([[1.0, 0.2], [0.1, 1.0]], people, [0, 1], LinkOptions("dot", weight=3.0))
    >>> result.lid.round(2).tolist(), result.top.tolist()
    ([1.51, 1.58], [0, 1])
    """
    search = None
    if mated is None:
        search = pair(trial, enrol, scoring=options.scoring, allow_same=options.allow_same)
        trial, enrol, mated = search.trial, search.enrol, search.mated
    if calibration is None:
        weight, people = options.weight, _people(enrol, np.asarray(mated))
        given = None if weight is None else SearchCalibration(weight)
        calibration = given or cross_fit(trial, enrol, mated, people, options, run)
    job = prepare_search(trial, enrol, mated, calibration, options, run)
    parts, done, step = dict[int, TrialEvidence](), 0, run.progress("linking", "trials")
    runs = job.runs()
    for index, part in job.engine.compute(job.plan, runs, run):
        parts[index] = part
        done += len(part)
        step(done, job.plan.trials)
    names = Identities.of(trial, enrol, job.plan.mated)
    evidence = TrialEvidence.join([parts[index] for index in range(len(runs))])
    return job.result(evidence, names, partial(search_digest, job.plan, names), search)


def _people(enrol: Any, mated: Any) -> IntArray:
    """Return the number of each trial's speaker, in the order of names where there are names."""
    if mated.dtype.kind not in "iu" or not isinstance(enrol, Embeddings) or (mated >= len(enrol)).any():
        return np.asarray(mated)  # which a plan of the search checks
    return np.asarray(rank_names(enrol.ids if enrol.speakers is None else enrol.speakers)[1][mated])


@dataclass(frozen=True, slots=True, eq=False)
class SearchJob:
    """A checked search and the engine that does it."""

    plan: SearchPlan
    calibration: SearchCalibration
    engine: Engine
    run: Run

    def runs(self) -> list[tuple[int, int]]:
        """Runs of trials: as many as fit a modest memory, so that the enrolment is read few times."""
        step = self.plan.options.block or self.engine.run_trials(self.plan.trial.dim)
        return [(start, min(self.plan.trials, start + step)) for start in range(0, self.plan.trials, step)]

    def result(
        self, evidence: TrialEvidence, names: Identities, data: Callable[[], str], search: Pairing | None
    ) -> LinkResult:
        """Return the result of the search; `data` computes its digest when asked for."""
        values: dict[str, Any] = {name: getattr(evidence, name) for name in ARRAYS}
        values |= {"names": names, "options": self.plan.options, "calibration": self.calibration, "data": data}
        left_out, relaxed = (0, ()) if search is None else (search.not_enrolled, search.relaxed)
        return LinkResult(evidence.identities, **values, not_enrolled=left_out, relaxed=relaxed)


def prepare_search(
    trial_vectors: Any, enrol_vectors: Any, mated: Any, calibration: SearchCalibration, options: LinkOptions, run: Run
) -> SearchJob:
    """Check a search and choose its engine."""
    engine = choose_engine(trial_vectors, enrol_vectors, options)
    moments = partial(engine.moments, run=run)
    plan = plan_search(trial_vectors, enrol_vectors, mated, calibration, options, dtype=engine.sums, moments=moments)
    return SearchJob(plan, calibration, engine, run)


def choose_engine(trial_vectors: Any, enrol_vectors: Any, options: LinkOptions) -> Engine:
    """Return the engine that is asked for, or the best one; an error says why it cannot do this search."""
    trial, enrol = vector_sets(trial_vectors, enrol_vectors, options.scoring)
    double = options.precision == 64 or (options.precision is None and not (trial.single and enrol.single))
    needed = Requirements(enrol.dim, double, options.function is not None, options.precision)
    return choose(options.engine, needed)


def search_digest(plan: SearchPlan, names: Identities) -> str:
    """SHA-256 of vectors, names, calibration and the precision that was asked for; engines do not enter it."""
    calibrated = plan.trial.vectors, plan.enrol.vectors, plan.mated, plan.weight, plan.bias
    bits = plan.options.precision
    precision = None if bits is None else np.array([f"float{bits}"])
    return array_digest(*calibrated, names.ids, names.speakers, names.people, plan.threshold, precision)
