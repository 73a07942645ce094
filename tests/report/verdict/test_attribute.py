"""Verdicts about an attribute: each headline and sentence on either side of its condition."""

from dataclasses import replace

import pytest

import zeroevidence as ze
from tests.report.verdict.made import (
    SETUP,
    attribute_row,
    check_own_rows,
    check_sides,
    developed,
    headline,
    short,
    text,
)
from zeroevidence.evaluation import MeasureResult
from zeroevidence.report.verdict import verdict

PLAIN = attribute_row("unprotected", 0.7, role="control")
FLOW, LINEAR = attribute_row("flow", 0.1), attribute_row("linear", 0.3)
SILENT = attribute_row("flow", 0.0, "at-chance")
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
            "at most 27.7 % (95 % confidence",
            [[FLOW.with_metrics({"d_ece": replace(FLOW["d_ece"], bound=0.2)})]],
            [[FLOW]],
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
            "From all recordings of one person together it is 55.5 %.",
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
        (text, "the least that is given away", [[PLAIN, FLOW]], [[PLAIN]]),
        (short, "the doubt about sex; without protection it is 97 %.", [[PLAIN, FLOW]], [[FLOW]]),
        (short, "of other people that were protected in the same way.", [[FLOW]], [[PLAIN]]),
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
            "linear: the attacker that counts (logistic) removes 41.6 % of the uncertainty about sex.": [FLOW, LINEAR],
            "on average not told apart from guessing.": [FLOW, attribute_row("linear", 0.3, "at-chance")],
            "accent, with flow: the attacker removes 41.6 % of the uncertainty.": [FLOW, accent],
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
