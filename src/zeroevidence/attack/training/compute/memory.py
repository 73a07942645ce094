"""How much a device takes at once: what did not fit is tried again in halves. This module imports torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import torch

from zeroevidence.errors import UsageError

Found = TypeVar("Found")


class AdaptiveBatchSize:
    """How many utterances are computed at once on a device.

    Parameters
    ----------
    size
        As many at first.
    say
        Called with a message whenever they become fewer.
    """

    def __init__(self, size: int, say: Callable[[str], None]) -> None:
        self.size, self.say = size, say

    def attempt(self, compute: Callable[[], Found]) -> Found | None:
        """What a function gives, or None where the device's memory was too small and the room is now half of it.

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
