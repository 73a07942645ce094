"""Infinite scores in files: refused with the option that takes them, and what that option does."""

import numpy as np
import polars as pl
import pytest

import zeroevidence as ze
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.loaded_scores import RelaxedRule

LINES = "a u1 inf target\na u2 -1 nontarget\nb u1 -Infinity nontarget\nb u2 2 target\nb u3 x target\n"
ADVICE = "expected a finite number (--infinite accept takes infinite ones)"


def saved(folder, form):
    path = folder / "scores"
    names = {"enrol": list("aabb"), "trial": ["u1", "u2", "u1", "u2"], "label": [1, 0, 0, 1]}
    scores = np.array([np.inf, -1.0, -np.inf, 2.0])
    if form == "text":
        path.write_text(LINES.replace("b u3 x target\n", ""))
    elif form == "sre":
        rows = zip(names["enrol"], names["trial"], scores, ("target", "nontarget", "nontarget", "target"), strict=True)
        lines = ["modelid segmentid LLR targettype", *(" ".join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines))
    elif form == "parquet":
        pl.DataFrame({**names, "score": scores}).write_parquet(path)
    else:
        with path.open("wb") as stream:
            np.savez(stream, scores=scores, labels=names["label"], enrolments=names["enrol"], trials=names["trial"])
    return path


@pytest.mark.parametrize("form", ["text", "sre", "parquet", "npz"])
def test_every_kind_of_file(tmp_path, form):
    path = saved(tmp_path, form)
    found = diagnose(path)
    assert len(found) == 2
    assert all(one.reason.startswith("score '") and one.reason.endswith(ADVICE) for one in found)
    loaded = read_scores(path, options=ReadingOptions(infinite="accept"))
    assert (sorted(loaded.data.target), sorted(loaded.data.nontarget)) == ([2.0, np.inf], [-np.inf, -1.0])
    assert loaded.relaxed == (RelaxedRule("infinite", 2),)


def test_lines_are_named_in_order(tmp_path):
    (tmp_path / "s").write_text(LINES)
    assert [one.line for one in diagnose(tmp_path / "s")] == [1, 3, 5]
    (problem,) = diagnose(tmp_path / "s", options=ReadingOptions(infinite="accept"))
    assert problem.line == 5


@pytest.mark.parametrize("number", ["nan", "1e999", "-1e999", "inf1", "infinit"])
def test_what_is_no_infinity_is_refused_all_the_same(tmp_path, number):
    (tmp_path / "s").write_text(LINES.replace("inf ", f"{number} ").replace("b u3 x target\n", ""))
    assert [one.line for one in diagnose(tmp_path / "s", options=ReadingOptions(infinite="accept"))] == [1]


def test_matrices(tmp_path):
    scores = np.array([[np.inf, 0.0], [0.5, 2.0], [0.1, np.inf]])
    np.savez(tmp_path / "m.npz", scores=scores, mated=[0, 1, 1])
    (problem,) = diagnose(tmp_path / "m.npz")
    assert problem.reason.startswith("score inf at trial 0, identity 0 is not finite (and 1 more)")
    assert "--infinite accept" in problem.reason
    loaded = read_scores(tmp_path / "m.npz", options=ReadingOptions(infinite="accept"))
    assert loaded.relaxed == (RelaxedRule("infinite", 2),)
    row = ze.evaluate(loaded, options=ze.Options(intervals=0, null=0))
    assert "top1" not in row


def test_measures_are_those_of_arrays(tmp_path):
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(2.0, 2.0, 30), rng.normal(-2.0, 2.0, 40)
    target[:3], nontarget[:4] = np.inf, -np.inf
    text = "".join(f"{x} 1\n" for x in target) + "".join(f"{x} 0\n" for x in nontarget)
    (tmp_path / "s").write_text(text)
    read = read_scores(tmp_path / "s", options=ReadingOptions(infinite="accept"))
    row = ze.evaluate(read, options=ze.Options(intervals=0, null=0))
    plain = ze.evaluate(target, nontarget, options=ze.Options(intervals=0, null=0))
    assert row.metrics == plain.metrics
    assert row.curves == plain.curves
    assert "|infinite:7|" in row.signature
    assert "infinite" in {one.code for one in row.flags}
