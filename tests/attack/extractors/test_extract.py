"""Extraction: stored vectors, interruption, bad audio, and the models with their cards."""

import json
import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from tests.effort import repetitions, slow
from tests.onnx_bytes import CARD as onnx_card
from tests.onnx_bytes import model as onnx_model
from zeroevidence import parallel
from zeroevidence.attack import voice_transforms
from zeroevidence.attack.extractors import load_extractor
from zeroevidence.attack.extractors.extract import extract, extract_together
from zeroevidence.attack.onnx_runtime import CropExtractor
from zeroevidence.attack.voice_transforms import CachedTransform
from zeroevidence.data.audio import load_audio, write_audio
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, MissingExtra
from zeroevidence.protect import load_protector
from zeroevidence.run import Run

pytest.importorskip("soundfile")
pytest.importorskip("soxr")


class Moments:
    """An encoder of four numbers that counts what it is asked and can be told to break off."""

    name, sample_rate, dim = "moments", 16000, 4

    def __init__(self, fingerprint="moments:1", stop_after=None):
        self.fingerprint, self.stop_after = fingerprint, stop_after
        self.seen = 0

    def embed(self, waves):
        if self.stop_after is not None and self.seen + len(waves) > self.stop_after:
            raise KeyboardInterrupt
        self.seen += len(waves)
        if any(len(wave) < 3900 for wave in waves):
            raise InputError("too short")
        return np.array([[w.mean(), w.std(), np.abs(w).max(), len(w) / 16000] for w in waves], np.float32)


class Processes:
    """A slow encoder whose vectors tell the process and the threads of BLAS."""

    name, sample_rate, dim, fingerprint = "processes", 16000, 2, "processes:1"

    def embed(self, waves):
        time.sleep(0.6)
        threads = max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")
        return np.array([[os.getpid(), threads]] * len(waves), np.float32)


class Louder:
    def __init__(self, factor):
        self.factor, self.fingerprint = factor, f"louder:{factor}"

    def __call__(self, wave, rate, utterance):
        assert rate == 16000
        assert utterance.id.startswith("u")
        return wave * self.factor


@pytest.fixture
def utterances(recordings):
    return recordings([4000 + 400 * (k * 5 % 7) for k in range(12)])


def test_order_people_and_independence_of_batches_and_workers(utterances, monkeypatch):
    first = extract(utterances, Moments())
    assert first.ids.tolist() == [one.id for one in utterances]
    assert first.speakers.tolist() == [one.speaker for one in utterances]
    assert first.attributes["sex"].tolist() == [""] + ["F"] * 11
    wave = load_audio(utterances[5])
    assert first.vectors[5, 3] == np.float32(len(wave) / 16000)
    monkeypatch.setattr(parallel, "_LITTLE", 0.0)
    for parts, workers in ((1, 1), (1, 2), (2, 3), (16, 2)):
        monkeypatch.setattr(voice_transforms, "_PARTS", parts)
        again = extract(utterances, Moments(), run=Run(cores=workers))
        assert np.array_equal(first.vectors, again.vectors)


def test_long_work_is_divided_among_processes_with_one_thread(utterances):
    places = extract(utterances, Processes(), run=Run(cores=2)).vectors
    assert places[:, 0].min() > 0
    assert len(set(places[:, 0].tolist()) - {os.getpid()}) == 2
    assert set(places[:, 1].tolist()) == {1}


def test_stored_vectors_are_used_again(utterances, tmp_path):
    cache = tmp_path / "cache"
    told = []
    run = Run(cores=1, cache=cache, progress=lambda *_: lambda *done: told.append(done))
    first = extract(utterances, Moments(), run=run)
    assert told == [(done, 12) for done in range(1, 13)]
    model = Moments()
    assert np.array_equal(extract(utterances[::-1], model, run=Run(cores=1, cache=cache)).vectors, first.vectors[::-1])
    assert model.seen == 0
    for other, transform, seen in (
        (Moments("moments:2"), None, 12),
        (Moments(), Louder(2.0), 12),
        (Moments(), Louder(2.0), 0),
        (Moments(), Louder(3.0), 12),
    ):
        found = extract(utterances, other, transform=transform, run=Run(cores=1, cache=cache))
        assert other.seen == seen
        assert np.allclose(found.vectors[:, 2], first.vectors[:, 2] * (transform.factor if transform else 1.0))
    write_audio(utterances[0].path, 0.2 * np.sin(np.arange(4000)))
    model = Moments()
    extract(utterances, model, run=Run(cores=1, cache=cache))
    assert model.seen == 1


