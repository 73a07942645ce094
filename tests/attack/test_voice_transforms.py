"""A protector with a memory: the same waveforms, asked for once, where there is room."""

from pathlib import Path

import numpy as np

from zeroevidence.attack.voice_transforms import CachedTransform, RememberedTransform, RepeatedTransform, name_draw
from zeroevidence.data.corpus import Utterance
from zeroevidence.data.store import Store


class Counting:
    """Turns waves round, and counts."""

    fingerprint = "counting"

    def __init__(self):
        self.asked = []

    def __call__(self, wave, rate, utterance):
        self.asked.append((utterance.id, rate))
        return -wave * len(utterance.speaker)


def wave(seed, size=100):
    """Return noise that 16-bit samples hold, also twice as loud."""
    return (np.random.default_rng(seed).integers(-16_000, 16_001, size) / 32768.0).astype(np.float32)


SPOKEN = Utterance("a", "s", Path("a.wav"))


def test_every_recording_is_protected_once(tmp_path):
    inner, later = Counting(), Counting()
    for counting in (inner, later):  # the second finds what the first left
        protector = CachedTransform(counting, Store(tmp_path, "protected"))
        for _ in range(2):
            np.testing.assert_array_equal(protector(wave(1), 16_000, SPOKEN), -wave(1))
            # other samples, rates and people are other recordings
            np.testing.assert_array_equal(protector(wave(2), 16_000, SPOKEN), -wave(2))
            np.testing.assert_array_equal(protector(wave(1), 8_000, SPOKEN), -wave(1))
            other = Utterance("a", "ss", Path("a.wav"))
            np.testing.assert_array_equal(protector(wave(1), 16_000, other), -2 * wave(1))
    assert inner.asked == [("a", 16_000), ("a", 16_000), ("a", 8_000), ("a", 16_000)]
    assert later.asked == []
    assert protector.fingerprint == "counting, 16 bits"


def test_without_room_or_where_nothing_can_be_written_it_only_costs_time(tmp_path):
    (tmp_path / "file").write_text("")
    for store in (
        Store.optional(tmp_path, "protected", most=-(1 << 40)),
        Store.optional(tmp_path / "file", "protected"),
    ):
        inner = Counting()
        protector = CachedTransform(inner, store)
        for _ in range(2):
            np.testing.assert_array_equal(protector(wave(1), 16_000, SPOKEN), -wave(1))
        assert len(inner.asked) == 2


def test_without_a_store_samples_are_the_same(tmp_path):
    loud = 1.1 * wave(1).astype(np.float32)  # between samples of 16 bits
    kept, once = CachedTransform(Counting(), Store(tmp_path, "protected")), CachedTransform(Counting(), None)
    for _ in range(2):  # computed, then read
        np.testing.assert_array_equal(once(loud, 16_000, SPOKEN), kept(loud, 16_000, SPOKEN))
    assert len(kept.transform.asked) == 1
    assert once.fingerprint == kept.fingerprint


def test_what_is_computed_from_a_recording_shares_its_protected_speech():
    inner = Counting()
    protector = RememberedTransform(inner)
    for _ in range(2):
        for piece, rate in ((wave(1), 16_000), (wave(2), 16_000), (wave(1), 8_000)):
            np.testing.assert_array_equal(protector(piece, rate, SPOKEN), -piece)
    assert inner.asked == [("a", 16_000), ("a", 16_000), ("a", 8_000)]
    assert protector.fingerprint == "counting"


def test_each_draw_has_its_transform():
    class Gain:
        def __init__(self, factor):
            self.factor, self.fingerprint = factor, f"gain {factor}"

        def __call__(self, wave, rate, utterance):
            assert utterance.id == "a"
            return self.factor * wave

    repeated = RepeatedTransform([Gain(2), Gain(3)])
    for name, factor in (("a", 2), (name_draw("a", 2), 3)):
        utterance = Utterance(name, "s", Path("a.wav"))
        np.testing.assert_array_equal(repeated(wave(1), 16_000, utterance), factor * wave(1))
    assert repeated.fingerprint == "gain 2"
    counting = Counting()
    released = Utterance("a, draw 2", "s", Path("a.wav"))
    RepeatedTransform([counting, Gain(3)], frozenset({released.id}))(wave(1), 16_000, released)
    assert counting.asked == [(released.id, 16_000)]
