"""The layers with weights in an ONNX file, in the order in which they compute. Needs onnx, but not torch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from zeroevidence.attack.onnx_models.files import checked_bytes, external_files
from zeroevidence.data.files.errors import reading_file
from zeroevidence.errors import InputError, MissingExtra

EXTRA = "torch"  # the optional part that brings torch and onnx

Tensors = tuple[NDArray[np.float32], ...]
LayerKind = Literal["conv", "norm"]
_KINDS: dict[str, LayerKind] = {"Conv": "conv", "BatchNormalization": "norm"}
_PASSING = ("Cast", "Identity")  # what may stand between a stored tensor and its layer


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """What a layer is, but for the values of its tensors."""

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

    form: LayerSpec
    tensors: Tensors

    @property
    def kind(self) -> LayerKind:
        """Which of the two."""
        return self.form.kind

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the kernel, or of the scale."""
        return self.form.shapes[0]


def need_onnx(what: str) -> Any:
    """The module onnx; if it is missing, an error that says what needs it and how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise MissingExtra(EXTRA, what) from error
    return onnx


def read_layers(path: str | Path, *, sha256: str | None = None, size: int | None = None) -> tuple[Layer, ...]:
    """Every convolution and normalisation of an ONNX file.

    Parameters
    ----------
    path
        The file.
    sha256, size
        Its digest and its size in bytes, where a card says them.

    Raises
    ------
    InputError
        When it cannot be read, is another than the card means, or a layer's weights are computed rather than stored.
    """
    onnx = need_onnx("reading the weights of a speaker encoder")
    data = checked_bytes(Path(path), sha256=sha256, size=size)
    elsewhere = external_files(data, Path(path))  # refuses a model whose weights lie outside its folder
    with reading_file(path, "ONNX"):
        graph = (onnx.load(str(path)) if elsewhere else onnx.load_model_from_string(data)).graph
        try:
            return tuple(_layers(onnx, graph, _stored(onnx, graph)))
        except KeyError as error:
            raise InputError(f"the tensor {error} is not stored in it; expected plain weights") from None


def _stored(onnx: Any, graph: Any) -> dict[str, Any]:
    """Tensors by all the names under which layers know them."""
    found: dict[str, Any] = {one.name: one for one in graph.initializer}
    for node in graph.node:
        if node.op_type in _PASSING and node.input[0] in found:
            found[node.output[0]] = found[node.input[0]]
        elif node.op_type == "Constant":
            value = _attributes(onnx, node).get("value")
            if value is not None:
                found[node.output[0]] = value
    return found


def _layers(onnx: Any, graph: Any, stored: dict[str, Any]) -> Iterator[Layer]:
    for node in graph.node:
        if node.op_type not in _KINDS:
            continue
        tensors = tuple(
            np.array(onnx.numpy_helper.to_array(stored[name]), np.float32) for name in node.input[1:] if name
        )
        if not all(np.isfinite(one).all() for one in tensors):
            raise InputError(f"{node.op_type} {node.name!r} has weights that are not finite numbers")
        yield Layer(_form(node.op_type, tensors, _attributes(onnx, node)), tensors)


def _form(name: str, tensors: Tensors, words: dict[str, Any]) -> LayerSpec:
    """What the attributes of a node say, and what they leave to their defaults."""
    shapes = tuple(tuple(one.shape) for one in tensors)
    if _KINDS[name] == "norm":
        return LayerSpec("norm", shapes, epsilon=float(np.float32(words.get("epsilon", 1e-5))))
    axes = len(shapes[0]) - 2
    ones, none = [1] * axes, [0] * 2 * axes
    strides, dilations, padding = words.get("strides", ones), words.get("dilations", ones), words.get("pads", none)
    return LayerSpec("conv", shapes, tuple(strides), tuple(dilations), tuple(padding))


def _attributes(onnx: Any, node: Any) -> dict[str, Any]:
    return {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute}