def test_interrupted_extraction_resumes(utterances, tmp_path):
    cache = tmp_path / "cache"
    model = Moments(stop_after=7)
    with pytest.raises(KeyboardInterrupt):
        extract(utterances, model, run=Run(cores=1, cache=cache))
    assert model.seen == 7
    model = Moments()
    resumed = extract(utterances, model, run=Run(cores=1, cache=cache))
    assert model.seen == 5
    assert np.array_equal(resumed.vectors, extract(utterances, Moments()).vectors)


def test_bad_audio_is_named_and_the_rest_is_done_and_stored(utterances, tmp_path):
    cache = tmp_path / "cache"
    tone = np.sin(np.arange(3500))
    waves = {"silent": np.zeros(4000), "empty": np.zeros(0), "short": tone, "brief": tone[:1600]}
    for name, wave in waves.items():
        write_audio(tmp_path / f"{name}.wav", wave)
    (tmp_path / "text.wav").write_text("no audio")
    reasons = ("silent", "no samples", "too short", "0.10 s of sound; expected at least", "cannot be read as audio")
    bad = [Utterance(f"u-{name}", "x", tmp_path / f"{name}.wav") for name in (*waves, "text")]
    for one, reason in zip(bad, reasons, strict=True):
        with pytest.raises(InputError, match=rf"{one.path.name}: .*{reason}"):
            extract([one], Moments())
    with pytest.raises(InputError, match="and 4 more"):
        extract(utterances + bad, Moments(), run=Run(cores=1, cache=cache))
    model = Moments()
    assert extract(utterances, model, run=Run(cores=1, cache=cache)).ids.tolist() == [one.id for one in utterances]
    assert model.seen == 0
    gone = Utterance("u-gone", "x", tmp_path / "gone.wav")
    model = Moments()
    with pytest.raises(InputError, match=r"gone.wav: no such file"):
        extract([*utterances, gone], model, run=Run(cores=1))
    assert model.seen == 0
    with pytest.raises(InputError, match="silent or not finite after protection"):
        extract(utterances, Moments(), transform=Louder(0.0))
    with pytest.raises(InputError, match="no utterances"):
        extract([], Moments())
    with pytest.raises(InputError, match="occurs twice"):
        extract(utterances[:1] * 2, Moments())


CARD = {**onnx_card, "file": "m.onnx"}


@pytest.mark.parametrize("batch", [1, "N"])
def test_onnx_with_its_card(tmp_path, utterances, batch):
    pytest.importorskip("onnxruntime")
    (tmp_path / "m.onnx").write_bytes(onnx_model(batch))
    (tmp_path / "m.json").write_text(json.dumps(CARD))
    model = load_extractor(tmp_path / "m.json")
    assert (model.name, model.dim, model.sample_rate) == ("m", 80, 16000)
    assert model.batched is (batch == "N")
    assert load_extractor(tmp_path / "m.onnx").fingerprint == model.fingerprint
    waves = [load_audio(one) for one in utterances]
    alone = np.concatenate([model.embed([wave]) for wave in waves])
    assert np.allclose(model.embed(waves), alone, rtol=1e-6)
    assert np.allclose(alone[3], (model.features(waves[3]) ** 2).mean(axis=0), rtol=1e-5)
    assert np.array_equal(extract(utterances, model, run=Run(cores=2)).vectors, extract(utterances, model).vectors)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("wishful", None, r"no such extractor; expected .*a model card"),
        ("two.json", {"a": CARD, "b": CARD}, "2 models; expected two.json#NAME with one of a, b"),
        ("two.json#c", {"a": CARD, "b": CARD}, "no model 'c'"),
        ("list.json", [1], "not a model card"),
        ("x.onnx", 0, "no card beside it names this model"),
    ],
)
def test_names_that_are_no_extractor(tmp_path, monkeypatch, name, content, reason):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / name.partition("#")[0]).write_text(json.dumps(content))
    with pytest.raises(InputError, match=reason):
        load_extractor(name)


