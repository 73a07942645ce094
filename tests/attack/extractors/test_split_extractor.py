"""An encoder in two parts, whose trunk is computed once for each recording."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

from zeroevidence.attack.extractors import load_extractor  # noqa: E402
from zeroevidence.attack.extractors.split_extractor import SplitExtractor, split_extractor, with_trunk  # noqa: E402
from zeroevidence.attack.networks import load_network  # noqa: E402
from zeroevidence.attack.networks.onnx_layers import save_onnx  # noqa: E402
from zeroevidence.attack.training.features import FrameSet, frames_digest  # noqa: E402

RATE = 16_000


@pytest.fixture
def encoder(small):
    return load_extractor(small)


@pytest.fixture
def waves():
    rng = np.random.default_rng(0)
    return [rng.normal(size=size).astype(np.float32) * 0.1 for size in (8000, 9000, 12345)]


def changed(encoder, part, home):
    """The card of the same encoder with other weights in a part of it."""
    network = load_network(encoder.card)
    with torch.no_grad():
        for weight in getattr(network, part).parameters():
            weight.add_(0.125)
    home.mkdir()
    save_onnx(network, home / "small.onnx")
    return Path(shutil.copy(encoder.card.file.with_name("small.json"), home))


def counted(split):
    """The split encoder with a trunk that counts how often it is run."""
    runs = []

    class Session:
        def run(self, *arguments):
            runs.append(1)
            return split.trunk.session.run(*arguments)

    trunk = replace(split.trunk, session=Session())
    return SplitExtractor(split.encoder, trunk, split._head, split._between), runs


def test_vectors_are_those_of_the_whole_and_the_trunk_is_run_once(encoder, waves, tmp_path):
    split, runs = counted(split_extractor(encoder, tmp_path / "outputs"))
    for _ in range(2):
        np.testing.assert_array_equal(split.embed(waves), encoder.embed(waves))
    assert (split.fingerprint, split.dim, split.sample_rate) == (encoder.fingerprint, 12, RATE)
    card = changed(encoder, "last", tmp_path / "tuned")
    tuned = with_trunk(card, split.trunk)
    assert isinstance(tuned, SplitExtractor)
    np.testing.assert_array_equal(tuned.embed(waves), load_extractor(card).embed(waves))
    assert not np.allclose(tuned.embed(waves), encoder.embed(waves))
    assert len(runs) == len(waves)


def test_an_encoder_with_another_trunk_is_run_as_a_whole(encoder, waves, tmp_path):
    assert split_extractor(load_extractor("cues"), tmp_path) is None
    split = split_extractor(encoder, tmp_path / "outputs")
    card = changed(encoder, "stage1", tmp_path / "tuned")
    tuned = with_trunk(card, split.trunk)
    assert not isinstance(tuned, SplitExtractor)
    np.testing.assert_array_equal(tuned.embed(waves), load_extractor(card).embed(waves))


def test_outputs_are_found_by_the_features_that_training_reads(encoder, waves, tmp_path):
    split = split_extractor(encoder, tmp_path / "outputs")
    features = [encoder.features(wave).astype(np.float16) for wave in waves]
    vectors = split.embed_features([each.astype(np.float32) for each in features])
    network = load_network(encoder.card)
    for digest, wave_features, vector in zip(FrameSet.join(features, "abc").digests, features, vectors, strict=True):
        np.testing.assert_array_equal(split.trunk.outputs.vector(digest), vector)
        with torch.no_grad():
            expected = network.frames(torch.from_numpy(wave_features.astype(np.float32))[None])[0].numpy()
        np.testing.assert_allclose(split.trunk.outputs.frames(digest), expected, atol=1e-4)
    unknown = frames_digest(np.zeros((9, 80), np.float16))
    assert split.trunk.outputs.frames(unknown) is None
    assert split.trunk.outputs.vector(unknown) is None
