"""Phrases that verdicts share: limits, choices, p-values and cautions, each on either side of its condition."""

from dataclasses import replace

from tests.report.verdict.made import (
    SETUP,
    attribute_row,
    developed,
    pairs_row,
    search_row,
    short,
    text,
)
from zeroevidence.evaluation import findings
from zeroevidence.evaluation.rows.setup import Resampling
from zeroevidence.report.verdict.phrases import Statement, paragraph
from zeroevidence.uncertainty.spread import Spread

EACH = "Each limit holds with 95 % confidence by itself, not all of them together."
LIMITED = ({"bound": 0.4}, {"bound": 0.7})
LEFT_OUT = ", leaving out those that are not told apart from guessing"


def plain(text):
    return text.replace("\u00a0", " ")


def test_each_limit_holds_by_itself_where_there_are_two():
    for limits, said in ((0, False), (1, False), (2, True)):
        assert (EACH in plain(paragraph([Statement("A.", limits), "B."], 0.95))) == said
    assert EACH in text(search_row(limits=LIMITED))
    assert EACH not in text(search_row(limits=(LIMITED[0], {})))
    assert EACH not in text(pairs_row(limits=({"bound": 0.2}, {"bound": 0.2})))
    # a limit that is written like the value is not said, and so not counted
    assert EACH not in text(search_row(limits=({"bound": 0.30001}, {"bound": 0.7})))


def test_the_limit_is_the_largest_of_all_attempts():
    chosen = developed(search_row(limits=({"bound": 0.4}, {"bound": 0.7}), system="s", backend="a"), 2.0)
    other = developed(search_row(0.2, 0.3, limits=({"bound": 0.55}, {"bound": 0.9}), system="s", backend="b"), 1.0)
    together = text(chosen, other)
    assert "at most 55 % of the recordings of people like these (95 % confidence, the largest limit of 2" in together
    assert "at most 0.90 bits (95 % confidence, the largest limit of 2 attempts; 0.50 measured)" in together
    alone = text(chosen)
    assert "at most 40 % of the recordings of people like these (95 % confidence; 30 % of those measured)" in alone
    assert "the largest limit" not in alone


def test_of_error_rates_the_limit_is_the_smallest():
    strong = pairs_row(0.1, 0.3, limits=({}, {"bound": 0.25}), system="s", backend="a")
    weak = pairs_row(0.05, 0.4, limits=({}, {"bound": 0.2}), system="s", backend="b")
    assert "at least 20 % (95 % confidence, the smallest limit of 2 attempts, for people like these; 30 %" in (
        short(strong, weak)
    )
    assert "at least 25 % (95 % confidence, for people like these; 30 % measured)" in short(strong)


def test_an_attempt_on_another_system_has_no_part_in_limit_and_count():
    rows = [search_row(limits=LIMITED, system="oa"), search_row(0.6, 2.0, limits=({"bound": 0.7}, {}), system="aa")]
    assert "attempts" not in text(*rows)
    assert "at most 70 % of the recordings of people like these (95 % confidence; 60 % of those" in text(*rows)
    same = [replace(row, labels={"system": "aa"}) for row in rows]
    assert "of 2 attempts, the one that learns most on average" in text(*same).lower()


def choices(*rows):
    finding = findings(rows)[0]
    return finding.choice, text(*rows).lower()


