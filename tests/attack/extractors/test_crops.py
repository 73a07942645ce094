"""Vectors that are means over crops of a recording."""

import numpy as np
import pytest

from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.onnx_runtime import FRAMES, CropExtractor, crop_starts

pytest.importorskip("onnxruntime")


def test_the_crops_of_a_recording_cover_it():
    for frames in range(1, 700):
        starts = crop_starts(frames)
        covered = {at for start in starts for at in range(start, min(start + FRAMES, frames))}
        assert covered == set(range(frames))
        assert max(starts) + FRAMES <= max(frames, FRAMES)
        assert len(set(starts)) == len(starts)


def test_a_long_recording_is_the_mean_of_its_crops_and_a_short_one_is_whole():
    rng = np.random.default_rng(0)
    waves = [0.1 * rng.normal(size=size).astype(np.float32) for size in (20_000, 52_345)]
    whole = load_extractor("campplus")
    cropped = CropExtractor(whole)
    vectors = cropped.embed(waves)
    assert np.array_equal(vectors[0], whole.embed(waves[:1])[0])
    features = whole.features(waves[1])
    parts = [whole.forward(features[None, start : start + FRAMES])[0] for start in crop_starts(len(features))]
    assert len(parts) == 3
    assert np.allclose(vectors[1], np.mean(parts, axis=0), atol=1e-5)
    assert not np.allclose(vectors[1], whole.embed(waves[1:])[0], atol=1e-3)
    assert np.allclose(vectors, [cropped.embed([wave])[0] for wave in waves], atol=1e-5)