@pytest.mark.parametrize("package", ["resemblyzer", "speechbrain"])
def test_missing_packages_are_named(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=rf"zeroevidence\[{package}\]"):
        load_extractor(package if package == "resemblyzer" else "speechbrain/spkrec-ecapa-voxceleb")


def test_what_is_computed_together_is_protected_once(utterances, tmp_path):
    pytest.importorskip("onnxruntime")

    class Counted(Louder):
        calls = 0

        def __call__(self, wave, rate, utterance):
            self.calls += 1
            return super().__call__(wave, rate, utterance)

    encoder = load_extractor("campplus")
    extractors, transform = [encoder, CropExtractor(encoder), Moments()], Counted(0.5)
    run = Run(cores=1, cache=tmp_path)
    extract_together(utterances, extractors, transform=transform, run=run)
    assert transform.calls == len(utterances)
    for extractor in extractors:
        kept = extract(utterances, extractor, transform=transform, features=True, run=run).vectors
        assert transform.calls == len(utterances)
        assert np.array_equal(kept, extract(utterances, extractor, transform=Louder(0.5), features=True).vectors)
        exact = extract(utterances, extractor, transform=Louder(0.5)).vectors
        lengths = np.linalg.norm(kept, axis=1) * np.linalg.norm(exact, axis=1)
        assert (np.sum(kept * exact, axis=1) / lengths).min() > 0.998  # of features in 8 bits


@pytest.mark.parametrize("name", ["campplus", pytest.param("ecapa", marks=slow), "resemblyzer"])
def test_real_models_give_the_known_vectors(shared, name):
    pytest.importorskip("onnxruntime")
    try:
        model = load_extractor(f"{shared}/models/cards.json#ecapa_voxceleb" if name == "ecapa" else name)
    except MissingExtra:
        pytest.skip("resemblyzer is not installed")
    names = ("01_00", "12_03", "56_15")[: repetitions(1, 3)]
    spoken = [Utterance(each, each[:2], shared / "audiomnist" / each[:2] / f"{each}.flac") for each in names]
    found = extract(spoken, model).vectors
    known = np.load(shared / "embeddings" / f"audiomnist_{name}.npz")
    expected = known["vectors"][[known["utterance"].tolist().index(each) for each in names]]
    lengths = np.linalg.norm(found, axis=1) * np.linalg.norm(expected, axis=1)
    assert (np.sum(found * expected, axis=1) / lengths).min() > 0.99999


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("processes", [False, pytest.param(True, marks=slow)])
def test_two_workers_of_a_cluster_give_the_vectors_of_this_machine(utterances, tmp_path, monkeypatch, processes):
    distributed = pytest.importorskip("distributed")
    monkeypatch.chdir(tmp_path)
    utterances = utterances[:4]
    near = [Utterance(each.id, each.speaker, each.path.relative_to(tmp_path)) for each in utterances]
    transform = CachedTransform(load_protector("pitch:2", seed=0), Store(tmp_path, "protected"))
    options = {"processes": processes, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.Client(**options) as client:
        extractor = load_extractor("cues")
        far = extract(near, extractor, transform=transform, run=Run(cache=Path("cache"), scheduler=client))
    here = extract(utterances, extractor, transform=transform)
    assert np.array_equal(far.vectors, here.vectors)
    assert far.ids.tolist() == here.ids.tolist()
    assert sum(file.is_file() for file in (tmp_path / "cache").rglob("*")) == len(utterances)
