"""Architectures of speaker encoders that can be trained: how each is recognised, and its network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from zeroevidence.attack.networks.onnx_layers import EXTRA, Layer
from zeroevidence.errors import MissingExtra
from zeroevidence.registry import Registry

# What a network is made with, if the layers are of its architecture; nothing if they are not.
Recognises = Callable[[Sequence[Layer]], dict[str, Any] | None]


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture of speaker encoders that can be trained further."""

    name: str
    title: str
    recognises: Recognises
    network: Callable[[], type[Any]]  # imports the class, and torch with it

    def make(self, **sizes: Any) -> Any:
        """Return a new network with random weights; without sizes, of the size that its authors publish.

        Raises
        ------
        MissingExtra
            When torch is not installed.
        """
        try:
            network = self.network()
        except ImportError as error:
            raise MissingExtra(EXTRA, f"a network of the architecture {self.name}") from error
        return network(**sizes)


ARCHITECTURES: Registry[Architecture] = Registry(
    "architecture", package="zeroevidence.attack.networks.architectures", order=lambda architecture: architecture.name
)


def recognise(layers: Sequence[Layer]) -> tuple[Architecture, dict[str, Any]] | None:
    """Return the architecture that has such layers, and the sizes of the network; None where there is none."""
    for architecture in ARCHITECTURES.values():
        sizes = architecture.recognises(layers)
        if sizes is not None:
            return architecture, sizes
    return None
