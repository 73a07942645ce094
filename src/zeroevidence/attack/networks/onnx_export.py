"""Export of a network as an ONNX file, which the extractors run and `load_onnx` reads."""

from __future__ import annotations

import copy
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.networks.onnx_layers import EXTRA
from zeroevidence.linkage.optional import optional

_OPSET = 17
_EXAMPLE = 250  # frames that are traced; any number gives the same graph
_HALF_FROM = 4096  # entries; smaller tensors gain nothing


def save_onnx(network: Any, path: str | Path, *, half: bool = True) -> None:
    """Write a network as an ONNX file: ``feats`` (utterances x frames x bands) to ``embedding`` (utterances x dim).

    Utterances and frames may be any number; all utterances of a batch have the same length, for a file knows nothing
    of padding. The same weights give the same bytes.

    Parameters
    ----------
    network
        A `SpeakerNetwork`, on any device; it is left as it is.
    path
        Where to write.
    half
        Store kernels in half precision, which halves the file; they are computed with in single precision. A value
        between two that half precision has becomes one of them by chance, the nearer the likelier, always by the same
        draws: rounded to the nearest, what training changed by less than such a step would all be lost. A kernel that
        half precision cannot hold stays as it is.

    Raises
    ------
    MissingExtra
        When onnx is not installed.
    """
    onnx = optional("onnx", EXTRA, "writing a speaker encoder as ONNX")
    model = onnx.load_model_from_string(_traced(network))
    if half:
        _halve(onnx, model.graph)
    Path(path).write_bytes(model.SerializeToString())


def _traced(network: Any) -> bytes:
    """Return the traced graph of the network."""
    import torch

    still = copy.deepcopy(network).cpu().float().eval()
    example = torch.zeros(1, _EXAMPLE, still.bands)
    written: Any = io.BytesIO()
    with warnings.catch_warnings(), torch.no_grad():
        # The exporter that needs no further package calls itself old, and remarks on every check of a shape.
        warnings.simplefilter("ignore")
        torch.onnx.export(
            still,
            (example,),
            written,
            dynamo=False,
            opset_version=_OPSET,
            input_names=["feats"],
            output_names=["embedding"],
            dynamic_axes={"feats": {0: "N", 1: "T"}, "embedding": {0: "N"}},
        )
    return bytes(written.getvalue())


def _halve(onnx: Any, graph: Any) -> None:
    """Store kernels in half precision, each with a cast to single before its layer."""
    rng = np.random.default_rng(0)
    casts = []
    for tensor in graph.initializer:
        values = onnx.numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.ndim < 3 or values.size < _HALF_FROM:
            continue
        if not np.abs(values).max() < np.finfo(np.float16).max:  # nor where one is not a number
            continue
        name = tensor.name
        tensor.CopyFrom(onnx.numpy_helper.from_array(halved(values, rng), f"{name}_half"))
        casts.append(onnx.helper.make_node("Cast", [f"{name}_half"], [name], to=onnx.TensorProto.FLOAT))
    nodes = [*casts, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)


def halved(values: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float16]:
    """Return values in half precision, rounded at random so that the expected value is the value itself."""
    near = values.astype(np.float16)
    off = values - near.astype(np.float32)
    other = np.nextafter(near, np.copysign(np.float16(np.inf), off.astype(np.float16)))
    step = np.abs(other.astype(np.float32) - near.astype(np.float32))
    return np.where(rng.random(values.shape, np.float32) * step < np.abs(off), other, near)
