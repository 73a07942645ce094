"""How an ONNX file of an ECAPA-TDNN is recognised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from zeroevidence.attack.networks.architecture import ARCHITECTURES, Architecture
from zeroevidence.attack.networks.onnx_layers import Layer

_LAYERS = {"conv": 38, "norm": 31}
_SQUEEZE = 20  # place of the first convolution with the bottleneck's width


def _sizes(layers: Sequence[Layer]) -> dict[str, Any] | None:
    kinds = [layer.kind for layer in layers]
    if {kind: kinds.count(kind) for kind in kinds} != _LAYERS:
        return None
    first, squeeze, last = layers[0].shape, layers[_SQUEEZE].shape, layers[-1].shape
    if len(first) != 3 or first[2] != 5 or last[1:] != (6 * first[0], 1):
        return None
    return {"bands": first[1], "width": first[0], "bottleneck": squeeze[0], "dim": last[0]}


def _network() -> type[Any]:
    from zeroevidence.attack.networks.ecapa import EcapaTdnn

    return EcapaTdnn


ARCHITECTURES.add(Architecture("ecapa", "ECAPA-TDNN as SpeechBrain builds it", _sizes, _network))
