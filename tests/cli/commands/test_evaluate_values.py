"""The numbers of a paper through every channel: text, JSON, CSV, Markdown, LaTeX, gates and Python."""

import csv
import io
import json

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.evaluation.results import from_json

QUICK = ("--intervals", "20", "--null", "0")
PAPER = {"d_ece": "0.58", "worst_case": "3.98"}  # of unprotected women, with the tag C [Nautsch et al. 2020]


@pytest.fixture
def zebra(shared):
    """Arguments of the case of the ZEBRA paper: LibriSpeech test, women, unprotected."""
    home = shared / "scores" / "vpc2020"
    return home / "samegender_f0orig" / "oo_f.scores", "--key", home / "trials_f"


def first_number(text, heading):
    """What stands behind a heading in the table of one row."""
    line = next(line for line in text.splitlines() if line.startswith(f"{heading}  "))
    return line.removeprefix(heading).split()[0]


@pytest.mark.parametrize("options", [("--intervals", "0", "--null", "0"), pytest.param((), marks=slow)])
def test_the_papers_numbers_through_every_channel(run, zebra, options, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")  # titles are on one line
    text, _ = run.well("evaluate", *zebra, *options, "-f", "json")
    row = json.loads(text)["rows"][0]["metrics"]
    assert {name: f"{row[name]['value']:.2f}" for name in PAPER} == PAPER
    assert row["tag"]["value"] == "C"
    assert ("estimate" in row["d_ece"]) == (options[:2] != ("--intervals", "0"))
    python = ze.evaluate(read_scores(zebra[0], zebra[2]), options=ze.Options(intervals=0, null=0))
    assert {name: row[name]["value"] for name in PAPER} == {name: python[name].value for name in PAPER}
    assert {name: from_json(text)[0][name].value for name in PAPER} == {name: python[name].value for name in PAPER}

    _, text, _ = run("evaluate", *zebra, *options, "--verbose")
    assert first_number(text, "D_ECE [bit]") == f"{python['d_ece'].value:.4f}"
    assert first_number(text, "worst case [log10 LR]") == f"{python['worst_case'].value:.4f}"
    assert (first_number(text, "tag"), first_number(text, "ROCCH-EER [%]")) == ("C", "7.17")

    for format in ("md", "latex"):  # LaTeX has the digits that the interval supports
        _, text, _ = run("evaluate", *zebra, *options, "-f", format, "--measure", "d_ece", "--measure", "tag")
        assert ("$0.58" if format == "latex" and not options else f"{python['d_ece'].value:.4f}") in text
    _, text, _ = run("evaluate", *zebra, *options, "-f", "csv")
    lines = {line["measure"]: line for line in csv.DictReader(io.StringIO(text))}
    assert {name: float(lines[name]["value"]) for name in PAPER} == {name: python[name].value for name in PAPER}
    assert lines["tag"]["value"] == "C"
    assert "estimate" not in lines["d_ece"]


def test_the_challenges_tables(run, shared):
    home = shared / "scores" / "vpc2020"
    with (home / "reference_metrics.tsv").open() as file:
        published = list(csv.DictReader(file, delimiter="\t"))
    wanted = [row for sex in "fm" for row in published if (row["condition"], row["sex"]) == ("samegender_f0orig", sex)]
    files = [home / "samegender_f0orig" / f"{row['enrol_trial']}_{row['sex']}.scores" for row in reversed(wanted)]
    keys = [word for row in reversed(wanted) for word in ("--key", home / f"trials_{row['sex']}")]
    options = ("--voiceprivacy", "--intervals", "0", "--null", "0")
    rows = run.rows("evaluate", *files, *keys, *options)
    found = {(row["labels"]["system"], row["labels"]["sex"]): row for row in rows}
    assert [sex for _, sex in found] == ["f"] * (len(wanted) // 2) + ["m"] * (len(wanted) // 2)
    for row in wanted:
        metrics = found[f"{row['enrol_trial']}_{row['sex']}", row["sex"]]["metrics"]
        assert metrics["linkability"]["value"] == pytest.approx(float(row["ref_linkability_Dsys"]), abs=1e-6)
        assert metrics["cllr_min"]["value"] == pytest.approx(float(row["ref_Cllr_min"]), abs=1e-3)
        assert 100 * metrics["eer_rocch"]["value"] == pytest.approx(float(row["ref_ROCCH_EER_pct"]), abs=1e-3)


def test_the_challenges_preset(run, tmp_path):
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1.0, size=40), rng.normal(size=40)
    for sex in "mf":
        lines = [f"{score} {label}" for label, side in ((1, target), (0, nontarget)) for score in side]
        (tmp_path / f"mine_{sex}.txt").write_text("\n".join(lines))
    files = [tmp_path / f"mine_{sex}.txt" for sex in "mf"]
    text, _ = run.well("evaluate", *files, "--voiceprivacy", *QUICK, "-f", "md")
    heading, _, *rows = [line for line in text.splitlines() if line.startswith("|")]
    titles = ("EER", "ROCCH-EER", "min Cllr", "Cllr", "linkability", "D\\_ECE", "worst case", "tag")
    assert [cell.split(" [")[0].strip() for cell in heading.split("|")[4:-1]] == list(titles)
    assert [row.split("|")[1:3] for row in rows] == [[f" mine\\_{sex} ", f" {sex} "] for sex in "fm"]
    linked = ze.linkability(target, nontarget, method="histogram")
    assert f"| {linked:.4f} " in rows[0]
    text, _ = run.well("evaluate", *files, "--voiceprivacy", *QUICK, "-f", "csv", "--measure", "eer")
    assert {line["measure"] for line in csv.DictReader(io.StringIO(text))} == {"eer"}
    run.fails(2, "expected no --pool", "evaluate", *files, "--voiceprivacy", "--pool", "sex")


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    """A score file of twelve people, whose value is well above its estimate."""
    rng, people = np.random.default_rng(0), range(12)
    pairs = [(other, speaker, trial) for speaker in people for trial in range(3) for other in people]
    lines = (f"s{i} s{j}-u{k} {rng.normal() + 1.2 * (i == j):.6f} {'non' * (i != j)}target\n" for i, j, k in pairs)
    path = tmp_path_factory.mktemp("scores") / "list.scores"
    path.write_text("".join(lines))
    return path


def test_gates_judge_the_value_and_the_bound(run, scores):
    _, text, _ = run("evaluate", scores, *QUICK, "-f", "json")
    result = from_json(text)[0]["d_ece"]
    assert result.estimate < result.value - 0.005 < result.value < result.bound
    between = (result.estimate + result.value) / 2
    assert run("evaluate", scores, *QUICK, "--fail-if", f"d_ece>{between:.6f}")[0] == 1
    above = (result.value + result.bound) / 2
    assert run("evaluate", scores, *QUICK, "--fail-if", f"d_ece>{above:.6f}")[0] == 0
    assert run("evaluate", scores, *QUICK, "--fail-if", f"bound(d_ece)>{above:.6f}")[0] == 1


def test_estimates_are_a_column_where_asked_for(run, scores):
    plain, shown = (run("evaluate", scores, *QUICK, "-f", "csv", *more)[1] for more in ((), ("--estimate",)))
    assert "estimate" not in plain.splitlines()[0].split(",")
    lines = csv.DictReader(io.StringIO(shown))
    assert {line["measure"] for line in lines if line["estimate"]} == {"d_ece", "cllr_min"}


def test_a_lower_level_is_said_and_gives_narrower_intervals(run, scores):
    rows = {level: run.rows("evaluate", scores, "--level", level, "--null", 0)[0] for level in ("0.95", "0.9")}
    assert rows["0.9"]["setup"]["level"] == rows["0.9"]["metrics"]["eer"]["level"] == 0.9
    assert "level" not in rows["0.95"]["setup"]  # the default is not written
    assert ["|level:0.9|" in row["signature"] for row in rows.values()] == [False, True]
    assert rows["0.9"]["metrics"]["eer"]["value"] == rows["0.95"]["metrics"]["eer"]["value"]
    for name in ("eer", "d_ece", "cllr_min"):
        wide, narrow = (row["metrics"][name]["high"] - row["metrics"][name]["low"] for row in rows.values())
        assert 0 < narrow < wide


def test_row_scaling_is_asked_for_by_name(run, scores):
    quick = ("evaluate", scores, "--null", 0, "--intervals", 0)
    rows = {scaling: run.rows(*quick, "--row-scaling", scaling)[0] for scaling in ("standardise", "none", "auto")}
    assert rows["none"]["setup"]["search"]["row_scaling"] == "none"
    assert rows["auto"]["setup"]["search"]["row_scaling"].startswith("auto:")
    assert rows["none"]["metrics"]["alid"]["value"] != rows["standardise"]["metrics"]["alid"]["value"]
    assert rows["none"]["metrics"]["top1"]["value"] == rows["standardise"]["metrics"]["top1"]["value"]
