"""Crops from a device and from disk are the same, and batches hold every utterance once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from zeroevidence.attack.training import TrainingSettings  # noqa: E402
from zeroevidence.attack.training.crops import UtteranceFrames, draw_epoch, padded_batches, rounded_up  # noqa: E402
from zeroevidence.attack.training.features import FrameSet  # noqa: E402

CPU = torch.device("cpu")


@pytest.fixture
def data(tmp_path):
    """Utterances on disk, longer and shorter than a crop."""
    rng = np.random.default_rng(0)
    lengths = np.array([3, 9, 25, 40, 7, 10, 31])
    arrays = [rng.normal(size=(length, 5)).astype(np.float16) for length in lengths]
    kept = FrameSet.join(arrays, [f"p{at % 3}" for at in range(len(arrays))])
    return FrameSet.gather(enumerate(arrays), lengths, kept, tmp_path)


def test_crops_that_are_read_are_those_that_are_held(data):
    steps = []
    for seed in range(20):
        torch.manual_seed(seed)
        steps += draw_epoch(len(data), 3, TrainingSettings().filled("all"), CPU)
    held, read = (list(UtteranceFrames(data, CPU, held=size).crops(steps, 10)) for size in (1 << 30, 0))
    assert len(held) == len(read) == len(steps) == 20 * 2  # the batch of one is left out
    assert all(torch.equal(one, other) for one, other in zip(held, read, strict=True))
    assert held[0].dtype == torch.float32
    first = steps[0]
    frames = data.utterance(int(first.rows[0])).astype(np.float32)
    count = max(len(frames) - 10, 0)
    begin = int(float(first.crop[0]) * (count + 1))
    np.testing.assert_array_equal(held[0][0].numpy(), frames[(begin + np.arange(10)) % len(frames)])


def test_whole_utterances_are_padded_with_zeros(data):
    batches = padded_batches(data.length, [3, 6, 2], 2, None)
    (first, lengths), (second, _) = UtteranceFrames(data, CPU).whole(batches)
    assert (tuple(first.shape), lengths, tuple(second.shape)) == ((2, 40, 5), [40, 31], (1, 25, 5))
    np.testing.assert_array_equal(first[1, :31].numpy(), data.utterance(6).astype(np.float32))
    assert not first[1, 31:].any()


@given(st.lists(st.integers(3, 5000), min_size=1, max_size=40), st.integers(1, 8), st.integers(1, 20_000))
def test_every_utterance_is_in_one_batch(lengths, most, frames):
    order = np.argsort(-np.array(lengths), kind="stable").tolist()
    batches = padded_batches(np.array(lengths), order, most, frames)
    assert [row for batch in batches for row in batch.rows] == order
    for batch in batches:
        assert batch.frames == rounded_up(max(lengths[row] for row in batch.rows))
        assert len(batch.rows) == 1 or (len(batch.rows) <= most and len(batch.rows) * batch.frames <= frames)


@given(st.integers(1, 10**6))
def test_padding_is_little_and_of_few_kinds(frames):
    padded = rounded_up(frames)
    assert frames <= padded < frames + max(8, frames / 8)
    assert rounded_up(padded) == padded


def test_sets_share_their_frames(data):
    some = data.take(np.array([5, 0]))
    assert np.shares_memory(some.utterance(1), data.utterance(0))
    assert some.digest != data.digest
    assert data.take(np.arange(7)).digest == data.digest
    changed = FrameSet.join([np.zeros((2, 5), np.float16)], ["p0"])
    assert changed.digest != FrameSet.join([np.ones((2, 5), np.float16)], ["p0"]).digest
    assert (data.bands, data.dtype, data.nbytes) == (5, np.float16, 2 * 5 * 125)
    np.testing.assert_array_equal(data.in_memory()[3:12], data.utterance(1))
