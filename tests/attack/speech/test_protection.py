"""A protector with a memory: the same waveforms, asked for once, within a limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.attack.speech.protection import CachedTransform, RepeatedTransform
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


def test_what_was_protected_is_kept_for_the_next_time(tmp_path):
    first, second = Counting(), Counting()
    utterance = Utterance("a", "s", Path("a.wav"))
    CachedTransform(first, tmp_path)(wave(1), 16_000, utterance)
    np.testing.assert_array_equal(CachedTransform(second, tmp_path)(wave(1), 16_000, utterance), -wave(1))
    assert second.asked == []
    full = CachedTransform(second, tmp_path, most=500)  # what is there counts
    full(wave(2), 16_000, utterance)
    full(wave(2), 16_000, utterance)
    assert len(second.asked) == 2


def test_each_draw_has_its_transform():
    class Gain:
        def __init__(self, factor):
            self.factor, self.fingerprint = factor, f"gain {factor}"

        def __call__(self, wave, rate, utterance):
            assert utterance.id == "a"
            return self.factor * wave

    repeated = RepeatedTransform([Gain(2), Gain(3)], {"a, draw 2": (1, "a")})
    for name, factor in (("a", 2), ("a, draw 2", 3)):
        utterance = Utterance(name, "s", Path("a.wav"))
        np.testing.assert_array_equal(repeated(wave(1), 16_000, utterance), factor * wave(1))
    assert repeated.fingerprint == "gain 2"
