"""Verdicts on attributes, spoofing and comparisons: each sentence on either side of its condition."""

from dataclasses import replace
from itertools import combinations

import pytest

import zeroevidence as ze
from tests.report.verdict.made import (
    SETUP,
    attribute_row,
    check_own_rows,
    check_sides,
    developed,
    headline,
    search_row,
    short,
    text,
)
from zeroevidence.evaluation import MeasureResult
from zeroevidence.evaluation.comparison import Comparison, PairwiseDifference, RankedSystem
from zeroevidence.report.comparisons import comparison_notes, comparison_tables, render_comparisons
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.others import comparison_sentence, comparison_verdict
from zeroevidence.uncertainty.compare import Difference

PLAIN = attribute_row("unprotected", 0.7, role="control")
FLOW, LINEAR = attribute_row("flow", 0.1), attribute_row("linear", 0.3)
SILENT = attribute_row("flow", 0.0, "at-chance")
UNLIMITED = FLOW.with_metrics({"d_ece": replace(FLOW["d_ece"], low=None, high=None)})
CHOSEN = developed(SILENT, 0.2)
FINDER = developed(attribute_row("flow", 0.1, attacker="boosting"), 0.1)
TRAINED = attribute_row("flow", 0.7, role="training", attacker="svm")


def utility(system, eer):
    return ze.Evaluation({"eer": MeasureResult(eer, "rate")}, {}, SETUP, {"system": system}, ze.About(role="utility"))


def test_every_level_has_its_headline():
    check_own_rows(
        headline,
        {
            "Protected recordings still give away sex": [PLAIN, FLOW],
            "Protected recordings may still give away sex": [PLAIN, attribute_row("flow", 0.1, "untested")],
            "Too few people": [PLAIN, replace(attribute_row("flow", 0.1, "at-chance"), counts={"speakers": 5})],
            "No trace of sex was found, which does not prove": [PLAIN, SILENT],
            "cannot say": [attribute_row("unprotected", 0.0, "at-chance", role="control"), SILENT],
            "Unprotected recordings give away sex; no protection": [PLAIN],
            "Unprotected recordings may give away": [attribute_row("unprotected", 0.7, "untested", role="control")],
        },
    )


@pytest.mark.parametrize(
    ("part", "sentence", "said", "unsaid"),
    [
        (text, "With flow, which leaves least of 2 protections", [[LINEAR, FLOW]], [[FLOW]]),
        (text, "protected in the same way", [[FLOW]], [[PLAIN]]),
        (text, "; without protection it is 97 %.", [[PLAIN, FLOW]], [[FLOW]]),
        (
            text,
            "it is at most 27.7 % (95 % confidence).",
            [[SILENT.with_metrics({"d_ece": replace(SILENT["d_ece"], bound=0.2)})]],
            [[SILENT], [FLOW.with_metrics({"d_ece": replace(FLOW["d_ece"], bound=0.2)})]],
        ),
        (
            text,
            "But other attackers found more than chance: boosting.",
            [[PLAIN, CHOSEN, FINDER, TRAINED]],
            [[PLAIN, CHOSEN, TRAINED], [PLAIN, FINDER, TRAINED]],
        ),
        (
            short,
            "but other attempts found more than chance",
            [[PLAIN, CHOSEN, FINDER, TRAINED]],
            [[PLAIN, CHOSEN, TRAINED], [PLAIN, FINDER, TRAINED]],
        ),
        (
            text,
            "From all recordings of one person together, 55.5 % (95 % interval 0 % to 55.5 %) of it is removed.",
            [[FLOW, attribute_row("flow", 0.4, attacker="person", pooled=True)]],
            [[FLOW]],
        ),
        (
            text,
            "which should still work, errs in 4 % of the cases with the protection",
            [[FLOW, utility("flow", 0.04)]],
            [[FLOW], [PLAIN, utility("unprotected", 0.01)]],
        ),
        (
            text,
            "with the protection, and 1 % without.",
            [[FLOW, utility("flow", 0.04), utility("unprotected", 0.01)]],
            [[FLOW, utility("flow", 0.04)]],
        ),
        (text, "nothing yet about a protection", [[PLAIN]], [[PLAIN, FLOW]]),
        (text, "others may learn more.", [[PLAIN, FLOW]], [[PLAIN]]),
        (text, "a share of the uncertainty about sex that is not given", [[UNLIMITED]], [[FLOW]]),
        (short, "the doubt about sex; without protection it is 97 %.", [[PLAIN, FLOW]], [[FLOW]]),
    ],
)
def test_both_sides(part, sentence, said, unsaid):
    check_sides(part, sentence, said, unsaid)


def others(*rows):
    return " ".join(verdict(rows).others).replace("\u00a0", " ")


def test_other_protections_and_attributes_have_a_sentence_each():
    accent = attribute_row("flow", 0.3, name="accent")
    check_own_rows(
        others,
        {
            "(logistic) removes 41.6 % (95 % interval 0 % to 41.6 %) of the uncertainty about sex.": [FLOW, LINEAR],
            "on average not told apart from guessing.": [FLOW, attribute_row("linear", 0.3, "at-chance")],
            "accent, with flow: the attacker removes 41.6 % (95 % interval 0 % to 41.6 %) of the uncertainty.": [
                FLOW,
                accent,
            ],
            "the uncertainty; without protection it is 83.2 %.": [
                *(FLOW, accent, attribute_row("unprotected", 0.6, name="accent", role="control"))
            ],
            "accent: see the table.": [FLOW, attribute_row("linear", 0.3, name="accent")],
        },
    )


