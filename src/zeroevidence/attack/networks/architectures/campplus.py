"""How an ONNX file of a CAM++ is recognised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroevidence.attack.networks.architecture import ARCHITECTURES, Architecture
from zeroevidence.attack.networks.onnx_layers import Layer

_FRONT = 12  # convolutions over frequency and time
_SHRINK = 8  # of the frequency axis by them
_BLOCKS = 3


def _sizes(layers: Sequence[Layer]) -> dict[str, Any] | None:
    flat = [layer for layer in layers if len(layer.shape) != 4]
    first, last = layers[0].shape if layers else (), layers[-1].shape if layers else ()
    if len(flat) != len(layers) - _FRONT or len(first) != 4 or first[1:] != (1, 3, 3) or len(last) != 3:
        return None
    halving, *body = flat
    if halving.spec.strides != (2,) or halving.shape[2] != 5:
        return None
    bare = [layer for layer in body if layer.kind == "conv" and len(layer.tensors) == 1]
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


def _network() -> type[Any]:
    from zeroevidence.attack.networks.campplus import CamPlusPlus

    return CamPlusPlus


ARCHITECTURES.add(Architecture("campplus", "CAM++ as 3D-Speaker builds it", _sizes, _network))
