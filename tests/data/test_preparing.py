"""Scores in the order of their names, against sorting tuples."""

from __future__ import annotations

import numpy as np
import pytest

from zeroevidence.data import preparing as order
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.scores import Pairs, Scores


def some_scores(seed: int, *, again: bool, named_in_order: bool) -> Scores:
    rng = np.random.default_rng(seed)
    enrolments, trials = np.array([f"e{i:02d}" for i in range(30)]), np.array([f"t{i:02d}" for i in range(40)])
    if not named_in_order:
        enrolments, trials = rng.permutation(enrolments), rng.permutation(trials)
    pairs = [rng.choice(1200, n, replace=again) for n in (90, 500)]
    target, nontarget = (Pairs(one // 40, one % 40) for one in pairs)
    values = rng.normal(size=590).round(1)
    return Scores(values[:90], values[90:], target, nontarget, enrolments=enrolments, trials=trials)


def as_tuples(scores: Scores) -> list[list[tuple[str, str, float]]]:
    return [
        list(zip(scores.enrolments[of.enrolment], scores.trials[of.trial], values.tolist(), strict=True))
        for values, of in ((scores.target, scores.target_pairs), (scores.nontarget, scores.nontarget_pairs))
    ]


@pytest.mark.parametrize("bits", [63, 5])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("named_in_order", [False, True])
def test_scores_are_sorted_by_names_and_then_by_score(bits, again, named_in_order, monkeypatch):
    """Packed into one number each, and column by column where that has too few bits."""
    monkeypatch.setattr(order, "_BITS", bits)
    monkeypatch.setattr(order, "_BLOCK", 64)
    given = some_scores(1, again=again, named_in_order=named_in_order)
    found = sort_by_name(given)
    assert found.enrolments.tolist() == sorted(given.enrolments)
    assert as_tuples(found) == [sorted(of_class) for of_class in as_tuples(given)]
    assert as_tuples(sort_by_name(found)) == as_tuples(found)
