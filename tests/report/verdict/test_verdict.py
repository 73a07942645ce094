"""The plain paragraph: the chosen attacker speaks, and failure is never sold as privacy."""

from dataclasses import replace

import numpy as np
from scipy.stats import binom

import zeroevidence as ze
from zeroevidence.attack.attackers.attacker import ATTACKERS
from zeroevidence.evaluation import MeasureResult, Setup
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.measure.pairs.zebra import D_ECE_MAX
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.null import Null

SETUP = Setup(recorded="ZE")
TESTED = ("alid", "d_ece")


def beats_chance(row):
    return chances([row])[0].beaten


def words(rows):
    return verdict(rows).paragraph.replace("\u00a0", " ")


def test_the_strongest_attacker_speaks_and_bounds_do_not(audit_rows):
    found = verdict(audit_rows)
    assert found.finding.strongest == 3
    assert found.level == "recognised"
    assert found.headline == "Protected recordings are still recognised"


def test_the_paragraph_holds_the_numbers(audit_rows):
    row, plain = audit_rows[3], audit_rows[0]
    text = words(audit_rows)
    top, alone = (100 * one.metrics["top1"].value for one in (row, plain))
    low, high = (f"{100 * limit:.3g}" for limit in (row["top1"].low, row["top1"].high))
    assert f"{top:.3g} % of the recordings (95 % confidence, for people like these: {low} % to {high} %)" in text
    assert "choosing among 20 known people" in text
    assert "guessing would do so for 5 %" in text
    assert f"without protection it is {alone:.3g} %" in text
    bits = row["alid"]
    assert f"at most {bits.bound:.2f} bits (95 % confidence, the largest limit of 2 attempts; {bits.value:.2f}" in text
    assert "(p = 0.05, 19 permutations)" in text
    assert f"{sum(row.people.named)} of 20 people are named in at least 80 % of their recordings" in text
    assert "others may learn more, so what was measured is the least that is given away" in text
    assert "Each limit holds with 95 % confidence by itself" in text


def test_no_jargon(audit_rows):
    text = words(audit_rows)
    for word in ("ALID", "LID", "EER", "D_ECE", "Cllr", "LLR", "null", "posterior"):
        assert word not in text


def test_a_weak_attack_without_control_concludes_nothing(search, against):
    found = verdict([search(0.0, seed=6, system="s", about=against.lazy)])
    assert found.level == "inconclusive"
    assert "a weak attack is not evidence of privacy" in found.paragraph
    assert "On average this is not told apart from guessing." in found.paragraph


def test_a_weak_attack_with_a_working_control_found_nothing_more(search, against):
    rows = [
        search(6.0, system="unprotected", about=against.control),
        search(0.0, seed=6, system="s", about=against.lazy),
    ]
    found = verdict(rows)
    assert found.level == "not-found"
    assert "does not prove" in found.headline
    assert "a stronger attacker may succeed" in found.paragraph


def test_a_failed_control_makes_the_test_void(search, against):
    rows = [
        search(0.0, seed=6, system="unprotected", about=against.control),
        search(0.0, seed=6, system="s", about=against.lazy),
    ]
    found = verdict(rows)
    assert found.level == "inconclusive"
    assert "does not even work without protection" in found.paragraph


def test_single_comparisons_are_told_as_uncertainty(pairs):
    row = pairs(1.5, system="s")
    text = words([row])
    share = 100 * row.metrics["d_ece"].value / 0.7213475204
    assert f"{share:.3g} %" in text
    assert "removes" in text
    assert "of the uncertainty about whether two recordings share a speaker, averaged over all prior beliefs" in text
    assert f"the attacker errs in {100 * row.metrics['eer'].value:.3g} % of the cases" in text
    assert "was not measured" in text  # the search
    assert "known people" not in text


def test_without_null_and_interval_nothing_is_claimed_about_chance(pairs):
    row = pairs(1.5, system="s", options=ze.Options(intervals=0, null=0))
    assert beats_chance(row) is None
    assert "was not tested" in words([row])


def test_only_bounds_say_nothing_about_a_protection(search, against):
    found = verdict([search(6.0, system="unprotected", about=against.control)])
    assert found.headline == "Unprotected recordings are recognised; no protection was measured"
    assert "nothing yet about a protection" in found.paragraph


def test_other_systems_get_a_sentence_each(search, against, audit_rows):
    other = search(1.0, seed=5, system="other", about=against.lazy, dataset="d", backend="cosine")
    rows = [*audit_rows, other]
    found = verdict(rows)
    assert [rows[i].labels["system"] for i in found.finding.by_system] == ["sys", "other"]
    (sentence,) = found.others
    assert sentence.startswith("other: the attacker that counts (lazy-informed) names the right person of 20")


