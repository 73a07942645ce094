"""A search called from Python goes on where it was interrupted; its blocks are whole and of this work, or absent."""

import itertools
import os
import time
from dataclasses import replace

import pytest

from tests.linkage.searches import draw_pairing, same
from zeroevidence.data.store import Store
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage import LinkOptions, SearchOutput, calibrate_search, link, link_resumable
from zeroevidence.linkage.engines import ENGINES
from zeroevidence.linkage.engines.numpy_blocks import NumpyEngine
from zeroevidence.linkage.search import Manifest, begin_or_continue
from zeroevidence.run import Run


@pytest.fixture
def search():
    return draw_pairing(strangers=1)


class Counting(NumpyEngine):
    """The engine of NumPy, which notes the trials it works out."""

    name = "counting"

    def __init__(self):
        self.trials = []

    def linker(self, plan, run):
        linker = super().linker(plan, run)
        work = linker.rows
        linker.rows = lambda rows: self.trials.extend(rows.tolist()) or work(rows)
        return linker


@pytest.fixture
def counting():
    engine = ENGINES.add(Counting())
    yield engine
    ENGINES.remove(engine.name)


class Interruption(Exception):
    pass


def interrupt_at(block):
    def progress(done, total):
        if done == block:
            raise Interruption

    return progress


@pytest.mark.parametrize("strange_times", [False, True])
def test_what_was_done_before_an_interruption_is_not_done_again(search, counting, tmp_path, monkeypatch, strange_times):
    """Also where the clock goes backwards, and blocks are from the future."""
    settings, hours = LinkOptions(engine="counting", block=10), itertools.count(0, -3600)
    if strange_times:
        monkeypatch.setattr(time, "time", lambda: 2e9 + next(hours))
        monkeypatch.setattr(time, "time_ns", lambda: 10**18 * 2 + 10**9 * next(hours))
    with pytest.raises(Interruption):
        link_resumable(search, tmp_path / "out", settings, run=Run(progress=lambda *_: interrupt_at(4)))
    assert counting.trials == list(range(40))
    for path in (tmp_path / "out").rglob("*") if strange_times else ():
        os.utime(path, (4e9, 4e9))
    said, seen = [], []
    monkeypatch.setattr("zeroevidence.linkage.search.calibrate_search", None)  # kept as well
    run = Run(say=said.append, progress=lambda *_: lambda *done: seen.append(done))
    found = link_resumable(search, tmp_path / "out", settings, run=run)
    assert counting.trials == list(range(59))
    assert said[0].startswith("59 trials x 20 identities, counting: 1 180 pairs")
    assert said[1] == "continuing: 4 of 6 blocks are there"
    assert seen == [(5, 6), (6, 6)]
    fit = calibrate_search(search)
    same(found, link(search.trial, search.enrol, search.mated, LinkOptions(engine="numpy"), fit))


def test_the_result_knows_its_search(search, tmp_path):
    found = link_resumable(search, tmp_path / "out")
    assert found.trial.tolist() == search.trial.ids.tolist()
    assert (found.speaker.tolist(), found.not_enrolled) == (search.trial.speakers.tolist(), 1)
    assert found.options.scoring == "cosine"
    assert (found.calibration.method, found.calibration.cross_fitted) == ("logistic", True)
    fitted = link_resumable(search, tmp_path / "dev", development=draw_pairing("d", seed=1))
    assert (fitted.calibration.method, fitted.calibration.cross_fitted) == ("logistic", False)


def test_what_is_written_is_done(search, counting, tmp_path):
    settings = LinkOptions(engine="counting")
    first, second = (link_resumable(search, tmp_path / "out", settings) for _ in range(2))
    assert len(counting.trials) == 59  # without a writer the blocks stay, and are read
    assert (second.lid.tolist(), second.digest) == (first.lid.tolist(), first.digest)
    written = []
    output = SearchOutput(written.append)

    def fail(_):
        raise Interruption

    with pytest.raises(Interruption):
        link_resumable(search, tmp_path / "out", settings, output=SearchOutput(fail))
    found = link_resumable(search, tmp_path / "out", settings, output=output)
    assert written == [found]
    assert len(counting.trials) == 59
    assert not (tmp_path / "out" / "blocks").exists()
    assert link_resumable(search, tmp_path / "out", settings, output=output) is None
    assert len(written) == 1
    assert link_resumable(search, tmp_path / "out", settings, output=output, overwrite=True) is not None
    assert len(counting.trials) == 118


def test_other_settings_or_data_are_refused(search, tmp_path):
    link_resumable(search, tmp_path / "out")
    with pytest.raises(UsageError, match="other scoring, seed"):
        link_resumable(search, tmp_path / "out", LinkOptions(scoring="dot"), run=Run(seed=1))
    with pytest.raises(UsageError, match="other trial, enrol"):
        link_resumable(draw_pairing(seed=3), tmp_path / "out")
    with pytest.raises(UsageError, match="other note"):
        link_resumable(search, tmp_path / "out", output=SearchOutput(print, labels={"note": "second try"}))


@pytest.mark.parametrize(
    ("settings", "development", "error", "words"),
    [
        (LinkOptions(precision=16, engine="numpy"), None, UsageError, "need the engine triton"),
        (LinkOptions(engine="gpu"), None, UsageError, "unknown engine"),
        (LinkOptions(weight=2.0), draw_pairing("d"), UsageError, "exclude each other"),
        (LinkOptions(), draw_pairing(), InputError, "share 20 speaker"),
    ],
)
def test_what_cannot_work_leaves_no_folder_behind(search, tmp_path, settings, development, error, words):
    with pytest.raises(error, match=words):
        link_resumable(search, tmp_path / "out", settings, development=development)
    assert not (tmp_path / "out").exists()


def test_blocks_of_another_size_are_not_taken_for_these(search, counting, tmp_path):
    """As when a folder that was begun on one machine goes on where another engine takes longer runs."""
    settings = LinkOptions(engine="counting", weight=2.0)
    expected = link_resumable(search, tmp_path / "whole", settings)
    for trials in (20, 40, 20):
        counting.run_trials = lambda _, trials=trials: trials
        same(link_resumable(search, tmp_path / "work", settings), expected)


def test_results_of_other_work_are_removed_when_it_is_overwritten(tmp_path):
    replace(Manifest.of({"seed": 1}), done=True).write(tmp_path)
    for name in ("result.json", "notes.txt"):
        (tmp_path / name).write_text("old")
    assert begin_or_continue(tmp_path, Manifest.of({"seed": 2}), outputs=["result.json"], overwrite=True)
    assert not (tmp_path / "result.json").exists()
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize(
    "text", ["", "[" * 9000, "[]", '{"schema": "zeroevidence/link/1", "key": "x", "settings": [], "done": true}', "NaN"]
)
def test_a_manifest_that_is_none_starts_over(tmp_path, text):
    (tmp_path / "manifest.json").write_text(text)
    Store(tmp_path, "blocks").save("ab", b"")
    with pytest.raises(UsageError, match="is not empty"):
        begin_or_continue(tmp_path, Manifest.of({"seed": 1}))
    assert begin_or_continue(tmp_path, Manifest.of({"seed": 1}), overwrite=True)
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]
