"""The plain paragraph: the strongest attacker speaks, and failure is never sold as privacy."""

from dataclasses import replace

import zeroevidence as ze
from zeroevidence.evaluation import Metric
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict_rows import beats_chance, bound, strongest, strongest_by_system

ANON = {"enrolment": "anonymised", "trial": "anonymised"}
LAZY = "lazy-informed (enrolment anonymised, trained on original)"
PLAIN = "unprotected (enrolment original, trained on original)"


def words(rows):
    return verdict(rows).paragraph.replace("\u00a0", " ")


def test_the_strongest_attacker_speaks_and_bounds_do_not(audit_rows):
    found = verdict(audit_rows)
    assert found.row == 3
    assert found.level == "recognised"
    assert found.headline == "Protected voices are still recognised"


def test_the_paragraph_holds_the_numbers(audit_rows):
    row, plain = audit_rows[3], audit_rows[0]
    text = words(audit_rows)
    top, alone = (100 * one.metrics["top1"].value for one in (row, plain))
    assert f"the right name to {top:.3g} % of the recordings" in text
    assert "choosing among 20 known people" in text
    assert "guessing would do so for 5 %" in text
    assert f"without protection it is {alone:.3g} %" in text
    assert f"{row.metrics['alid'].value:.2f} bits" in text
    assert "in at most 5 % of such tests" in text  # p = 1 / (1 + 19)
    assert "people are named in every one of their recordings" in text
    assert "Other attackers may learn more" in text


def test_no_jargon(audit_rows):
    text = words(audit_rows)
    for word in ("ALID", "LID", "EER", "D_ECE", "Cllr", "LLR", "null", "posterior"):
        assert word not in text


def test_a_weak_attack_without_control_concludes_nothing(search):
    found = verdict([search(0.0, seed=6, system="s", attacker=LAZY, **ANON)])
    assert found.level == "inconclusive"
    assert "a weak attack is not evidence of privacy" in found.paragraph
    assert "no better than chance" in found.paragraph


def test_a_weak_attack_with_a_working_control_found_nothing_more(search):
    rows = [
        search(6.0, system="none", attacker=PLAIN),
        search(0.0, seed=6, system="s", attacker=LAZY, **ANON),
    ]
    found = verdict(rows)
    assert found.level == "not-found"
    assert "does not prove" in found.headline
    assert "a stronger attacker may succeed" in found.paragraph


def test_a_failed_control_makes_the_test_void(search):
    rows = [
        search(0.0, seed=6, system="none", attacker=PLAIN),
        search(0.0, seed=6, system="s", attacker=LAZY, **ANON),
    ]
    found = verdict(rows)
    assert found.level == "inconclusive"
    assert "does not recognise even unprotected voices" in found.paragraph


def test_single_comparisons_are_told_as_doubt(pairs):
    row = pairs(1.5, system="s")
    text = words([row])
    share = 100 * row.metrics["d_ece"].value / 0.7213475204
    assert f"{share:.3g} %" in text
    assert "of the doubt whether two recordings are of one person" in text
    assert "was not measured" in text  # the search
    assert "known people" not in text


def test_without_null_and_interval_nothing_is_claimed_about_chance(pairs):
    row = pairs(1.5, system="s", options=ze.Options(intervals=0, null=0))
    assert beats_chance(row) is None
    assert "was not tested" in words([row])


def test_only_bounds_say_nothing_about_a_protection(search):
    found = verdict([search(6.0, system="none", attacker=PLAIN)])
    assert found.headline == "Unprotected voices are recognised; no protection was measured"
    assert "nothing yet about a protection" in found.paragraph


def test_other_systems_get_a_sentence_each(search, audit_rows):
    other = search(1.0, seed=5, system="other", attacker=LAZY, dataset="d", backend="cosine", **ANON)
    rows = [*audit_rows, other]
    assert [rows[i].labels["system"] for i in strongest_by_system(rows)] == ["sys", "other"]
    (sentence,) = verdict(rows).others
    assert sentence.startswith("other: its strongest attacker (lazy-informed) names the right person of 20")


