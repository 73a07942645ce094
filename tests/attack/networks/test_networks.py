"""From ONNX files into networks and back."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

from tests.effort import slow  # noqa: E402
from zeroevidence.attack.networks import ARCHITECTURES, load_onnx, recognise  # noqa: E402
from zeroevidence.attack.networks.onnx_layers import halved, read_layers, save_onnx  # noqa: E402
from zeroevidence.errors import InputError  # noqa: E402


def session(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def features(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# What is written is rounded in the same way whatever the network.
ARCHITECTURES_TRIED = ["campplus", pytest.param("ecapa", marks=slow)]
some_architectures = pytest.mark.parametrize("architecture", ARCHITECTURES_TRIED, indirect=True)


@pytest.mark.parametrize("half", [True, False])
def test_a_written_network_gives_the_same_embeddings(network, half, export):
    path = export(half)
    ran, again = session(path), load_onnx(path)
    for shape in ((1, network.least_frames, 16), (1, 77, 16), (2, 199, 16), (1, 430, 16)):
        feats = features(*shape)
        with torch.no_grad():
            expected, reread = network(torch.from_numpy(feats)).numpy(), again(torch.from_numpy(feats)).numpy()
        (found,) = ran.run(["embedding"], {"feats": feats})
        np.testing.assert_allclose(found, reread, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found, expected, atol=2e-2 if half else 1e-5, rtol=0 if half else 1e-4)


@some_architectures
def test_half_precision_is_written_once(network, export, tmp_path):
    again = tmp_path / "again.onnx"
    save_onnx(load_onnx(export()), again)
    assert again.read_bytes() == export().read_bytes()
    single = load_onnx(export(half=False))
    assert type(single) is type(network)
    for (name, one), other in zip(network.state_dict().items(), single.state_dict().values(), strict=True):
        assert torch.equal(one, other), name
    assert export(half=False).stat().st_size > again.stat().st_size


@some_architectures
def test_a_kernel_beyond_half_precision_stays_single(network, tmp_path):
    path = tmp_path / "network.onnx"
    big = max((one for one in network.weighted() if hasattr(one, "kernel_size")), key=lambda one: one.weight.numel())
    with torch.no_grad():
        big.weight[0, 0] = 1e6
    save_onnx(network, path)
    assert max(float(np.abs(layer.tensors[0]).max()) for layer in read_layers(path)) == 1e6


def test_rounding_to_half_precision_is_fair():
    rng = np.random.default_rng(0)
    values = features(40, 50, 60) * np.float32(0.1)
    rounded = halved(values, rng)
    assert rounded.dtype == np.float16
    assert np.all(np.abs(rounded - values) <= np.spacing(np.abs(values).astype(np.float16)) * 1.001)
    held = rounded.astype(np.float32)
    assert np.array_equal(halved(held, rng), rounded)
    moved = halved(held + np.float32(1e-5), rng).astype(np.float64) - held
    assert moved.mean() == pytest.approx(1e-5, rel=0.05)
    nearest = (held + np.float32(1e-5)).astype(np.float16).astype(np.float64) - held
    assert nearest.mean() < 0.5e-5


def test_a_kernel_made_small_by_folding_is_trained_at_its_usual_size(tmp_path):
    network = ARCHITECTURES["campplus"].make(bands=16, front=4, width=16, growth=8, layers=(1, 1, 1), dim=6)
    scales = torch.logspace(-12, 0, 16, base=2)[:, None, None]
    with torch.no_grad():
        network.halving.weight.mul_(scales)
        network.halving.weight[3] = 0.0
    path = tmp_path / "network.onnx"
    save_onnx(network, path, half=False)
    again = load_onnx(path).halving
    assert torch.equal(again.weight * again.gain, network.halving.weight)
    sizes = again.weight.detach().square().mean((1, 2)).sqrt() * 3**0.5 * (8 * 5) ** 0.5
    assert sizes[3] == 0.0
    assert all(0.7 < size < 1.42 for at, size in enumerate(sizes) if at != 3)


def test_sizes_are_read_off_the_file(architecture, sizes, export):
    found, read = recognise(read_layers(export()))
    assert (found.name, read) == (architecture, sizes)


def _other_stride(graph):
    last = [node for node in graph.node if node.op_type == "Conv" and node.attribute][-1]
    next(one for one in last.attribute if one.name == "strides").ints[0] = 2


def _other_epsilon(graph):
    norm = next(node for node in graph.node if node.op_type == "BatchNormalization")
    next(one for one in norm.attribute if one.name == "epsilon").f = 1e-3


def _computed_weights(graph):
    conv = next(node for node in graph.node if node.op_type == "Conv")
    node = onnx.helper.make_node("Neg", [conv.input[1]], ["computed"])
    conv.input[1] = "computed"
    graph.node.insert(0, node)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (_other_stride, r"layer \d+ is a conv of .* strides \(2,\).*; expected a conv of"),
        (_other_epsilon, r"is a norm of .* epsilon 0.001; expected a norm of"),
        (_computed_weights, "'computed' is not stored in it"),
    ],
)
def test_other_layers_are_refused(export, change, reason):
    file = export()
    model = onnx.load(str(file))
    change(model.graph)
    file.write_bytes(model.SerializeToString())
    with pytest.raises(InputError, match=reason):
        load_onnx(file)


def test_files_of_no_known_architecture(tmp_path):
    path = tmp_path / "model.onnx"
    with pytest.raises(InputError, match=r"cannot be (read|loaded)"):
        load_onnx(path)
    path.write_text("no model")
    with pytest.raises(InputError, match=r"cannot be (read|loaded) as ONNX"):
        load_onnx(path)
    nothing = onnx.helper.make_graph([], "nothing", [], [])
    path.write_bytes(onnx.helper.make_model(nothing).SerializeToString())
    with pytest.raises(InputError, match="expected one of CAM"):
        load_onnx(path)
