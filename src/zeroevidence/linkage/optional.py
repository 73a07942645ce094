"""Optional parts, imported when an engine needs them."""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from zeroevidence.errors import MissingExtra


def optional(module: str, extra: str, needed_for: str) -> Any:
    """An optional module, or an error with the line that installs it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise MissingExtra(extra, needed_for) from None


def present(module: str) -> bool:
    """Whether a module can be imported, without importing it."""
    return importlib.util.find_spec(module) is not None


def one_blas_thread() -> AbstractContextManager[object]:
    """Let each of our threads multiply its own block: threads of BLAS would wait, spinning, while ours compare and sum.

    Without threadpoolctl the answer is the same and comes later.
    """
    if not present("threadpoolctl"):
        return nullcontext()
    limits: AbstractContextManager[object] = importlib.import_module("threadpoolctl").threadpool_limits(
        1, user_api="blas"
    )
    return limits