def test_a_row_that_beats_chance_goes_before_one_that_does_not(search):
    weak, strong = search(0.0, seed=6, system="a"), search(1.0, seed=5, system="b")
    flattered = weak.with_metrics({"alid": replace(weak.metrics["alid"], value=9.0, p_value=0.9)})
    flattered = flattered.with_metrics({"d_ece": replace(weak.metrics["d_ece"], p_value=0.9)})
    assert strongest([flattered, strong]) == 1


def test_bounds_are_of_the_same_setting(audit_rows):
    row = replace(audit_rows[3], labels={**audit_rows[3].labels, "sex": "f"})
    assert bound([*audit_rows, row], row, "unprotected") is None
    assert bound(audit_rows, audit_rows[3], "unprotected") is audit_rows[0]


def tandem(system, attack, cost):
    return ze.Evaluation(
        {"tdcf_min": Metric(cost, "relative cost"), "cm_eer": Metric(0.02, "rate")},
        {"target": 3},
        "ZE",
        {"system": system, "attack": attack},
    )


def test_spoofing_and_unknown_results_are_described_only():
    found = verdict([ze.Evaluation({"tdcf_min": Metric(0.25, "relative cost")}, {}, "ZE", {"attack": "A07"})])
    assert found.level == "described"
    assert "not about privacy" in found.paragraph
    assert "For the attack 'A07', wrong decisions cost at least 25\u00a0% of what they cost" in found.paragraph
    strange = ze.Evaluation({"something_new": Metric(1.0, "bit")}, {}, "ZE")
    assert verdict([strange]).level == "described"
    without_people = ze.Evaluation({"top1": Metric(0.5, "rate"), "alid": Metric(0.5, "bit")}, {}, "ZE")
    assert verdict([without_people]).level == "described"


def test_all_attacks_together_speak_and_the_worst_is_named():
    rows = [tandem("a", "A01", 0.1), tandem("a", "all", 0.3), tandem("a", "A02", 0.8), tandem("b", "all", 0.9)]
    found = verdict(rows)
    text = found.paragraph.replace("\u00a0", " ")
    assert found.row == 1
    assert "A: For all" not in text
    assert "a: For all attacks together, wrong decisions cost at least 30 %" in text
    assert "The countermeasure alone errs in 2 %" in text
    assert "Of 2 attacks A02 is stopped least: min t-DCF is 80 %." in text
    assert [words.split(",")[0] for words in found.others] == ["b: For all attacks together"]


def attribute(system, value, *, split="test", attacker="logistic", name="sex", p_value=0.01, low=None, **labels):
    metric = Metric(value, "bit", low=low, high=None if low is None else 0.9 * value, p_value=p_value)
    words = {"system": system, "attribute": name, "split": split, "attacker": attacker, **labels}
    return ze.Evaluation({"d_ece": metric}, {"target": 9, "nontarget": 9}, "ZE", words)


def verification(system, eer):
    labels = {
        "system": system,
        "split": "test",
        "backend": "plda",
        "trial": "original" if system == "none" else "protected",
    }
    metrics = {
        "eer": Metric(eer, "rate"),
        "d_ece": Metric(0.7, "bit"),
        "top1": Metric(1.0, "rate"),
        "alid": Metric(4.0, "bit"),
    }
    return ze.Evaluation(metrics, {"identities": 20}, "ZE", labels)


def protected_rows():
    return [
        attribute("none", 0.7),
        attribute("none", 0.72, split="train"),
        verification("none", 0.01),
        attribute("linear", 0.3),
        attribute("linear", 0.72, split="train"),
        verification("linear", 0.02),
        attribute("flow", 0.02),
        attribute("flow", 0.05, attacker="boosting"),
        attribute("flow", 0.72, split="train"),
        verification("flow", 0.04),
    ]


