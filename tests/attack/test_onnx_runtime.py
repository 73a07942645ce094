"""Weights in other files: found wherever a model names them, and refused outside its folder."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.onnx_bytes import external as external_tensor
from tests.onnx_bytes import message as onnx_message
from tests.onnx_bytes import model as onnx_model
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.onnx_cards import EncoderCard
from zeroevidence.attack.onnx_runtime import FRAMES, CropExtractor, OnnxExtractor, crop_starts, external_files
from zeroevidence.errors import InputError


def _card(file):
    return EncoderCard("m", file, sample_rate=16000, dim=80, front_end="kaldi-fbank", input="feats", output="embedding")


@pytest.fixture
def places():
    """Everywhere that a model may name a file."""

    def attribute(*fields):
        return onnx_message((1, "value"), *fields)

    def node(*fields):
        return onnx_message((2, "c"), (4, "Constant"), (5, attribute(*fields)))

    def models(location):
        tensor = external_tensor(location)
        sparse = onnx_message((1, tensor))
        graph = onnx_message((5, tensor))
        return {
            "initializer": onnx_model(tensors=[tensor]),
            "constant": onnx_model(nodes=[node((5, tensor))]),
            "list of tensors": onnx_model(nodes=[node((10, tensor))]),
            "sparse": onnx_model(nodes=[node((22, sparse))]),
            "subgraph": onnx_model(nodes=[node((6, graph))]),
            "subgraph of a subgraph": onnx_model(nodes=[node((11, onnx_message((1, node((6, graph))))))]),
            "function": onnx_model(functions=[onnx_message((1, "f"), (7, node((5, tensor))))]),
            "sparse initializer": onnx_message((7, onnx_message((15, sparse)))),
            "training": onnx_message((20, onnx_message((1, graph)))),
            "second graph": onnx_model() + onnx_message((7, graph)),
        }

    return models


@pytest.mark.parametrize("location", ["../w.bin", "a/../../w.bin", "{tmp}/w.bin", "link.bin", "folder/w.bin"])
def test_outside_the_folder_is_refused_wherever_it_is_named(tmp_path, places, location):
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "w.bin").write_bytes(bytes(320))
    (home / "link.bin").symlink_to(tmp_path / "w.bin")
    (home / "folder").symlink_to(tmp_path)
    for data in places(location.format(tmp=tmp_path)).values():
        with pytest.raises(InputError, match=r"m\.onnx: its weights are in .*, outside its folder"):
            external_files(data, home / "m.onnx")


def test_inside_the_folder_they_are_found(tmp_path, places):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "w.bin").write_bytes(bytes(320))
    for where, data in places("deep/w.bin").items():
        assert external_files(data, tmp_path / "m.onnx") == ((tmp_path / "deep" / "w.bin").resolve(),), where


@pytest.mark.parametrize("location", ["gone.bin", "*/_ORT_MEM_ADDR_/*", "", ".", b"w\0.bin", b"\xff\xfe"])
def test_what_is_no_file_is_refused(tmp_path, location):
    reason = "no such file beside it" if isinstance(location, str) else "cannot be loaded as ONNX"
    with pytest.raises(InputError, match=reason):
        external_files(onnx_model(tensors=[external_tensor(location)]), tmp_path / "m.onnx")


def test_a_file_named_twice_under_two_keys_is_found(tmp_path):
    # The last key counts to a reader of protobuf; ours must not be led astray by the first.
    where = onnx_message((1, "checksum"), (1, "location"), (2, "w.bin"), (2, "../w.bin"))
    with pytest.raises(InputError, match="outside its folder"):
        external_files(onnx_model(tensors=[onnx_message((13, where))]), tmp_path / "m.onnx")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(tmp_path_factory, data):
    try:
        found = external_files(data, tmp_path_factory.getbasetemp() / "m.onnx")
    except InputError:
        return
    assert found == ()


def test_a_model_that_is_cut_off_is_refused(tmp_path):
    with pytest.raises(InputError, match="cannot be loaded as ONNX: cut off"):
        external_files(onnx_model()[:-3], tmp_path / "m.onnx")


def test_deep_nesting_is_no_way_out(tmp_path):
    graph = onnx_message((5, external_tensor("../w.bin")))
    for _ in range(3000):
        graph = onnx_message((1, onnx_message((5, onnx_message((6, graph))))))
    with pytest.raises(InputError, match="outside its folder"):
        external_files(onnx_message((7, graph)), tmp_path / "m.onnx")


def test_a_model_with_weights_beside_it_runs_and_its_fingerprint_covers_them(tmp_path):
    pytest.importorskip("onnxruntime")
    data = onnx_model(after=[("Add", "w")], tensors=[external_tensor("w.bin")])
    (tmp_path / "m.onnx").write_bytes(data)
    wave = np.random.default_rng(0).normal(size=4000).astype(np.float32) / 10
    vectors, prints = [], []
    for weight in (0.0, 2.0):
        (tmp_path / "w.bin").write_bytes(np.full(80, weight, "<f4").tobytes())
        model = OnnxExtractor(_card(tmp_path / "m.onnx"))
        vectors.append(model.embed([wave])[0])
        prints.append(model.fingerprint)
    assert np.allclose(vectors[1] - vectors[0], 2.0, atol=1e-5)
    assert prints[0] != prints[1]


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
