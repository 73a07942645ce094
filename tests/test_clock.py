"""A clock that goes backwards, and files from the future: nothing is decided by the time of day."""

import itertools
import os
import time

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage import LinkOptions, link_resumable
from zeroevidence.linkage.inputs import pair
from zeroevidence.linkage.resumable import BLOCKS
from zeroevidence.run import Run


@pytest.fixture
def backwards(monkeypatch):
    """A clock that shows an earlier time whenever it is looked at; how long something takes is still measured."""
    hours = itertools.count(0, -3600)
    monkeypatch.setattr(time, "time", lambda: 2e9 + next(hours))
    monkeypatch.setattr(time, "time_ns", lambda: 10**18 * 2 + 10**9 * next(hours))


@pytest.fixture
def search():
    rng = np.random.default_rng(0)
    people = [f"p{i:02d}" for i in range(30)]
    vectors = rng.normal(size=(30, 8))
    enrol = Embeddings(vectors, people, people)
    return pair(Embeddings(vectors + rng.normal(size=(30, 8)), [f"u{i:02d}" for i in range(30)], people), enrol)


def test_a_search_continues_from_blocks_of_the_future(backwards, search, tmp_path):
    settings = LinkOptions(weight=2.0, block=10)
    whole = link_resumable(search, tmp_path / "whole", settings)

    def stop(done, total):
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        link_resumable(search, tmp_path / "out", settings, run=Run(progress=lambda *_: stop))
    for path in (tmp_path / "out").rglob("*"):
        os.utime(path, (4e9, 4e9))
    lines = []
    resumed = link_resumable(search, tmp_path / "out", settings, run=Run(say=lines.append))
    assert any("continuing: 2 of 3 blocks" in line for line in lines)
    for name in ("lid", "greater", "score"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(resumed, name))
    assert len([path for path in (tmp_path / "out" / BLOCKS).rglob("*") if path.is_file()]) == 4  # with the calibration
