"""Systems in files of their own, compared from Python as by the command."""

import json
from pathlib import Path

import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.files import ScoreFile, score_files
from zeroevidence.evaluation.systems import compare_files, compare_searches
from zeroevidence.sample import sample_rows

QUICK = Options(intervals=20, null=0)


def files():
    rows = sample_rows()
    return score_files([row.scores for row in rows], [rows[0].key])


def test_files_are_compared_by_the_usual_measures():
    found = compare_files(files(), options=QUICK)
    assert [one.measure for one in found] == ["eer", "d_ece", "linkability", "alid"]
    assert [one.system for one in found[1].ranking] == ["aa", "oa", "oo"]


def test_other_trials_are_refused_before_anything_is_evaluated(tmp_path, monkeypatch):
    first = files()[0]
    scores, key = (tmp_path / name for name in ("fewer.scores", "trials"))
    for source, target in ((first.scores, scores), (first.key, key)):
        target.write_text("".join(Path(source).read_text().splitlines(keepends=True)[:-30]))
    monkeypatch.setattr("zeroevidence.evaluation.systems.evaluate", lambda *_, **__: pytest.fail("was evaluated"))
    with pytest.raises(InputError, match="expected the same trials in all systems"):
        compare_files([first, ScoreFile(str(scores), str(key))], options=QUICK)


def test_too_little_to_compare():
    with pytest.raises(UsageError, match="at least two systems"):
        compare_files(files()[:1], options=QUICK)
    with pytest.raises(UsageError, match="unknown measure"):
        compare_files(files(), measures=["nonsense"], options=QUICK)
    with pytest.raises(UsageError, match="one name for each of the 2 systems"):
        compare_searches(["a", "b"], ["a"])


def test_a_result_without_a_search_is_refused(tmp_path):
    rows = {"schema": "zeroevidence/evaluation/2", "rows": [{"labels": {}, "about": {}, "counts": {}, "metrics": {},
            "flags": [], "setup": {}, "signature": "ZE"}]}  # fmt: skip
    (tmp_path / "result.json").write_text(json.dumps(rows))
    with pytest.raises(InputError, match="has no search"):
        compare_searches([tmp_path, tmp_path], ["a", "b"], options=QUICK)
