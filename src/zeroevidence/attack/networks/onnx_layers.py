"""Layers of ONNX files: read in the order of the computation, and written with the weights of a network."""

from __future__ import annotations

import copy
import io
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.onnx_runtime import checked_bytes, external_files
from zeroevidence.data.files import reading_file
from zeroevidence.errors import InputError
from zeroevidence.optional import optional

EXTRA = "torch"  # the optional part that brings torch and onnx

Tensors = tuple[NDArray[np.float32], ...]
LayerKind = Literal["conv", "norm"]
_KINDS: dict[str, LayerKind] = {"Conv": "conv", "BatchNormalization": "norm"}
_PASSING = ("Cast", "Identity")  # what may stand between a stored tensor and its layer


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """The specification of a layer: everything but the values of its tensors."""

    kind: LayerKind
    shapes: tuple[tuple[int, ...], ...]  # of kernel and bias, if any; or of scale, shift, mean and variance
    strides: tuple[int, ...] = ()  # of a convolution
    dilations: tuple[int, ...] = ()
    padding: tuple[int, ...] = ()  # before the axes, then behind them
    epsilon: float = 0.0  # of a normalisation, in single precision

    def __str__(self) -> str:
        shapes = ", ".join("x".join(map(str, shape)) for shape in self.shapes)
        if self.kind == "norm":
            return f"a norm of {shapes} with epsilon {self.epsilon:.3g}"
        steps = f"strides {self.strides}, dilations {self.dilations} and padding {self.padding}"
        return f"a conv of {shapes} with {steps}"


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution or a batch normalisation, its tensors in single precision."""

    spec: LayerSpec
    tensors: Tensors

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the kernel, or of the scale."""
        return self.spec.shapes[0]


def read_layers(path: str | Path, *, sha256: str | None = None, size: int | None = None) -> tuple[Layer, ...]:
    """Return every convolution and normalisation of an ONNX file, in the order in which they compute.

    Parameters
    ----------
    path
        The file.
    sha256
        Its digest, where a card has it.
    size
        Its size in bytes, where a card has it.

    Raises
    ------
    InputError
        When it cannot be read, is another than the card means, or a layer's weights are computed rather than stored.
    """
    onnx = optional("onnx", EXTRA, "reading the weights of a speaker encoder")
    data = checked_bytes(Path(path), sha256=sha256, size=size)
    elsewhere = external_files(data, Path(path))  # refuses a model whose weights lie outside its folder
    with reading_file(path, "ONNX"):
        graph = (onnx.load(str(path)) if elsewhere else onnx.load_model_from_string(data)).graph
        try:
            return tuple(_layers(onnx, graph, _stored(onnx, graph)))
        except KeyError as error:
            raise InputError(f"the tensor {error} is not stored in it; expected plain weights") from None


def _stored(onnx: Any, graph: Any) -> dict[str, Any]:
    """Return tensors by all the names under which layers refer to them."""
    tensors: dict[str, Any] = {tensor.name: tensor for tensor in graph.initializer}
    for node in graph.node:
        if node.op_type in _PASSING and node.input[0] in tensors:
            tensors[node.output[0]] = tensors[node.input[0]]
        elif node.op_type == "Constant":
            value = _attributes(onnx, node).get("value")
            if value is not None:
                tensors[node.output[0]] = value
    return tensors


def _weighted(graph: Any) -> list[Any]:
    return [node for node in graph.node if node.op_type in _KINDS]


def _layers(onnx: Any, graph: Any, stored: dict[str, Any]) -> Iterator[Layer]:
    to_array = onnx.numpy_helper.to_array
    for node in _weighted(graph):
        tensors = tuple(np.array(to_array(stored[name]), np.float32) for name in node.input[1:] if name)
        if not all(np.isfinite(tensor).all() for tensor in tensors):
            raise InputError(f"{node.op_type} {node.name!r} has weights that are not finite numbers")
        yield Layer(_spec(node.op_type, tensors, _attributes(onnx, node)), tensors)


def _spec(name: str, tensors: Tensors, attributes: dict[str, Any]) -> LayerSpec:
    """Return the specification of a node; attributes that it leaves out have their defaults."""
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    if _KINDS[name] == "norm":
        return LayerSpec("norm", shapes, epsilon=float(np.float32(attributes.get("epsilon", 1e-5))))
    axes = len(shapes[0]) - 2
    usual = {"strides": [1] * axes, "dilations": [1] * axes, "pads": [0] * 2 * axes}
    strides, dilations, padding = (tuple(attributes.get(name, value)) for name, value in usual.items())
    return LayerSpec("conv", shapes, strides, dilations, padding)


def _attributes(onnx: Any, node: Any) -> dict[str, Any]:
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


@dataclass(frozen=True, slots=True)
class CutModel:
    """Two models of which the second takes what the first gives: utterances x channels x frames, by name."""

    first: bytes
    second: bytes
    between: str


def cut_onnx(path: Path, layers: int, *, sha256: str | None = None) -> CutModel | None:
    """Return a model cut behind one of its layers.

    None where the second part needs more than the first gives, or weights lie in other files.

    Parameters
    ----------
    path
        The file.
    layers
        How many of its layers with weights belong to the first part, in the order in which they compute.
    sha256
        Its digest, where a card has it.
    """
    onnx = optional("onnx", EXTRA, "cutting a speaker encoder in two")
    data = checked_bytes(path, sha256=sha256)
    if external_files(data, path):
        return None
    graph = onnx.load_model_from_string(data).graph
    weighted = _weighted(graph)
    if not 0 < layers < len(weighted):
        return None
    between = weighted[layers - 1].output[0]
    between_info = onnx.helper.make_tensor_value_info(between, onnx.TensorProto.FLOAT, ("N", "C", "T"))
    first, second = onnx.load_model_from_string(data), onnx.load_model_from_string(data)
    _keep(first.graph, between, between_info)
    if _keep(second.graph, graph.output[0].name, None, given=between):
        return None
    second.graph.input.append(between_info)
    return CutModel(first.SerializeToString(), second.SerializeToString(), between)


def _keep(graph: Any, output: str, info: Any, given: str = "") -> list[str]:
    """Keep what an output needs, if `given` is there, and return the names of the inputs of the graph among it."""
    makers = {name: number for number, node in enumerate(graph.node) for name in node.output}
    needed, numbers, waiting = {output}, set[int](), [output]
    while waiting:
        name = waiting.pop()
        if name == given or name not in makers or makers[name] in numbers:
            continue
        numbers.add(makers[name])
        further = [each for each in graph.node[makers[name]].input if each and each not in needed]
        needed.update(further)
        waiting.extend(further)
    nodes = [graph.node[number] for number in sorted(numbers)]
    tensors = [tensor for tensor in graph.initializer if tensor.name in needed]
    inputs = [each for each in graph.input if each.name in needed]
    outputs = list(graph.output) if info is None else [info]
    kept = {"node": nodes, "initializer": tensors, "input": inputs, "output": outputs, "value_info": []}
    for name, values in kept.items():
        field = getattr(graph, name)
        del field[:]
        field.extend(values)
    return [each.name for each in inputs]


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
