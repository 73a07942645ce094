"""The sentence above a table of comparisons, on either side of each of its conditions."""

from dataclasses import replace
from itertools import combinations

import pytest

from zeroevidence.evaluation.comparing.comparison import Comparison, PairwiseDifference, RankedSystem
from zeroevidence.report.html.comparison import comparison_tables, comparison_verdict
from zeroevidence.report.tables.comparisons import comparison_notes, render_comparisons
from zeroevidence.report.verdict.comparison import comparison_sentence
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


def test_two_systems_that_differ():
    found = comparison_sentence(comparison([0.003], values=(0.1, 0.5)))
    assert found == "By D_ECE, A gives away less than B by 0.4 bit, more than chance explains (p = 0.003)."


@pytest.mark.parametrize(("p", "said"), [(0.001, "p = 0.001"), (0.00099, "p < 0.001"), (2e-6, "p < 0.001")])
def test_a_small_p_value_is_written_as_people_do(p, said):
    found = comparison([p], values=(0.1, 0.5))
    assert f"({said})" in comparison_sentence(found)
    unbreakable = said.replace(" ", "\u00a0")
    assert f"({unbreakable})" in comparison_verdict([found]).paragraph
    assert f"({unbreakable})" in comparison_tables(found)["sentence"]


@pytest.mark.parametrize(("p", "told"), [(0.049, True), (0.05, False)])
def test_two_systems_on_either_side_of_the_level(p, told):
    found = comparison_sentence(comparison([p], values=(0.1, 0.5)))
    assert ("more than chance explains" in found) == told
    assert ("are not told apart" in found) == (not told)


def test_two_systems_that_are_not_told_apart():
    found = comparison_sentence(comparison([0.2], values=(0.1, 0.5)))
    seen = "with these people a difference of 0.3 bit would be seen in 80 % of such comparisons"
    assert found == f"By D_ECE, A and B are not told apart; {seen}."
    trained = comparison([0.2], values=(0.1, 0.5))
    trained = replace(trained, ranking=tuple(replace(system, runs=3) for system in trained.ranking))
    assert "with these people and trainings a difference" in comparison_sentence(trained)


def test_a_difference_without_a_spread():
    found = comparison_sentence(comparison([1.0], values=(0.1, 0.5), detectable=None))
    assert found == "By D_ECE, A and B are not told apart."


def test_rates_differ_by_points():
    found = comparison_sentence(comparison([0.2], "eer", values=(0.4, 0.3), detectable=0.051))
    assert "a difference of 5.1 percentage points would be seen" in found
    assert "gives away less than B by 10 percentage points" in comparison_sentence(
        comparison([0.01], "eer", values=(0.4, 0.3))
    )


def test_the_first_of_several_systems():
    told = comparison_sentence(comparison([0.003, 0.02, 0.5]))
    assert told == "By D_ECE, A gives away least of 3 systems, more than chance explains (p = 0.02)."
    close = comparison_sentence(comparison([0.2, 0.02, 0.3]))
    assert close.startswith("By D_ECE, A gives away least of 3 systems, but is not told apart from B; with these")
    both = comparison_sentence(comparison([0.2, 0.3, 0.01]))
    assert "but is not told apart from B and C;" in both


def test_what_was_compared_is_named_where_it_differs():
    found = comparison([0.2], values=(0.1, 0.5), labels={"sex": "f"})
    assert comparison_sentence(found).startswith("By D_ECE (f), A and B")


def test_one_system_is_not_compared():
    assert comparison_sentence(comparison([], values=(0.1,))) == "By D_ECE, there is nothing to compare A with."


def test_the_sentence_stands_above_the_tables():
    found = [comparison([0.003, 0.02, 0.5])]
    for form in ("text", "md", "latex"):
        text = render_comparisons(found, form)
        assert text.index("A gives away least of 3 systems") < text.index("0.5000")
        assert "seen in 80" in text


def test_corrected_intervals_are_said_to_be_corrected():
    several, single = comparison([0.003, 0.02, 0.5]), comparison([0.2], values=(0.1, 0.5))
    rule = "an interval excludes 0 exactly where p is below 5 %"
    assert rule in comparison_notes([several])[0]
    assert rule not in comparison_notes([single])[0]
    assert "95 % interval" in render_comparisons([single], "md")
    assert "95 % interval" not in render_comparisons([several], "md").split("differences")[1]


def test_headline_of_a_page():
    assert comparison_verdict([comparison([0.003, 0.02, 0.5])]).headline == "A discloses least"
    assert comparison_verdict([comparison([0.003, 0.2, 0.5])]).headline == "No system is shown to disclose least"
    told, close = comparison([0.003, 0.02, 0.5]), comparison([0.003, 0.2, 0.5])
    mixed = comparison_verdict([replace(close, measure="alid"), replace(told, measure="eer")])
    assert mixed.headline == "A discloses least, though it is told apart only by EER"
    assert comparison_verdict([told, replace(told, measure="eer")]).headline == "A discloses least"
    single = comparison([], values=(0.1,))
    assert comparison_verdict([single]).headline == "A discloses least"
    other = comparison([0.003, 0.02, 0.5])
    other = replace(other, ranking=other.ranking[::-1])
    assert "disagree" in comparison_verdict([comparison([0.003, 0.02, 0.5]), other]).headline


def test_headline_of_a_page_on_two_systems():
    told, close = comparison([0.003], values=(0.1, 0.5)), comparison([0.2], values=(0.1, 0.5))
    assert comparison_verdict([told]).headline == "A discloses less than B"
    assert comparison_verdict([close]).headline == "Neither system is shown to disclose less"
    mixed = comparison_verdict([replace(close, measure="alid"), replace(told, measure="eer")])
    assert mixed.headline == "A discloses less than B, though it is told apart only by EER"
    other = replace(told, ranking=told.ranking[::-1])
    assert comparison_verdict([told, other]).headline == "The measures disagree on which discloses less"
