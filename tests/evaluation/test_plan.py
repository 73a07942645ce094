"""Plans against people simulated in another way: lengths, numbers of people, pilots."""

import importlib.util
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import zeroevidence as ze
from tests.effort import slow, spread
from zeroevidence.evaluation.needed import Simulation, one_sided_limits, simulated_limits
from zeroevidence.evaluation.plan import strongest_attack
from zeroevidence.evaluation.simulated import SCENARIOS, Design, shift_of, simulated, truth
from zeroevidence.measure.measures import MEASURES
from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.spread import effective_number

PATH = Path(__file__).resolve().parents[2] / "benchmarks" / "validity_designs.py"
BOUND = 0.33


@pytest.fixture(scope="module")
def designs():
    """The generator of the benchmark of validity."""
    spec = importlib.util.spec_from_file_location("validity_designs", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["validity_designs"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules["validity_designs"]


@pytest.fixture(scope="module")
def plan():
    return ze.plan(12, leak=0.2, show={"d_ece": BOUND}, options=ze.PlanOptions(utterances=10, simulations=2))


@pytest.fixture(scope="module")
def others(designs, plan):
    """As many people, from the other generator, whose scores have another variance."""
    effects = designs.DESIGNS["equal"]
    scale = np.sqrt(effects.enrolment**2 * 4 + effects.chance**2)

    def data(people, times):
        return [designs.matrix(effects, plan.basis.shift * scale, people, (77, people, i)) for i in range(times)]

    return data


def test_truth_of_one_comparison():
    found = truth(Design(20), 1.3)
    assert found["eer"] == pytest.approx(norm.cdf(-0.65), abs=1e-4)
    rng = np.random.default_rng(0)
    target, nontarget = rng.standard_normal((2, 200_000))
    assert found["d_ece"] == pytest.approx(ze.d_ece(target + 1.3, nontarget), abs=0.004)
    assert found["linkability"] == pytest.approx(ze.linkability(target + 1.3, nontarget), abs=0.01)


@pytest.mark.parametrize("between", [0.0, 0.5, 0.9])
def test_truth_of_a_search(between):
    design = Design(20, between=between)
    within = np.sqrt(1.0 - design.of_person**2 - design.of_recording**2)
    first, _ = quad(lambda x: norm.pdf(x - 1.3 / within) * norm.cdf(x) ** 19, -10, 20)
    assert truth(design, 1.3)["top1"] == pytest.approx(first, abs=0.015)


@pytest.mark.parametrize(("name", "value"), [("d_ece", 0.0), ("eer", 0.5), ("alid", 0.0), ("top1", 1 / 24)])
def test_nothing_leaks_without_a_shift(name, value):
    assert shift_of(Design(24), name, value) == 0.0


def test_simulated_people_have_the_stated_effects():
    design = Design(60, 6, between=0.6)
    scores = simulated(design, 0.0, 0, 0).scores.reshape(60, 6, 60)
    assert scores.var() == pytest.approx(1.0, abs=0.12)
    # two recordings of one person against one enrolment share what people are, but not the recording
    shared = np.mean([np.cov(scores[:, i].ravel(), scores[:, j].ravel())[0, 1] for i, j in ((0, 1), (2, 3), (4, 5))])
    assert shared == pytest.approx(0.6, abs=0.12)


@slow
def test_expected_length_is_that_of_other_simulated_people(others):
    plan = ze.plan(20, leak=0.2, options=ze.PlanOptions(utterances=10, simulations=10))
    rows = [ze.evaluate(data, options=ze.Options(null=0)) for data in others(20, 20)]
    for one in plan.expected:
        lengths = [row[one.measure].high - row[one.measure].low for row in rows]
        assert one.length == pytest.approx(np.mean(lengths), rel=0.2), one.measure
        assert one.low <= one.truth <= one.high


def test_limits_are_one_sided_on_the_side_of_the_attacker(plan):
    for one in plan.expected:
        falls = one.measure in ("eer", "cllr_min")
        assert one.limit < one.value if falls else one.value < one.limit, one.measure


def test_what_a_leak_shows(plan):
    assert plan.detected == 1.0
    assert plan["d_ece"].power == 1.0
    assert plan["eer"].power is None
    assert (plan["alid"].bound, plan["alid"].shown) == (None, None)
    with pytest.raises(KeyError, match="lid_max"):
        plan["lid_max"]


def test_people_needed_show_it(plan, others):
    """Also of people whom the planner was not given; with the fewest that have intervals, less often."""
    target = plan.requirements[0]
    needed = target.needed
    assert (target.measure, target.bound) == ("d_ece", BOUND)
    assert set(target.scenarios) == set(Design(30).scenarios) == set(SCENARIOS) - {"talkative"}
    assert Design(30, uneven=True).scenarios == SCENARIOS
    assert target.scenarios[target.worst] == needed
    assert needed.people == max(one.people for one in target.scenarios.values())
    assert needed.times == 10
    assert needed.shown == 1.0 or needed.shown - needed.shown_error >= plan.power
    enough, too_few = (
        np.mean([one_sided_limits(data, ["d_ece"], 0.95)["d_ece"] <= BOUND for data in others(people, 24)])
        for people in (needed.people, LEAST_PEOPLE)
    )
    assert enough >= 0.75
    assert too_few < enough
    for scenario in target.scenarios.values():
        assert (scenario.shown is not None) or scenario.people < needed.people  # only those near the most are confirmed


def test_limits_of_simulated_people_are_those_of_evaluate():
    design = Design(12, 4, scenario="heavy-tailed")
    row = ze.evaluate(simulated(design, 1.0, 3, 5), options=ze.Options(null=0), run=ze.Run(level=0.9))
    for names in (("d_ece", "eer"), ("linkability",), ("alid", "d_ece")):
        basis = Simulation(design, "d_ece", leak=0.2, shift=1.0, times=1, seed=3)
        assert simulated_limits(basis, names, 0.9, 12, 5) == {name: row[name].bound for name in names}


LEAKS = [("d_ece", 0.05), ("top1", 0.3), ("eer", 0.3)]


@pytest.mark.parametrize(
    ("name", "value", "scenario"), spread([(*leak, scenario) for leak in LEAKS for scenario in SCENARIOS], 2)
)
def test_leak_is_what_was_stated_in_every_scenario(name, value, scenario):
    design = Design(24, scenario=scenario)
    assert truth(design, shift_of(design, name, value))[name] == pytest.approx(value, abs=0.005)


def test_truth_of_people_with_heavy_tails():
    """Against a population drawn person by person."""
    design, rng, many = Design(30, scenario="heavy-tailed"), np.random.default_rng(0), 200_000
    rest = np.sqrt(1.0 - 2.0 * design.of_person**2)

    def others():
        return design.draw_effects(rng, many) + design.draw_effects(rng, many) + rest * rng.standard_normal(many)

    target, nontarget = others() + 1.2 * np.exp(0.75 * rng.standard_normal(many) - 0.75**2 / 2), others()
    found = truth(design, 1.2)
    assert nontarget.std() == pytest.approx(1.0, abs=0.02)
    assert found["eer"] == pytest.approx(ze.eer(target, nontarget), abs=0.004)
    assert found["d_ece"] == pytest.approx(ze.d_ece(target, nontarget), abs=0.004)


def test_truth_of_people_who_speak_more_and_are_recognised_better():
    """Against a population drawn person by person, whose recordings are drawn; the law is Pareto's, up to its end."""
    design, rng, many = Design(30, 3, scenario="talkative"), np.random.default_rng(0), 200_000
    times = np.minimum(rng.random(many) ** (-1 / 1.5), 60.0)
    counts = np.maximum(1, np.round(3 * times / (3 - 2 / np.sqrt(60)))).astype(int)
    assert (design.recordings(times) == counts).all()
    assert times.mean() == pytest.approx(3 - 2 / np.sqrt(60), rel=0.02)
    speaker = rng.choice(many, many, p=counts / counts.sum())
    target, nontarget = rng.standard_normal((2, many))
    target += 0.2 * (1 + 2 * np.log(times[speaker]))
    found = truth(design, 0.2)
    assert found["eer"] == pytest.approx(ze.eer(target, nontarget), abs=0.004)
    assert found["d_ece"] == pytest.approx(ze.d_ece(target, nontarget), abs=0.004)


def test_who_speaks_more_is_simulated_with_a_larger_shift():
    design = Design(200, 5, 0.0, scenario="talkative")
    data = simulated(design, 1.0, 0, 0)
    counts = np.bincount(data.mated)
    raised = np.bincount(data.mated, data.scores[np.arange(len(data.mated)), data.mated]) / counts
    expected = 1 + 2 * np.log(counts * (3 - 2 / np.sqrt(60)) / 5)
    assert np.polyfit(expected, raised, 1, w=np.sqrt(counts))[0] == pytest.approx(1.0, abs=0.1)
    assert 0.2 < effective_number(counts.astype(float)) / 200 < 0.5


@slow
def test_a_bound_beyond_the_truth_is_not_reached():
    found = ze.plan(
        12, leak=0.2, show={"linkability": 0.3}, options=ze.PlanOptions(utterances=3, uneven=True, simulations=2)
    ).requirements[0]
    assert found.needed.unreachable == "never"


@pytest.mark.parametrize("show", [None, pytest.param({"d_ece": 0.5}, marks=slow)])
def test_same_seed_same_plan_whatever_the_workers(show):
    options, seen = ze.PlanOptions(utterances=3, simulations=2), []
    alone = ze.plan(
        12,
        run=ze.Run(5, progress=lambda *_: lambda done, total: seen.append((done, total))),
        leak=0.1,
        show=show,
        options=options,
    )
    assert all(done <= total for done, total in seen)
    assert seen[-1][0] == seen[-1][1] >= 2
    assert ze.plan(12, leak=0.1, show=show, run=ze.Run(5, cores=2), options=options) == alone
    assert ze.plan(12, leak=0.1, show=show, run=ze.Run(6), options=options) != alone


@slow
def test_false_alarms_where_nothing_leaks():
    nothing = ze.plan(12, leak=0.0, options=ze.PlanOptions(utterances=3, simulations=6))
    assert nothing.basis.shift == 0.0
    assert nothing.detected <= 0.4
    assert nothing["d_ece"].truth == 0.0


def pilots(people, times, shift=1.4):
    design = Design(people, 8)
    return [ze.evaluate(simulated(design, shift, 3, i), options=ze.Options(null=0)) for i in range(times)]


@slow
def test_pilots_foretell_larger_recordings():
    """On average; one pilot knows its own lengths only roughly."""
    found = [ze.plan_from_pilot(row, 80) for row in pilots(20, 12)]
    larger = pilots(80, 6)
    for name in ("eer", "d_ece", "linkability", "top1"):
        foretold = np.mean([one[name].length for one in found])
        assert foretold == pytest.approx(np.mean([row[name].high - row[name].low for row in larger]), rel=0.2), name


def test_a_pilot_of_as_many_people_foretells_itself():
    (row,) = pilots(12, 1)
    found = ze.plan_from_pilot(row, show={"d_ece": 0.7, "eer": 0.45})
    assert found.people == 12
    for expected in found.expected:
        result = row[expected.measure]
        if MEASURES[expected.measure].interval != "smooth" and result.estimate is None:
            continue  # the interval lies around a corrected value that the row does not hold
        reached = min(expected.low, result.value), max(expected.high, result.value)
        assert (expected.value, *reached) == (result.corrected, result.low, result.high)
    assert found["d_ece"].shown > 0.99
    assert found["eer"].shown < 0.01
    never = {one.measure: one.needed.unreachable for one in found.requirements}
    assert never == {"d_ece": None, "eer": "never"}


def test_limits_of_a_falling_measure_use_its_lower_side():
    (row,) = pilots(20, 1)
    found = ze.plan_from_pilot(row, 200, show={"eer": 0.2})
    needed = found.requirements[0].needed.people
    at = ze.plan_from_pilot(row, needed, show={"eer": 0.2})["eer"]
    before = ze.plan_from_pilot(row, int(0.95 * needed), show={"eer": 0.2})["eer"]
    assert before.shown < 0.8 <= at.shown


def test_the_strongest_attack_of_a_pilot_is_planned_for():
    weak, strong = (
        ze.evaluate(simulated(Design(12, 4), shift, 0, 0), labels={"system": name}, options=ze.Options(null=0))
        for name, shift in (("weak", 0.5), ("strong", 3.0))
    )
    assert strongest_attack([weak, strong]).labels["system"] == "strong"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"people": 1}, "people: expected a whole number from 10 on, because fewer give no intervals, got 1"),
        ({"utterances": 0}, "utterances: expected a whole number from 1 on, got 0"),
        ({"leak": 2.0}, "d_ece: expected a value from 0 to 0.721, got 2"),
        ({"leak": float("nan")}, "d_ece: expected a value from 0 to 0.721, got nan"),
        ({"leak": 0.7, "measure": "eer"}, "eer: expected a value from 0 to 0.5, got 0.7"),
        ({"measure": "magic"}, "unknown measure 'magic'"),
        ({"measure": "lid_max"}, "lid_max cannot be planned for; expected one of eer, .*d_ece"),
        ({"show": {"worst_case": 1.0}}, "worst_case cannot be planned for"),
        ({"show": {"d_ece": -1.0}}, "d_ece: expected a bound from 0 to 0.7213, got -1"),
        ({"power": 1.0}, "power: expected a number from 0.5 to below 1, got 1.0"),
        ({"between": 1.0}, "between: expected a number from 0 to below 1, got 1.0"),
        ({"simulations": 1}, "simulations: expected a whole number from 2 on, got 1"),
        ({"people": 5000}, "5000 people with 10 utterances each are 250000000 scores to simulate"),
    ],
)
def test_plans_that_make_no_sense_are_refused(settings, said):
    simulated = {field.name for field in fields(ze.PlanOptions)} & settings.keys()
    rest = {"leak": 0.2} | {name: value for name, value in settings.items() if name not in simulated}
    with pytest.raises(ze.UsageError, match=said):
        ze.plan(**rest, options=ze.PlanOptions(**{name: settings[name] for name in simulated}))


def test_pilots_that_tell_nothing_are_refused():
    with pytest.raises(ze.InputError, match="the pilot has 6 people, too few to plan from; expected at least 10"):
        ze.plan_from_pilot(pilots(6, 1)[0])
    rng = np.random.default_rng(0)
    with pytest.raises(ze.InputError, match="does not say whose the recordings are"):
        ze.plan_from_pilot(ze.evaluate(rng.normal(1.0, 1.0, 50), rng.normal(0.0, 1.0, 50), options=ze.Options(null=0)))
    without = ze.evaluate(simulated(Design(12, 2), 1.0, 0, 0), options=ze.Options(intervals=0, null=0))
    with pytest.raises(ze.InputError, match="has no intervals to plan from"):
        ze.plan_from_pilot(without)
    (row,) = pilots(12, 1)
    with pytest.raises(ze.InputError, match="the pilot has no interval of lid_max; expected one of eer"):
        ze.plan_from_pilot(row, show={"lid_max": 1.0})
    with pytest.raises(ze.UsageError, match="unknown measure 'magic'"):
        ze.plan_from_pilot(row, show={"magic": 1.0})
