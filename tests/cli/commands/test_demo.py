"""`zeroevidence demo --files`: the bundled data as files that the other commands read."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.formats.vectors.read import read_embeddings
from zeroevidence.sample import sample_rows, sample_sets


def test_files_are_the_bundled_data(run, tmp_path):
    out, _ = run.well("demo", "--files", tmp_path / "data")
    assert "trials (the key)" in out
    row = sample_rows("eval")[2]
    written = read_scores(tmp_path / "data/scores/eval/aa.scores", tmp_path / "data/scores/eval/trials").data
    np.testing.assert_array_equal(written.target, read_scores(row.scores, row.key).data.target)
    for name, part in sample_sets("pitch").parts().items():
        found = read_embeddings(tmp_path / "data/embeddings/pitch" / f"{name}.npz")
        np.testing.assert_array_equal(found.vectors, part.vectors)
        np.testing.assert_array_equal(found.speakers, part.speakers)
        np.testing.assert_array_equal(found.attributes["sex"], part.attributes["sex"])
    dev, case = (read_scores(rows[1].scores, rows[1].key).data for rows in map(sample_rows, ("dev", "eval")))
    ratios, quick = read_scores(tmp_path / "data/likelihood_ratios.csv"), ze.Options(intervals=0, null=0)
    values, expected = ze.evaluate(ratios, options=quick), ze.evaluate(case, calibrate=dev, options=quick)
    for name in ("cllr", "elub_low", "elub_high", "misleading_target", "misleading_nontarget", "alid"):
        assert float(values[name]) == pytest.approx(float(expected[name]), abs=2e-4), name
    assert values.counts == expected.counts


def test_a_folder_in_use_is_refused_unless_told(run, tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    code, _, err = run("demo", "--files", tmp_path)
    assert code == 2
    assert "not empty" in err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert run("demo", "--files", tmp_path, "--overwrite")[0] == 0
    assert (tmp_path / "mine.txt").read_text() == "precious"


def test_files_and_a_report_at_once_is_refused(run, tmp_path):
    for option in ("--report", "-o"):
        code, _, err = run("demo", "--files", tmp_path / "data", option, tmp_path / "other")
        assert code == 2
        assert "--files only writes the bundled data" in err
    assert not any(tmp_path.iterdir())
