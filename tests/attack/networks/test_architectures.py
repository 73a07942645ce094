"""Published encoders: the networks give what onnxruntime gives with the same file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
soundfile = pytest.importorskip("soundfile")

from tests.effort import FULL, slow  # noqa: E402
from zeroevidence.attack.extractors.families import OnnxExtractor, read_card  # noqa: E402
from zeroevidence.attack.networks import load_onnx  # noqa: E402

FEW = [0, 1, -2, -1]  # utterances of other lengths, the longest and the shortest among them


@dataclass(frozen=True, slots=True)
class Model:
    """A file, both ways to run it, and utterances with what onnxruntime makes of them."""

    extractor: OnnxExtractor
    network: Any
    feats: list[np.ndarray]
    vectors: np.ndarray


@pytest.fixture(scope="module", params=["campplus_zh_en", pytest.param("ecapa_voxceleb", marks=slow)])
def model(shared: Path, request: pytest.FixtureRequest) -> Model:
    extractor = OnnxExtractor(read_card(shared / "models" / "cards.json", request.param))
    files = sorted((shared / "speechocean").glob("*/*.flac"))[:: 250 if FULL else 600]
    waves = [soundfile.read(one, dtype="float32")[0] for one in files]
    waves.append(np.concatenate(waves)[: (12 if FULL else 5) * 16_000])  # up to six segments of CAM++
    feats = [extractor.features(wave) for wave in waves]
    network = load_onnx(extractor.card.file)
    feats.append(feats[0][: network.least_frames])
    return Model(extractor, network, feats, np.concatenate([extractor.forward(one[None]) for one in feats]))


def cosines(first: Any, second: Any) -> np.ndarray:
    one, other = np.asarray(first, np.float64), np.asarray(second, np.float64)
    return (one * other).sum(1) / np.linalg.norm(one, axis=1) / np.linalg.norm(other, axis=1)


def alone(network: Any, feats: list[np.ndarray]) -> np.ndarray:
    with torch.no_grad():
        return torch.cat([network(torch.from_numpy(one)[None]) for one in feats]).numpy()


def padded(feats: list[np.ndarray]) -> tuple[Any, list[int]]:
    parts = [torch.from_numpy(one) for one in feats]
    return torch.nn.utils.rnn.pad_sequence(parts, batch_first=True), [len(one) for one in parts]


def test_embeddings_are_those_of_the_file(model):
    found = alone(model.network, model.feats)
    assert cosines(found, model.vectors).min() > 0.999999
    np.testing.assert_allclose(found, model.vectors, rtol=0, atol=1e-4 * np.abs(model.vectors).max())


def test_padded_batches(model):
    feats, lengths = padded([model.feats[place] for place in FEW])
    with torch.no_grad():
        assert cosines(model.network(feats, lengths).numpy(), model.vectors[FEW]).min() > 0.999999
