"""The table of architectures: how an ONNX file of each is recognised, and which network takes its weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from zeroevidence.attack.networks.onnx_layers import EXTRA, Layer
from zeroevidence.errors import MissingExtra
from zeroevidence.registry import Registry

# What a network is made with, if the layers are of its architecture; nothing if they are not.
Recognises = Callable[[Sequence[Layer]], dict[str, Any] | None]
Importer = TypeVar("Importer", bound=Callable[[], type[Any]])


@dataclass(frozen=True, slots=True)
class Architecture:
    """One kind of speaker encoder that can be trained further."""

    name: str
    title: str  # one line of words
    recognises: Recognises
    network: Callable[[], type[Any]]  # imports the class, and torch with it

    def make(self, **sizes: Any) -> Any:
        """A new network with random weights; without sizes, of the size that its authors publish.

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


def register_architecture(name: str, title: str, *, recognises: Recognises) -> Callable[[Importer], Importer]:
    """Add an architecture to `ARCHITECTURES` by what imports its class."""

    def enter(network: Importer) -> Importer:
        ARCHITECTURES.add(Architecture(name, title, recognises, network))
        return network

    return enter


def recognise(layers: Sequence[Layer]) -> tuple[Architecture, dict[str, Any]] | None:
    """The architecture that such layers are of, and the sizes of the network; nothing where none is known."""
    for architecture in ARCHITECTURES.values():
        sizes = architecture.recognises(layers)
        if sizes is not None:
            return architecture, sizes
    return None
