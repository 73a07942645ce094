"""Engine `dask`: runs of trials as tasks on many machines.

A task carries addresses, or vectors that were sent to the workers once; results are a few numbers per trial. The tasks
of a worker that dies are done again elsewhere, and since the result of a task depends on nothing but the search, the
merged result is the same. A worker does as many tasks at once as it has threads, so a task takes one thread unless the
caller chooses otherwise.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from zeroevidence.errors import ZeroEvidenceError
from zeroevidence.guard import mark_workers
from zeroevidence.linkage.engines import Engine, Linker, Requirements, Runs, best, register
from zeroevidence.linkage.evidence import TrialEvidence
from zeroevidence.linkage.plan import SearchPlan
from zeroevidence.optional import optional
from zeroevidence.run import Run

_ATTEMPTS = 5
_PATIENCE = 60.0  # seconds without a worker before the search ends; a restarted worker takes some
_TASKS_EVERY, _WORKERS_EVERY = 0.02, 1.0  # seconds between two looks
_LINKERS: dict[str, Linker] = {}  # of this process: what a worker prepared for the plan it works on
_ONE_AT_A_TIME = threading.Lock()


@register
class DaskEngine(Engine):
    """Hands runs of trials to the workers of a cluster."""

    name = "dask"
    needs = "`zeroevidence[cluster]`"
    modules = ("distributed",)
    extra = "cluster"
    functions = True

    def compute(self, plan: SearchPlan, runs: Runs, run: Run) -> Iterator[tuple[int, TrialEvidence]]:
        """Yield the evidence of runs of trials with their index in `runs`, in the order in which they are done."""
        distributed = optional("distributed", "cluster", "the engine dask")
        scheduler: Any = run.scheduler
        is_client = hasattr(scheduler, "submit")
        if not scheduler:
            mark_workers()
        client = scheduler if is_client else distributed.Client(scheduler) if scheduler else distributed.Client()
        try:
            yield from _computed(distributed, client, plan, runs, run.cores or 1)
        finally:
            if not is_client:
                client.close()


def _computed(
    distributed: Any, client: Any, plan: SearchPlan, runs: Runs, threads: int
) -> Iterator[tuple[int, TrialEvidence]]:
    token = f"plan-{np.random.default_rng().integers(2**62)}"
    left = set(range(len(runs)))
    for attempt in range(_ATTEMPTS):
        try:
            # every worker gets a copy, so that the loss of one loses nothing
            shared = client.scatter(plan, broadcast=True, hash=False)
        except OSError as refusal:  # a lack of workers, too, is one of time
            raise ZeroEvidenceError(f"the cluster cannot be given any work: {refusal}") from None
        submit = partial(client.submit, compute_run, shared, token, threads, retries=3, pure=False)
        futures = {submit(*runs[index]): index for index in sorted(left)}
        for future in _completed(distributed, client, list(futures)):
            if future.status == "finished":
                index = futures[future]
                left.discard(index)
                yield index, future.result()
            elif future.status == "error" and isinstance(error := future.exception(), ZeroEvidenceError):
                raise error
            elif attempt == _ATTEMPTS - 1:
                future.result()  # raises whatever the last attempt ended in
        if not left:
            return


def _completed(distributed: Any, client: Any, futures: list[Any]) -> Iterator[Any]:
    """Yield tasks as they are done; an error where there is no worker for `_PATIENCE` seconds."""
    completed = distributed.as_completed(futures)
    seen = looked = time.monotonic()
    while not completed.is_empty():
        if completed.has_ready():
            yield next(completed)
            seen = time.monotonic()
            continue
        time.sleep(_TASKS_EVERY)
        now = time.monotonic()
        if now - looked > _WORKERS_EVERY:
            looked = now
            seen = now if client.nthreads() else seen
        if now - seen > _PATIENCE:
            raise ZeroEvidenceError("no worker of the cluster is left; start others, and the same search continues")


def compute_run(plan: SearchPlan, token: str, threads: int, start: int, stop: int) -> TrialEvidence:
    """Return the evidence of one run: a task, which a worker does on its GPU where it has one."""
    with _ONE_AT_A_TIME:  # several tasks of a worker begin at once
        linker = _LINKERS.get(token)
        if linker is None:
            double, options = plan.dtype == np.float64, plan.options
            needed = Requirements(plan.enrol.dim, double, options.function is not None, options.precision)
            linker = best(needed).linker(plan, Run(cores=threads))
            _LINKERS.clear()
            _LINKERS[token] = linker
    return linker.rows(np.arange(start, stop))
