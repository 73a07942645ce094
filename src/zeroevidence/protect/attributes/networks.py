"""Networks of protectors: torch on demand, devices, pickling, and storage of weights."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar

from zeroevidence.errors import UsageError
from zeroevidence.optional import LazyModule, optional

EXTRA = "flow"  # the optional part that brings torch
torch: Any = LazyModule("torch", EXTRA, "a protector with networks")


def copy_state(network: Any) -> dict[str, Any]:
    """Return copies of the weights of a network by name."""
    return {name: value.detach().clone() for name, value in network.state_dict().items()}


def stored_state(arrays: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """Return the weights of a network from the arrays whose names have the prefix."""
    return {
        name.removeprefix(f"{prefix}."): torch.as_tensor(array.copy())
        for name, array in arrays.items()
        if name.startswith(f"{prefix}.")
    }


class OnDevice:
    """A fitted protector with networks on a device; it is copied and pickled through the main memory.

    So a protector that was fitted on a GPU can be unpickled on a machine without one, unless its parameter ``device``
    asks for the GPU by name.
    """

    networks: ClassVar[tuple[str, ...]]  # names of the attributes that hold them
    device: str
    device_: Any

    def _choose_device(self) -> None:
        """Set the device of the networks: ``auto`` takes a GPU where there is one."""
        optional("torch", EXTRA, type(self).__name__)
        name = ("cuda" if torch.cuda.is_available() else "cpu") if self.device == "auto" else self.device
        try:
            self.device_ = torch.empty(0, device=name).device
        except (RuntimeError, AssertionError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise UsageError(f"device: {name!r} cannot be used on this machine ({reason})") from None

    def _arrays(self) -> dict[str, Any]:
        """Return the arrays of the fitted model by name, the weights of the networks among them."""
        arrays: dict[str, Any] = super()._arrays()  # type: ignore[misc]
        for name in self.networks:
            weights = getattr(self, name).state_dict()
            arrays |= {f"{name.removesuffix('_')}.{key}": value.cpu().numpy() for key, value in weights.items()}
        return arrays

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
        """Move the networks to the device."""
        self._choose_device()
        for name in self.networks:
            getattr(self, name).to(self.device_)
