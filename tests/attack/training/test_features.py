"""Features on disk: found again, never torn, and in half precision."""

import numpy as np
import pytest

from zeroevidence.attack.training.features import FeatureStore

BANDS = 4


def frames(length, seed=0):
    return np.random.default_rng(seed).normal(size=(length, BANDS)).astype(np.float32)


def fill(folder, *keys):
    with FeatureStore(folder, BANDS) as store:
        for at, key in enumerate(keys):
            store.add(key, frames(3 + at, at))


def found(folder, *keys):
    with FeatureStore(folder, BANDS) as store:
        return [store.find(key) for key in keys]


def test_what_was_written_is_found_in_half_precision(tmp_path):
    fill(tmp_path, "a", "b")
    fill(tmp_path, "c")  # another process, or another day: a file of its own
    with FeatureStore(tmp_path, BANDS) as store:
        for at, key in ((0, "a"), (1, "b"), (0, "c")):
            place = store.find(key)
            stored = store.open(place.file).frames[place.start : place.start + place.length]
            np.testing.assert_array_equal(stored, frames(3 + at, at).astype(np.float16))
        assert store.find("d") is None
    assert len(list(tmp_path.glob("*.frames"))) == 2


@pytest.mark.parametrize("cut", [1, 40, 70])
def test_a_torn_index_loses_its_last_line_alone(tmp_path, cut):
    fill(tmp_path, "a", "b")
    (index,) = tmp_path.glob("*.index")
    index.write_bytes(index.read_bytes()[:-cut])
    first, second = found(tmp_path, "a", "b")
    assert first is not None
    assert second is None


def test_torn_and_damaged_frames_count_for_nothing(tmp_path):
    fill(tmp_path, "a", "b")
    (file,) = tmp_path.glob("*.frames")
    data = bytearray(file.read_bytes())
    file.write_bytes(data[:-1])
    assert [place is None for place in found(tmp_path, "a", "b")] == [False, True]
    data[0] ^= 1
    file.write_bytes(data)
    assert [place is None for place in found(tmp_path, "a", "b")] == [True, False]


@pytest.mark.parametrize("line", ["x", "b 0 0 00", "b -1 2 00", "b 1 999 00", f"b {'9' * 5000} 1 00", "b 0 1 \xff"])
def test_lines_that_cannot_be_are_left_out(tmp_path, line):
    fill(tmp_path, "a")
    (index,) = tmp_path.glob("*.index")
    index.write_bytes(index.read_bytes() + line.encode("latin-1") + b"\n")
    assert [place is None for place in found(tmp_path, "a", "b")] == [False, True]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    store = FeatureStore(tmp_path / "file" / "in", BANDS)
    with pytest.raises(OSError, match="features cannot be stored") as caught:
        store.add("a", frames(2))
    assert str(tmp_path / "file") in str(caught.value)
