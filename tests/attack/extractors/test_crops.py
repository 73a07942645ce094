"""Vectors that are means over crops of a recording."""

import numpy as np
import pytest

from zeroevidence.attack.extractors.extractor import load_extractor
from zeroevidence.attack.onnx_models.runtime import FRAMES, CropExtractor, crop_starts

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def waves():
    rng = np.random.default_rng(0)
    return [0.1 * rng.normal(size=size).astype(np.float32) for size in (20_000, 40_000, 52_345)]


@pytest.fixture(scope="module")
def whole():
    return load_extractor("campplus")


def test_the_crops_of_a_recording_cover_it():
    for frames in range(1, 700):
        starts = crop_starts(frames)
        covered = {at for start in starts for at in range(start, min(start + FRAMES, frames))}
        assert covered == set(range(frames))
        assert max(starts) + FRAMES <= max(frames, FRAMES)
        assert len(set(starts)) == len(starts)


def test_a_long_recording_is_the_mean_of_its_crops_and_a_short_one_is_whole(whole, waves):
    cropped = CropExtractor(whole)
    vectors = cropped.embed(waves)
    assert np.array_equal(vectors[0], whole.embed(waves[:1])[0])
    features = whole.features(waves[2])
    parts = [whole.forward(features[None, start : start + FRAMES])[0] for start in crop_starts(len(features))]
    assert len(parts) == 3
    assert np.allclose(vectors[2], np.mean(parts, axis=0), atol=1e-5)
    assert not np.allclose(vectors[2], whole.embed(waves[2:])[0], atol=1e-3)
    assert np.allclose(vectors, [cropped.embed([wave])[0] for wave in waves], atol=1e-5)