def test_an_attribute_is_told_under_the_protection_that_leaves_least():
    found = verdict(protected_rows())
    text = found.paragraph.replace("\u00a0", " ")
    assert found.row == 7  # the strongest attacker on it, tested and not trained
    assert found.level == "leaks"
    assert found.headline == "Protected voices still give away sex"
    assert text.startswith("With flow, which leaves least of 2 protections, the strongest of 2 attackers (boosting),")
    assert "loses 6.93 % of the doubt about sex" in text
    assert "without protection it is 97 %" in text
    assert "errs in 4 % of the cases with the protection, and 1 % without" in text
    assert "in at most 1 % of such tests" in text
    assert "right name" not in text
    assert [words.replace("\u00a0", " ") for words in found.others] == [
        "linear: its strongest attacker (logistic) loses 41.6 % of the doubt about sex."
    ]


def test_an_attribute_that_nobody_finds_is_not_proved_to_be_gone():
    working = [attribute("none", 0.7), attribute("flow", 0.01, p_value=0.6)]
    assert verdict(working).level == "not-found"
    assert "does not prove" in verdict(working).headline
    failing = [attribute("none", 0.01, p_value=0.7), attribute("flow", 0.01, p_value=0.6)]
    assert verdict(failing).level == "inconclusive"
    assert "nothing follows from its failure" in verdict(failing).paragraph
    untested = verdict([attribute("none", 0.7), attribute("flow", 0.3, p_value=None)])
    assert untested.headline == "Protected voices may still give away sex"
    alone = verdict([attribute("none", 0.7)])
    assert alone.headline == "Unprotected voices give away sex; no protection was measured"


def test_classes_and_further_attributes_are_named():
    rows = [
        attribute("none", 0.6, name="accent", **{"class": "north"}),
        attribute("flow", 0.1, name="accent", **{"class": "south"}),
        attribute("flow", 0.2, name="accent", **{"class": "north"}),
        attribute("none", 0.7, name="age"),
        attribute("flow", 0.6, name="age"),
    ]
    found = verdict(rows)
    assert found.row == 2
    assert "accent (north or not)" in found.paragraph
    assert found.others[0].startswith("age, with flow: the attacker loses")


def test_people_speak_before_an_attribute(search):
    rows = [*protected_rows(), search(2.5, seed=3, system="voices")]
    found = verdict(rows)
    assert found.row == 10
    assert "right name" in found.paragraph
    assert found.others[-1].startswith("Protected voices still give away sex.")


def test_what_was_not_tested_may_be_chance(search, pairs):
    untested = ze.Options(intervals=0, null=0)
    found = verdict([search(0.6, seed=2, system="s", options=untested)])
    assert found.level == "untested"
    assert found.headline == "The voices may give something away; chance was not ruled out"
    few = verdict([search(0.3, people=2, system="s", options=untested)])
    assert few.level == "untested"  # three of four right out of two people is little
    # Replicates of D_ECE are never below 0, so an interval that is not corrected says nothing about chance.
    percentile = ze.Options(intervals=20, null=0, interval_method="percentile")
    assert beats_chance(pairs(0.0, system="s", options=percentile)) is None
    assert beats_chance(pairs(3.0, system="s", options=ze.Options(intervals=20, null=0))) is True


def test_intervals_without_width_or_beside_the_value(search, pairs):
    assert "interval" not in words([search(30.0, system="s")]).split(",")[0]
    row = pairs(1.5, system="s")
    beside = row.with_metrics({"d_ece": replace(row.metrics["d_ece"], value=0.2, low=0.05, high=0.15)})
    assert "(95 % interval, corrected for few people, 6.93 to 20.8 %)" in words([beside])


def test_nobody_is_named_by_chance(search):
    assert "most exposed" not in words([search(0.0, seed=6, system="s")])


def test_attackers_without_a_name(search):
    other = "other (enrolment anonymised, trained on anonymised)"
    text = words([search(1.0, system="s", attacker=other, **ANON)])
    assert text.startswith("An attacker (enrolment anonymised, trained on anonymised) puts")
    rows = [search(1.0, system="one"), search(4.0, system="two")]
    assert words(rows).startswith("Of 2 results two gives most away: the attacker behind its scores puts")


def test_a_search_that_misleads(search):
    row = search(0.5, system="s")
    for value, told in ((-2.5, "misleads the attacker, by 2.50 bits."), (float("-inf"), "ruled out the right person.")):
        below = row.with_metrics({"alid": replace(row.metrics["alid"], value=value)})
        assert told in words([below])
