"""Speaker encoders as networks that can be trained further, recognised by their files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.attack.networks.onnx_layers import EXTRA, Layer, read_layers
from zeroevidence.attack.onnx_cards import EncoderCard
from zeroevidence.errors import InputError
from zeroevidence.optional import optional
from zeroevidence.registry import Registry

# of CAM++
_FRONT = 12  # convolutions over frequency and time
_SHRINK = 8  # factor by which they shrink the frequency axis
_BLOCKS = 3
# of ECAPA-TDNN
_LAYERS = {"conv": 38, "norm": 31}
_SQUEEZE = 20  # place of the first convolution with the bottleneck's width


@dataclass(frozen=True, slots=True)
class Architecture:
    """An architecture of speaker encoders that can be trained further.

    Parameters
    ----------
    name
        Its name.
    title
        What it is.
    network
        Name of the class of the network.
    sizes
        Returns the sizes of the network that has such layers; None where they are of another architecture.
    """

    name: str
    title: str
    network: str
    sizes: Callable[[Sequence[Layer]], dict[str, Any] | None]

    def make(self, **sizes: Any) -> Any:
        """Return a new network with random weights; without sizes, of the size that its authors publish.

        Raises
        ------
        MissingExtra
            When torch is not installed.
        """
        needed_for = f"a network of the architecture {self.name}"
        module = optional("zeroevidence.attack.networks.architectures", EXTRA, needed_for)
        return getattr(module, self.network)(**sizes)


ARCHITECTURES: Registry[Architecture] = Registry("architecture")


def recognise(layers: Sequence[Layer]) -> tuple[Architecture, dict[str, Any]] | None:
    """Return the architecture that has such layers, and the sizes of the network; None where there is none."""
    for architecture in ARCHITECTURES.values():
        sizes = architecture.sizes(layers)
        if sizes is not None:
            return architecture, sizes
    return None


def _campplus_sizes(layers: Sequence[Layer]) -> dict[str, Any] | None:
    flat = [layer for layer in layers if len(layer.shape) != 4]
    first, last = layers[0].shape if layers else (), layers[-1].shape if layers else ()
    if len(flat) != len(layers) - _FRONT or len(first) != 4 or first[1:] != (1, 3, 3) or len(last) != 3:
        return None
    halving, *body = flat
    if halving.spec.strides != (2,) or halving.shape[2] != 5:
        return None
    bare = [layer for layer in body if layer.spec.kind == "conv" and len(layer.tensors) == 1]
    counts, growth = [0], 0
    for layer in bare:  # the convolutions without bias: one in every layer of a block, and one between two blocks
        if layer.shape[2] == 1:
            counts.append(0)
        else:
            counts[-1], growth = counts[-1] + 1, layer.shape[0]
    if len(counts) != _BLOCKS or not all(counts):
        return None
    return {
        "bands": halving.shape[1] * _SHRINK // first[0],
        "front": first[0],
        "width": halving.shape[0],
        "growth": growth,
        "layers": tuple(counts),
        "dim": last[0],
    }


def _ecapa_sizes(layers: Sequence[Layer]) -> dict[str, Any] | None:
    kinds = [layer.spec.kind for layer in layers]
    if {kind: kinds.count(kind) for kind in kinds} != _LAYERS:
        return None
    first, squeeze, last = layers[0].shape, layers[_SQUEEZE].shape, layers[-1].shape
    if len(first) != 3 or first[2] != 5 or last[1:] != (6 * first[0], 1):
        return None
    return {"bands": first[1], "width": first[0], "bottleneck": squeeze[0], "dim": last[0]}


ARCHITECTURES.add(Architecture("campplus", "CAM++ as 3D-Speaker builds it", "CamPlusPlus", _campplus_sizes))
ARCHITECTURES.add(Architecture("ecapa", "ECAPA-TDNN as SpeechBrain builds it", "EcapaTdnn", _ecapa_sizes))


def load_network(card: EncoderCard) -> Any:
    """Return the network of an encoder whose file is as its card says; see `load_onnx`."""
    return load_onnx(card.file, sha256=card.sha256, size=card.bytes)


def load_onnx(path: str | Path, *, sha256: str | None = None, size: int | None = None) -> Any:
    """Return the network in an ONNX file, in single precision, on the CPU.

    The layers with weights are taken in the order in which they compute. A batch normalisation of the file becomes a
    `FixedBatchNorm`. One that was folded into a convolution when the file was written stays part of that convolution,
    whose kernel and bias are then trained (see `FoldedConv1d` for kernels that became tiny).

    Parameters
    ----------
    path
        The file.
    sha256
        Its digest, where a card has it.
    size
        Its size in bytes, where a card has it.

    Returns
    -------
    SpeakerNetwork
        A `CamPlusPlus`, an `EcapaTdnn`, or another of `ARCHITECTURES`.

    Raises
    ------
    InputError
        When it is not an ONNX file of one of these architectures, or not the file of the card.
    MissingExtra
        When torch or onnx is not installed.
    """
    layers = read_layers(path, sha256=sha256, size=size)
    recognised = recognise(layers)
    if recognised is None:
        titles = ", ".join(architecture.title for architecture in ARCHITECTURES.values())
        raise InputError(f"no architecture that can be trained; expected one of {titles}", path=path)
    architecture, sizes = recognised
    network = architecture.make(**sizes)
    from zeroevidence.attack.networks.speaker_network import fill, spec_of

    places = network.weighted()
    if len(places) != len(layers):
        raise InputError(f"{len(layers)} layers; expected {len(places)}, as in {architecture.title}", path=path)
    for number, (place, layer) in enumerate(zip(places, layers, strict=True), start=1):
        if layer.spec != spec_of(place):
            reason = f"layer {number} is {layer.spec}; expected {spec_of(place)}, as in {architecture.title}"
            raise InputError(reason, path=path)
        fill(place, layer.tensors)
    return network