def test_how_the_attempt_that_counts_was_chosen():
    weak, strong = search_row(0.3, 0.5, system="s", backend="a"), search_row(0.4, 0.9, system="s", backend="b")
    silent = search_row(0.1, 0.0, "at-chance", system="s", backend="c")
    choice, said = choices(weak)
    assert choice == "only"
    assert "attempts" not in said
    choice, said = choices(developed(weak, 2.0), developed(strong, 1.0))
    assert choice == "development"
    assert "of 2 attempts, the one that did best on other people, the attacker" in said
    choice, said = choices(developed(weak, 2.0), developed(silent, 3.0))
    assert choice == "development-beyond-chance"
    assert f"of 2 attempts, the one that did best on other people{LEFT_OUT}, the attacker" in said
    fusion = replace(strong, about=replace(strong.about, fused=True))
    close, far = (
        replace(weak, about=replace(weak.about, development=2.0, development_error=error)) for error in (0.3, 0.1)
    )
    choice, said = choices(close, developed(fusion, 1.8))
    assert choice == "fused"
    fuses = "the one that fuses several and that none clearly beat on other people"
    assert f"of 2 attempts, {fuses}, the attacker" in said
    assert choices(far, developed(fusion, 1.8))[0] == "development"
    assert choices(far, developed(fusion, 2.1))[0] == "development"
    choice, said = choices(developed(silent, 3.0), close, developed(fusion, 1.8))
    assert choice == "fused-beyond-chance"
    assert f"of 3 attempts, {fuses}{LEFT_OUT}, the attacker" in said
    choice, said = choices(developed(weak, 2.0), strong)
    assert choice == "evaluated"
    assert "of 2 attempts, the one that learns most on average, the attacker" in said


def test_development_people_choose_no_bound(against):
    weak, strong = (
        search_row(top1, bits, about=against.control, system="unprotected", backend=name)
        for top1, bits, name in ((0.3, 0.5, "a"), (0.9, 3.0, "b"))
    )
    assert findings([developed(weak, 2.0), developed(strong, 1.0)])[0].choice == "evaluated"
    assert findings([developed(weak, 2.0)])[0].choice == "only"
    protected = [replace(row, about=replace(against.lazy, development=row.about.development), labels={"system": "s"})
                 for row in (developed(weak, 2.0), developed(strong, 1.0))]  # fmt: skip
    assert findings(protected)[0].choice == "development"


def test_attempts_at_chance_are_left_out_where_they_have_the_larger_value():
    leak, flattered = search_row(0.3, 0.5, system="s"), search_row(0.4, 0.9, "at-chance", system="s")
    assert f"the one that learns most on average{LEFT_OUT}" in choices(leak, flattered)[1]
    assert LEFT_OUT not in choices(leak, leak)[1]
    assert LEFT_OUT not in choices(flattered, flattered)[1]
    other = replace(flattered, labels={"system": "t"})
    assert f"Of 2 results, s gives most away{LEFT_OUT}: " in text(leak, other)
    assert "Of 2 results, s gives most away: " in text(leak, replace(search_row(0.2, 0.4), labels={"system": "t"}))


def test_an_attribute_says_how_its_attacker_was_chosen():
    first, second = attribute_row("flow", 0.3), attribute_row("flow", 0.2, attacker="boosting")
    assert "the attacker of 2 that learns most on average (logistic)" in text(first, second)
    assert "the attacker of 2 that did best on other people (boosting)" in text(
        developed(first, 0.1), developed(second, 0.2)
    )
    assert "the attacker (logistic), who learned" in text(first)


def test_p_values_are_quoted_with_their_permutations():
    said = "Chance does not explain these results (p = 0.001, 999 permutations)."
    assert said in text(search_row())
    assert "Chance does not explain this (p = 0.001, 999 permutations)." in text(pairs_row())
    assert "(p = 0.001, 999 permutations)" in short(search_row())
    of_a_list = replace(search_row(), setup=replace(SETUP, null=Resampling("list", 1)))
    assert "(p = 0.001)." in text(of_a_list)
    assert "p = " not in text(search_row(chance="at-chance"))
    assert "p = " not in text(search_row(chance="untested"))


def test_whether_chance_explains_it():
    not_tested = "Whether chance alone could show as much was not tested."
    apart = "On average this is not told apart from guessing."
    by_interval = search_row(chance="untested", limits=({}, {"low": 0.2, "high": 0.8}))
    few = search_row(chance="at-chance", speakers=5)
    coarse = [replace(row, metrics={**row.metrics, "alid": replace(row["alid"], p_value=0.03)})
              for row in (search_row(system="s"), search_row(system="t"))]  # fmt: skip
    cases = {
        not_tested: [search_row(chance="untested")],
        apart: [search_row(chance="at-chance")],
        "By its 95 % interval this is more than chance.": [by_interval],
        "People are too few to test whether chance shows as much; that takes at least 10.": [few],
        "Tested alone this is more than chance; for all these results together": coarse,
        "Chance does not explain these results": [search_row()],
    }
    for sentence in cases:
        for other, others in cases.items():
            assert (sentence in text(*others)) == (sentence == other), (sentence, other)


