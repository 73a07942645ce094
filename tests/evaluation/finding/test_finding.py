"""The finding: one rule for audit, verdict and page; chance tested once for all rows; no threat but threats."""

from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from tests.evaluation.made import named_search
from zeroevidence.attack.attackers import RANDOM_VECTORS, UNPROTECTED_SPEECH, find_attacker
from zeroevidence.evaluation import MeasureResult, Setup, findings, flag_rows
from zeroevidence.evaluation.finding.chance import chances, strongest_row
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.report.verdict import verdict
from zeroevidence.run import LEVEL
from zeroevidence.uncertainty.compare import holm
from zeroevidence.uncertainty.level import alpha
from zeroevidence.uncertainty.null import Null

QUICK = ze.Options(intervals=0, null=39, linkability="pav")
ATTACKERS = ("ignorant", "lazy-informed", "semi-informed")
TESTED = ("alid", "d_ece", "top1")
FOUND = ("leaks", "recognised")


def searches(seed, separation=0.0, *, people=10, each=5, versions=3, name="e"):
    """Noisy versions of the same clustered scores: what several attackers make of the same trials."""
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(people), each)
    # effects of enrolment, speaker and pair of speakers make trials of one person alike
    scores = rng.normal(size=(1, people)) + rng.normal(size=people)[mated][:, None]
    scores = scores + rng.normal(size=(people, people))[mated] + rng.normal(size=(len(mated), people))
    scores[np.arange(len(mated)), mated] += separation
    noisy = (scores + 0.5 * rng.normal(size=scores.shape) for _ in range(versions))
    return [named_search(version, mated, name + "{:02d}") for version in noisy]


def attacked(seed, separation=0.0, *, attackers=ATTACKERS, options=QUICK, system="protected", backend="cosine"):
    """A row for each attacker, calibrated on other people."""
    tried = searches(seed, separation, versions=len(attackers))
    dev = searches(10_000 + seed, separation, versions=len(attackers), name="d")
    return [
        ze.evaluate(
            one,
            dev=other,
            labels={"system": system, "backend": backend},
            about=ze.About.against(find_attacker(attacker)),
            options=options,
        )
        for one, other, attacker in zip(tried, dev, attackers, strict=True)
    ]


def bounds(seed, separation=6.0, *, options=QUICK):
    """Unprotected speech, and noise."""
    rows = [
        *attacked(seed, separation, attackers=ATTACKERS[:1], options=options),
        *attacked(seed + 1, 0.0, attackers=ATTACKERS[:1], options=options),
    ]
    threats = (UNPROTECTED_SPEECH, RANDOM_VECTORS)
    return [
        replace(row, about=ze.About.against(threat), labels={"system": threat.name, "backend": "cosine"})
        for row, threat in zip(rows, threats, strict=True)
    ]


def without_draws(row):
    """As a file has it that was written before draws were kept."""
    return row.with_metrics(
        {name: replace(one, null=replace(one.null, draws=())) for name, one in row.metrics.items() if one.null}
    )


def measured(value, p_value, draws=()):
    return MeasureResult(value, "bit", null=Null(0.0, 0.0, tuple(draws)), p_value=p_value)


def row_of(about=None, *, counts=None, labels=None, **metrics):
    return ze.Evaluation(metrics, counts or {}, Setup(recorded="ZE"), labels or {"system": "s"}, about or ze.About())


@pytest.fixture(scope="module")
def silent():
    """Rows of attackers who find nothing."""
    return next(rows for rows in map(attacked, range(20)) if findings(rows)[0].level == "inconclusive")


def test_a_file_tells_the_same_as_the_rows_it_holds():
    rows = [*bounds(3), *attacked(3, 1.0)]
    assert findings(from_json(to_json(rows))) == findings(rows)


