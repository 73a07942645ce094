"""Verdicts about an attribute: each headline and sentence on either side of its condition."""

from dataclasses import replace

import zeroevidence as ze
from tests.report.verdict.made import SETUP, attribute_row, developed, headline, short, text
from zeroevidence.evaluation import MeasureResult
from zeroevidence.report.verdict import verdict

PLAIN = attribute_row("unprotected", 0.7, role="control")


def test_every_level_has_its_headline():
    few = replace(attribute_row("flow", 0.1, "at-chance"), counts={"speakers": 5})
    silent, failing = (
        attribute_row("flow", 0.0, "at-chance"),
        attribute_row("unprotected", 0.0, "at-chance", role="control"),
    )
    cases = {
        "Protected recordings still give away sex": [PLAIN, attribute_row("flow", 0.1)],
        "Protected recordings may still give away sex": [PLAIN, attribute_row("flow", 0.1, "untested")],
        "Too few people to say whether the recordings conceal sex": [PLAIN, few],
        "No trace of sex was found, which does not prove that there is none": [PLAIN, silent],
        "This test cannot say whether the recordings conceal sex": [failing, silent],
        "Unprotected recordings give away sex; no protection was measured": [PLAIN],
        "Unprotected recordings may give away sex; no protection was measured": [
            attribute_row("unprotected", 0.7, "untested", role="control")
        ],
    }
    assert {sentence: headline(*rows) for sentence, rows in cases.items()} == {sentence: sentence for sentence in cases}


def test_the_protection_that_leaves_least_of_several():
    linear, flow = attribute_row("linear", 0.3), attribute_row("flow", 0.1)
    assert text(linear, flow).startswith("With flow, which leaves least of 2 protections, the attacker (logistic), who")
    assert "which leaves least" not in text(flow)
    alone = text(PLAIN)
    assert alone.startswith("The attacker (logistic), who learned from recordings of other people, removes 97 %")
    assert "protected in the same way" not in alone
    assert "protected in the same way" in text(flow)


def test_the_evidence_beside_that_without_protection():
    before = "; without protection it is 97 %."
    row = attribute_row("flow", 0.1)
    assert before in text(PLAIN, row)
    assert before not in text(row)
    assert "Nothing removed would be perfect privacy." in text(row)
    limited = row.with_metrics({"d_ece": replace(row["d_ece"], bound=0.2)})
    assert "at most 27.7 % (95 % confidence, for people like these; 13.9 % measured)" in text(limited)
    assert "confidence" not in text(row)


def test_other_attackers_who_find_more_than_chance_are_named():
    chosen = developed(attribute_row("flow", 0.0, "at-chance"), 0.2)
    finder = developed(attribute_row("flow", 0.1, attacker="boosting"), 0.1)
    trained = attribute_row("flow", 0.7, role="training", attacker="svm")
    assert "But other attackers found more than chance: boosting." in text(PLAIN, chosen, finder, trained)
    assert ", but other attempts found more than chance." in short(PLAIN, chosen, finder, trained)
    for rows in ([PLAIN, chosen, trained], [PLAIN, finder, trained]):
        assert "But other attackers" not in text(*rows)
        assert "other attempts found" not in short(*rows)


def test_all_recordings_of_a_person_together():
    pooled = attribute_row("flow", 0.4, attacker="person", pooled=True)
    single = attribute_row("flow", 0.1)
    assert "From all recordings of one person together it is 55.5 %." in text(single, pooled)
    assert "of one person together" not in text(single)


def utility(system, eer):
    return ze.Evaluation({"eer": MeasureResult(eer, "rate")}, {}, SETUP, {"system": system}, ze.About(role="utility"))


def test_what_should_go_on_working():
    row = attribute_row("flow", 0.1)
    sentence = "Speaker verification, which should still work, errs in 4 % of the cases with the protection"
    assert f"{sentence}, and 1 % without." in text(row, utility("flow", 0.04), utility("unprotected", 0.01))
    assert f"{sentence}." in text(row, utility("flow", 0.04))
    assert "Speaker verification" not in text(row)
    assert "Speaker verification" not in text(PLAIN, utility("unprotected", 0.01))


def test_cautions():
    bound = "This says what the attacker can do, and nothing yet about a protection."
    least = "what was measured is the least that is given away."
    assert bound in text(PLAIN)
    assert bound not in text(PLAIN, attribute_row("flow", 0.1))
    assert least in text(PLAIN, attribute_row("flow", 0.1))
    assert least not in text(PLAIN)


def test_other_protections_and_attributes_get_a_sentence_each():
    def others(*rows):
        return [sentence.replace("\u00a0", " ") for sentence in verdict(rows).others]

    flow = attribute_row("flow", 0.1)
    linear = "linear: the attacker that counts (logistic) removes 41.6 % of the uncertainty about sex"
    assert others(flow, attribute_row("linear", 0.3)) == [f"{linear}."]
    # the protection that leaves least speaks, and the sentence says where the other is at chance
    weak = others(attribute_row("flow", 0.2), attribute_row("linear", 0.3, "at-chance"))
    assert weak == [f"{linear}, on average not told apart from guessing."]
    accent = attribute_row("flow", 0.3, name="accent")
    assert others(flow, accent) == ["accent, with flow: the attacker removes 41.6 % of the uncertainty."]
    plain = attribute_row("unprotected", 0.6, name="accent", role="control")
    assert others(flow, accent, plain)[-1].endswith("the uncertainty; without protection it is 83.2 %.")
    assert others(flow, attribute_row("linear", 0.3, name="accent")) == ["accent: see the table."]


def test_what_was_learned_of_an_attribute_in_the_summary():
    row = attribute_row("flow", 0.1)
    assert "This removes 13.9 % of the doubt about sex; without protection it is 97 %." in short(PLAIN, row)
    assert "This removes 13.9 % of the doubt about sex." in short(row)
    assert "Somebody tried to tell sex from protected recordings." in short(row)
    assert "Somebody tried to tell sex from unprotected recordings." in short(PLAIN)
    assert "learned from recordings of other people that were protected in the same way." in short(row)
    assert "learned from recordings of other people." in short(PLAIN)
