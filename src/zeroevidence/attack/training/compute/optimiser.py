"""AdamW without torch's compiler. This module imports torch.

Methods of torch's optimisers import the compiler only to tell it not to compile them. That takes seconds, more than
many an epoch, and nothing here is compiled.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

_MARK = "__dynamo_disable"  # where torch keeps what it calls instead of a method that is not to be compiled


class PlainAdamW(torch.optim.AdamW):
    """AdamW whose step does nothing about compilation."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the weights by their gradients."""
        return inspect.unwrap(torch.optim.AdamW.step)(self, closure)


@contextmanager
def without_compiler() -> Iterator[None]:
    """Context in which the other methods of optimisers do not import the compiler either."""
    methods = [method.__wrapped__ for method in vars(torch.optim.Optimizer).values() if hasattr(method, "__wrapped__")]
    unmarked = [] if "torch._dynamo" in sys.modules else [each for each in methods if not hasattr(each, _MARK)]
    for method in unmarked:
        setattr(method, _MARK, method)
    try:
        yield
    finally:
        for method in unmarked:
            delattr(method, _MARK)