def test_a_row_that_beats_chance_goes_before_one_that_does_not(search):
    weak, strong = search(0.0, seed=6, system="a"), search(1.0, seed=5, system="b")
    null = Null.from_draws(np.full(19, 9.5), 0.95, keep=True)
    usual = {name: replace(weak[name], value=9.0, null=null, p_value=1.0) for name in TESTED}
    flattered = weak.with_metrics(usual)
    found = verdict([flattered, strong])
    assert found.finding.strongest == 1
    assert [one.beaten for one in found.finding.chance] == [False, True]
    unheard = flattered.with_metrics(
        {name: replace(usual[name], null=None, p_value=None, low=None, high=None) for name in TESTED}
    )
    assert verdict([unheard, strong]).finding.strongest == 0  # not tested is not at chance


def test_bounds_are_of_the_same_setting(audit_rows):
    found = verdict(audit_rows).finding
    assert (found.control, found.floor) == (0, 1)
    row = replace(audit_rows[3], labels={**audit_rows[3].labels, "sex": "f"})
    found = verdict([*audit_rows[:3], row]).finding
    assert found.strongest == 3
    assert (found.control, found.floor) == (None, None)
    assert "There is no test on unprotected speech to compare with." in words([*audit_rows[:3], row])


def tandem(system, attack, cost):
    return ze.Evaluation(
        {"tdcf_min": MeasureResult(cost, "relative cost"), "cm_eer": MeasureResult(0.02, "rate")},
        {"target": 3},
        SETUP,
        {"system": system},
        ze.About(question="spoofing", attack=attack),
    )


def test_spoofing_and_unknown_results_are_described_only():
    spoofing = ze.About(question="spoofing", attack="A07")
    found = verdict([ze.Evaluation({"tdcf_min": MeasureResult(0.25, "relative cost")}, about=spoofing)])
    assert found.level == "described"
    assert "not about privacy" in found.paragraph
    assert "For the attack 'A07', wrong decisions cost at least 25\u00a0% of what they cost" in found.paragraph
    strange = ze.Evaluation({"something_new": MeasureResult(1.0, "bit")})
    assert verdict([strange]).level == "described"
    without_people = ze.Evaluation({"top1": MeasureResult(0.5, "rate"), "alid": MeasureResult(0.5, "bit")})
    assert verdict([without_people]).level == "described"


def test_all_attacks_together_speak_and_the_worst_is_named():
    rows = [tandem("a", "A01", 0.1), tandem("a", "all", 0.3), tandem("a", "A02", 0.8), tandem("b", "all", 0.9)]
    found = verdict(rows)
    text = found.paragraph.replace("\u00a0", " ")
    assert found.finding.strongest == 1
    assert "A: For all" not in text
    assert "a: For all attacks together, wrong decisions cost at least 30 %" in text
    assert "The countermeasure alone errs in 2 %" in text
    assert "Of 2 attacks, A02 is stopped least: min t-DCF is 80 %." in text
    assert [words.split(",")[0] for words in found.others] == ["b: For all attacks together"]


def attribute(system, value, *, training=False, attacker="logistic", name="sex", p_value=0.01, low=None, of_class=None):
    null = None if p_value is None else Null(0.0, 0.0)
    high = None if low is None else 0.9 * value
    metric = MeasureResult(value, "bit", low=low, high=high, null=null, p_value=p_value)
    role = "training" if training else "control" if system == "unprotected" else "attack"
    return ze.Evaluation(
        {"d_ece": metric},
        {"target": 9, "nontarget": 9},
        SETUP,
        {"system": system, "split": "train" if training else "test", "attacker": attacker},
        ze.About("attribute", role, attribute=name, of_class=of_class),
    )


def verification(system, eer):
    metrics = {
        "eer": MeasureResult(eer, "rate"),
        "d_ece": MeasureResult(0.7, "bit"),
        "top1": MeasureResult(1.0, "rate"),
        "alid": MeasureResult(4.0, "bit"),
    }
    labels = {"system": system, "split": "test", "backend": "plda"}
    return ze.Evaluation(metrics, {"identities": 20}, SETUP, labels, ze.About(role="utility"))


def protected_rows():
    return [
        attribute("unprotected", 0.7),
        attribute("unprotected", 0.72, training=True),
        verification("unprotected", 0.01),
        attribute("linear", 0.3),
        attribute("linear", 0.72, training=True),
        verification("linear", 0.02),
        attribute("flow", 0.02),
        attribute("flow", 0.05, attacker="boosting"),
        attribute("flow", 0.72, training=True),
        verification("flow", 0.04),
    ]


