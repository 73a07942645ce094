"""Systems are paired only where the same trials are of the same people in all of them."""

import numpy as np
import pytest

from zeroevidence import InputError, Options, ScoreMatrix, compare, evaluate
from zeroevidence.evaluation.comparable import check_same_search
from zeroevidence.evaluation.rows.measure_result import SearchedTrials

QUICK = Options(intervals=20, null=0)
PEOPLE = np.array([f"p{i:02d}" for i in range(12)])
MATED = np.repeat(np.arange(12), 4)


def scored(name, people, seed=0, order=None):
    """Scores of twelve enrolments by people who are called so, as an evaluation."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(48, 12)) + 2.0 * np.eye(12)[MATED]
    order = np.arange(48) if order is None else order
    data = ScoreMatrix(
        scores[order],
        MATED[order],
        trials=[f"u{i:02d}" for i in order],
        enrolments=[f"e{i:02d}" for i in range(12)],
        trial_speakers=people[MATED][order],
        enrolment_speakers=people,
    )
    return evaluate(data, labels={"system": name}, options=QUICK)


@pytest.mark.parametrize("between", [0, 1])
def test_people_who_speak_as_much_but_other_trials(between):
    """Everybody brings the same share, so that shares alone do not tell; the first is compared with all."""
    rows = [scored("a", PEOPLE), *[scored("c", PEOPLE, 1)] * between, scored("b", PEOPLE[::-1])]
    with pytest.raises(InputError, match="a and b do not agree on whose the trials are; expected the same people"):
        compare(rows, ["eer"])


@pytest.mark.parametrize("people", [PEOPLE, np.char.add("x", PEOPLE)], ids=["same", "renamed"])
@pytest.mark.parametrize("order", [None, np.random.default_rng(3).permutation(48)], ids=["in order", "mixed"])
def test_people_who_are_the_same(people, order):
    """Other names in the same order change nothing, nor does the order of trials."""
    for comparison in compare([scored("a", PEOPLE), scored("b", people, order=order)], ["eer", "alid"]):
        assert comparison.paired
        assert comparison.pairs[0].difference.value == 0.0


def searched(speakers, order=None):
    order = np.arange(48) if order is None else order
    return SearchedTrials(np.array([f"u{i:02d}" for i in order]), speakers[order], 12)


def test_searches_of_the_same_trials():
    given = ("a", searched(PEOPLE[MATED]))
    check_same_search([given, ("b", searched(PEOPLE[MATED], np.random.default_rng(3).permutation(48)))])
    mixed = np.roll(PEOPLE[MATED], 2)  # as many trials of everybody
    with pytest.raises(InputError, match="a and b do not agree on whose the trials are"):
        check_same_search([given, ("b", searched(mixed))])
