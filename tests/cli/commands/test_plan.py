"""`plan` as a user meets it: tables, numbers for programs, and one clear message for what makes no sense."""

import csv
import io
import json

import pytest

import zeroevidence as ze
from zeroevidence.evaluation.needed import Plan, Requirement, Simulation
from zeroevidence.evaluation.plan import plan_from_pilot
from zeroevidence.evaluation.simulated import Design, simulated
from zeroevidence.report.plans import render_plan
from zeroevidence.uncertainty.planning import PeopleNeeded

QUICK = ("plan", "--people", 12, "--utterances", 3, "--simulations", 2)


def result(people=16, shift=1.0, labels=None):
    return ze.evaluate(simulated(Design(people, 4), shift, 0, 0), labels=labels, options=ze.Options(null=0))


@pytest.fixture
def pilot(tmp_path):
    path = tmp_path / "pilot.json"
    result(labels={"system": "mine"}).save(path)
    return path


def test_text_says_what_to_expect(run):
    code, out, err = run(*QUICK, "--leak", "0.2")
    assert (code, err) == (0, "")
    assert "To expect from 12 people with 3 utterances each, if D_ECE is 0.2 bit in truth" in out
    assert "Means over 2 simulated recordings (seed 0)" in out
    lines = {line.split()[0]: line for line in out.splitlines() if line}
    assert "≤" in lines["D_ECE"]
    assert "≥" in lines["EER"]


def test_json_is_the_same_as_from_python(run):
    out, _ = run.well(*QUICK, "--leak", "eer=0.25", "-f", "json", "--seed", 4)
    document = json.loads(out)
    assert (document["schema"], document["kind"]) == ("zeroevidence/plan/4", "simulation")
    same = ze.plan(12, leak=0.25, measure="eer", run=ze.Run(4), options=ze.PlanOptions(utterances=3, simulations=2))
    assert out == render_plan(same, "json")


def test_a_pilot_is_extrapolated(run, pilot):
    out, _ = run.well("plan", "--pilot", pilot, "--people", 64)
    assert "To expect from 64 people, if the pilot's estimates are the truth" in out
    assert "Extrapolated from a pilot with 16 people (mine)" in " ".join(out.split())
    asked = ("plan", "--pilot", pilot, "--show-at-most", "d_ece=0.3", "--show-at-least")
    out, _ = run.well(*asked, "eer=0.2", "-f", "csv")
    lines = {line["measure"]: line for line in csv.DictReader(io.StringIO(out))}
    assert int(lines["d_ece"]["needed_people"]) >= 10
    assert lines["alid"]["needed_people"] == ""
    out, _ = run.well(*asked, "eer=0.49")
    words = " ".join(out.split())
    assert "To show that D_ECE is at most 0.3 bit with a probability of 80 % takes about" in words
    assert "No number of people will show that EER is at least 49 %: in the pilot it is not" in words


@pytest.mark.parametrize(
    ("people", "errors", "said"),  # by how many standard errors the bound is beyond the estimate
    [
        (12, None, "The pilot is small"),
        (16, -0.2, "unless the truth is better (about"),
        (16, 1e-3, "takes more than 10000 people: the pilot's estimate is too close to it."),
    ],
)
def test_what_is_said_of_a_pilot(people, errors, said):
    row = result(people)
    estimate = row["d_ece"]
    show = {} if errors is None else {"d_ece": estimate.corrected + errors * estimate.spread.error}
    assert said in render_plan(plan_from_pilot(row, show=show), "md")


def simulated_plan(needed):
    """A plan in which few people are recognised better than most, and so many are needed then."""
    scenarios = {"alike": PeopleNeeded(40, 40, 40), "talkative": PeopleNeeded(30, 30, 30), "heavy-tailed": needed}
    target = Requirement("d_ece", 0.1, needed, scenarios)
    basis = Simulation(Design(30), "d_ece", 0.05, 0.6, 20, 0)
    return Plan(30, (), (target,), 0.8, basis, 1.0)


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (PeopleNeeded(61, 61, 61, None, 0.86, 0.034, 100), "so many show it in 86 % ± 3 % of 100 simulated recordings"),
        (PeopleNeeded(700, 700, 700), "which is extrapolated from simulations of fewer. It takes 40"),
        (PeopleNeeded(None, None, None, "beyond"), "takes more than 10000 people where a few are recognised much"),
        (PeopleNeeded(None, None, None, "never"), "No number of people will show that D_ECE is at most 0.1 bit where"),
    ],
)
def test_people_needed_by_simulations(needed, said):
    assert said in render_plan(simulated_plan(needed), "md").replace("\\", "")
    (target,) = json.loads(render_plan(simulated_plan(needed), "json"))["requirements"]
    people = {name: scenario["people"] for name, scenario in target["scenarios"].items()}
    assert people == {"alike": 40, "talkative": 30, "heavy-tailed": needed.people}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "expected either a true value, as --leak 0.2, or a --pilot"),
        (("--leak", "0.2", "--pilot", "x.json"), "or a --pilot"),
        (("--leak", "0.2", "--people", "1"), "people: expected a whole number from 10 on"),
        (("--leak", "much"), "--leak 'd_ece=much': expected a measure and a number, as d_ece=0.1"),
        (("--leak", "magic=1"), "unknown measure 'magic'"),
        (("--leak", "0.2", "--show-at-most", "0.1"), "--show-at-most '0.1': expected a measure and a number"),
        (("--leak", "0.2", "--show-at-most", "eer=0.3"), "eer falls with what attackers learn; expected"),
        (("--leak", "0.2", "--show-at-least", "alid=1"), "alid rises with what attackers learn; expected"),
        (("--pilot", "x.json", "--seed", "3"), "--seed is for simulations; with a --pilot nothing is simulated"),
    ],
)
def test_wrong_usage_is_one_message(run, arguments, said):
    code, out, err = run("plan", *arguments)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_pilots_that_cannot_be_used(run, tmp_path):
    code, _, err = run("plan", "--pilot", tmp_path / "nothing.json")
    assert code == 3
    assert "nothing.json: cannot be read as a result" in err
    small = tmp_path / "small.json"
    result(5).save(small)
    code, _, err = run("plan", "--pilot", small)
    assert (code, err.startswith(f"{small}: the pilot has 5 people, too few to plan from;")) == (3, True)
