"""Folders that belong to a process: nothing empty stays after an error, and a note says what is kept."""

import errno
import resource
import subprocess
import sys

import numpy as np
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


def test_a_search_on_a_full_disk_leaves_nothing(tmp_path):
    """Files can have so many bytes that the lock is written, but not the manifest."""
    size = 400
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "v.npz", vectors=rng.normal(size=(8, 4)), speaker=[f"s{i // 2}" for i in range(8)])
    before = everything(tmp_path)
    ended = subprocess.run(
        [sys.executable, "-m", "zeroevidence", "link", "--enrol", "v.npz", "--trial", "v.npz", "-o", "new/out"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600.0,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size)),
    )
    assert (ended.returncode, everything(tmp_path)) == (6, before), ended.stderr
    assert ended.stderr.splitlines()[1].startswith("new/out")
    assert ended.stderr.endswith("cannot be written: File too large\n")
