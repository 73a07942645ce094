"""Back-end `dask`: runs of trials as tasks on many machines.

A task carries addresses, or vectors that were sent to the workers once; results are a few numbers per trial. A worker
that dies takes nothing with it: its tasks are done again elsewhere, and since a task's answer depends on nothing but
the plan, the merged result is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from zeroevidence.errors import ZeroEvidenceError
from zeroevidence.linkage.parts import optional
from zeroevidence.linkage.plan import Plan
from zeroevidence.linkage.result import Linkage

_ATTEMPTS = 5
_LINKERS: dict[str, Any] = {}  # of this process: what a worker prepared for the plan it works on


def run_on_cluster(
    plan: Plan, chunks: Sequence[tuple[int, int]], *, scheduler: Any = None
) -> Iterator[tuple[int, Linkage]]:
    """Results of runs of trials with their place in `chunks`, in the order in which they are done."""
    distributed = optional("distributed", "cluster", "the back-end dask")
    given = hasattr(scheduler, "submit")
    client = scheduler if given else distributed.Client(scheduler) if scheduler else distributed.Client()
    try:
        yield from _run(distributed, client, plan, chunks)
    finally:
        if not given:
            client.close()


def _run(distributed: Any, client: Any, plan: Plan, chunks: Sequence[tuple[int, int]]) -> Iterator[tuple[int, Linkage]]:
    token = f"plan-{np.random.default_rng().integers(2**62)}"
    left = set(range(len(chunks)))
    for attempt in range(_ATTEMPTS):
        # every worker gets a copy, so that the loss of one loses nothing
        shared = client.scatter(plan, broadcast=True, hash=False)
        futures = {
            client.submit(work, shared, token, *chunks[index], retries=3, pure=False): index for index in sorted(left)
        }
        for future in distributed.as_completed(list(futures)):
            if future.status == "finished":
                index = futures[future]
                left.discard(index)
                yield index, future.result()
            elif isinstance(error := _error(future), ZeroEvidenceError):
                raise error
            elif attempt == _ATTEMPTS - 1:
                future.result()
        if not left:
            return


def _error(future: Any) -> BaseException | None:
    if future.status != "error":
        return None
    error: BaseException | None = future.exception()
    return error


def work(plan: Plan, token: str, start: int, stop: int) -> Linkage:
    """One task, on a worker: with its GPU where it has one, else with its processors."""
    from zeroevidence.linkage.engine import best_backend, linker_for

    linker = _LINKERS.get(token)
    if linker is None:
        double = plan.dtype == np.float64 or plan.function is not None
        backend = best_backend(plan.enrol.dim, double=double)
        linker = linker_for(plan, backend)
        _LINKERS.clear()
        _LINKERS[token] = linker
    result: Linkage = linker.rows(np.arange(start, stop))
    return result
