"""Extraction by torch gives the vectors of onnxruntime, on any device that torch computes on."""

import sys

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.extractors.extract import device_network, extract, extract_on_device, has_gpu
from zeroevidence.attack.onnx_runtime import CropExtractor
from zeroevidence.data.audio import write_audio
from zeroevidence.data.corpus import Utterance
from zeroevidence.errors import InputError
from zeroevidence.protect import load_protector
from zeroevidence.run import Run

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
pytest.importorskip("soundfile")

TOLERANCE = 1e-5  # of a cosine


class Counted:
    """A protector that counts its calls."""

    def __init__(self):
        self.protector, self.calls = load_protector("pitch:2", seed=0), 0
        self.fingerprint = self.protector.fingerprint

    def __call__(self, wave, rate, utterance):
        self.calls += 1
        return self.protector(wave, rate, utterance)


@pytest.fixture
def utterances(recordings):
    return recordings((8_000, 41_000, 16_000))


def cosines(first, second):
    lengths = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    return np.einsum("ij,ij->i", first, second) / lengths


@pytest.mark.parametrize("crops", [pytest.param(False, marks=slow), True])
def test_torch_gives_the_vectors_of_onnxruntime(utterances, tmp_path, crops):
    extractor = load_extractor("campplus")
    extractor = CropExtractor(extractor) if crops else extractor
    transform = Counted()
    near = extract(utterances, extractor, transform=transform, features=True, run=Run(cores=1))
    assert transform.calls == len(utterances)
    network = device_network(extractor)
    for _ in range(2):  # features of the second pass come from the store
        run = Run(cores=1, cache=tmp_path, device="cpu")
        far = extract_on_device(utterances, extractor, network, transform=transform, run=run)
        assert (1.0 - cosines(near.vectors, far.vectors)).max() < TOLERANCE
        assert transform.calls == 2 * len(utterances)
    assert far.ids.tolist() == near.ids.tolist()
    assert far.speakers.tolist() == near.speakers.tolist()
    assert far.attributes["sex"].tolist() == near.attributes["sex"].tolist()
    assert far.vectors.dtype == near.vectors.dtype


def test_a_silent_recording_is_named(utterances, tmp_path):
    write_audio(tmp_path / "audio" / "silent.wav", np.zeros(16_000))
    extractor = load_extractor("campplus")
    broken = [utterances[0], Utterance("silent", "s0", tmp_path / "audio" / "silent.wav")]
    with pytest.raises(InputError, match=r"silent\.wav"):
        extract_on_device(broken, extractor, device_network(extractor), run=Run(cores=1, cache=tmp_path, device="cpu"))


@pytest.mark.parametrize(("hip", "imported"), [("None", False), ("'6.2'", True)])
def test_torch_is_asked_for_a_gpu_unless_it_was_built_for_none(tmp_path, monkeypatch, hip, imported):
    package = tmp_path / "torch"
    package.mkdir()
    (package / "__init__.py").write_text("class cuda:\n    is_available = staticmethod(lambda: True)\n")
    (package / "version.py").write_text(f"cuda: Optional[str] = None\nhip: Optional[str] = {hip}\n")
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.syspath_prepend(tmp_path)
    assert has_gpu() is imported
    assert ("torch" in sys.modules) is imported
