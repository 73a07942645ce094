"""Batches that fit into the memory of a device: one that does not is tried again in halves. Imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from zeroevidence.errors import UsageError

Result = TypeVar("Result")


class AdaptiveBatchSize:
    """Number of utterances that are computed at once on a device; halved whenever its memory is too small.

    Parameters
    ----------
    size
        Number to start with.
    say
        Called with a message whenever it is halved.
    """

    def __init__(self, size: int, say: Callable[[str], None]) -> None:
        self.size, self.say = size, say

    def attempt(self, compute: Callable[[], Result]) -> Result | None:
        """Return the result of a function, or None where memory was too small and `size` was halved.

        Raises
        ------
        UsageError
            When a single utterance did not fit.
        """
        try:
            return compute()
        except torch.OutOfMemoryError:
            pass  # what the failed attempt holds is free only behind this block
        if self.size == 1:
            raise UsageError("the memory of the device is too small for one utterance; a shorter crop needs less")
        self.size //= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        self.say(f"the memory of the device is too small: {self.size} utterances at a time from here on")
        return None
