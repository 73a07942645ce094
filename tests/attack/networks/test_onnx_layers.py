"""An ONNX file cut behind its trunk."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from zeroevidence.attack.networks.onnx_layers import cut_onnx  # noqa: E402
from zeroevidence.attack.onnx_runtime import open_session  # noqa: E402


@pytest.fixture
def file(export):
    return export(half=False)


@pytest.mark.parametrize("frames", [20, 333])
def test_both_parts_together_are_the_whole(network, file, frames):
    parts = cut_onnx(file, network.trunk_layers())
    features = np.random.default_rng(0).normal(size=(1, frames, 16)).astype(np.float32)
    (between,) = open_session(parts.first).run(None, {"feats": features})
    (vectors,) = open_session(parts.second).run(None, {parts.between: between})
    np.testing.assert_array_equal(vectors, open_session(str(file)).run(None, {"feats": features})[0])
    with torch.no_grad():
        expected = network.frames(torch.from_numpy(features)).numpy()
    np.testing.assert_allclose(between.transpose(0, 2, 1), expected, rtol=1e-4, atol=1e-5)


def test_a_part_without_layers_or_one_that_needs_the_features_is_none(network, file):
    assert cut_onnx(file, 0) is None
    assert cut_onnx(file, len(network.weighted())) is None
    model = onnx.load(str(file))
    graph = model.graph
    embedding = graph.output[0].name
    node = next(node for node in graph.node if embedding in node.output)
    node.output[list(node.output).index(embedding)] = "before"
    graph.node.append(onnx.helper.make_node("ReduceMax", ["feats"], ["loudest"], keepdims=0))
    graph.node.append(onnx.helper.make_node("Add", ["before", "loudest"], [embedding]))
    file.write_bytes(model.SerializeToString())
    assert cut_onnx(file, network.trunk_layers()) is None
