"""Blocks on disk are whole and of this work, or not there."""

import numpy as np
import pytest

from zeroevidence.errors import UsageError
from zeroevidence.linkage.resumable import Checkpoints, open_work_folder


def test_checkpoints_of_other_work_are_not_read(tmp_path):
    one = Checkpoints(tmp_path / "blocks", "key")
    one.save("a", {"x": np.arange(3)})
    assert one.load("a")["x"].tolist() == [0, 1, 2]
    assert one.load("b") is None
    assert Checkpoints(tmp_path / "blocks", "other").load("a") is None
    assert [path.name for path in (tmp_path / "blocks").iterdir()] == ["a"]


def test_work_is_done_when_it_is_finished_and_not_before(tmp_path):
    settings = {"seed": 1}
    work = open_work_folder(tmp_path / "out", settings)
    work.checkpoints.save("a", {"x": np.arange(3)})
    again = open_work_folder(tmp_path / "out", settings)
    assert not again.done
    assert again.checkpoints.load("a") is not None
    again.finish()
    assert open_work_folder(tmp_path / "out", settings).done
    assert not (tmp_path / "out" / "blocks").exists()
    with pytest.raises(UsageError, match="holds a search with other seed"):
        open_work_folder(tmp_path / "out", {"seed": 2})


def test_results_of_other_work_are_removed_when_it_is_overwritten(tmp_path):
    open_work_folder(tmp_path, {"seed": 1}).finish()
    for name in ("result.json", "notes.txt"):
        (tmp_path / name).write_text("old")
    open_work_folder(tmp_path, {"seed": 2}, outputs=["result.json"], overwrite=True)
    assert not (tmp_path / "result.json").exists()
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize(
    "text", ["", "[" * 9000, "[]", '{"schema": "zeroevidence/link/1", "key": "x", "settings": [], "done": true}', "NaN"]
)
def test_a_manifest_that_is_none_starts_over(tmp_path, text):
    open_work_folder(tmp_path, {"seed": 1}).checkpoints.save("a", {"x": np.arange(3)})
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(UsageError, match="is not empty"):
        open_work_folder(tmp_path, {"seed": 1})
    work = open_work_folder(tmp_path, {"seed": 1}, overwrite=True)
    assert not work.done
    assert work.checkpoints.load("a") is None
