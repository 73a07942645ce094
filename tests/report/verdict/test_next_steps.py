"""What comes next where no leak was found, and how many people are wanted."""

from dataclasses import replace

import pytest

from tests.report.verdict.made import search_row, short
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.report.verdict import verdict
from zeroevidence.uncertainty.spread import Spread

SPREAD = Spread(error=0.05, people=20.0, freedom=19.0, below=0.1, above=0.1)


def silent(about, *, spread=SPREAD, **effort):
    row = search_row(0.06, 0.01, "at-chance", about=about, system="s", limits=({"bound": 0.3, "spread": spread}, {}))
    spent = TrainingEffort(10, **effort)
    return replace(row, about=replace(about, spent=spent))


def found(against, *rows):
    control = search_row(1.0, 4.0, about=against.control, system="unprotected")
    return verdict([control, *rows])


def test_attackers_that_were_not_tried_come_next(against):
    result = found(against, silent(against.lazy))
    assert result.level == "not-found"
    assert result.commands[0] == (
        "zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT --attacker ignorant --attacker semi-informed "
        "--effort standard"
    )


@pytest.mark.parametrize(("trained_on", "effort"), [("original", "standard"), ("anonymised", "full")])
def test_encoders_are_trained_next_and_then_every_one(against, trained_on, effort):
    rows = [
        silent(about, encoder_trained_on=trained_on) for about in (against.ignorant, against.lazy, against.informed)
    ]
    assert found(against, *rows).commands[0] == (
        f"zeroevidence audit ORIGINAL --anonymised ANONYMISED -o OUT --effort {effort}"
    )


def test_one_number_of_people_is_wanted(against):
    result = found(against, silent(against.lazy))
    people = SPREAD.people_for((0.3 - 0.06) / 2.0)
    assert result.commands[1] == f"zeroevidence plan --pilot OUT/result.json --people {people}"
    assert f"try stronger attackers and {people} people, with whom the limit would be half as far" in result.summary[-1]
    unknown = found(against, silent(against.lazy, spread=None))
    assert len(unknown.commands) == 1
    assert "try stronger attackers and more people:" in unknown.summary[-1]


def test_nothing_comes_next_where_a_leak_was_found_or_nobody_knows_the_attacker(against):
    assert found(against, search_row(0.9, 3.0, about=against.lazy)).commands == ()
    assert found(against, search_row(0.06, 0.01, "at-chance")).commands == ()
    assert "zeroevidence" not in short(search_row(0.9, 3.0, about=against.lazy))
