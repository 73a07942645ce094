"""Curves of one-to-one scores and of searches: exact where they are kept, and cheap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import zeroevidence as ze
from tests.evaluation.made import named_search
from zeroevidence.calibrate.pav import pav_llrs, rank
from zeroevidence.evaluation import Options, add_similarity
from zeroevidence.evaluation.curves import one_to_one_curves
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.curves import POINTS, bin_edges, histograms
from zeroevidence.measure.pairs.linkability import ScoreView, local_linkability
from zeroevidence.measure.pairs.zebra import D_ECE_MAX, LN10, ece_profile
from zeroevidence.measure.search.rank import rank_disclosure
from zeroevidence.measure.views import PairSettings

SCORES = arrays(
    np.float64, st.integers(1, 40), elements=st.floats(-5, 5, width=16) | st.just(np.inf) | st.just(-np.inf)
)


def gaussians(n_target=300, n_nontarget=2000, shift=2.0):
    rng = np.random.default_rng(3)
    return rng.normal(shift, 1, n_target), rng.normal(0, 1, n_nontarget)


def curves(target, nontarget, **options):
    return one_to_one_curves(
        ScoreView(rank(np.asarray(target, float), np.asarray(nontarget, float)), PairSettings(**options))
    )


def test_ece_is_the_profile_and_its_area_is_d_ece():
    target, nontarget = gaussians()
    found, profile = curves(target, nontarget)["ece"], ece_profile(target, nontarget)
    assert found.y == tuple(profile.minimum)
    assert found.baseline == tuple(profile.default)
    prior = 1 / (1 + np.exp(-np.array(found.x)))
    area = np.trapezoid(np.array(found.baseline) - np.array(found.y), prior)
    assert area == pytest.approx(ze.d_ece(target, nontarget), abs=2e-3)


def test_det_points_are_on_the_roc():
    target, nontarget = gaussians()
    det = curves(target, nontarget)["det"]
    assert len(det.x) <= 205
    assert (det.x[0], det.y[0]) == (1.0, 0.0)
    assert (det.x[-1], det.y[-1]) == (0.0, 1.0)
    thresholds = np.concatenate(([-np.inf], np.sort(np.concatenate((target, nontarget)))))
    on_roc = {(round((nontarget > t).mean(), 12), round((target <= t).mean(), 12)) for t in thresholds}
    assert {(round(x, 12), round(y, 12)) for x, y in zip(det.x, det.y, strict=True)} <= on_roc
    assert np.interp(0.0, np.array(det.y) - np.array(det.x), det.y) == pytest.approx(ze.eer(target, nontarget))


def test_tippett_counts_oracle_llrs():
    target, nontarget = gaussians()
    found, llrs = curves(target, nontarget), pav_llrs(target, nontarget)
    for name, llr in zip(("target", "nontarget"), llrs, strict=True):
        curve = found[f"tippett_{name}"]
        for x, y in zip(curve.x, curve.y, strict=True):
            assert y == pytest.approx((llr / LN10 > x).mean(), abs=1e-12)


def test_pav_map_gives_each_score_its_llr():
    target, nontarget = gaussians(100, 500)
    curve, (llr, _) = curves(target, nontarget)["pav"], pav_llrs(target, nontarget)
    at = np.searchsorted(curve.x[:-1], target, "right") - 1
    assert np.array(curve.y)[at] == pytest.approx(llr)
    assert curve.y[-1] == np.inf
    assert curve.x[-1] == max(target.max(), nontarget.max())


def test_histograms_share_bins_and_hold_every_score():
    target, nontarget = gaussians()
    found = curves(target, nontarget)
    one, other = found["histogram_target"], found["histogram_nontarget"]
    assert one.x == other.x
    width = one.x[1] - one.x[0]
    assert sum(one.y) * width == pytest.approx(1)
    edges = np.append(np.array(one.x) - width / 2, one.x[-1] + width / 2)
    assert other.y == pytest.approx(np.histogram(nontarget, edges, density=True)[0])
    with_infinite = curves(np.append(target, np.inf), nontarget)["histogram_target"]
    assert sum(with_infinite.y) * width == pytest.approx(300 / 301)


def test_histograms_of_equal_and_of_impossible_scores():
    equal = histograms({"a": np.ones(3)})["histogram_a"]
    assert (equal.x, equal.y) == ((1.0,), (1.0,))
    assert histograms({"a": np.full(2, np.inf)}) == {}
    for size in (1e17, 1e300, -1e17):  # bins at most as narrow as the numbers are dense
        far = histograms({"a": np.full(3, size)})["histogram_a"]
        assert (far.x, len(far.y)) == ((size,), 1)
        assert 0.0 < far.y[0] < np.inf
    assert histograms({"a": np.full(3, np.finfo(float).max)}) == {}
    assert bin_edges([np.array([-1.7e308, 1.7e308])]) is None


@pytest.mark.parametrize("method", ["density", "pav", "histogram"])
def test_local_linkability_is_the_measure_s(method):
    target, nontarget = gaussians()
    found = curves(target, nontarget, linkability=method)["local_linkability"]
    whole = local_linkability(target, nontarget, method=method)
    by_score = dict(zip(whole.score.tolist(), whole.value.tolist(), strict=True))
    assert len(found.x) <= POINTS
    assert all(by_score[x] == y for x, y in zip(found.x, found.y, strict=True))


@given(SCORES, SCORES)
def test_any_scores_have_curves_that_json_keeps(target, nontarget):
    result = ze.evaluate(ze.Scores(target, nontarget), options=Options(intervals=0, null=0))
    assert all(len(curve.x) == len(curve.y) <= 210 for curve in result.curves.values())
    again = from_json(to_json([result]))[0]
    assert again.curves == result.curves


def test_search_curves_and_people():
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(6), 5)
    scores = rng.normal(size=(30, 6))
    scores[np.arange(30), mated] += 1.5
    result = ze.evaluate(ze.ScoreMatrix(scores, mated), options=Options(intervals=0, null=0))
    trials = result.trials
    histogram, posterior = result.curves["lid_histogram"], result.curves["posterior"]
    assert sum(histogram.y) == pytest.approx(1)
    positive = sum(y for x, y in zip(histogram.x, histogram.y, strict=True) if x > 0)
    assert positive == pytest.approx(result.metrics["pdr"].value)
    assert posterior.y == pytest.approx(np.sort(2**trials.lid / 6))
    assert set(posterior.baseline) == {1 / 6}
    true = scores[np.arange(30), mated][:, None]
    above = (scores > true).sum(axis=1)
    gamma = rank_disclosure(above, np.zeros(30, int), 6).gamma
    ranked = result.curves["rank_disclosure"]
    assert ranked.x == tuple(np.flatnonzero(gamma) + 1.0)
    assert np.array(ranked.y) @ gamma[gamma > 0] == pytest.approx(result.metrics["mean_rank_disclosure"].value)
    people = result.people
    assert list(people.alid) == sorted(people.alid, reverse=True)
    for name, mean, most, linked in zip(people.speaker, people.alid, people.lid_max, people.linked, strict=True):
        own = trials.speaker == name
        assert mean == pytest.approx(trials.lid[own].mean())
        assert most == trials.lid[own].max()
        assert linked == pytest.approx(trials.linked[own].mean())
    assert np.dot(people.alid, people.trials) / 30 == pytest.approx(result.metrics["alid"].value)


def test_posterior_follows_a_given_prior():
    rng = np.random.default_rng(1)
    matrix = ze.ScoreMatrix(rng.normal(size=(8, 4)), np.repeat(np.arange(4), 2), enrolments=list("abcd"))
    prior = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}
    result = ze.evaluate(matrix, prior=prior, options=Options(intervals=0, null=0))
    before = np.array([prior[name] for name in result.trials.speaker])
    assert result.curves["posterior"].y == pytest.approx(np.sort(2**result.trials.lid * before))
    assert sorted(result.curves["posterior"].baseline) == pytest.approx(sorted(before))


def test_similarity_surface_is_the_matrix():
    scores = np.random.default_rng(0).normal(size=(12, 3))
    matrix = named_search(scores, np.repeat(np.arange(3), 4)).to_scores()
    row = ze.evaluate(matrix, options=Options(intervals=0, null=0))
    surface = add_similarity([(row, matrix)])[0].surfaces["similarity"]
    assert surface.x == surface.y == ("p00", "p01", "p02")
    assert np.array(surface.z) == pytest.approx(ze.similarity_matrix(matrix)[0])
    assert "similarity" not in add_similarity([(row, ze.Scores([1.0], [0.0]))])[0].surfaces


def test_a_perfect_attacker_leaves_nothing_below_the_profile():
    found = curves([3.0, 4.0], [1.0, 2.0])
    assert max(found["ece"].y) == 0
    gap = np.trapezoid(found["ece"].baseline, 1 / (1 + np.exp(-np.array(found["ece"].x))))
    assert gap == pytest.approx(D_ECE_MAX, abs=2e-3)
