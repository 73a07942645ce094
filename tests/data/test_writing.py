"""Folders that belong to a process: nothing empty stays after an error, and a note says what is kept."""

import errno

import pytest

from zeroevidence.data.writing import lock_folder


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def fail(folder, *made, empty=()):
    """Make folders and files within a lock, then fail."""
    with lock_folder(folder, continued_from=["cache"]):
        for name in empty:
            (folder / name).mkdir(parents=True)
        for name in made:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        raise OSError(errno.ENOSPC, "No space left on device")


def test_what_is_kept_is_noted(tmp_path):
    with pytest.raises(OSError, match="No space") as caught:
        fail(tmp_path / "out", "cache/ab/1", "cache/ab/2", "result.json", empty=["cache/cd"])
    assert everything(tmp_path / "out") == ["cache", "cache/ab", "cache/ab/1", "cache/ab/2", "result.json"]
    assert caught.value.__notes__ == [
        f"{tmp_path / 'out' / 'cache'} keeps 2 files, from which the same command continues"
    ]
