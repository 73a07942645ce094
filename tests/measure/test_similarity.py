"""Voice similarity matrices against a direct computation."""

import numpy as np
import pytest

import zeroevidence as ze
from tests.evaluation.made import named_search
from zeroevidence.calibrate.pav import pav_llrs
from zeroevidence.data.scores import Scores
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import compute_family
from zeroevidence.measure.similarity import deid, diagonal_dominance, similarity_matrix, voice_distinctiveness_gain
from zeroevidence.measure.views import SimilarityView


def scores(separation, speakers=4, utterances=3, seed=0):
    mated = np.repeat(np.arange(speakers), utterances)
    noise = np.random.default_rng(seed).normal(size=(len(mated), speakers))
    return named_search(noise + separation * np.eye(speakers)[mated], mated, "s{}").to_scores()


def test_matrix_is_the_sigmoid_of_mean_llrs():
    data = scores(1.5)
    matrix, names = similarity_matrix(data)
    assert names == ["s0", "s1", "s2", "s3"]
    tar, non = pav_llrs(data.target, data.nontarget, laplace=True)
    for i in range(4):
        for j in range(4):
            llrs = [
                llr
                for pairs, values in ((data.target_pairs, tar), (data.nontarget_pairs, non))
                for e, t, llr in zip(pairs.enrolment, pairs.trial, values, strict=True)
                if e == i and data.trial_speakers[t] == f"s{j}"
            ]
            assert matrix[i, j] == pytest.approx(1 / (1 + np.exp(-np.mean(llrs))))


@pytest.mark.parametrize(("group", "deid_value", "gain_db"), [("f", 0.9964, -5.5606), ("m", 0.9996, -7.6886)])
def test_both_measures_of_published_scores_in_plain_numpy(shared, published, group, deid_value, gain_db):
    """Noé et al. 2020: S is the sigmoid of the mean LLR of two speakers, D_diag its diagonal against the rest."""
    dominance, matrices = {}, {}
    for sides in ("oo", "oa", "aa"):
        trials, home = published(f"{sides}_{group}"), shared / "scores" / "vpc2020"
        speaker = np.array([name.split("-")[0] for name in trials.trial])
        people = sorted(set(trials.enrolled) & set(speaker))
        llrs, pairs = trials.llrs, [[(trials.enrolled == i) & (speaker == j) for j in people] for i in people]
        s = np.array([[1.0 / (1.0 + np.exp(-llrs[pair].mean())) for pair in row] for row in pairs])
        n = len(people)
        dominance[sides] = abs(np.trace(s) / n - (s.sum() - np.trace(s)) / (n * (n - 1)))
        scores_file = home / "samegender_f0orig" / f"{sides}_{group}.scores"
        matrices[sides], names = similarity_matrix(ze.read_scores(scores_file, home / f"trials_{group}").data)
        assert names == people
        assert matrices[sides] == pytest.approx(s, rel=1e-9)
    expected = 1.0 - dominance["oa"] / dominance["oo"], 10.0 * np.log10(dominance["aa"] / dominance["oo"])
    assert expected == pytest.approx((deid_value, gain_db), abs=5e-5)
    found = deid(matrices["oo"], matrices["oa"]), voice_distinctiveness_gain(matrices["oo"], matrices["aa"])
    assert found == pytest.approx(expected, rel=1e-9)


def test_nothing_changed_and_everything_lost():
    original, _ = similarity_matrix(scores(3.0))
    assert deid(original, original) == 0.0
    assert voice_distinctiveness_gain(original, original) == 0.0
    flat = np.full((4, 4), 0.5)
    assert deid(original, flat) == 1.0
    assert voice_distinctiveness_gain(original, flat) == -np.inf


def test_weaker_voices_lose_distinctiveness():
    strong, _ = similarity_matrix(scores(4.0))
    weak, _ = similarity_matrix(scores(0.5))
    assert diagonal_dominance(strong) > diagonal_dominance(weak)
    assert voice_distinctiveness_gain(strong, weak) < 0
    assert 0 < deid(strong, weak) < 1


def test_errors():
    with pytest.raises(InputError, match="who was compared"):
        similarity_matrix(Scores(np.ones(2), np.zeros(2)))
    with pytest.raises(InputError, match="no voice distinctiveness"):
        deid(np.full((2, 2), 0.5), np.eye(2))


def test_a_battery_goes_on_where_original_voices_are_all_alike():
    flat = np.full((3, 3), 0.5)
    for enrolment in ("original", "anonymised"):
        assert compute_family("similarity", SimilarityView(flat, np.eye(3), enrolment)) == {}
        assert len(compute_family("similarity", SimilarityView(np.eye(3), flat, enrolment))) == 1
