"""Training on all cores of a machine without a GPU.

Torch's own threads share every layer and wait for each other at its end. Where other programs run, that takes many
times as long. So parts of a batch are computed side by side, each on one core, and their gradients are added in a fixed
order: the result depends neither on the number of cores nor on which was first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from zeroevidence.forking import cores

Part = TypeVar("Part")
Result = TypeVar("Result")


def on_cores(compute: Callable[[Part], Result], parts: Sequence[Part]) -> list[Result]:
    """Return the results of a function for each part, in order; inside `torch_threads(1)` each part takes one core."""
    if len(parts) == 1 or cores() == 1:
        return [compute(part) for part in parts]
    return list(_pool().map(compute, parts))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="training")
