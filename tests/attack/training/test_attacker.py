"""From a folder of protected speech to an encoder that an audit takes."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
soundfile = pytest.importorskip("soundfile")
pytest.importorskip("onnxruntime")

from zeroevidence.attack.extractors import load_extractor  # noqa: E402
from zeroevidence.attack.training.attacker import train_attacker  # noqa: E402
from zeroevidence.errors import InputError, UsageError  # noqa: E402


def voices(folder, people, per_person=3, seed=0):
    """Buzzes of different pitch and colour."""
    rng = np.random.default_rng(seed)
    for k in range(people):
        place = folder / f"p{k:02d}"
        place.mkdir(parents=True)
        for i in range(per_person):
            time = np.arange(12_000) / 16_000
            wave = sum(np.sin(2 * np.pi * (90 + 13 * k) * h * time) * (0.5 + 0.05 * k) ** h for h in range(1, 12))
            wave = wave * (1 + 0.3 * np.sin(2 * np.pi * 3 * time + i)) + 0.05 * rng.normal(size=len(time))
            soundfile.write(place / f"u{i}.wav", 0.1 * wave / np.abs(wave).max(), 16_000)
    return folder


def test_an_encoder_learns_from_protected_speech(tmp_path):
    said, told = [], []
    found = train_attacker(
        voices(tmp_path / "speech", 12),
        tmp_path / "attacker",
        device="cpu",
        epochs=2,
        look=1,
        batch=8,
        say=said.append,
        told=told.append,
    )
    assert (found.people, found.development_people, found.utterances) == (9, 3, 36)
    assert "pooling and last layers, 2 epochs at most; without a GPU about" in said[0]
    assert [one.number for one in told] == [1, 2]
    assert found.after >= found.before
    card = json.loads(found.card.read_text())
    assert card["training"]["people"] == 9
    vectors = load_extractor(found.card).embed([np.random.default_rng(0).normal(size=8000).astype(np.float32)])
    assert vectors.shape == (1, 192)
    assert np.isfinite(vectors).all()


def test_too_few_people_and_a_folder_in_use_are_refused(tmp_path):
    with pytest.raises(InputError, match="6 people; expected at least 10, 8 to learn from and 2 to stop on"):
        train_attacker(voices(tmp_path / "few", 6), tmp_path / "out", device="cpu")
    used = tmp_path / "used"
    used.mkdir()
    (used / "mine.txt").write_text("x")
    with pytest.raises(UsageError, match="used"):
        train_attacker(tmp_path / "few", used, device="cpu")
