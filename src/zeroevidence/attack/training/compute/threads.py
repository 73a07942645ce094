"""Work of a training on all cores of a machine without a GPU.

Torch's own threads share every layer and wait for each other at its end. Where other programs run, that takes many
times as long. So parts of a batch are computed side by side, each on one core, and what they give is added in a fixed
order: the result depends neither on the number of cores nor on who was first. This module imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from typing import TypeVar

import torch

from zeroevidence.attack.speech.batches import cores

Part = TypeVar("Part")
Found = TypeVar("Found")


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch compute each operation on the core that asked for it."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def on_cores(compute: Callable[[Part], Found], parts: Sequence[Part]) -> list[Found]:
    """What a function gives for each part, in their order; inside `one_torch_thread` each part takes one core."""
    if len(parts) == 1 or cores() == 1:
        return [compute(part) for part in parts]
    return list(_pool().map(compute, parts))


@lru_cache(maxsize=1)
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(cores(), thread_name_prefix="training")
