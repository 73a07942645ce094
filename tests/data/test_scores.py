"""What comes in is validated once, and cannot change afterwards."""

from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores, TandemScores
from zeroevidence.errors import InputError
from zeroevidence.measure.similarity import deid
from zeroevidence.measure.tandem.cost import cm_eer


def kept_arrays():
    """Yield an array of the caller, and what is kept of it."""
    for dtype in (np.float32, np.float64):
        scores = np.eye(3, dtype=dtype)
        yield scores, ScoreMatrix(scores, np.arange(3)).scores
        yield scores[1:], ScoreMatrix(scores[1:], np.arange(2)).scores
        yield scores.T, Embeddings(scores.T).vectors
        yield scores[0], Scores(scores[0], [0.0]).target
        yield scores[0], TandemScores.of(cm_bonafide=scores[0], cm_spoof=[0.0]).cm_bonafide.scores
    for keep in (lambda rows: Pairs(rows, [0, 1, 2]).enrolment, lambda rows: ScoreMatrix(np.eye(3), rows).mated):
        rows = np.arange(3)
        yield rows, keep(rows)
    for keep in (
        lambda names: ScoreMatrix(np.eye(3), [0, 1, 2], trials=names).trials,
        lambda names: Embeddings(np.eye(3), names).ids,
        lambda names: Embeddings(np.eye(3), speakers=names).speakers,
    ):
        names = np.array(["a", "b", "c"])
        yield names, keep(names)


def test_what_is_kept_is_read_only_and_stays_when_the_caller_changes_the_array():
    for given, kept in kept_arrays():
        before = kept.copy()
        given[...] = given.flat[-1]
        np.testing.assert_array_equal(kept, before)
        assert given.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            kept[0] = kept[1]
    torch, pandas = pytest.importorskip("torch"), pytest.importorskip("pandas")
    for values in (torch.ones(2), pandas.Series([1.0, 1.0])):
        scores = Scores(values, [0.0])
        values[0] = 9.0
        assert scores.target.tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError):
        scores.target = np.ones(2)


def test_what_cannot_change_is_not_copied(tmp_path):
    matrix = ScoreMatrix(np.eye(3), [0, 1, 2])
    assert replace(matrix, trials=list("abc")).scores is matrix.scores
    np.save(tmp_path / "v.npy", np.eye(3))
    for mode in ("r", "r+"):
        assert isinstance(Embeddings(np.load(tmp_path / "v.npy", mmap_mode=mode)).vectors, np.memmap)


MASKED = np.ma.masked_array(np.eye(2), [[False, True], [False, False]])


@pytest.mark.parametrize(
    ("keep", "name"),
    [
        (lambda: ScoreMatrix(MASKED, [0, 1]), "scores"),
        (lambda: ScoreMatrix(np.eye(2), np.ma.masked_array([0, 1], [False, True])), "mated"),
        (lambda: Embeddings(MASKED), "vectors"),
        (lambda: Embeddings([MASKED[0], MASKED[1]]), "vectors"),
        (lambda: Embeddings(np.eye(2), np.ma.masked_array(["a", "b"], [False, True])), "ids"),
        (lambda: Scores(MASKED[0], [0.0]), "target"),
        (lambda: Scores([1.0, 2.0], MASKED[0]), "nontarget"),
        (lambda: Scores.from_labels(MASKED[0], [1, 0]), "scores"),
        (lambda: Scores.from_labels([1.0, 0.0], np.ma.masked_array([1, 0], [False, True])), "labels"),
        (lambda: Pairs(np.ma.masked_array([0, 1], [False, True]), [0, 1]), "enrolment"),
        (lambda: TandemScores.of(cm_bonafide=MASKED[0], cm_spoof=[0.0]), "scores"),
        (lambda: deid(np.eye(2), MASKED), "similarities"),
        (lambda: cm_eer(MASKED[0], [0.0]), "bona fide scores"),
    ],
)
def test_masked_entries_are_refused(keep, name):
    with pytest.raises(InputError, match=f"^{name}: a masked array; expected only the entries that count"):
        keep()
    assert ScoreMatrix(np.ma.masked_array(np.eye(2)), [0, 1]).scores.tolist() == [[1.0, 0.0], [0.0, 1.0]]


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
    speakers = {"enrolment_speakers": ["a"], "trial_speakers": ["a", ""]}
    scores = Scores([1.0], [0.0], Pairs([0], [0]), Pairs([0], [1]), ["e"], ["t", "u"], **speakers)
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
        ({"enrolments": [["a"], ["b"]]}, "enrolments: expected 2 identifiers, got shape"),
        ({"scores": [[1.0, np.nan], [0.0, 0.0]]}, "scores: NaN at position 0, 1"),
        ({"scores": [1.0, 2.0]}, r"scores: expected 2 dimension\(s\)"),
    ],
)
def test_bad_matrix(arguments, message):
    good = {"scores": [[1.0, 0.0], [0.0, 1.0]], "mated": [0, 1]}
    with pytest.raises(InputError, match=message):
        ScoreMatrix(**{**good, **arguments})
