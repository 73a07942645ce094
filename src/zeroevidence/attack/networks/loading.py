"""Load an ONNX file into the network of its architecture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zeroevidence.attack.networks.architecture import ARCHITECTURES, recognise
from zeroevidence.attack.networks.onnx_layers import Layer, read_layers
from zeroevidence.attack.onnx_models.cards import EncoderCard
from zeroevidence.errors import InputError


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
    _fill(network, layers, f"as in {architecture.title}", path)
    return network


def _fill(network: Any, layers: Sequence[Layer], model: str, path: str | Path) -> None:
    """Copy the tensors of a file into the network; its layers must be the network's, one by one."""
    import torch

    from zeroevidence.attack.networks.speaker_network import fill, spec_of

    places = network.weighted()
    if len(places) != len(layers):
        raise InputError(f"{len(layers)} layers; expected {len(places)}, {model}", path=path)
    for number, (place, layer) in enumerate(zip(places, layers, strict=True), start=1):
        expected = spec_of(place)
        if layer.spec != expected:
            raise InputError(f"layer {number} is {layer.spec}; expected {expected}, {model}", path=path)
        fill(place, [torch.from_numpy(tensor) for tensor in layer.tensors])
