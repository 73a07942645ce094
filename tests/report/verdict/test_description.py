"""Verdicts on results that are not about privacy: each sentence on either side of its condition."""

import zeroevidence as ze
from tests.report.verdict.made import SETUP, check_own_rows, check_sides, headline, search_row, text
from zeroevidence.evaluation import MeasureResult
from zeroevidence.report.verdict import verdict


def spoofing(attack="all", system="a", **values):
    metrics = {name: MeasureResult(value, "") for name, value in values.items()}
    about = ze.About(question="spoofing", attack=attack)
    return ze.Evaluation(metrics, {"target": 3}, SETUP, {"system": system}, about)


ALL = spoofing(tdcf_min=0.3)
EACH = [spoofing(name, tdcf_min=cost) for name, cost in (("A01", 0.9), ("A02", 0.1), ("A03", 0.2))]


def test_results_that_say_nothing_of_attackers_are_shown_and_no_more():
    other = ze.Evaluation({"something_new": MeasureResult(1.0, "bit")})
    utility = ze.Evaluation({"eer": MeasureResult(0.1, "rate")}, about=ze.About(role="utility"))
    without_people = ze.Evaluation({"top1": MeasureResult(0.5, "rate"), "alid": MeasureResult(0.5, "bit")})
    for rows in ([other], [utility], [other, utility], [without_people]):
        assert verdict(rows).level == "described"
    check_sides(headline, "not about privacy", [[other], [utility]], [[search_row()]])
    check_sides(text, "There are 2 rows", [[other, utility]], [[other]])


def test_each_measure_of_spoofing_has_its_sentence():
    titles = {"tdcf_min": "(min t-DCF)", "adcf_min": "(min a-DCF)", "teer": "(t-EER)", "cm_eer": "(CM EER)"}
    check_own_rows(text, {title: [spoofing(**{name: 0.25})] for name, title in titles.items()})
    for name in titles:
        assert "25 % of" in text(spoofing(**{name: 0.25}))
    check_sides(text, "keeping spoofed speech out, not about privacy", [[ALL]], [[search_row()]])


def test_the_attack_that_is_stopped_least_is_one_of_all():
    check_sides(
        text,
        "Of 3 attacks, A01 is stopped least: min t-DCF is 90 %.",
        [EACH, [ALL, *EACH]],
        [[ALL, EACH[0]], [spoofing(teer=0.3), spoofing("A01", teer=0.2), spoofing("A02", teer=0.1)]],
    )
    assert verdict([EACH[0], ALL]).finding.strongest == 1  # all attacks together speak


def test_the_attack_is_named_and_so_is_the_system_beside_others():
    check_own_rows(
        text,
        {
            "privacy. For all attacks together": [ALL],
            "privacy. For the attack 'A01'": [EACH[0]],
            "privacy. Wrong decisions cost": [spoofing(None, tdcf_min=0.3)],
            "privacy. a: For all attacks together": [ALL, spoofing(system="b", tdcf_min=0.4)],
        },
    )
    (other,) = verdict([ALL, spoofing(system="b", tdcf_min=0.4)]).others
    assert other.startswith("b: For all attacks together")