def test_one_class_of_several_is_named():
    rows = [
        attribute_row("flow", bits, name="accent", of_class=name) for bits, name in ((0.1, "south"), (0.2, "north"))
    ]
    check_sides(text, "accent (north or not)", [rows], [[FLOW]])


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
        "Of 3 attacks, A01 is stopped least: min t-DCF (constrained) is 90 %.",
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


def comparison(p_values, measure="d_ece", *, values=(0.1, 0.5, 0.6), detectable=0.3, **more):
    """As many systems as values: those of a measure that rises, with the adjusted p-value of each pair."""
    systems = "ABCDEF"[: len(values)]
    placed = tuple(RankedSystem(name, value, None, None, 1) for name, value in zip(systems, values, strict=True))
    pairs = tuple(
        PairwiseDifference(systems[i], systems[j], Difference(values[i] - values[j], -1.0, 1.0, p, 0.95, detectable), p)
        for (i, j), p in zip(combinations(range(len(values)), 2), p_values, strict=True)
    )
    return Comparison(measure, placed, pairs, "ZE", **more)


def two(p, *values, **more):
    return comparison([p], values=values or (0.1, 0.5), **more)


TOLD, CLOSE = comparison([0.003, 0.02, 0.5]), comparison([0.003, 0.2, 0.5])


@pytest.mark.parametrize(
    ("said", "found", "other"),
    [
        ("A gives away less than B by 0.4 bit, more than chance explains (p = 0.049)", two(0.049), two(0.05)),
        ("(p < 0.001)", two(0.00099), two(0.001)),
        ("A and B are not told apart", two(0.05), two(0.049)),
        ("with these people a difference of 0.3 bit would be seen in 80 %", two(0.2), two(1.0, detectable=None)),
        ("a difference of 5.1 percentage points", two(0.2, 0.4, 0.3, measure="eer", detectable=0.051), two(0.2)),
        ("than B by 10 percentage points", two(0.01, 0.4, 0.3, measure="eer"), two(0.01)),
        (
            "A gives away least of 3 systems, more than chance explains (p = 0.02, corrected for 3 pairs of systems)",
            TOLD,
            CLOSE,
        ),
        ("(p = 0.02, corrected for 4 pairs in all measures)", two(0.02, together=4), two(0.02)),
        ("least of 3 systems, but is not told apart from B;", comparison([0.2, 0.02, 0.3]), TOLD),
        ("is not told apart from B and C;", comparison([0.2, 0.3, 0.01]), comparison([0.2, 0.02, 0.3])),
        ("By D_ECE (f), A", two(0.2, labels={"sex": "f"}), two(0.2)),
        ("there is nothing to compare A with", comparison([], values=(0.1,)), two(0.2)),
    ],
)
def test_what_comparisons_say(said, found, other):
    assert said in comparison_sentence(found)
    assert said not in comparison_sentence(other)


def test_p_values_are_not_broken_on_a_page():
    found = two(2e-6)
    assert "(p\u00a0<\u00a00.001)" in comparison_verdict([found]).paragraph
    assert "(p\u00a0<\u00a00.001)" in comparison_tables(found)["sentence"]


@pytest.mark.parametrize("form", ["text", "md", "latex"])
def test_the_sentence_stands_above_the_tables(form):
    text = render_comparisons([TOLD], form)
    assert text.index("A gives away least of 3 systems") < text.index("0.5000")
    assert "seen in 80" in text


def test_corrected_intervals_are_said_to_be_corrected():
    rule = "an interval excludes 0 exactly where p is below 5 %"
    assert rule in comparison_notes([TOLD])[0]
    assert rule not in comparison_notes([two(0.2)])[0]
    assert "95 % interval" in render_comparisons([two(0.2)], "md")
    assert "95 % interval" not in render_comparisons([TOLD], "md").split("differences")[1]
    assert "95 % interval" not in render_comparisons([two(0.2, together=2), two(0.1, together=2)], "md")


def test_which_family_is_corrected_is_said():
    within, over, alone = (
        "corrected within a measure",
        "corrected over all measures",
        "Each measure is tested by itself",
    )
    together = replace(TOLD, together=9)
    for said, comparisons, others in (
        (within, [TOLD], [together]),
        (over, [together], [TOLD]),
        (alone, [TOLD, TOLD], [TOLD]),
        (alone, [two(0.2), two(0.1)], [together, together]),
    ):
        assert said in comparison_notes(comparisons)[0]
        assert said not in comparison_notes(others)[0]
    assert "differences, corrected for 3 pairs of systems" in render_comparisons([TOLD], "text")
    assert "differences, corrected for 9 pairs in all measures" in render_comparisons([together], "text")


ONLY = "though it is told apart only by EER"


@pytest.mark.parametrize(
    ("told", "close", "least"), [(TOLD, CLOSE, "A discloses least"), (two(0.003), two(0.2), "A discloses less than B")]
)
def test_headline_of_a_page(told, close, least):
    assert comparison_verdict([told]).headline == least
    assert comparison_verdict([told, replace(told, measure="eer")]).headline == least
    assert "is shown to disclose" in comparison_verdict([close]).headline
    mixed = comparison_verdict([replace(close, measure="alid"), replace(told, measure="eer")])
    assert mixed.headline == f"{least}, {ONLY}"
    turned = replace(told, ranking=told.ranking[::-1])
    assert "disagree" in comparison_verdict([told, turned]).headline


def test_one_system_discloses_least():
    assert comparison_verdict([comparison([], values=(0.1,))]).headline == "A discloses least"
