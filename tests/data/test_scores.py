"""What comes in is validated once, and cannot change afterwards."""

import numpy as np
import pytest

from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError


def test_scores_are_read_only_and_the_callers_array_is_not():
    mine = np.array([1.0, 2.0])
    scores = Scores(mine, [0, 1])
    with pytest.raises(ValueError, match="read-only"):
        scores.target[0] = 9.0
    mine[0] = 5.0
    assert scores.nontarget.dtype == np.float64
    with pytest.raises(AttributeError):
        scores.target = mine


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ([], "target: expected at least one score, got none"),
        ([1.0, np.nan], "target: NaN at position 1"),
        ([[1.0]], r"target: expected 1 dimension\(s\), got shape \(1, 1\)"),
        (["a"], "target: expected numbers"),
        ([1 + 2j], "target: expected numbers"),
    ],
)
def test_bad_scores(target, message):
    with pytest.raises(InputError, match=message):
        Scores(target, [0.0])


def test_identifiers_come_together():
    with pytest.raises(InputError, match="all of target_pairs, nontarget_pairs, enrolments, trials"):
        Scores([1.0], [0.0], target_pairs=Pairs([0], [0]))
    with pytest.raises(InputError, match="target_pairs: expected 1 pairs, one per score, got 2"):
        Scores([1.0], [0.0], Pairs([0, 0], [0, 0]), Pairs([0], [0]), ["e"], ["t"])
    with pytest.raises(InputError, match="nontarget_pairs: expected positions from 0 to 0"):
        Scores([1.0], [0.0], Pairs([0], [0]), Pairs([1], [0]), ["e"], ["t"])
    with pytest.raises(InputError, match="trial_speakers: expected 1 names"):
        Scores([1.0], [0.0], Pairs([0], [0]), Pairs([0], [0]), ["e"], ["t"], trial_speakers=["a", "b"])


def test_speakers_leave_out_the_unknown():
    scores = Scores(
        [1.0],
        [0.0],
        Pairs([0], [0]),
        Pairs([0], [1]),
        ["e"],
        ["t", "u"],
        enrolment_speakers=["a"],
        trial_speakers=["a", ""],
    )
    assert scores.speakers.tolist() == ["a"]
    assert Scores([1.0], [0.0]).speakers is None


def test_matrix_as_two_classes():
    matrix = ScoreMatrix([[0.9, 0.1], [0.2, 0.3], [0.5, 0.4]], [0, -1, 1], trials=["x", "y", "z"])
    scores = matrix.to_scores()
    assert scores.target.tolist() == [0.9, 0.4]
    assert scores.nontarget.tolist() == [0.1, 0.2, 0.3, 0.5]
    assert scores.trials[scores.nontarget_pairs.trial].tolist() == ["x", "y", "y", "z"]
    assert scores.enrolments.tolist() == ["0", "1"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mated": [0, 2]}, "mated: trial 1 names column 2; expected 0 to 1"),
        ({"mated": [0]}, "mated: expected 2 whole numbers"),
        ({"mated": [0.0, 1.0]}, "mated: expected 2 whole numbers"),
        ({"trials": ["a", "a"]}, "trials: 'a' occurs 2 times; expected once"),
        ({"enrolments": ["a"]}, "enrolments: expected 2 identifiers"),
        ({"scores": [[1.0, np.nan], [0.0, 0.0]]}, "scores: NaN at position 0, 1"),
        ({"scores": [1.0, 2.0]}, r"scores: expected 2 dimension\(s\)"),
    ],
)
def test_bad_matrix(arguments, message):
    good = {"scores": [[1.0, 0.0], [0.0, 1.0]], "mated": [0, 1]}
    with pytest.raises(InputError, match=message):
        ScoreMatrix(**{**good, **arguments})
