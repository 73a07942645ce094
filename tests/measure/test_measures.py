"""The registry of measures: orders, limits, and functions that become measures."""

import numpy as np
import pytest

from zeroevidence.errors import UsageError
from zeroevidence.measure.measures import MEASURES, compute_family, headline_measures, ordering_measures, pair_measure
from zeroevidence.measure.utility import RecallView


def test_attackers_are_ordered_by_strength_and_short_tables_by_headline():
    strengths = [measure.strength for measure in ordering_measures()]
    assert strengths == sorted(one.strength for one in MEASURES.values() if one.strength is not None)
    assert ordering_measures()[0].name == "alid"
    places = [MEASURES[name].headline for name in headline_measures()]
    assert places == sorted(one.headline for one in MEASURES.values() if one.headline is not None)


def test_limits_follow_the_unit():
    assert (MEASURES["eer"].low, MEASURES["eer"].high) == (0.0, 1.0)
    assert (MEASURES["cllr"].low, MEASURES["cllr"].high) == (0.0, np.inf)
    assert (MEASURES["alid"].low, MEASURES["alid"].range) == (-np.inf, "-inf to log2 N")
    assert MEASURES["tag"].range == "0, A to F"


def test_a_function_becomes_a_measure_whose_meaning_is_its_docstring():
    @pair_measure("tried", "tried out", unit="rate", discloses="up", place=1, references=(), method="by hand")
    def tried(view):
        """The first paragraph, of any
        length.

        Not the second.
        """
        return view

    try:
        assert tried(3) == MEASURES["tried"].compute(3) == 3
        assert MEASURES["tried"].meaning == "The first paragraph, of any length."
        assert (MEASURES["tried"].method_of(None), MEASURES["tried"].interval_of(None)) == ("by hand", None)
        with pytest.raises(UsageError, match="there is already a measure called 'tried'"):
            pair_measure("tried", "again", unit="rate", discloses="up", place=2, references=())(tried)
    finally:
        MEASURES.remove("tried")
    assert "tried" not in MEASURES


def test_recall_needs_recordings_of_every_class():
    assert compute_family("utility", RecallView(np.array([1.0, 0.0]), np.array([4.0, 0.0]))) == {}
    assert compute_family("utility", RecallView(np.array([1.0, 3.0]), np.array([4.0, 4.0]))) == {"uar": 0.5}
