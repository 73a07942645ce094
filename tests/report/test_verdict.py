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


def test_spoofing_and_unknown_results_are_described_only():
    tandem = ze.Evaluation({"tdcf_min": Metric(0.25, "relative cost")}, {"target": 3}, "ZE", {"attack": "A07"})
    found = verdict([tandem])
    assert found.level == "described"
    assert "not about privacy" in found.paragraph
    assert "'A07'" in found.paragraph
    assert "0.25" in found.paragraph
    strange = ze.Evaluation({"something_new": Metric(1.0, "bit")}, {}, "ZE")
    assert verdict([strange]).level == "described"


def test_attributes_are_told_as_doubt():
    rows = [
        ze.Evaluation({"attribute_d_ece": Metric(value, "bit")}, {}, "ZE", {"protector": name, "attribute": "sex"})
        for name, value in (("none", 0.7), ("linear", 0.3), ("flow", 0.05))
    ]
    found = verdict(rows)
    assert found.row == 1  # the weakest protection, and not the lack of one
    assert "41.6 % of the doubt" in found.paragraph
    assert "Without protection it is 97 %" in found.paragraph
    assert "sex" in found.headline
