"""Verdicts on results that are not about privacy: each sentence on either side of its condition."""

import zeroevidence as ze
from tests.report.verdict.made import SETUP, headline, search_row, text
from zeroevidence.evaluation import MeasureResult
from zeroevidence.report.verdict import verdict


def spoofing(attack="all", system="a", **values):
    metrics = {name: MeasureResult(value, "") for name, value in values.items()}
    about = ze.About(question="spoofing", attack=attack)
    return ze.Evaluation(metrics, {"target": 3}, SETUP, {"system": system}, about)


def test_results_that_say_nothing_of_attackers_are_shown_and_no_more():
    other = ze.Evaluation({"something_new": MeasureResult(1.0, "bit")})
    utility = ze.Evaluation({"eer": MeasureResult(0.1, "rate")}, about=ze.About(role="utility"))
    for rows, number in (([other], "is one row"), ([utility], "is one row"), ([other, utility], "are 2 rows")):
        found = verdict(rows)
        assert (found.level, found.headline) == ("described", "These results are not about privacy")
        assert found.paragraph == (
            f"There {number} of results below, each number with what it means. None of them says what an attacker "
            "learns about people, so nothing follows about privacy."
        )
    assert "not about privacy" not in headline(search_row())


def test_each_measure_of_spoofing_has_its_sentence():
    sentences = {
        "tdcf_min": "wrong decisions cost at least 25 % of what they cost with a useless countermeasure (min t-DCF).",
        "adcf_min": "wrong decisions cost at least 25 % of what blind decisions cost (min a-DCF).",
        "teer": "accept others and spoofs, this happens in 25 % of the cases (t-EER).",
        "cm_eer": "the countermeasure alone errs in 25 % of the cases between real and spoofed speech (CM EER).",
    }
    for measure in sentences:
        row = spoofing(**{measure: 0.25})
        assert headline(row) == "How well spoofed speech is kept out"
        assert "These results are about keeping spoofed speech out, not about privacy." in text(row)
        for name, sentence in sentences.items():
            assert (sentence in text(row)) == (name == measure)
    assert "keeping spoofed speech out" not in text(search_row())


def test_the_attack_that_is_stopped_least_is_one_of_all():
    rows = [spoofing("A01", tdcf_min=0.9), spoofing("A02", tdcf_min=0.1), spoofing("A03", tdcf_min=0.2)]
    sentence = "Of 3 attacks, A01 is stopped least: min t-DCF is 90 %."
    assert sentence in text(*rows)
    assert sentence in text(spoofing(tdcf_min=0.3), *rows)
    assert "is stopped least" not in text(spoofing(tdcf_min=0.3), rows[0])
    assert "is stopped least" not in text(spoofing(teer=0.3), spoofing("A01", teer=0.2), spoofing("A02", teer=0.1))


def test_the_attack_is_named_and_so_is_the_system_beside_others():
    assert "For all attacks together, wrong decisions cost" in text(spoofing(tdcf_min=0.3))
    assert "For the attack 'A01', wrong decisions cost" in text(spoofing("A01", tdcf_min=0.3))
    assert "privacy. Wrong decisions cost" in text(spoofing(None, tdcf_min=0.3))
    both = verdict([spoofing(tdcf_min=0.3), spoofing(system="b", tdcf_min=0.4)])
    assert "privacy. a: For all attacks together" in both.paragraph
    assert both.others[0].startswith("b: For all attacks together")
    assert verdict([spoofing(tdcf_min=0.3)]).others == ()
