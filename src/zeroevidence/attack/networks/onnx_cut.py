"""An ONNX file cut in two behind one of its layers. Needs onnx, but not torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroevidence.attack.networks.onnx_layers import EXTRA, is_layer
from zeroevidence.attack.onnx_models.files import checked_bytes, external_files
from zeroevidence.linkage.optional import optional


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
    weighted = [node for node in graph.node if is_layer(node)]
    if not 0 < layers < len(weighted):
        return None
    between = weighted[layers - 1].output[0]
    between_info = onnx.helper.make_tensor_value_info(between, onnx.TensorProto.FLOAT, ("N", "C", "T"))
    first, second = onnx.load_model_from_string(data), onnx.load_model_from_string(data)
    _keep(first.graph, between, between_info)
    inputs = _keep(second.graph, graph.output[0].name, None, given=between)
    if inputs:
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
    kept: tuple[tuple[Any, list[Any]], ...] = (
        (graph.node, nodes),
        (graph.initializer, tensors),
        (graph.input, inputs),
        (graph.value_info, []),
    )
    for field, values in kept:
        del field[:]
        field.extend(values)
    if info is not None:
        del graph.output[:]
        graph.output.append(info)
    return [each.name for each in inputs]
