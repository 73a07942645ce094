"""The sentence above a table of comparisons, on either side of each of its conditions."""

from dataclasses import replace
from itertools import combinations

import pytest

from zeroevidence.evaluation.comparison import Comparison, PairwiseDifference, RankedSystem
from zeroevidence.report.comparisons import comparison_notes, comparison_tables, render_comparisons
from zeroevidence.report.verdict.others import comparison_sentence, comparison_verdict
from zeroevidence.uncertainty.compare import Difference


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


TRAINED = replace(two(0.2), ranking=tuple(replace(system, runs=3) for system in two(0.2).ranking))
TOLD, CLOSE = comparison([0.003, 0.02, 0.5]), comparison([0.003, 0.2, 0.5])


@pytest.mark.parametrize(
    ("said", "found", "other"),
    [
        ("A gives away less than B by 0.4 bit, more than chance explains (p = 0.049)", two(0.049), two(0.05)),
        ("(p < 0.001)", two(0.00099), two(0.001)),
        ("A and B are not told apart", two(0.05), two(0.049)),
        ("with these people a difference of 0.3 bit would be seen in 80 %", two(0.2), two(1.0, detectable=None)),
        ("with these people and trainings", TRAINED, two(0.2)),
        ("a difference of 5.1 percentage points", two(0.2, 0.4, 0.3, measure="eer", detectable=0.051), two(0.2)),
        ("than B by 10 percentage points", two(0.01, 0.4, 0.3, measure="eer"), two(0.01)),
        ("A gives away least of 3 systems, more than chance explains (p = 0.02)", TOLD, CLOSE),
        ("least of 3 systems, but is not told apart from B;", comparison([0.2, 0.02, 0.3]), TOLD),
        ("is not told apart from B and C;", comparison([0.2, 0.3, 0.01]), comparison([0.2, 0.02, 0.3])),
        ("By D_ECE (f), A", two(0.2, labels={"sex": "f"}), two(0.2)),
        ("there is nothing to compare A with", comparison([], values=(0.1,)), two(0.2)),
    ],
)
def test_both_sides(said, found, other):
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


ONLY = "though it is told apart only by EER"


@pytest.mark.parametrize(
    ("told", "close", "least"),
    [(TOLD, CLOSE, "A discloses least"), (two(0.003), two(0.2), "A discloses less than B")],
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