@slow
def test_nothing_is_found_too_often_where_nothing_is():
    """One in twenty audits of three attackers may be wrong, not one in twenty attackers."""
    audits = 120
    levels = [findings(attacked(seed))[0].level for seed in range(audits)]
    share = np.mean([level in FOUND for level in levels])
    assert share <= alpha(LEVEL) + 3.0 * np.sqrt(alpha(LEVEL) * (1.0 - alpha(LEVEL)) / audits)
    assert share > 0.0  # or nothing would ever be found


def test_one_leak_is_found_among_attackers_that_learn_nothing():
    for seed in range(2):
        rows = [*attacked(seed), *attacked(100 + seed, 3.0, attackers=["semi-informed"], system="leaky")]
        found = findings(rows)[0]
        assert found.level in FOUND
        assert found.strongest == 3
        assert found.chance[3].p_value == pytest.approx(1 / 40)


def test_the_correction_is_for_all_rows_together():
    rows = attacked(5)
    alone = [chances([row])[0].p_value for row in rows]
    corrected = [one.p_value for one in chances(rows)]
    assert all(after >= before for after, before in zip(corrected, alone, strict=True))
    assert sum(corrected) > sum(alone)
    # bounds are no attacks: with them beside, the attacks are tested as before
    assert [one.p_value for one in chances([*bounds(5), *rows])[2:]] == corrected


def test_rows_without_draws_are_corrected_by_holm():
    rows = [without_draws(row) for row in attacked(7, 1.0)]
    tested = [(i, name) for i, row in enumerate(rows) for name, result in row.metrics.items() if result.null]
    corrected = dict(zip(tested, holm([rows[i][name].p_value for i, name in tested]), strict=True))
    expected = [{name: corrected[i, name] for name in row if name in TESTED} for i, row in enumerate(rows)]
    told = chances(rows)
    assert [one.p_values for one in told] == expected
    assert [one.beaten is True for one in told] == [min(of_row.values()) <= alpha(LEVEL) for of_row in expected]


def test_every_measure_with_a_null_is_adjusted_over_the_table():
    """Each at least as large as alone; the verdict rests on the main ones; files hold them."""
    alone, together = attacked(5, 0.5), flag_rows(attacked(5, 0.5))
    for row, other, test in zip(alone, together, chances(together), strict=True):
        adjusted = {name: result.p_adjusted for name, result in other.metrics.items() if result.null is not None}
        assert {"linkability", "worst_case", "people_named", *TESTED} <= adjusted.keys()
        assert all(p >= row[name].p_adjusted >= row[name].p_value for name, p in adjusted.items())
        assert test.p_values == {name: adjusted[name] for name in other if name in TESTED}
    read = from_json(to_json(together))
    for name in read[0]:
        assert [row[name].p_adjusted for row in read] == [row[name].p_adjusted for row in together], name


@pytest.mark.parametrize(("reaching", "beaten"), [(1, True), (2, False)])
def test_a_row_beats_chance_up_to_alpha(reaching, beaten):
    draws = [1.0] * reaching + [0.0] * (39 - reaching)
    (test,) = chances([row_of(d_ece=measured(1.0, (1 + reaching) / 40, draws))])
    assert (test.beaten, test.p_values) == (beaten, {"d_ece": (1 + reaching) / 40})


def test_a_row_without_draws_is_corrected_beside_the_others():
    rows = attacked(7, 3.0)
    with_draws, without = chances([rows[0], rows[2]]), chances([without_draws(rows[1])])
    mixed = chances([rows[0], without_draws(rows[1]), rows[2]])
    for one, alone in zip(mixed, (with_draws[0], without[0], with_draws[1]), strict=True):
        assert one.p_value == pytest.approx(min(1.0, 2 * alone.p_value))


def test_p_values_too_coarse_to_be_corrected_are_no_sign_of_privacy():
    """Few permutations cannot tell many rows from chance by Holm's rule; that is not the same as being at chance."""
    few = replace(QUICK, null=19)
    rows = [without_draws(row) for seed in (1, 2) for row in attacked(seed, 8.0, options=few)]
    assert all(row["alid"].p_value == 0.05 for row in rows)
    found = findings([*(without_draws(row) for row in bounds(1, options=few)), *rows])[0]
    assert found.level == "recognised"
    assert not any("attacker-at-chance" in {flag.code for flag in row.flags} for row in flag_rows(rows))
    weak = [row_of(d_ece=measured(0.05, 0.03)) for _ in range(4)]
    assert findings(weak)[0].level == "untested"
    assert "Tested alone this is more than chance" in verdict(weak).paragraph
    assert "not told apart from guessing" not in verdict(weak).paragraph


