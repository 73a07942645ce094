"""The command line as a user meets it: results, messages, exit codes, files that are left alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from zeroevidence.sample import sample_rows

FEW = ("--intervals", 0, "--null", 0)


@pytest.fixture
def files(tmp_path):
    scores, key = tmp_path / "a.scores", tmp_path / "trials"
    scores.write_text("s1 u1 2.0\ns1 u2 -1.0\ns2 u1 0.5\ns2 u2 1.5\n")
    key.write_text("s1 u1 target\ns1 u2 nontarget\ns2 u1 nontarget\ns2 u2 target\n")
    return scores, key


def test_evaluate_prints_one_json_object(run, files):
    code, out, err = run("evaluate", files[0], "--key", files[1], "-f", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "zeroevidence/evaluation/3"
    row = document["rows"][0]
    assert row["labels"] == {"system": "a"}
    counts = {"target": 2, "nontarget": 2, "speakers": 2, "trials": 2, "identities": 2, "most_trials": 1}
    assert (row["counts"], row["metrics"]["eer"]["value"]) == (counts, 0.0)
    assert row["metrics"]["d_ece"]["value"] == pytest.approx(0.7213475204)
    for form in ("text", "md", "latex", "csv"):
        code, out, _ = run("evaluate", files[0], "--key", files[1], *FEW, "-f", form, "--measure", "cllr_min")
        assert (code, "ZE|one-to-one+search|" in out) == (0, True)
        assert ("cllr_min" if form == "csv" else "min Cllr") in out
        assert "eer" not in out.lower()


def test_the_base_of_the_logarithm_is_suspected_and_named(run, tmp_path):
    draws = np.random.default_rng(1).normal(size=400)
    path = tmp_path / "forensic.csv"
    lines = [f"{(mean + 2.0 * x) / np.log(10.0)},{label}" for mean, label in ((2.0, 1), (-2.0, 0)) for x in draws]
    path.write_text("\n".join(["score,label", *lines]) + "\n")
    units = ((), ("--llr", "log10"), ("--llr", "log2"))
    rows = [run.rows("evaluate", path, *FEW, *more)[0] for more in units]
    codes = [{flag["code"]: flag["sentence"] for flag in row["flags"]} for row in rows]
    assert "say --llr log10." in codes[0]["llr-base-suspected"]
    assert "llr-base-suspected" not in codes[1]
    assert codes[1]["llr-unit"] == "800 scores were read as log10 likelihood ratios, as asked."
    costs = [row["metrics"]["cllr"]["value"] for row in rows]
    assert costs[1] == min(costs)
    assert costs[1] < costs[0] - 0.1


def test_several_systems_are_named_apart(run, files, tmp_path):
    other = tmp_path / "b"
    other.mkdir()
    (other / "a.scores").write_text(files[0].read_text())
    arguments = ("evaluate", files[0], other / "a.scores", "--key", files[1], *FEW)
    for more, names in (((), [f"{tmp_path.name}/a", "b/a"]), (("--system", "x", "--system", "y"), ["x", "y"])):
        assert [row["labels"]["system"] for row in run.rows(*arguments, *more)] == names


def test_output_file_is_written_once(run, files, tmp_path):
    target = tmp_path / "out.json"
    code, out, err = run("evaluate", files[0], "--key", files[1], "-f", "json", "-o", target)
    assert (code, out) == (0, "")
    assert f"wrote {target}" in err
    before = target.read_text()
    code, _, err = run("evaluate", files[0], "--key", files[1], "-f", "csv", "-o", target)
    assert code == 2
    assert err == f"{target}: exists; --overwrite replaces it\n"
    assert target.read_text() == before
    assert run("evaluate", files[0], "--key", files[1], "-f", "csv", "-o", target, "--overwrite")[0] == 0
    assert target.read_text() != before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.scores", "out.json", "trials"]


@pytest.mark.parametrize(
    ("scores", "key", "line", "reason"),
    [
        ("s1 u1 2.0\ns2 u2 nan\n", None, ":2:", "nan"),
        ("s1 u1 2.0\ns2 u2 1 7\ns1 u2 0.1\n", None, ":2:", "column"),
        ("", None, ":", "empty"),
        (None, "s1 u1 target\ns2 u2 maybe\n", ":2:", "unknown label 'maybe'"),
        (None, "s1 u1 target\ns2 u2 nontarget\ns3 u3 target\n", ":3:", "score"),
    ],
)
def test_bad_input_is_one_message_and_exit_code_3(run, tmp_path, scores, key, line, reason):
    good_scores, good_key = "s1 u1 2.0\ns2 u2 1.0\n", "s1 u1 target\ns2 u2 nontarget\n"
    (tmp_path / "f.scores").write_text(good_scores if scores is None else scores)
    (tmp_path / "trials").write_text(good_key if key is None else key)
    at_fault = tmp_path / ("trials" if scores is None else "f.scores")
    target = tmp_path / "never"
    code, out, err = run("evaluate", tmp_path / "f.scores", "--key", tmp_path / "trials", "-o", target)
    assert (code, out, err.count("\n")) == (3, "", 1)
    assert err.startswith(f"{at_fault}{line}")
    assert reason in err
    assert not target.exists()
    code, out, _ = run("doctor", tmp_path / "f.scores", "--key", tmp_path / "trials")
    assert (code, f"{at_fault}{line}" in out) == (3, True)


def test_doctor_lists_every_problem(run, files, tmp_path):
    assert run("doctor", files[0], "--key", files[1]) == (0, f"{files[0]}: ok\n", "")
    (tmp_path / "f").write_text("s1 u1 2.0\ns2 u2 x\ns2 u3 y\ns3 u1 1\n")
    (tmp_path / "k").write_text("s1 u1 target\ns2 u2 nontarget\ns2 u3 nontarget\ns3 u1 huh\n")
    code, out, err = run("doctor", tmp_path / "f", "--key", tmp_path / "k")
    assert code == 3
    for place in ("f:2:", "f:3:", "k:4:"):
        assert f"{tmp_path}/{place}" in out
    assert "3 problems found" in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate"],
        ["evaluate", "x", "-f", "xml"],
        ["nonsense"],
        ["evaluate", "a", "b", "c", "--key", "1", "--key", "2"],
        ["evaluate", "a", "--system", "x", "--system", "y"],
        ["evaluate", "a", "-o", "no/such/folder/file"],
        ["metrics", "nonsense"],
    ],
)
def test_wrong_usage_exits_with_2(run, arguments):
    code, out, err = run(*arguments)
    assert (code, out, bool(err)) == (2, "", True)


def test_standard_input(files):
    command = [sys.executable, "-m", "zeroevidence", "evaluate", "-", "--key", files[1], "-f", "csv"]
    result = subprocess.run(command, input=files[0].read_bytes(), capture_output=True, check=True)
    assert b"stdin,eer," in result.stdout


def test_demo_audits_bundled_data(run, shared_demo):
    rows = run.rows("demo")
    digits = [row for row in rows if row["labels"]["dataset"] == "audiomnist"]
    top1 = {
        (row["labels"]["system"], row["about"]["threat"]["name"]): row["metrics"]["top1"]["value"] for row in digits
    }
    assert len(top1) == len(digits) == 8  # bounds, which both protections share, come once
    assert top1["unprotected", "unprotected"] > 0.95
    assert top1["random", "random"] < 0.15
    assert top1["mcadams-random", "ignorant"] < top1["mcadams-random", "backend-informed"]
    assert all(row["metrics"]["alid"]["low"] <= row["metrics"]["alid"]["high"] for row in rows)


@pytest.fixture
def searches():
    """Two sets of scores that form rows, of different speakers, with their keys."""
    rows = {split: sample_rows(split)[1] for split in ("eval", "dev")}
    return {split: [Path(row.scores), Path(row.key)] for split, row in rows.items()}


def test_search_with_development_data_and_tables(run, searches, tmp_path):
    trials, people = tmp_path / "trials.csv", tmp_path / "people.parquet"
    (scores, key), (dev, dev_key) = searches["eval"], searches["dev"]
    given = ("evaluate", scores, "--key", key, "--dev", dev, "--dev-key", dev_key, *FEW, "-f", "json")
    out, err = run.well(*given, "--per-trial", trials, "--per-speaker", people)
    assert f"wrote {trials}" in err
    row = json.loads(out)["rows"][0]
    assert (row["metrics"]["alid"]["method"], row["counts"]["identities"]) == ("logistic", 30)
    assert row["curves"]["cmc"]["x"][0] == 1.0
    lines = trials.read_text().splitlines()
    assert lines[0] == "row_system,trial,speaker,lid,rank,linked"
    assert len(lines) == 151
    lid = [float(line.split(",")[3]) for line in lines[1:]]
    assert sum(lid) / len(lid) == pytest.approx(row["metrics"]["alid"]["value"])
    table = pl.read_parquet(people)
    assert table.height == 30
    assert table["lid_mean"].is_sorted(descending=True)
    # as a run that was killed before it wrote its results leaves it
    arguments = ("evaluate", searches["eval"][0], "--key", searches["eval"][1], "--per-trial", trials)
    for result, left in ((tmp_path / "r.json", True), (trials.with_name("people.parquet"), False)):
        code, _, err = run(*arguments, "-o", result)
        assert (code, f"{result}, which is written after it, is not there" in err) == (2, left)
    _, _, err = run(*arguments, "-o", tmp_path / "r.json")
    assert f"{trials}: exists; --overwrite replaces it" in err.replace("\n", " ")


def test_gate_decides_the_exit_code(run, searches):
    arguments = ("evaluate", searches["eval"][0], "--key", searches["eval"][1], *FEW, "-f", "csv")
    code, _, err = run(*arguments, "--fail-if", "lid_max>1.0", "--fail-if", "eer < 0.01")
    assert (code, err.count("gate failed"), "lid_max" in err) == (1, 1, True)
    assert run(*arguments, "--fail-if", "lid_max>99")[0] == 0


def test_what_needs_a_search_is_refused_without_one(run, tmp_path):
    path = tmp_path / "labelled.csv"
    path.write_text("score,label\n0.9,target\n0.2,nontarget\n")
    needs = ((("--fail-if", "lid_max>1"), "has no lid_max"), (("--per-trial", tmp_path / "x.csv"), "do not form rows"))
    for options, reason in needs:
        run.fails(2, reason, "evaluate", path, *options)
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize("asked", [False, True])
def test_warnings_of_libraries_are_shown_to_those_who_ask(asked):
    program = (
        "import subprocess, sys, warnings, zeroevidence.cli, zeroevidence.__main__ as program\n"
        "child = [sys.executable, '-c', 'import warnings; warnings.warn(\"of a child\", RuntimeWarning)']\n"
        "zeroevidence.cli.main = lambda: (subprocess.run(child), warnings.warn('of a library', RuntimeWarning))\n"
        "program.main()\n"
    )
    options = ["-W", "default"] if asked else []
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONWARNINGS"}
    command = [sys.executable, *options, "-c", program]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0
    assert ("of a library" in ended.stderr) == asked
    assert asked or ended.stderr == ""


def test_a_prior_and_people_of_both_sets(run, searches, tmp_path):
    speakers = sorted({line.split()[0] for line in searches["eval"][1].read_text().splitlines()})
    prior = tmp_path / "prior"
    prior.write_text("".join(f"{name} {1 / len(speakers):.12f}\n" for name in speakers))
    arguments = ("evaluate", searches["eval"][0], "--key", searches["eval"][1], *FEW, "-f", "json", "--prior", prior)
    out, _ = run.well(*arguments)
    assert "|prior:given|" in json.loads(out)["signature"]
    prior.write_text("a 0.5\nb zero\na 0.5\n")
    code, _, err = run(*arguments)
    assert code == 3
    assert err.startswith(f"{prior}:2: ")
    prior.write_text("a 0.5\nb 0.2\n")
    assert "sum to 0.7; expected 1" in run(*arguments)[2]
    same = searches["eval"]
    code, out, err = run("evaluate", same[0], "--key", same[1], "--dev", same[0], "--dev-key", same[1])
    assert (code, out, "share 30 speaker(s)" in err) == (3, "", True)
    sparse = tmp_path / "sparse"
    sparse.write_text("y t1 2.0 target\nz t1 0.5 nontarget\ny t2 0.1 nontarget\nx t3 1.5 target\n")
    code, _, err = run("evaluate", same[0], "--key", same[1], "--dev", sparse)
    assert (code, err.startswith(f"{same[0]} and {sparse}: the development scores do not form rows")) == (3, True)


def test_compare_ranks_systems_on_the_same_trials(run, tmp_path):
    rows = sample_rows()
    arguments = ("compare", *(row.scores for row in rows), "--key", rows[0].key, "--intervals", 40)
    code, out, err = run(*arguments, "-f", "json")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "zeroevidence/comparison/3"
    by_measure = {comparison["measure"]: comparison for comparison in document["comparisons"]}
    assert set(by_measure) == {"eer", "d_ece", "linkability", "alid"}
    ranking = by_measure["d_ece"]["ranking"]
    assert [(system["system"], system["group"]) for system in ranking] == [("aa", 1), ("oa", 2), ("oo", 3)]
    asked = ("--measure", "eer", "--measure", "top1", "--family", "all", "--signatures")
    for form in ("text", "csv"):
        out, _ = run.well(*arguments, "-f", form, *asked)
        assert "compare:eer|holm" in out
        assert "|together:6" in out


@pytest.mark.parametrize("arguments", ["--intervals 0", "--measure nonsense", "--measure tag --intervals 20"])
def test_compare_wrong_usage(run, arguments):
    rows = sample_rows()
    assert run("compare", rows[0].scores, rows[1].scores, "--key", rows[0].key, *arguments.split())[0] == 2


def exhaust():
    raise MemoryError


@pytest.mark.parametrize(
    ("happens", "code", "words"),
    [
        (exhaust, 5, "out of memory; evaluate fewer trials at a time, or on a larger machine\n"),
        (lambda: signal.raise_signal(signal.SIGINT), 130, "interrupted\n"),
    ],
)
def test_what_ends_a_command_is_one_line_and_no_failed_gate(run, files, tmp_path, monkeypatch, happens, code, words):
    """A lack of memory, and Ctrl-C while values are computed: nothing is written."""
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr("zeroevidence.uncertainty.pairs.find_groups", lambda *_, **__: happens())
    monkeypatch.setattr("zeroevidence.errors._REPEATED", 0.0)
    assert run("evaluate", files[0], "--key", files[1], "-o", tmp_path / "out.json") == (code, "", words)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("name", "options", "start"),
    [
        ("a.json", (), "{"),
        ("a.tex", (), "%"),
        ("a.md", (), "| "),
        ("a.txt", (), "system: oa"),
        ("b.md", ("-f", "csv"), "system,"),
    ],
)
def test_the_name_of_a_file_says_its_format(run, searches, tmp_path, name, options, start):
    scores, key = searches["eval"]
    code, _, err = run("evaluate", scores, "--key", key, *FEW, "-o", tmp_path / name, *options)
    assert (code, err.strip()) == (0, f"wrote {tmp_path / name}")
    assert (tmp_path / name).read_text().startswith(start)
