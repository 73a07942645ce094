"""Systems are paired only where the same trials are of the same people in all of them."""

import numpy as np
import pytest

from zeroevidence import InputError, Options, ScoreMatrix, compare, evaluate
from zeroevidence.evaluation.comparing.same_trials import check_same_search
from zeroevidence.evaluation.rows.replicates import SearchedTrials

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


def refused(*rows):
    with pytest.raises(InputError, match="a and b do not agree on whose the trials are; expected the same people"):
        compare(rows, ["eer"])


def test_people_who_speak_as_much_but_other_trials():
    """Everybody brings the same share, so that shares alone do not tell."""
    refused(scored("a", PEOPLE), scored("b", PEOPLE[::-1]))


def test_the_first_system_is_compared_with_all():
    refused(scored("a", PEOPLE), scored("c", PEOPLE, 1), scored("b", PEOPLE[::-1]))


@pytest.mark.parametrize("people", [PEOPLE, np.char.add("x", PEOPLE)], ids=["same", "renamed"])
def test_people_who_are_the_same(people):
    """Other names in the same order change nothing."""
    (found,) = compare([scored("a", PEOPLE), scored("b", people)], ["eer"])
    assert found.paired
    assert found.pairs[0].difference.value == 0.0


def test_the_order_of_trials_does_not_matter():
    other = scored("b", PEOPLE, order=np.random.default_rng(3).permutation(48))
    (found,) = compare([scored("a", PEOPLE), other], ["alid"])
    assert found.pairs[0].difference.value == 0.0


def searched(speakers, order=None):
    order = np.arange(48) if order is None else order
    return SearchedTrials(np.array([f"u{i:02d}" for i in order]), speakers[order], 12)


def test_searches_of_the_same_trials_by_other_people():
    mixed = np.roll(PEOPLE[MATED], 2)  # as many trials of everybody
    with pytest.raises(InputError, match="a and b do not agree on whose the trials are"):
        check_same_search([("a", searched(PEOPLE[MATED])), ("b", searched(mixed))])


def test_searches_of_the_same_people_in_any_order():
    other = searched(PEOPLE[MATED], np.random.default_rng(3).permutation(48))
    check_same_search([("a", searched(PEOPLE[MATED])), ("b", other)])
