"""Small networks with random weights, for all that does not need real ones."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SIZES: dict[str, dict[str, Any]] = {
    "campplus": {"bands": 16, "front": 4, "width": 16, "growth": 32, "layers": (2, 3, 2), "dim": 12},
    "ecapa": {"bands": 16, "width": 64, "bottleneck": 8, "dim": 12},
}
EXPORTED: dict[tuple[str, bool], bytes] = {}  # files by architecture and precision


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """So small a network gains nothing from more, and sums keep their order."""
    torch = pytest.importorskip("torch")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(params=sorted(SIZES))
def architecture(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def sizes(architecture: str) -> dict[str, Any]:
    return SIZES[architecture]


@pytest.fixture
def make(architecture: str, sizes: dict[str, Any]) -> Callable[..., Any]:
    """Makes a small network whose normalisations do something."""
    torch = pytest.importorskip("torch")
    from zeroevidence.attack.networks import ARCHITECTURES
    from zeroevidence.attack.networks.speaker_network import FixedBatchNorm

    def made(seed: int = 0) -> Any:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = ARCHITECTURES[architecture].make(**sizes)
            for one in network.modules():
                if isinstance(one, FixedBatchNorm):
                    for tensor, least in ((one.running_mean, -0.5), (one.running_var, 0.5)):
                        tensor.uniform_(least, least + 1.0)
                    torch.nn.init.uniform_(one.weight, 0.5, 1.5)
                    torch.nn.init.uniform_(one.bias, -0.5, 0.5)
        return network

    return made


@pytest.fixture
def network(make: Callable[..., Any]) -> Any:
    return make()


@pytest.fixture
def export(architecture: str, network: Any, tmp_path: Path) -> Callable[..., Path]:
    """Writes the file of the small network; the export itself, which takes long, is done once."""
    from zeroevidence.attack.networks.onnx_layers import save_onnx

    def written(half: bool = True) -> Path:
        path = tmp_path / f"network-{half}.onnx"
        if (architecture, half) not in EXPORTED:
            save_onnx(network, path, half=half)
            EXPORTED[architecture, half] = path.read_bytes()
        path.write_bytes(EXPORTED[architecture, half])
        return path

    return written
