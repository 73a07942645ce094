"""The process that does one job, without a server around it."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import zeroevidence
from zeroevidence.errors import InputError, Problem
from zeroevidence.web.request import JobRequest, ProblemList, Upload, on_the_page

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from zeroevidence.evaluation import read_results
from zeroevidence.report.verdict import verdict
from zeroevidence.run import Run
from zeroevidence.web.outcome import FIGURES, OUTCOME, RESULT, Outcome
from zeroevidence.web.request import COMPARING, DRAWING, READING, job_steps
from zeroevidence.web.score_files import score_problems

# Columns of tables, pairs of files and verifiers behind countermeasures are for the command line.
NOT_ON_THE_PAGE = {"--allow-same", "--failures", "--speaker-of", "--input-format", "--asv-key", "--classes"}
NOT_ON_THE_PAGE |= {"--score-column", "--label-column", "--trial-columns", "--targets", "--nontargets"}
NOT_ON_THE_PAGE |= {"--asv", "--cm", "--sasv"}


def test_a_request_comes_back_as_it_was(tmp_path):
    path, upload = tmp_path / "request.json", Upload(str(tmp_path / "0"), "mine")
    request = JobRequest((upload, upload), (upload,), upload, title="title", hide=True, keep_last=True)
    path.write_text(request.to_json())
    assert JobRequest.from_file(path) == request
    for text in ('{"scores": [["a", "b"]]}', '{"scores": []', '{"scores": [], "hide": 1}', "[" * 9000):
        path.write_text(text)
        with pytest.raises(InputError, match=r"request\.json:"):
            JobRequest.from_file(path)


def test_problems_carry_the_names_of_the_user(tmp_path):
    place = str(tmp_path / "0.upload")
    request = JobRequest((Upload(place, "mine.txt"),))
    found = request.problems([Problem(place, 3, f"is in {place}")])
    assert found == ProblemList(1, (Problem("mine.txt", 3, "is in mine.txt"),))


def test_every_option_in_messages_about_scores_has_a_place_on_the_page():
    """What readers of scores and warnings on results tell people to do must be possible on the page."""
    source = Path(zeroevidence.__file__).parent
    modules = ("data/preparing.py", "data/loaded_scores.py", "evaluation/rows/flags.py")
    files = [*(source / "data/formats/scores").rglob("*.py"), *(source / module for module in modules)]
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    told = (line for line in lines if '"' in line and "``" not in line)
    said = {option for line in told for option in re.findall(r"--[a-z][a-z-]+", line)}
    assert {"--key", "--negate", "--speakers"} <= said
    for option in said:
        reworded = on_the_page(f"say {option}.")
        assert "--" not in reworded
        assert ("of the command line" in reworded) == (option in NOT_ON_THE_PAGE), option


def test_the_process_ends_when_its_server_does():
    code = "from zeroevidence.web import process; process._limit_memory = lambda: None; process.guard_process(); "
    code += "import time; time.sleep(600)"
    done = subprocess.run([sys.executable, "-P", "-c", code], stdin=subprocess.DEVNULL, timeout=300, check=False)
    assert done.returncode == 1


def run_module(name, *arguments):
    """Run a module as the server does; return the exit code and what was printed."""
    command = [sys.executable, "-P", "-m", f"zeroevidence.web.{name}", *map(str, arguments)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        lines = process.stdout.readlines()
        return process.wait(600), lines


def test_wrong_numbers_of_keys_are_a_problem(tmp_path):
    (tmp_path / "0").write_text("e t 1.0\n")
    upload = Upload(str(tmp_path / "0"), "0")
    (tmp_path / "request.json").write_text(JobRequest((upload,), (upload, upload)).to_json())
    assert run_module("process", tmp_path)[0] == 3
    document = json.loads((tmp_path / "problems.json").read_text())
    assert "expected one key, or one for each of the 1 score files, got 2" in document["problems"][0]["reason"]


def test_infinite_scores_are_taken_where_the_box_says_so(tmp_path):
    path = tmp_path / "0"
    path.write_text("a x inf target\nb y -1.0 nontarget\na y -inf nontarget\nb x 2.0 target\n")
    refused, taken = (JobRequest((Upload(str(path), "mine.txt"),), infinite=infinite) for infinite in (False, True))
    problems = refused.problems(score_problems(refused, Run())).problems
    assert "the box for infinite scores" in problems[0].reason
    assert score_problems(taken, Run()) == []


def test_steps_are_reported_in_the_order_in_which_they_are_taken(tmp_path):
    names = [f"{person}{number}" for person in "abcdef" for number in range(3)]
    pairs = [(person, name) for person in "abcdef" for name in names]
    rng = np.random.default_rng(0)
    for file, shift in (("0", 2.0), ("1", 0.5)):
        lines = [
            f"{person} {name} {rng.normal() + shift * (name[0] == person):.3f} {'non' * (name[0] != person)}target\n"
            for person, name in pairs
        ]
        (tmp_path / file).write_text("".join(lines))
    request = JobRequest(tuple(Upload(str(tmp_path / file), f"{file}.txt") for file in "01"))
    (tmp_path / "request.json").write_text(request.to_json())
    code, printed = run_module("process", tmp_path)
    assert code == 0
    lines = list(map(json.loads, printed))
    steps = [line["step"] for line in lines]
    assert steps == sorted(steps)
    assert set(steps) == set(range(len(job_steps(request))))
    begun = [line["message"] for line in lines if line["message"] in job_steps(request)]
    assert begun == job_steps(request) == [READING, "Measure what the attackers learn", COMPARING, DRAWING]
    outcome = Outcome.from_file(tmp_path / OUTCOME)
    first, second = outcome.conclusions
    assert "1 discloses less than 0" in first.headline
    rows = read_results(tmp_path / "result.json")
    assert (second.headline, second.summary) == (verdict(rows).headline, verdict(rows).summary)
    names = {name for figure in outcome.figures for name in figure.files.values()}
    assert set(outcome.files) == names | {FIGURES, RESULT}
    assert not (tmp_path / "ece.svg").exists()
    assert run_module("process", tmp_path, "ece.svg")[0] == 0
    assert (tmp_path / "ece.svg").read_bytes().startswith(b"<?xml")