def test_an_attribute_is_told_under_the_protection_that_leaves_least():
    found = verdict(protected_rows())
    text = found.paragraph.replace("\u00a0", " ")
    assert found.finding.strongest == 7  # the strongest attacker on it, tested and not trained
    assert found.level == "leaks"
    assert found.headline == "Protected recordings still give away sex"
    assert text.startswith("With flow, which leaves least of 2 protections, the attacker of 2 that learns most")
    assert "removes 6.93 % of the uncertainty about sex, averaged over all prior beliefs" in text
    assert "without protection it is 97 %" in text
    assert "errs in 4 % of the cases with the protection, and 1 % without" in text
    assert "(p = 0.03)" in text  # three tests of protected recordings, one in a hundred each
    assert "right name" not in text
    assert [words.replace("\u00a0", " ") for words in found.others] == [
        "linear: the attacker that counts (logistic) removes 41.6 % of the uncertainty about sex."
    ]


def test_an_attribute_that_nobody_finds_is_not_proved_to_be_gone():
    working = [attribute("unprotected", 0.7), attribute("flow", 0.01, p_value=0.6)]
    assert verdict(working).level == "not-found"
    assert "does not prove" in verdict(working).headline
    failing = [attribute("unprotected", 0.01, p_value=0.7), attribute("flow", 0.01, p_value=0.6)]
    assert verdict(failing).level == "inconclusive"
    assert "nothing follows from its failure" in verdict(failing).paragraph
    untested = verdict([attribute("unprotected", 0.7), attribute("flow", 0.3, p_value=None)])
    assert untested.headline == "Protected recordings may still give away sex"
    alone = verdict([attribute("unprotected", 0.7)])
    assert alone.headline == "Unprotected recordings give away sex; no protection was measured"


def test_classes_and_further_attributes_are_named():
    rows = [
        attribute("unprotected", 0.6, name="accent", of_class="north"),
        attribute("flow", 0.1, name="accent", of_class="south"),
        attribute("flow", 0.2, name="accent", of_class="north"),
        attribute("unprotected", 0.7, name="age"),
        attribute("flow", 0.6, name="age"),
    ]
    found = verdict(rows)
    assert found.finding.strongest == 2
    assert "accent (north or not)" in found.paragraph
    assert found.others[0].startswith("age, with flow: the attacker removes")


def test_people_speak_before_an_attribute(search):
    rows = [*protected_rows(), search(2.5, seed=3, system="voices")]
    found = verdict(rows)
    assert found.finding.strongest == 10
    assert "right name" in found.paragraph
    assert found.others[-1].startswith("Protected recordings still give away sex.")


def test_what_was_not_tested_may_be_chance(search, pairs):
    untested = ze.Options(intervals=0, null=0)
    found = verdict([search(0.6, seed=2, system="s", options=untested)])
    assert found.level == "untested"
    assert found.headline == "The recordings may give something away; chance was not ruled out"
    few = verdict([search(0.3, people=2, system="s", options=untested)])
    assert few.level == "untested"  # three of four right out of two people is little
    # Uncorrected, D_ECE is never below 0, so its interval says nothing about chance.
    row = pairs(0.0, system="s", options=ze.Options(intervals=20, null=0))
    assert beats_chance(row.with_metrics({"d_ece": replace(row.metrics["d_ece"], estimate=None)})) is None
    assert beats_chance(pairs(3.0, system="s", options=ze.Options(intervals=20, null=0))) is True


def test_limits_are_said_where_they_say_something(search, pairs):
    assert "100 % of the recordings (95 % confidence, for people like these: 84 % to 100 %)" in (
        words([search(30.0, system="s")])
    )
    row = pairs(1.5, system="s")
    most, value = (100 * one / D_ECE_MAX for one in (row["d_ece"].bound, row["d_ece"].value))
    assert f"at most {most:.3g} % (95 % confidence, for people like these; {value:.3g} % measured)" in words([row])


def test_how_many_people_may_be_exposed(search):
    row = search(1.0, seed=2, system="s")
    seen, bound = row.curves["people_above"], row.curves["people_above_bound"]
    assert seen.x == bound.x
    above = sum(one > 1.0 for one in row.people.alid)
    assert f"at most {100 * binomial_limit(above, 20):.3g} % of people like these give away more than one bit" in (
        words([row])
    )
    # A calibration that differs by fold does not order the recordings of all people: no limit with confidence.
    largest = f"The most telling recording gives away {row.number('lid_max'):.2f} bits"
    assert f"{largest}." in words([row])
    developed = replace(row, setup=replace(row.setup, search=replace(row.setup.search, cross_fitted=False)))
    limit = f"at most {100 * (1.0 - 0.05 ** (1 / 20)):.3g} % of people have one that gives away more"
    assert f"{largest}; with 95 % confidence {limit}." in words([developed])


def binomial_limit(seen, people):
    """The rate at which so few or fewer are seen in one of twenty samples, by trying."""
    rates = np.linspace(0.0, 1.0, 200_001)
    return rates[np.searchsorted(-binom.cdf(seen, people, rates), -0.05)]


