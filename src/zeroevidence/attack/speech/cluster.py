"""Functions computed by the workers of a Dask cluster, which see the same files as this machine."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from zeroevidence.errors import ZeroEvidenceError
from zeroevidence.interruption import check_stop
from zeroevidence.linkage.optional import optional

Part = TypeVar("Part")
Result = TypeVar("Result")

_ATTEMPTS = 3  # at a part whose worker was lost
_made: dict[str, Callable[[Any], Any]] = {}  # of a worker: the function that it works on
_lock = threading.Lock()


@contextmanager
def on_cluster(
    make: Callable[[], Callable[[Part], Result]], scheduler: Any
) -> Iterator[tuple[Callable[[Part], Result], int]]:
    """Context with a function that is computed by the workers of a cluster, and how many of its calls run at once.

    Parameters
    ----------
    make
        Makes the function, once in each worker.
    scheduler
        Address of the scheduler, or a client of it, which is left open.

    Raises
    ------
    ZeroEvidenceError
        Where the cluster cannot be reached, or has no workers.
    MissingExtra
        Without distributed.
    """
    distributed = optional("distributed", "cluster", "reading speech on a cluster")
    is_client = hasattr(scheduler, "submit")
    try:
        client = scheduler if is_client else distributed.Client(scheduler)
    except (OSError, ValueError) as error:
        raise ZeroEvidenceError(f"{scheduler}: the cluster cannot be reached: {error}") from None
    token = secrets.token_hex(8)

    def compute(part: Part) -> Result:
        check_stop()
        result: Result = client.submit(_compute, token, make, part, retries=_ATTEMPTS, pure=False).result()
        return result

    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise ZeroEvidenceError(f"{scheduler}: the cluster has no workers; start some")
        yield compute, threads
    finally:
        if not is_client:
            client.close()


def _compute(token: str, make: Callable[[], Callable[[Part], Result]], part: Part) -> Result:
    """Return the result of a function: a task."""
    with _lock:
        if token not in _made:
            _made.clear()
            _made[token] = make()
        function = _made[token]
    result: Result = function(part)
    return result