def test_a_limit_that_rules_nothing_out():
    spread = Spread(0.2, 20.0, 19.0, 0.0, 0.0)
    vague = search_row(limits=({"bound": 1.0, "spread": spread}, {}))
    assert "So few people rule nothing out: others like them may give everything away; about" in text(vague)
    assert "people would bring the limit half-way to what was measured." in text(vague)
    unknown = search_row(limits=({"bound": 1.0}, {}))
    assert "may give everything away." in text(unknown)
    assert "rule nothing out" not in text(search_row(limits=({"bound": 0.9}, {})))
    assert "rule nothing out" not in text(search_row(1.0, 4.3, limits=({"bound": 1.0}, {})))
    recognised = search_row(0.9, 3.0, limits=({"bound": 1.0}, {}))
    assert "rule nothing out" not in text(recognised)
    assert "rule nothing out" in text(search_row(0.5, 1.0, limits=({"bound": 1.0}, {})))


def test_the_share_of_right_names_is_a_count_where_people_are_few():
    few = search_row(chance="at-chance", speakers=5, limits=({"bound": 0.4}, {}))
    assert "puts the right name to 8 of 25 recordings" in text(few)
    assert "of the recordings" not in text(few).split(";")[0]
    assert "puts the right name to 30 % of the recordings" in text(search_row())


def test_the_interval_is_said_of_people_who_are_recognised():
    between = ({"low": 0.7, "high": 0.95, "bound": 0.93}, {})
    assert "90 % of the recordings (95 % confidence, for people like these: 70 % to 95 %)" in (
        text(search_row(0.9, 3.0, limits=between))
    )
    assert "for people like these: " not in text(search_row(0.3, 0.5, limits=between))
    above = search_row(0.8, 2.9, limits=({"bound": 0.99}, {}))
    assert "70 % to 95 %, and up to 99 % in the largest limit of 2 attempts)" in (
        text(search_row(0.9, 3.0, limits=between), above)
    )
    as_written = search_row(0.8, 2.9, limits=({"bound": 0.95001}, {}))
    assert "70 % to 95 %)" in text(search_row(0.9, 3.0, limits=between), as_written)


def control_of(against, chance, **labels):
    return search_row(1.0, 4.0, chance, about=against.control, **{"system": "unprotected", **labels})


def test_a_failure_is_read_beside_the_control(against):
    silent = search_row(chance="at-chance", about=against.lazy, system="s", backend="a")
    fails = {
        "Nobody showed that the attack works without protection": [],
        "The same attack does work without protection": [control_of(against, "beaten", backend="a")],
        "Another attack does work without protection": [control_of(against, "beaten", backend="b")],
        "The attack does not even work without protection": [control_of(against, "at-chance", backend="a")],
    }
    for sentence in fails:
        for other, control in fails.items():
            assert (sentence in text(*control, silent)) == (sentence == other), (sentence, other)
    nobody = "Nobody showed that the attack works without protection"
    assert nobody in text(control_of(against, "untested", backend="a"), silent)
    assert nobody in text(control_of(against, "at-chance", backend="b"), silent)  # that is another attack


def test_a_leak_is_the_least_only_where_chance_is_ruled_out():
    least = "others may learn more, so what was measured is the least that is given away."
    may_be = "What was measured may be chance, and attackers that were not tried may learn more."
    few = "Neither privacy nor a leak follows from so few people."
    cases = {
        least: search_row(),
        may_be: search_row(chance="untested"),
        few: search_row(chance="at-chance", speakers=5),
        "a weak attack is not evidence of privacy": search_row(chance="at-chance"),
    }
    for sentence in cases:
        for other, row in cases.items():
            assert (sentence in text(row)) == (sentence == other), (sentence, other)
