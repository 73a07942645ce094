"""A protector with a memory: the same waveforms, asked for once, within a limit."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from zeroevidence.attack.array_store import CachedTransform, RepeatedTransform
from zeroevidence.data.corpus import Utterance


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


SPOKEN = Utterance("a", "s", Path("a.wav"))


def test_every_recording_is_protected_once(tmp_path):
    inner, later = Counting(), Counting()
    for counting in (inner, later):  # the second finds what the first left
        protector = CachedTransform(counting, tmp_path)
        for _ in range(2):
            np.testing.assert_array_equal(protector(wave(1), 16_000, SPOKEN), -wave(1))
            # other samples, rates and people are other recordings
            np.testing.assert_array_equal(protector(wave(2), 16_000, SPOKEN), -wave(2))
            np.testing.assert_array_equal(protector(wave(1), 8_000, SPOKEN), -wave(1))
            other = Utterance("a", "ss", Path("a.wav"))
            np.testing.assert_array_equal(protector(wave(1), 16_000, other), -2 * wave(1))
    assert inner.asked == [("a", 16_000), ("a", 16_000), ("a", 8_000), ("a", 16_000)]
    assert later.asked == []
    assert protector.fingerprint == "counting"


def test_no_more_is_kept_than_allowed(tmp_path):
    inner = Counting()
    protector = CachedTransform(inner, tmp_path, most=900)
    for _ in range(2):
        for name in "abc":
            protector(wave(ord(name)), 16_000, Utterance(name, "s", Path(name)))
    assert [name for name, _ in inner.asked] == ["a", "b", "c", "c"]
    full = CachedTransform(inner, tmp_path, most=900)  # what is there counts
    full(wave(2), 16_000, SPOKEN)
    full(wave(2), 16_000, SPOKEN)
    assert len(inner.asked) == 6


def test_a_folder_that_cannot_be_written_only_costs_time(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    inner = Counting()
    protector = CachedTransform(inner, file)
    for _ in range(2):
        np.testing.assert_array_equal(protector(wave(1), 16_000, SPOKEN), -wave(1))
    assert len(inner.asked) == 2


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
