"""Optional modules, imported when an engine needs them."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from zeroevidence.errors import MissingExtra

# onnxruntime 1.31 reports its use to its makers, if they are reached
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def optional(module: str, extra: str, needed_for: str, *, without: str = "") -> Any:
    """Import an optional module; where it is missing, an error names the line that installs it, and what is lost."""
    try:
        return importlib.import_module(module)
    except MissingExtra:
        raise
    except ImportError:
        raise MissingExtra(extra, needed_for, without=without) from None


class LazyModule:
    """An optional module that is imported when one of its names is first used."""

    def __init__(self, module: str, extra: str, needed_for: str) -> None:
        self._import = module, extra, needed_for

    def __getattr__(self, name: str) -> Any:
        return getattr(optional(*self._import), name)


def present(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def one_blas_thread() -> AbstractContextManager[object]:
    """Limit BLAS to one thread for a block of code, in which threads of ours multiply blocks of their own.

    Threads of BLAS would spin while ours compare and sum. Without threadpoolctl the result is the same, but slower.
    """
    if not present("threadpoolctl"):
        return nullcontext()
    threadpoolctl = importlib.import_module("threadpoolctl")
    limits: AbstractContextManager[object] = threadpoolctl.threadpool_limits(1, user_api="blas")
    return limits


@contextmanager
def torch_threads(count: int) -> Iterator[None]:
    """Limit each operation of torch to so many threads."""
    torch = importlib.import_module("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
