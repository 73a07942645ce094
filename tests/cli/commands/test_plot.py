"""The command that draws."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import to_json
from zeroevidence.plot import KINDS

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """A file with two rows."""
    rng = np.random.default_rng(0)
    options, rows = Options(intervals=0, null=0), []
    for name, shift in (("a", 1.0), ("b", 3.0)):
        scores = ze.Scores(rng.normal(shift, 1, 50), rng.normal(0, 1, 200))
        rows.append(ze.evaluate(scores, labels={"system": name, "attacker": "lazy (x)"}, options=options))
    path = tmp_path_factory.mktemp("results") / "result.json"
    path.write_text(to_json(rows))
    return path


@pytest.mark.parametrize(("ending", "start"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_draws_each_format(run, result, tmp_path, ending, start):
    target = tmp_path / f"f.{ending}"
    code, out, err = run("plot", "ece", result, "-o", target)
    assert (code, out) == (0, "")
    assert f"wrote {target}" in err
    assert target.read_bytes().startswith(start)


def test_score_files_are_drawn_directly(run, result, tmp_path):
    rng = np.random.default_rng(0)
    lines = [f"e{e} t{t} {rng.normal() + 2 * (e == t % 4):.3f}" for t in range(24) for e in range(4)]
    (tmp_path / "mine.scores").write_text("\n".join(lines))
    kinds = ("target" if e == t % 4 else "nontarget" for t in range(24) for e in range(4))
    pairs = (line.rsplit(" ", 1)[0] for line in lines)
    (tmp_path / "trials").write_text("\n".join(map(" ".join, zip(pairs, kinds, strict=True))))
    files = tmp_path / "mine.scores", "--key", tmp_path / "trials"
    kinds = [line.split()[0] for line in run("plot", "--list", *files)[1].splitlines()]
    assert {"det", "cmc", "people"} <= set(kinds)
    quick = ("--intervals", 0, "--null", 0, "--system", "mine", "-f", "json", "-o", tmp_path / "mine.json")
    assert run("evaluate", *files, *quick)[0] == 0
    for kind in ("det", "cmc"):
        for name, source in (("direct", files), ("finished", [tmp_path / "mine.json"])):
            assert run("plot", kind, *source, "-o", tmp_path / f"{name}.svg", "--overwrite")[0] == 0
        assert (tmp_path / "direct.svg").read_text() == (tmp_path / "finished.svg").read_text()
    assert run("plot", "det", result, *files, "-o", tmp_path / "both.svg")[0] == 0
    drawn = (tmp_path / "both.svg").read_text()
    assert all(f"{name}: EER" in drawn for name in ("a", "b", "mine"))


def test_bars_of_plain_score_files_are_sorted_by_a_label(run, tmp_path):
    rng, files = np.random.default_rng(0), []
    for system, gaps in (("b1", (3.0, 0.2, 1.0)), ("b2", (2.0, 2.5, 1.0))):
        for sides, gap in zip(("oo", "oa", "aa"), gaps, strict=True):
            files.append(tmp_path / f"{system}{sides}.scores")
            classes = ((1, rng.normal(gap, 1.0, 60)), (0, rng.normal(0.0, 1.0, 200)))
            files[-1].write_text("".join(f"{score} {label}\n" for label, scores in classes for score in scores))
    labels = [f"--label=attacker={file.stem[2:]}" for file in files]
    labels += [f"--label=system={file.stem[:2]}" for file in files]
    result = tmp_path / "six.json"
    assert run("evaluate", *files, *labels, "--intervals", 0, "--null", 0, "-f", "json", "-o", result)[0] == 0
    expected = [{"system": file.stem[:2], "attacker": file.stem[2:]} for file in files]
    assert [row["labels"] for row in json.loads(result.read_text())["rows"]] == expected
    for sort, first in (("oa", "b2"), ("oo", "b1")):
        target = tmp_path / "bars.svg"
        run.well("plot", "bars", result, "--y", "linkability", "--sort", sort, "-o", target, "--overwrite")
        drawn = target.read_text().replace("<!-- ", ">")
        assert (drawn.index(">b1") < drawn.index(">b2")) == (first == "b1")
    words = "label 'speaker=ann': expected NAME=VALUE with NAME one of system"
    run.fails(2, words, "evaluate", *files, "--label", "speaker=ann")
    run.fails(2, "--label is for score files", "evaluate", result, "--label", "sex=f")


def test_folder_rows_and_labels(run, result, tmp_path):
    home = tmp_path / "audit"
    home.mkdir()
    (home / "result.json").write_bytes(result.read_bytes())
    target = tmp_path / "f.svg"
    assert run("plot", "det", home, "--row", 2, "-o", target)[0] == 0
    assert ">b: EER" in target.read_text().replace("<!-- ", ">")
    chosen = ("--where", "system=a", "--where", "attacker=lazy (x)")
    assert run("plot", "det", home, *chosen, "-o", target, "--overwrite")[0] == 0
    assert ("a: EER" in target.read_text(), "b: EER" in target.read_text()) == (True, False)
    axes = ("--x", "eer", "--y", "d_ece", "--width", 5)
    assert run("plot", "scatter", home, *axes, "-o", target, "--overwrite")[0] == 0
    assert "D_ECE (bits)" in target.read_text()
    assert 'width="360pt"' in target.read_text()


def test_list_and_help_have_all_kinds_and_their_options(run, result):
    lists = (run("plot", "--list", *results)[1].splitlines() for results in ((), (result,)))
    all_kinds, drawable = ([line.split()[0] for line in lines] for lines in lists)
    assert all_kinds == list(KINDS)
    assert ("ece" in drawable, "people" in drawable) == (True, False)
    out, _ = run.well("plot", "--help")
    options = {name: option for kind in KINDS.values() for name, option in kind.options.items() if name != "hide"}
    for name, option in options.items():
        assert f"--{name}{'' if option.type is bool else ' VALUE'}" in out
    assert "ece (log-odds, prior): What to draw" in " ".join(out.split())


def test_rows_without_the_data_are_left_out_and_said(run, result, tmp_path):
    document = json.loads(result.read_text())
    del document["rows"][1]["curves"]
    part = tmp_path / "part.json"
    part.write_text(json.dumps(document))
    _, err = run.well("plot", "ece", part, "-o", tmp_path / "f.svg")
    assert "1 of 2 rows have no data for ece" in err


def test_demo_is_the_bundled_data(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    attacker = "attacker=ignorant (enrolment original, trained on original)"
    assert run("plot", "people", "demo", "--where", attacker, "--hide-ids", "-o", "p.svg")[0] == 0
    assert "person 24" in (tmp_path / "p.svg").read_text()


def test_mistakes_get_one_line_and_a_code(run, result, tmp_path):
    target, there = tmp_path / "f.pdf", tmp_path / "there.pdf"
    there.write_text("old")
    scores, empty, broken = tmp_path / "s.txt", tmp_path / "empty.json", tmp_path / "broken.json"
    scores.write_text("a b 0.5\n")
    empty.write_text(json.dumps({**json.loads(result.read_text()), "rows": []}))
    broken.write_text("{")
    for arguments, code, words in (
        ((), 2, "expected a KIND"),
        (("pie", result, "-o", target), 2, "unknown kind of figure 'pie'"),
        (("ece",), 2, "expected SCORES"),
        (("ece", result), 2, "expected -o FILE"),
        (("ece", result, "-o", "f.gif"), 2, "ends in .pdf, .svg, .png"),
        (("ece", result, "-o", there), 2, "--overwrite"),
        (("ece", result, "-o", target, "--row", 3), 2, "no row 3; the results have 2"),
        (("ece", result, "-o", target, "--where", "system=z"), 2, "it is 'a', 'b'"),
        (("ece", result, "-o", target, "--where", "sex=f"), 2, "no row has that label"),
        (("ece", result, "-o", target, "--y", "eer"), 2, "the figure 'ece' has no option 'y'; it takes x, actual"),
        (("ece", result, "-o", target, "--x", "eer"), 2, "x: expected one of log-odds, prior, got 'eer'"),
        (("people", result, "-o", target), 2, "figures that can be drawn: attackers, ece"),
        (("ece", tmp_path / "no.json", "-o", target), 3, "no such file"),
        (("ece", scores, "-o", target), 3, "no labels; expected a key"),
        (("ece", empty, "-o", target), 3, "has no rows"),
        (("ece", broken, "-o", target), 3, "not JSON"),
    ):
        found, out, err = run("plot", *arguments)
        assert (found, out) == (code, ""), arguments
        assert words in err, arguments
        assert len(err.splitlines()) == 1, arguments
    assert there.read_text() == "old"
    assert not target.exists()


@slow
def test_a_home_that_cannot_be_written_is_not_mentioned(result, tmp_path):
    nowhere = {"HOME": "/dev/null/home", "XDG_CONFIG_HOME": "", "XDG_CACHE_HOME": "", "MPLCONFIGDIR": ""}
    environment = {**os.environ, **nowhere}
    for arguments in (("plot", "det", result, "-o", "det.svg"), ("report", result, "-o", "report.html")):
        command = [sys.executable, "-m", "zeroevidence", *arguments]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600.0)
        assert ended.returncode == 0, ended.stderr
        assert "cache" not in ended.stderr.lower()
        assert "mkdir" not in ended.stderr


def test_of_many_attempts_the_best_of_each_kind_are_drawn(run, tmp_path):
    rng = np.random.default_rng(0)
    about, options, rows = ze.About.against(find_attacker("lazy-informed")), Options(intervals=0, null=0), []
    for number in range(9):
        scores, labels = ze.Scores(rng.normal(0.2 * number, 1, 30), rng.normal(0, 1, 60)), {"system": "a"}
        rows.append(ze.evaluate(scores, labels=labels | {"backend": f"b{number}"}, about=about, options=options))
    (tmp_path / "many.json").write_text(to_json(rows))
    few = "drawn: 1 of 9 rows, the best attackers of each kind; --row and --where draw others"
    for kind, rows, said in (("histogram", (), True), ("bars", (), False), ("histogram", ("--row", 1), False)):
        code, _, err = run("plot", kind, tmp_path / "many.json", *rows, "-o", tmp_path / "f.svg", "--overwrite")
        assert (code, few in err) == (0, said), err
