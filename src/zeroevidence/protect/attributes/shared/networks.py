"""What protectors that train networks have in common: torch on demand, a device, one thread, and pickling."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any, ClassVar

from zeroevidence.errors import MissingExtra, UsageError

EXTRA = "flow"  # the optional part that brings torch


def need_torch(what: str) -> Any:
    """The module torch; if it is missing, an error that says what needs it and how to install it."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra(EXTRA, what) from error
    return torch


def choose_device(name: str, what: str) -> Any:
    """The torch device of that name; ``auto`` takes a GPU where there is one."""
    torch = need_torch(what)
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().partition("\n")[0]
        raise UsageError(f"device: {name!r} cannot be used on this machine ({reason})") from None


@contextlib.contextmanager
def one_thread(torch: Any) -> Iterator[None]:
    """Let torch compute on one thread: small products gain little from more, and sums keep their order."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


class OnDevice:
    """A fitted protector with networks on a device; it is copied and pickled through the main memory.

    So a protector that was fitted on a GPU can be unpickled on a machine without one, unless its parameter ``device``
    asks for the GPU by name.
    """

    networks: ClassVar[tuple[str, ...]]  # names of the attributes that hold them
    device: str
    device_: Any

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # type: ignore[call-overload]
        for name in self.networks:
            if name in state:
                state[name] = copy.deepcopy(state[name]).cpu()
        state.pop("device_", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]
        if self.networks[0] in state:
            self._place()

    def _place(self) -> None:
        """Put the networks where ``device`` says."""
        self.device_ = choose_device(self.device, type(self).__name__)
        for name in self.networks:
            getattr(self, name).to(self.device_)
