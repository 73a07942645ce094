"""Folders that belong to a process: nothing empty stays after an error, and a note says what is kept."""

import errno

import pytest

from zeroevidence.data.writing import lock_folder


def fail(folder):
    """Make folders and files within a lock, then fail."""
    with lock_folder(folder, continued_from=["cache"]):
        for name in ("cache/empty", "cache/ab"):
            (folder / name).mkdir(parents=True)
        for name in ("cache/ab/1", "cache/ab/2", "result.json"):
            (folder / name).touch()
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_is_kept_is_noted(tmp_path):
    out = tmp_path / "out"
    with pytest.raises(OSError, match="No space") as caught:
        fail(out)
    left = sorted(str(path.relative_to(out)) for path in out.rglob("*"))
    assert left == ["cache", "cache/ab", "cache/ab/1", "cache/ab/2", "result.json"]
    assert caught.value.__notes__ == [f"{out / 'cache'} keeps 2 files, from which the same command continues"]
