"""Phrases that verdicts share: limits, choices, p-values, curves and cautions, each on either side of its condition."""

from dataclasses import replace

import pytest

from tests.report.verdict.made import (
    AGAINST,
    SETUP,
    attribute_row,
    check_own_rows,
    check_sides,
    control,
    developed,
    pairs_row,
    search_row,
    text,
)
from zeroevidence.evaluation import Curve, findings
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.setup import Resampling
from zeroevidence.report.evaluations import effort_table
from zeroevidence.report.verdict.phrases import curve_sentence

LIMITED = ({"low": 0.2, "high": 0.4}, {"low": 0.3, "high": 0.7})
LEFT_OUT = " among those that are not just guessing"
WEAK, STRONG = search_row(0.3, 0.5, system="s", backend="a"), search_row(0.4, 0.9, system="s", backend="b")
SILENT = search_row(0.1, 0.0, "at-chance", system="s", backend="c")
FUSION = replace(STRONG, about=replace(STRONG.about, fused=True))
CLOSE, FAR = (replace(WEAK, about=replace(WEAK.about, development=2.0, development_error=e)) for e in (0.3, 0.1))
BETWEEN = ({"low": 0.7, "high": 0.95, "bound": 0.99}, {})


def top(bound, chance="at-chance", **labels):
    return search_row(0.3, 0.5, chance, limits=({"bound": bound}, {}), **labels)


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        (
            "Each interval or limit holds by itself",
            [[search_row(limits=LIMITED)]],
            # the last interval is a point as it is written, so it is not said and not counted
            [[search_row(limits=(LIMITED[0], {}))], [search_row(limits=({"low": 0.3, "high": 0.30001}, LIMITED[1]))]],
        ),
        (
            "Allowing for kinds of people who were not seen, it is at most 40 % (95 % confidence).",
            [[top(0.4)], [developed(top(0.4), 2.0), developed(top(0.55), 1.0)]],  # not the limit of another row
            [[top(0.4, "beaten")], [top(0.4, "untested")], [search_row(chance="at-chance")]],
        ),
        (
            "puts the right name to 8 of 25 recordings",
            [[search_row(chance="at-chance", speakers=5, limits=({"bound": 0.4}, {}))]],
            [[search_row()]],
        ),
        (
            "90 % (95 % interval 70 % to 95 %) of the recordings",
            [
                [search_row(0.9, 3.0, limits=BETWEEN)],
                [search_row(0.9, 3.0, limits=BETWEEN), search_row(0.8, 2.9, limits=({"low": 0.1, "high": 0.99}, {}))],
            ],
            [[search_row(0.9, 3.0)]],
        ),
        (
            "(p = 0.002, 999 permutations)",
            [[search_row()], [pairs_row(), pairs_row(system="t")]],
            [
                [replace(search_row(), setup=replace(SETUP, null=Resampling("list", 1)))],
                [search_row(chance="at-chance")],
                [search_row(chance="untested")],
            ],
        ),
        (
            f"s gives most away{LEFT_OUT}: ",
            [[WEAK, replace(STRONG, labels={"system": "t"}, metrics=SILENT.metrics)]],
            [[WEAK, search_row(0.2, 0.4, system="t")]],
        ),
    ],
)
def test_both_sides(sentence, said, unsaid):
    check_sides(text, sentence, said, unsaid)


@pytest.mark.parametrize(
    ("choice", "rows", "said"),
    [
        ("only", [WEAK], ""),
        ("development", [developed(WEAK, 2.0), developed(STRONG, 1.0)], "did best on other people, the"),
        ("development", [FAR, developed(FUSION, 1.8)], "did best on other people, the"),
        ("development", [FAR, developed(FUSION, 2.1)], "did best on other people, the"),
        ("development-beyond-chance", [developed(WEAK, 2.0), developed(SILENT, 3.0)], f"other people{LEFT_OUT}, the"),
        ("fused", [CLOSE, developed(FUSION, 1.8)], "none clearly beat on other people, the"),
        (
            "fused-beyond-chance",
            [developed(SILENT, 3.0), CLOSE, developed(FUSION, 1.8)],
            f"none clearly beat on other people{LEFT_OUT}, the",
        ),
        ("evaluated", [developed(WEAK, 2.0), STRONG], "learns most on average, the"),
        ("evaluated", [WEAK, search_row(0.4, 0.9, "at-chance", system="s")], f"learns most on average{LEFT_OUT}"),
        ("evaluated", [SILENT, SILENT], "learns most on average, the"),
    ],
)
def test_how_the_attempt_that_counts_was_chosen(choice, rows, said):
    assert findings(rows)[0].choice == choice
    assert said in text(*rows)
    assert (f"f {len(rows)} attempts, the one that" in text(*rows)) == (len(rows) > 1)


