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
    short,
    text,
    too_coarse,
)
from zeroevidence.evaluation import Curve, findings
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.evaluation.rows.setup import Resampling
from zeroevidence.report.evaluations import effort_table
from zeroevidence.report.verdict.phrases import curve_sentence
from zeroevidence.uncertainty.spread import Spread

LIMITED = ({"bound": 0.4}, {"bound": 0.7})
LEFT_OUT = ", leaving out those that are not told apart from guessing"
WEAK, STRONG = search_row(0.3, 0.5, system="s", backend="a"), search_row(0.4, 0.9, system="s", backend="b")
SILENT = search_row(0.1, 0.0, "at-chance", system="s", backend="c")
FUSION = replace(STRONG, about=replace(STRONG.about, fused=True))
CLOSE, FAR = (replace(WEAK, about=replace(WEAK.about, development=2.0, development_error=e)) for e in (0.3, 0.1))
BETWEEN = ({"low": 0.7, "high": 0.95, "bound": 0.93}, {})
SPREAD = Spread(0.2, 20.0, 19.0, 0.0, 0.0)
LOWER = {"bound": 0.25}


def top(bound, *labels, **limits):
    return search_row(limits=({"bound": bound, **limits}, {}), **dict(labels))


@pytest.mark.parametrize(
    ("sentence", "said", "unsaid"),
    [
        (
            "Each limit holds with 95 % confidence by itself",
            [[search_row(limits=LIMITED)]],
            # the last limit is written like the value, so it is not said and not counted
            [[search_row(limits=(LIMITED[0], {}))], [search_row(limits=({"bound": 0.30001}, {"bound": 0.7}))]],
        ),
        (
            "at most 55 % of the recordings of people like these (95 % confidence, the largest limit of 2",
            [[developed(top(0.4), 2.0), developed(top(0.55), 1.0)]],
            [[top(0.4)], [top(0.4), replace(top(0.55), labels={"system": "another"})]],
        ),
        ("at most 40 % of the recordings of people like these (95 % confidence; 30 %", [[top(0.4)]], [[search_row()]]),
        ("rule nothing out", [[top(1.0)]], [[top(0.9)], [search_row(1.0, 4.3, limits=({"bound": 1.0}, {}))]]),
        (
            "rule nothing out",
            [[search_row(0.5, 1.0, limits=({"bound": 1.0}, {}))]],
            [[search_row(0.9, 3.0, limits=({"bound": 1.0}, {}))]],
        ),
        ("people would bring the limit half-way", [[top(1.0, spread=SPREAD)]], [[top(1.0)]]),
        (
            "puts the right name to 8 of 25 recordings",
            [[search_row(chance="at-chance", speakers=5, limits=({"bound": 0.4}, {}))]],
            [[search_row()]],
        ),
        (
            "90 % of the recordings (95 % confidence, for people like these: 70 % to 95 %)",
            [
                [search_row(0.9, 3.0, limits=BETWEEN)],
                [search_row(0.9, 3.0, limits=BETWEEN), search_row(0.8, 2.9, limits=({"bound": 0.95001}, {}))],
            ],
            [[search_row(0.3, 0.5, limits=BETWEEN)]],
        ),
        (
            "70 % to 95 %, and up to 99 % in the largest limit of 2 attempts)",
            [[search_row(0.9, 3.0, limits=BETWEEN), search_row(0.8, 2.9, limits=({"bound": 0.99}, {}))]],
            [[search_row(0.9, 3.0, limits=BETWEEN)]],
        ),
        (
            "(p = 0.001, 999 permutations)",
            [[search_row()], [pairs_row()]],
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


def test_of_error_rates_the_limit_is_the_smallest():
    strong = pairs_row(0.1, 0.3, limits=({}, LOWER), system="s", backend="a")
    weak = pairs_row(0.05, 0.4, limits=({}, {"bound": 0.2}), system="s", backend="b")
    several = "at least 20 % (95 % confidence, the smallest limit of 2 attempts, for people like these; 30 %"
    check_sides(short, several, [[strong, weak]], [[strong]])
    check_sides(short, "at least 25 % (95 % confidence, for people like these;", [[strong]], [[strong, weak]])


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


def test_whether_chance_explains_it():
    check_own_rows(
        text,
        {
            "Whether chance alone could show as much": [search_row(chance="untested")],
            "On average this is not told apart from guessing.": [search_row(chance="at-chance")],
            "By its 95 % interval this is more than chance.": [
                search_row(chance="untested", limits=({}, {"low": 0.2, "high": 0.8}))
            ],
            "People are too few to test whether chance": [search_row(chance="at-chance", speakers=5)],
            "the test is too coarse to say.": too_coarse(),
            "Chance does not explain these results": [search_row()],
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


def test_a_leak_is_the_least_only_where_chance_is_ruled_out():
    check_own_rows(
        text,
        {
            "what was measured is the least that is given away.": [search_row()],
            "What was measured may be chance": [search_row(chance="untested")],
            "Neither privacy nor a leak follows from so few people.": [search_row(chance="at-chance", speakers=5)],
            "a weak attack is not evidence of privacy": [search_row(chance="at-chance")],
        },
    )


ABOUT = replace(AGAINST.informed, development=1.5, spent=TrainingEffort(40, 7, 12, 320))
ROW = search_row(0.4, 1.6, about=ABOUT, system="pitch", backend="whitened", encoder="campplus-trained")
LEVEL = replace(ROW, curves={"alid_over_training_people": Curve((10.0, 20.0, 40.0), (0.5, 1.0, 1.6))})
RISING = LEVEL.with_flags(flag("still-rising", gain=0.6))


def test_a_rising_curve_makes_the_verdict_a_lower_bound():
    check_sides(text, "gives away at least 1.60 bits", [[RISING]], [[LEVEL], [ROW]])
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
