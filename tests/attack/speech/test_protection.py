"""A protector with a memory: the same waveforms, asked for once, within a limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.attack.speech.protection import CachedTransform, cached_transform
from zeroevidence.data.speech.corpus import Utterance


class Counting:
    """Turns waves round, and counts."""

    fingerprint = "counting"

    def __init__(self):
        self.asked = []

    def __call__(self, wave, rate, utterance):
        self.asked.append((utterance.id, rate))
        return -wave * len(utterance.speaker)


def wave(seed, size=100):
    return np.random.default_rng(seed).normal(size=size).astype(np.float32)


def test_every_recording_is_protected_once(tmp_path):
    inner = Counting()
    protector = CachedTransform(inner, tmp_path)
    one, two = Utterance("a", "s", Path("a.wav")), Utterance("b", "s", Path("b.wav"))
    for _ in range(3):
        for utterance, seed in ((one, 1), (two, 2)):
            np.testing.assert_array_equal(protector(wave(seed), 16_000, utterance), -wave(seed))
    assert inner.asked == [("a", 16_000), ("b", 16_000)]
    assert protector.fingerprint == "counting"


def test_other_samples_rates_and_people_are_other_recordings(tmp_path):
    inner = Counting()
    protector = CachedTransform(inner, tmp_path)
    one = Utterance("a", "s", Path("a.wav"))
    protector(wave(1), 16_000, one)
    np.testing.assert_array_equal(protector(wave(2), 16_000, one), -wave(2))
    protector(wave(1), 8_000, one)
    np.testing.assert_array_equal(protector(wave(1), 16_000, Utterance("a", "ss", Path("a.wav"))), -2 * wave(1))
    assert len(inner.asked) == 4


def test_no_more_is_kept_than_allowed(tmp_path):
    inner = Counting()
    protector = CachedTransform(inner, tmp_path, most=900)
    for _ in range(2):
        for name in "abc":
            protector(wave(ord(name)), 16_000, Utterance(name, "s", Path(name)))
    assert [name for name, _ in inner.asked] == ["a", "b", "c", "c"]


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    inner = Counting()
    protector = CachedTransform(inner, file)
    for _ in range(2):
        np.testing.assert_array_equal(protector(wave(1), 16_000, Utterance("a", "s", Path("a.wav"))), -wave(1))
    assert len(inner.asked) == 2


def test_nothing_is_left_behind():
    with cached_transform(Counting()) as protector:
        protector(wave(1), 16_000, Utterance("a", "s", Path("a.wav")))
        folder = protector._store.folder
        assert any(folder.rglob("*"))
    assert not folder.exists()
    with cached_transform(None) as nothing:
        assert nothing is None
