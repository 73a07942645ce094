"""Choosing rows by number and label."""

from types import SimpleNamespace

import pytest

from zeroevidence.errors import UsageError
from zeroevidence.plot import choose_rows
from zeroevidence.plot.rows import label_matches


@pytest.fixture
def four(bare):
    return [bare(labels={"system": system, "sex": sex}) for system in "ab" for sex in "fm"]


def test_by_number_in_the_order_wanted(four):
    assert choose_rows(four) == four
    assert choose_rows(four, numbers=[3, 1]) == [four[2], four[0]]
    for number in (0, 5):
        with pytest.raises(UsageError, match=f"there is no row {number}; the results have 4"):
            choose_rows(four, numbers=[number])


def test_by_label(four):
    assert choose_rows(four, where=[("sex", "f")]) == [four[0], four[2]]
    assert choose_rows(four, where=[("sex", "f"), ("system", "b")]) == [four[2]]
    assert choose_rows(four, numbers=[4, 3], where=[("sex", "f")]) == [four[2]]
    with pytest.raises(UsageError, match="no row has system=z; it is 'a', 'b'"):
        choose_rows(four, where=[("system", "z")])
    with pytest.raises(UsageError, match="no row has dataset=x; no row has that label"):
        choose_rows(four, where=[("dataset", "x")])


def test_an_attacker_has_a_label_and_a_threat_model(bare):
    words = "lazy-informed (enrolment anonymised, trained on original)"
    assert label_matches(bare(labels={"attacker": words}), "attacker", words)
    assert not label_matches(bare(labels={"attacker": words}), "attacker", "lazy-informed (enrolment anonymised")
    known = SimpleNamespace(labels={"attacker": words}, about=SimpleNamespace(threat=SimpleNamespace(name="x (y)")))
    assert label_matches(known, "attacker", "x (y)")
    assert label_matches(known, "attacker", words)
    assert not label_matches(known, "system", "x (y)")
