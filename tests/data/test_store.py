"""A store: entries that are whole, or not there."""

import numpy as np
import pytest

from zeroevidence.data.store import Store, digest
from zeroevidence.errors import OutputError
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run

KEY = digest("key")


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data[:40],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes(len(data)),
        lambda data: data + b"more",
    ],
)
def test_a_damaged_entry_is_not_there_and_can_be_kept_again(tmp_path, damage):
    store = Store(tmp_path, "things")
    store.save(KEY, b"content")
    store.path(KEY).write_bytes(damage(store.path(KEY).read_bytes()))
    assert store.load(KEY) is None
    store.save(KEY, b"content")
    assert store.load(KEY) == b"content"


def test_an_entry_under_another_key_or_of_another_kind_is_not_there(tmp_path):
    store, other = Store(tmp_path, "things"), digest("other")
    store.save(KEY, b"content")
    store.path(other).parent.mkdir(exist_ok=True)
    store.path(KEY).rename(store.path(other))
    assert store.load(other) is None
    assert Store(tmp_path, "others").load(other) is None


def test_several_processes_write_the_same_entries(tmp_path):
    store = Store(tmp_path, "things")

    def work(seed):
        order = np.random.default_rng(seed).permutation(40)
        for at in order:
            store.save_array(digest(str(at)), np.full(10_000, at))
            assert (store.load_array(digest(str(at))) == at).all()
        return len(order)

    assert list(compute_each(work, range(4), Run(cores=2))) == [40] * 4
    assert sum(path.is_file() for path in tmp_path.rglob("*")) == 40


def test_arrays_are_kept_together(tmp_path):
    store = Store(tmp_path, "things")
    store.save_arrays(KEY, {"a": np.arange(3), "b": np.array(["x"])})
    assert {name: array.tolist() for name, array in store.load_arrays(KEY).items()} == {"a": [0, 1, 2], "b": ["x"]}
    store.remove(KEY)
    assert store.load_arrays(KEY) is None


def test_what_must_be_kept_and_cannot_is_an_error_that_names_the_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="things"):
        Store(tmp_path / "file", "things").save(KEY, b"")
