"""From files to a report with one command."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from zeroevidence.evaluation import Options
from zeroevidence.sample import sample_rows

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")
QUICK = ("--intervals", 10, "--null", 10)


@pytest.fixture(scope="module")
def sample():
    return next(row for row in sample_rows() if Path(row.scores).name == "aa.scores")


@pytest.fixture
def result(run, sample, tmp_path):
    path = tmp_path / "result.json"
    run.well("evaluate", sample.scores, "--key", sample.key, *QUICK, "-f", "json", "-o", path)
    return path


def test_two_files_to_a_report(run, sample, tmp_path, without_figures):
    out = tmp_path / "report.html"
    run.well("report", sample.scores, "--key", sample.key, *QUICK, "-o", out)
    text = out.read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert 'id="verdict"' in text
    assert str(tmp_path) not in text
    assert str(Path(sample.scores).parent) not in text
    assert "zeroevidence report aa.scores --key trials" in text
    run.fails(2, "--overwrite", "report", sample.scores, "--key", sample.key, *QUICK, "-o", out)


def test_a_result_is_rendered_without_computing(run, result, tmp_path, without_figures):
    first, second = tmp_path / "a.html", tmp_path / "b.html"
    assert run("report", result, "-o", first, "--title", "Ours & theirs")[0] == 0
    assert run("report", result, "-o", second, "--title", "Ours & theirs")[0] == 0
    a, b = (path.read_text(encoding="utf-8") for path in (first, second))
    assert a.replace("a.html", "b.html") == b
    assert "<h1>Ours &amp; theirs</h1>" in a
    (row,) = json.loads(result.read_text())["rows"]
    assert row["signature"] in a
    assert f"{100 * row['metrics']['top1']['value']:.2f}" in a
    for format, start in (("md", "| system |"), ("latex", "% ZE|")):
        code, out, _ = run("report", result, "-f", format)
        assert (code, start in out) == (0, True)


def test_hidden_people(run, result, tmp_path, without_figures):
    out = tmp_path / "report.html"
    document = json.loads(result.read_text())
    (row,) = document["rows"]
    names = [f"Quixotic{i:03d}" for i in range(len(row["people"]["speaker"]))]
    text = result.read_text()
    for old, new in zip(row["people"]["speaker"], names, strict=True):
        text = text.replace(f'"{old}"', f'"{new}"')
    result.write_text(text)
    assert run("report", result, "-o", out)[0] == 0
    assert "Quixotic" in out.read_text(encoding="utf-8")
    assert run("report", result, "-o", out, "--overwrite", "--hide-ids")[0] == 0
    assert "Quixotic" not in out.read_text(encoding="utf-8")


def test_audit_folder_with_cards(run, tmp_path, without_figures):
    from zeroevidence.report.document import save_audit
    from zeroevidence.sample import sample_audit

    home = tmp_path / "out"
    files = save_audit(sample_audit(options=Options(intervals=0, null=0)), home)
    assert [path.name for path in files] == [
        *("scores.npz", "trials.csv", "speakers.csv", "attackers.json", "protector.json", "summary.txt", "result.json")
    ]
    out = tmp_path / "report.html"
    run.well("report", home, "-o", out)
    text = out.read_text(encoding="utf-8")
    assert "The attacker that counts: " in text
    assert text.count("The protector: ") == 1
    assert "Link a single trial utterance to one identity among 24" in text
    cards = json.loads((home / "attackers.json").read_text())
    for change, words in (
        ([], "0 cards; expected 5, one for each attack of result.json"),
        ([{**cards[0], "trial": 3}, *cards[1:]], "cards[0].trial: expected text, got 3"),
    ):
        (home / "attackers.json").write_text(json.dumps(change))
        code, _, err = run("report", home, "-o", out, "--overwrite")
        assert code == 3
        assert f"attackers.json: {words}" in err


def test_comparison(run, tmp_path, without_figures):
    rng = np.random.default_rng(0)
    for name, shift in (("a", 2.0), ("b", 0.5)):
        lines = [f"e{i % 10} t{i} {rng.normal(shift * (i % 10 == i // 10 % 10)):.4f}" for i in range(200)]
        (tmp_path / f"{name}.scores").write_text("\n".join(lines) + "\n")
    keys = [f"e{i % 10} t{i} {'target' if i % 10 == i // 10 % 10 else 'nontarget'}" for i in range(200)]
    (tmp_path / "key").write_text("\n".join(keys) + "\n")
    made = tmp_path / "comparison.json"
    files = (tmp_path / "a.scores", tmp_path / "b.scores", "--key", tmp_path / "key")
    run.well("compare", *files, "--intervals", 20, "--measure", "eer", "-f", "json", "-o", made)
    out, _ = run.well("report", made)
    assert "b discloses less than a" in out
    assert 'id="differences"' in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"x\.json:1: not JSON"),
        ('{"schema": "zeroevidence/comparison/3", "comparisons": [{}]}', r"comparisons\[0\]: has no 'measure'"),
        ('{"schema": "zeroevidence/evaluation/3", "rows": []}', "has no rows"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_no_result(run, tmp_path, content, message):
    path = tmp_path / "x.json"
    path.write_text(content)
    code, out, err = run("report", path)
    assert (code, out) == (3, "")
    assert re.search(message, err)


def test_options_that_make_no_sense(run, result, sample):
    run.fails(2, "finished results", "report", result, "--key", sample.key)
    run.fails(3, "no such file", "report", "missing.txt")


def test_demo_leads_to_a_report(run, tmp_path, monkeypatch, without_figures, shared_demo):
    monkeypatch.setenv("COLUMNS", "120")
    out = tmp_path / "report.html"
    shown, err = run.well("demo", "--report", out)
    assert err.startswith("auditing four protections of bundled speech")
    assert len(shown.splitlines()) <= 40
    text = out.read_text(encoding="utf-8")
    # three attackers on each of two protections and the bounds once; twice 15 rows with the one that trains
    assert "38 results" in text
    assert "The attacker that counts: " in text
    assert text.count("The protector: ") == 4
    assert run("demo", "--report", out)[0] == 2


@pytest.mark.parametrize(("missing", "part"), [("jinja2", "report"), ("matplotlib", "report"), ("uvicorn", "web")])
def test_a_missing_part_is_named(run, result, monkeypatch, missing, part):
    monkeypatch.setitem(sys.modules, missing, None)
    run.fails(4, f"pip install 'zeroevidence[{part}]'", *(("serve",) if part == "web" else ("report", result)))