def test_nobody_is_named_by_chance(search):
    assert "most exposed" not in words([search(0.0, seed=6, system="s")])


def test_attackers_without_a_name(search, against):
    text = words([search(1.0, system="s", about=against.nameless)])
    assert text.startswith("An attacker (enrolment original, trained on anonymised) puts")
    text = words([search(1.0, system="s", about=against.own)])
    assert text.startswith("The attacker 'patient' (enrolment anonymised, trained on original) puts")
    rows = [search(1.0, system="one"), search(4.0, system="two")]
    assert words(rows).startswith("Of 2 results, two gives most away: the attacker behind its scores puts")


def test_registered_attackers_are_told_by_their_titles(search, against):
    text = words([search(1.0, system="s", about=against.adapter)])
    assert ATTACKERS["semi-informed"].title in text
    assert "(semi-informed, adapter network)" in text


def test_a_search_that_misleads(search):
    row = search(0.5, system="s")
    limit = f"; for people like these it gives away at most {row['alid'].bound:.2f} bits (95 % confidence)."
    for value, told in ((-2.5, "misleads the attacker, by 2.50 bits"), (float("-inf"), "ruled out the right person")):
        below = row.with_metrics({"alid": replace(row.metrics["alid"], value=value)})
        assert f"{told}{limit}" in words([below])
        unlimited = row.with_metrics({"alid": replace(row.metrics["alid"], value=value, bound=None)})
        assert f"{told}." in words([unlimited])
    assert "misleads" not in words([row])


def test_a_name_that_comes_up_for_everybody_is_no_sign_of_exposure(hub):
    text = words([hub])
    people = hub.people
    named = dict(zip(people.speaker, people.linked, strict=True))
    assert max(named, key=named.get) == "p000"  # named most often, and not the most exposed
    assert "The most exposed person, p000" not in text
    rate = 100 * dict(zip(people.speaker, people.falsely, strict=True))["p000"]
    assert f"The name of p000 comes up for everybody: it is put to {rate:.3g} % of other people's recordings" in text
    assert "which accuses the wrong person" in text


def test_exposure_is_told_beside_false_accusations(search):
    row = search(1.5, seed=5, system="s")
    above = [a - b for a, b in zip(row.people.linked, row.people.falsely, strict=True)]
    at = above.index(max(above))
    name, share, falsely = (getattr(row.people, part)[at] for part in ("speaker", "linked", "falsely"))
    said = f"{name}, is named in {100 * share:.3g} % of 4 recordings"
    assert f"{said}, and falsely in {100 * falsely:.3g} % of those of others." in words([row])
    assert "comes up for everybody" not in words([row])


def test_the_test_against_chance_is_quoted_with_what_it_tests(audit_rows, hub):
    for rows in (audit_rows, [hub]):
        text = words(rows)
        assert text.index("On average a recording") < text.index("Chance does not explain these results")


def test_several_recordings_are_told(audit_rows):
    top = audit_rows[3].recordings.top1[2]
    assert f"From 3 recordings of the same person together, the right name follows in {100 * top:.3g} %" in words(
        audit_rows
    )


def test_searches_of_different_size_are_compared_by_shares(search):
    few, many = (search(s, seed=7, people=n, system="s", sex=x) for s, n, x in ((6.0, 8, "f"), (2.6, 40, "m")))
    assert few["alid"].value < many["alid"].value
    assert few["alid"].value / 3.0 > many["alid"].value / np.log2(40)
    found = verdict([many, few])
    assert found.finding.strongest == 1
    text = found.paragraph.replace("\u00a0", " ")
    assert "s (f) gives most away (by the share of what there is to learn, as the searches are through 8 to 40" in text
    (other,) = found.others  # the men have a sentence of their own
    assert other.startswith("s (m): the attacker that counts names the right person of 40")
    same = words([search(2.0, seed=1, system="a"), search(3.0, seed=2, system="b")])
    assert "by the share" not in same


def test_factors_beyond_all_measure_are_limits(search, against):
    row = search(2.0, seed=6, system="s", about=against.lazy)
    for name, value in (("alid", 1e20), ("alid", -1e20), ("lid_max", 1e300)):
        changed = replace(row, metrics={**row.metrics, name: MeasureResult(value, "bit")})
        assert verdict([changed]).paragraph
        if name == "alid" and value > 0.0:
            assert "makes the right person more than 10^15 times as likely" in words([changed])
    rng = np.random.default_rng(0)
    pairs = ze.evaluate(rng.normal(1, 1, 50), rng.normal(0, 1, 50), options=ze.Options(intervals=0, null=0))
    huge = {name: MeasureResult(1e20, "") for name in ("worst_case", "worst_case_supported")}
    assert "by a factor of more than 10^15" in words([replace(pairs, metrics={**pairs.metrics, **huge})])
