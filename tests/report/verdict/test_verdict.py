"""The plain paragraph: the chosen attacker speaks, its numbers are those of the rows, and failure is not privacy."""

from dataclasses import replace

import numpy as np
from scipy.stats import binom

import zeroevidence as ze
from tests.report.verdict.made import AGAINST, attribute_row, check_own_rows, search_row, text
from zeroevidence.attack.attackers import ATTACKERS
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.people import most_people_above
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.null import Null

TESTED = ("alid", "d_ece", "top1")


def beats_chance(row):
    return chances([row])[0].beaten


def test_the_paragraph_holds_the_numbers_of_the_strongest_attacker(audit_rows):
    found = verdict(audit_rows)
    assert (found.finding.strongest, found.level) == (3, "recognised")  # the bounds do not count
    row, said = audit_rows[3], text(*audit_rows)
    top, bits = row["top1"], row["alid"]
    for number in (
        f"{100 * top.value:.3g} % (95 % interval {100 * top.low:.3g} % to {100 * top.high:.3g} %) of the recordings",
        "guessing does so for 5 %",
        f"without protection it is {100 * audit_rows[0]['top1'].value:.3g} %",
        f"a recording gives away {bits.value:.2f} (95 % interval {bits.low:.2f} to {bits.high:.2f}) on average",
        "(p = 0.05, 19 permutations)",
        f"{sum(row.people.named)} of 20 people are named",
        f"the right name follows in {100 * row.recordings.top1[2]:.3g} %",
    ):
        assert number in said
    assert said.index("puts the right name") < said.index("Chance does not explain so many right names")
    for word in ("ALID", "LID", "EER", "D_ECE", "Cllr", "LLR", "null", "posterior"):
        assert word not in said


def test_single_comparisons_are_told_as_uncertainty(pairs):
    row = pairs(1.5, system="s")
    result, eer = row["d_ece"], row["eer"]
    value, low, high = (100 * share / D_ECE_MAX for share in (result.value, result.low, result.high))
    assert f"removes {value:.3g} % (95 % interval {low:.3g} % to {high:.3g} %) of the doubt" in text(row)
    low, high = (f"{100 * end:.3g} %" for end in (eer.low, eer.high))
    assert f"errs in {100 * eer.value:.3g} % (95 % interval {low} to {high}) of the cases" in text(row)
    assert "known people" not in text(row)


def test_a_row_that_beats_chance_goes_before_one_that_does_not(search):
    weak, strong = search(0.0, seed=6, system="a"), search(1.0, seed=5, system="b")
    null = Null.from_draws(np.full(19, 9.5), 0.95)
    usual = {name: replace(weak[name], value=9.0, null=null, p_value=1.0) for name in TESTED}
    flattered = weak.with_metrics(usual)
    found = verdict([flattered, strong])
    assert found.finding.strongest == 1
    assert [chance.beaten for chance in found.finding.chance] == [False, True]
    untested = flattered.with_metrics(
        {name: replace(usual[name], null=None, p_value=None, low=None, high=None) for name in TESTED}
    )
    assert verdict([untested, strong]).finding.strongest == 0  # not tested is not at chance


def test_bounds_are_of_the_same_setting(audit_rows):
    found = verdict(audit_rows).finding
    assert (found.control, found.floor) == (0, 1)
    row = replace(audit_rows[3], labels={**audit_rows[3].labels, "sex": "f"})
    found = verdict([*audit_rows[:3], row]).finding
    assert (found.strongest, found.control, found.floor) == (3, None, None)


def test_an_attribute_is_told_under_the_protection_that_leaves_least():
    rows = [
        attribute_row("unprotected", 0.7, role="control"),
        attribute_row("unprotected", 0.72, role="training"),
        attribute_row("linear", 0.3),
        attribute_row("flow", 0.02),
        attribute_row("flow", 0.05, attacker="boosting"),
        attribute_row("flow", 0.72, role="training"),
    ]
    found = verdict(rows)
    assert (found.finding.strongest, found.level) == (4, "leaks")  # its strongest attacker, tested and not trained
    assert "removes 6.93 % (95 % interval 0 % to 6.93 %) of the uncertainty about sex" in text(*rows)
    assert "(p = 0.003, 999 permutations)" in text(*rows)  # three tests of protected recordings, one in a thousand each
    people = verdict([*rows, search_row(0.9, 3.0, system="voices")])
    assert people.finding.strongest == 6  # people speak before an attribute
    assert "right name" in people.paragraph
    assert people.others[-1].startswith("Protected recordings still give away sex.")


def test_what_was_not_tested_may_be_chance(search, pairs):
    untested = ze.Options(intervals=0, null=0)
    assert verdict([search(0.6, seed=2, system="s", options=untested)]).level == "untested"
    few = verdict([search(0.3, people=2, system="s", options=untested)])
    assert few.level == "untested"  # three of four right out of two people is little
    assert beats_chance(pairs(1.5, system="s", options=untested)) is None
    # Uncorrected, D_ECE is never below 0, so its interval says nothing about chance.
    row = pairs(0.0, system="s", options=ze.Options(intervals=20, null=0))
    assert beats_chance(row.with_metrics({"d_ece": replace(row.metrics["d_ece"], estimate=None)})) is None
    assert beats_chance(pairs(3.0, system="s", options=ze.Options(intervals=20, null=0))) is True


def test_how_many_people_may_be_exposed(search):
    row = search(1.0, seed=2, system="s")
    seen, bound = row.curves["people_above"], row.curves["people_above_bound"]
    assert 1.0 in bound.x
    above = sum(bits > 1.0 for bits in row.people.alid)
    most = bound.y[bound.x.index(1.0)]
    assert most >= binomial_limit(above, 20) - 2e-3  # few recordings leave open who is above
    assert all(most_people_above(row, bits) >= share for bits, share in zip(seen.x, seen.y, strict=True))
    assert f"at most {100 * most:.3g} % of people like these give away more than one bit" in text(row)


def binomial_limit(seen, people):
    """The rate at which so few or fewer are seen in one of twenty samples, by trying."""
    rates = np.linspace(0.0, 1.0, 200_001)
    return rates[np.searchsorted(-binom.cdf(seen, people, rates), -0.05)]


def test_attackers_are_told_by_title_or_by_their_sides():
    check_own_rows(
        text,
        {
            "An attacker (enrolment original, trained on anonymised) puts": [search_row(about=AGAINST.nameless)],
            "The attacker 'patient' (enrolment anonymised,": [search_row(about=AGAINST.own)],
            f"who {ATTACKERS['backend-informed'].title} (backend-informed, adapter": [
                search_row(about=AGAINST.adapter)
            ],
            "The attacker behind these scores puts": [search_row()],
            "two gives most away: the attacker behind its": [
                search_row(system="one"),
                search_row(0.4, 1.0, system="two"),
            ],
        },
    )


def test_searches_of_different_size_are_compared_by_shares(search):
    few, many = (search(s, seed=7, people=n, system="s", sex=x) for s, n, x in ((6.0, 8, "f"), (2.6, 40, "m")))
    assert few["alid"].value < many["alid"].value
    assert few["alid"].value / 3.0 > many["alid"].value / np.log2(40)
    found = verdict([many, few])
    assert found.finding.strongest == 1
    assert "s (f) gives most away (by the share of what there is to learn, as the searches are through 8 to 40" in (
        found.paragraph
    )
    assert [other.split(":")[0] for other in found.others] == ["s (m)"]  # the men have a sentence of their own
    assert "by the share" not in text(search_row(system="a"), search_row(0.4, 1.0, system="b"))
