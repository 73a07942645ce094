"""Several processes that train one network, each on a GPU of its own: those that `torchrun` starts. Imports torch.

Each computes its part of every batch, and the gradients of all are added. A step is recorded as a CUDA graph, or
computed in parts on several cores, and neither calls the hooks by which torch's `DistributedDataParallel` adds
gradients while they are computed; they are added once the step is done.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import distributed

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class ProcessGroup:
    """The processes of a training: the number of this one, and how many there are."""

    rank: int = 0
    size: int = 1

    @property
    def is_first(self) -> bool:
        """Whether this process reads, writes and speaks for all."""
        return self.rank == 0

    def share(self, count: int) -> slice:
        """Return which of so many utterances are for this process.

        Examples
        --------
        >>> [ProcessGroup(rank, 2).share(5) for rank in range(2)]
        [slice(0, 2, None), slice(2, 5, None)]
        """
        return slice(self.rank * count // self.size, (self.rank + 1) * count // self.size)

    def add(self, value: torch.Tensor) -> None:
        """Replace a tensor by the sum over all processes."""
        if self.size > 1:
            distributed.all_reduce(value)

    def add_gradients(self, weights: Sequence[torch.Tensor]) -> None:
        """Replace the gradients of weights by their sums over all processes."""
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        if self.size == 1 or not gradients:
            return
        together = torch.cat([gradient.reshape(-1) for gradient in gradients])
        distributed.all_reduce(together)
        parts = torch.split(together, [gradient.numel() for gradient in gradients])
        for gradient, part in zip(gradients, parts, strict=True):
            gradient.copy_(part.view_as(gradient))

    def gather(self, value: Value) -> list[Value]:
        """Return what each process has, in the order of their numbers."""
        if self.size == 1:
            return [value]
        values: list[Value | None] = [None] * self.size
        distributed.all_gather_object(values, value)
        return [each for each in values if each is not None]

    def of_first(self, value: Value | None) -> Value:
        """Return the value that the first process has; the others wait for it."""
        values = [value]
        if self.size > 1:
            distributed.broadcast_object_list(values)
        (result,) = values
        assert result is not None
        return result


def current_group() -> ProcessGroup:
    """Return the processes that this one belongs to."""
    if distributed.is_available() and distributed.is_initialized():
        return ProcessGroup(distributed.get_rank(), distributed.get_world_size())
    return ProcessGroup()


@contextmanager
def joined_processes(device: str) -> Iterator[tuple[ProcessGroup, str]]:
    """Context in which the processes that `torchrun` started work together; with the device of this one.

    Parameters
    ----------
    device
        The device; of several GPUs each process takes the one of its number on the machine.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1 or distributed.is_initialized():
        yield current_group(), device
        return
    if device == "cuda":
        device = f"cuda:{os.environ.get('LOCAL_RANK', '0')}"
        torch.cuda.set_device(device)
    distributed.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    try:
        yield current_group(), device
    finally:
        distributed.destroy_process_group()