def test_values_that_are_not_finite_do_not_beat_chance():
    lost = row_of(d_ece=measured(0.01, 1.0, np.full(39, 0.02)), alid=measured(-np.inf, 1.0, np.full(39, -np.inf)))
    assert chances([lost])[0].beaten is False
    unknown = row_of(d_ece=measured(0.01, 1.0, np.full(39, np.nan)))
    assert chances([unknown])[0].beaten is False


def test_a_control_that_works_and_one_that_fails(silent):
    control, floor = bounds(50)
    found = findings([control, floor, *silent])[0]
    assert (found.level, found.control, found.floor) == ("not-found", 0, 1)
    failed = replace(silent[0], about=control.about, labels=control.labels)
    found = findings([failed, floor, *silent])[0]
    assert (found.level, found.control) == ("inconclusive", 0)
    flagged = flag_rows([failed, floor, *silent])
    assert {"attacker-at-chance", "control-failed"} <= {flag.code for flag in flagged[0].flags}
    assert "attacker-at-chance" not in {flag.code for flag in flagged[1].flags}  # noise is meant to be there
    # a leak is one whatever became of the control
    assert findings([failed, *attacked(1, 4.0)])[0].level in FOUND


def test_a_control_of_another_setting_is_none(silent):
    control = bounds(50)[0]
    other = replace(control, labels={**control.labels, "dataset": "another"})
    found = findings([other, *silent])[0]
    assert (found.level, found.control) == ("inconclusive", None)
    near, far = (replace(control, labels={**control.labels, "backend": name}) for name in ("cosine", "plda"))
    assert findings([far, near, *silent])[0].control == 1
    assert findings([far, *silent])[0].control == 0  # the same people, if not the same back-end


def chosen(row, bits):
    return replace(row, about=replace(row.about, development=bits))


def test_development_people_choose_among_attackers_that_beat_chance(silent):
    first, second = attacked(1, 4.0)[:2]
    rows = [chosen(first, 2.0), chosen(second, 1.0)]
    assert findings(rows)[0].strongest == 0
    assert findings([chosen(first, 1.0), chosen(second, 2.0)])[0].strongest == 1
    found = findings([chosen(silent[0], 3.0), *rows])[0]
    assert found.level in FOUND  # what leaks to anybody leaks, whoever was expected to find it
    assert found.strongest == 1


def test_warnings_across_rows_are_given_once():
    rows = attacked(1, 3.0)
    once = flag_rows(rows)
    assert all("no-positive-control" in {flag.code for flag in row.flags} for row in once)
    assert flag_rows(once) == once
    assert not any("no-positive-control" in {flag.code for flag in row.flags} for row in flag_rows([*bounds(1), *rows]))


def attribute(system, value, *, role="attack", name="sex", attacker="logistic", p_value=0.001):
    labels = {"system": system, "attacker": attacker}
    return row_of(ze.About("attribute", role, attribute=name), labels=labels, d_ece=measured(value, p_value))


def utility(system):
    metrics = {"top1": MeasureResult(1.0, "rate"), "alid": measured(5.0, 0.001), "d_ece": measured(0.7, 0.001)}
    return row_of(ze.About(role="utility"), counts={"identities": 40}, labels={"system": system}, **metrics)


def protection():
    return [
        attribute("unprotected", 0.7, role="control"),
        attribute("unprotected", 0.72, role="training"),
        utility("unprotected"),
        attribute("linear", 0.3),
        attribute("linear", 0.4, attacker="boosting"),
        attribute("linear", 0.72, role="training"),
        utility("linear"),
        attribute("flow", 0.1),
        attribute("flow", 0.72, role="training"),
        utility("flow"),
    ]