def test_development_people_choose_no_bound():
    weak, strong = (
        search_row(top1, bits, about=AGAINST.control, system="unprotected", backend=name)
        for top1, bits, name in ((0.3, 0.5, "a"), (0.9, 3.0, "b"))
    )
    assert findings([developed(weak, 2.0), developed(strong, 1.0)])[0].choice == "evaluated"
    assert findings([developed(weak, 2.0)])[0].choice == "only"


def test_an_attribute_says_how_its_attacker_was_chosen():
    first, second = attribute_row("flow", 0.3), attribute_row("flow", 0.2, attacker="boosting")
    check_own_rows(
        text,
        {
            "the attacker of 2 that learns most on average (logistic)": [first, second],
            "the attacker of 2 that did best on other people (boosting)": [
                developed(first, 0.1),
                developed(second, 0.2),
            ],
            "the attacker (logistic), who learned": [first],
        },
    )


def test_a_failure_is_read_beside_the_control():
    silent = search_row(chance="at-chance", about=AGAINST.lazy, system="s", backend="a")
    nobody = "Nobody showed that the attack works without protection"
    check_own_rows(
        text,
        {
            nobody: [silent],
            "The same attack does work without protection": [control(backend="a"), silent],
            "Another attack does work without protection": [control(backend="b"), silent],
            "The attack does not even work without protection": [control("at-chance", backend="a"), silent],
        },
    )
    assert nobody in text(control("untested", backend="a"), silent)
    assert nobody in text(control("at-chance", backend="b"), silent)  # that is another attack


def test_what_follows_depends_on_chance():
    check_own_rows(
        text,
        {
            "This is about the attackers that were tried; others may learn more.": [search_row()],
            "What was measured may be chance": [search_row(chance="untested")],
            "Neither privacy nor a leak follows from so few people.": [search_row(chance="at-chance", speakers=5)],
            "a weak attack is not evidence of privacy": [search_row(chance="at-chance")],
        },
    )


ABOUT = replace(AGAINST.informed, development=1.5, spent=TrainingEffort(40, 7, 12, 320))
ROW = search_row(0.4, 1.6, about=ABOUT, system="pitch", backend="whitened", encoder="campplus-trained")
LEVEL = replace(ROW, curves={"alid_over_training_people": Curve((10.0, 20.0, 40.0), (0.5, 1.0, 1.6))})
RISING = LEVEL.with_flags(flag("still-rising", gain=0.6))


def test_a_rising_curve_is_said():
    check_sides(text, "instead of 20 it learned 0.60 bits more; this has not levelled off.", [[RISING]], [[LEVEL]])
    assert curve_sentence(findings([LEVEL])[0].curves[0]).endswith("0.60 bits more; this has levelled off.")


@pytest.mark.parametrize(
    ("curve", "over", "code"),
    [
        ("alid_over_training_people", "training people", "still-rising"),
        ("alid_over_epochs", "epochs of training", "training-pays"),
        ("alid_over_draws", "runs of the anonymiser", "draws-pay"),
        ("alid_over_enrolment", "enrolled recordings of each person", "enrolment-pays"),
    ],
)
def test_each_kind_of_curve_has_its_flag(curve, over, code):
    row = replace(ROW, curves={curve: Curve((6.0, 12.0), (1.0, 0.9))})
    assert findings([row])[0].rising == []
    (rising,) = findings([row.with_flags(flag(code, gain=0.1, amount=12, before=6))])[0].rising
    assert f"With 12 {over} instead of 6 it learned 0.10 bits less" in curve_sentence(rising)


def test_the_table_holds_the_training_effort_of_every_attacker():
    table = effort_table([ROW])
    assert table.numbers == (1,)
    texts = [cell.text for cell in table.cells[0]]
    assert texts[:9] == ["semi-informed", "campplus-trained", "whitened", "40", "7", "12", "320", "1", "1.50"]
    ignorant = replace(ABOUT, threat=AGAINST.ignorant.threat)
    assert effort_table([replace(ROW, about=ignorant)]).cells[0][7].text == ""
    assert effort_table([replace(ROW, about=replace(ABOUT, spent=None))]) is None