def test_utility_is_never_a_threat():
    rows = protection()
    (found,) = findings(rows)
    assert (found.question, found.attribute, found.level) == ("attribute", "sex", "leaks")
    assert found.strongest == 7  # the strongest attacker against the protection that leaves least
    assert found.by_system == (4, 7)
    assert found.control == 0
    assert verdict(rows).finding == found
    assert "name" not in verdict(rows).paragraph
    people = attacked(1, 3.0)
    both = [*rows, *people]
    first, second = findings(both)
    assert (first.question, second.question) == ("identity", "attribute")
    named = {first.strongest, *first.by_system}
    assert named <= {10, 11, 12}
    assert second == replace(found, chance=second.chance)
    assert verdict(both).finding == first
    # nor is it tested with the attacks
    without = [row for row in rows if row.about.role != "utility"]
    tested = [chance for row, chance in zip(rows, chances(rows), strict=True) if row.about.role != "utility"]
    assert tested == list(chances(without))
    assert not any(flag.code == "attacker-at-chance" for row in flag_rows([utility("s")]) for flag in row.flags)


def test_attributes_are_found_one_by_one():
    rows = [
        attribute("unprotected", 0.7, role="control"),
        attribute("flow", 0.02, p_value=0.6),
        attribute("unprotected", 0.6, role="control", name="accent"),
        attribute("flow", 0.5, name="accent"),
    ]
    found = [(one.attribute, one.level, one.strongest, one.control) for one in findings(rows)]
    assert found == [("sex", "not-found", 1, 0), ("accent", "leaks", 3, 2)]


def test_spoofing_is_described_by_all_attacks_together():
    def tandem(attack, cost):
        return row_of(ze.About("spoofing", attack=attack), tdcf_min=MeasureResult(cost, "relative cost"))

    rows = [tandem("A01", 0.9), tandem("all", 0.3), tandem("A02", 0.1)]
    (found,) = findings(rows)
    assert (found.question, found.level, found.strongest) == ("spoofing", "described", 1)
    assert verdict(rows).finding == found


def test_rows_are_ordered_by_what_most_of_them_have():
    rows = [
        row_of(d_ece=MeasureResult(0.1, "bit"), eer=MeasureResult(0.4, "rate")),
        row_of(d_ece=MeasureResult(0.3, "bit"), eer=MeasureResult(0.2, "rate")),
        row_of(alid=MeasureResult(9.0, "bit")),
    ]
    assert strongest_row(rows, range(3), chances(rows)) == 1
    alid = [row_of(alid=MeasureResult(value, "bit"), d_ece=MeasureResult(0.5 - value, "bit")) for value in (0.1, 0.4)]
    assert strongest_row(alid, range(2), chances(alid)) == 1
    equal = [row_of(alid=MeasureResult(0.1, "bit"), d_ece=MeasureResult(value, "bit")) for value in (0.2, 0.1)]
    assert strongest_row(equal, range(2), chances(equal)) == 0  # D_ECE breaks ties


def test_development_people_choose_the_attacker_and_not_the_system():
    """Within a system the attacker that development people chose speaks; of systems the one that gives most away."""

    def attack(system, development, separation, seed):
        threat = ze.ThreatModel("lazy-informed", "anonymised", "anonymised")
        about = replace(ze.About.against(threat), development=development)
        mated = np.repeat(np.arange(8), 4)
        scores = np.random.default_rng(seed).normal(size=(32, 8)) + separation * np.eye(8)[mated]
        return ze.evaluate(
            ze.ScoreMatrix(scores, mated),
            labels={"system": system},
            about=about,
            options=ze.Options(intervals=0, null=0),
        )

    rows = [attack("a", 2.0, 1.0, 0), attack("a", 1.0, 3.0, 1), attack("b", 0.5, 2.0, 2)]
    found = findings(rows)[0]
    assert found.by_system == (0, 2)
    assert found.strongest == 2
