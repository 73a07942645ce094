"""Nulls: permuted labels without sorting again, and p-values that are honest."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import zeroevidence as ze
from tests.effort import repetitions
from zeroevidence.calibrate.pav import count, pool, pool_laplace
from zeroevidence.data.scores import Pairs
from zeroevidence.measure.pairs.verification import eer_of
from zeroevidence.measure.views import PairSettings
from zeroevidence.uncertainty.level import alpha
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.null import (
    ListNull,
    Null,
    PairNull,
    PooledLabels,
    list_null,
    pair_null,
    permutation_p_value,
    permute_mated,
)
from zeroevidence.uncertainty.search import HypotheticalEvidence, SearchNull


def matrix(n_speakers=12, per_speaker=5, separation=0.0, seed=0, digits=9):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    # effects of enrolment, speaker and pair of speakers make trials of one person alike
    scores = rng.normal(size=(1, n_speakers)) + rng.normal(size=n_speakers)[mated][:, None]
    scores = scores + rng.normal(size=(n_speakers, n_speakers))[mated] + rng.normal(size=(len(mated), n_speakers))
    scores[np.arange(len(mated)), mated] += separation
    return ze.ScoreMatrix(np.round(scores, digits), mated)


@pytest.mark.parametrize("digits", [9, 0])
def test_relabelled_counts_equal_counts_of_sorted_scores(digits):
    pooled = np.round(np.random.default_rng(0).normal(size=60), digits)
    labels = PooledLabels(pooled)
    rng = np.random.default_rng(1)
    for size in (1, 7, 29):
        targets = rng.permutation(60)[:size]
        is_target = np.zeros(60, dtype=bool)
        is_target[targets] = True
        expected = count(pooled[is_target], pooled[~is_target])
        found = labels.counts(targets)
        assert eer_of(found) == eer_of(expected)
        for one, other in ((pool(found), pool(expected)), (pool_laplace(pool(found)), pool_laplace(pool(expected)))):
            np.testing.assert_array_equal(one.target, other.target)
            np.testing.assert_array_equal(one.nontarget, other.nontarget)
            np.testing.assert_array_equal(one.llr, other.llr)


def test_identity_permutation_reproduces_the_observed_values():
    data = matrix(separation=1.0)
    scores = data.to_scores()
    null = PairNull(scores.target, scores.nontarget, data, PairSettings(linkability="pav"))
    targets = np.arange(len(data.mated)) * data.scores.shape[1] + data.mated
    found = pool(null.labels.counts(targets))
    expected = pool(count(scores.target, scores.nontarget))
    np.testing.assert_array_equal(found.target, expected.target)
    np.testing.assert_array_equal(found.nontarget, expected.nontarget)


def test_strangers_stay_others():
    data = matrix()
    scores = data.to_scores()
    strangers = np.array([5.0, 6.0, 5.0])
    null = PairNull(scores.target, np.concatenate((scores.nontarget, strangers)), data)
    assert len(null.pooled) == data.scores.size + 3
    assert sorted(null.pooled[-3:]) == [5.0, 5.0, 6.0]


def test_classes_are_permuted_over_people(monkeypatch):
    """With two people of one class among five, all ten pairs of people are drawn, each with all of its scores."""
    people = np.array([4, 4, 1]), np.array([0, 2, 2, 2, 3, 0])
    whose = np.concatenate(people)
    null = PairNull(np.arange(3.0), np.arange(6.0), None, people=people)
    drawn, counts = [], PooledLabels.counts
    monkeypatch.setattr(PooledLabels, "counts", lambda labels, at: drawn.append(at) or counts(labels, at))
    null.draw(0, 400)
    pairs = [frozenset(whose[at].tolist()) for at in drawn]
    assert {len(pair) for pair in pairs} == {2}
    assert len(set(pairs)) == 10
    assert min(pairs.count(pair) for pair in set(pairs)) > 20
    assert all(len(at) == np.isin(whose, list(pair)).sum() for at, pair in zip(drawn, pairs, strict=True))
    assert null.unit == "speaker"


def test_permutations_keep_the_trials_of_a_speaker_together():
    data = matrix()
    mated = permute_mated(data.mated, 12, np.random.default_rng(0))
    assert len({(int(a), int(b)) for a, b in zip(data.mated, mated, strict=True)}) == 12
    assert len(np.unique(mated)) == 12


def test_search_null_by_brute_force():
    data = matrix(6, 3, digits=0)
    lid = np.random.default_rng(0).normal(size=data.scores.shape)
    supposed = HypotheticalEvidence.ranked(data, lid)
    for i, row in enumerate(data.scores):
        for j, score in enumerate(row):
            assert supposed.greater[i, j] == (row > score).sum()
            assert supposed.equal[i, j] == (row == score).sum() - 1
    values = SearchNull([supposed], 6).draw(0, 20)
    assert (values["lid_max"] <= lid.max()).all()
    assert (values["alid"] <= values["lid_max"]).all()


def test_p_values_are_uniform_when_nothing_leaks():
    """A light version of benchmarks/validity.py: clustered scores, speakers permuted."""
    options = ze.Options(intervals=0, null=49, linkability="pav")
    rows = [
        ze.evaluate(matrix(seed=s), dev=matrix(seed=10_000 + s), options=options) for s in range(repetitions(30, 60))
    ]
    for name in ("d_ece", "alid"):
        assert stats.kstest([row[name].p_value for row in rows], "uniform").pvalue > 0.01, name


def test_a_list_of_everybody_against_everybody_once_is_exchangeable():
    people = [f"s{i}" for i in range(5)]
    rng = np.random.default_rng(0)
    full = ze.ScoreMatrix(rng.normal(size=(5, 5)), np.arange(5), trial_speakers=people, enrolment_speakers=people)
    scores = full.to_scores()
    assert isinstance(pair_null(PreparedScores(scores), None), PairNull)
    pairs = Pairs(scores.nontarget_pairs.enrolment[1:], scores.nontarget_pairs.trial[1:])
    fewer = replace(scores, nontarget=scores.nontarget[1:], nontarget_pairs=pairs)
    assert isinstance(pair_null(PreparedScores(fewer), None), ListNull)


@given(
    values=st.lists(st.integers(0, 30), min_size=20, max_size=60),
    value=st.integers(0, 40),
    level=st.sampled_from((0.8, 0.9, 0.95, 0.99)),
    area=st.floats(1e-6, 1.0),
)
def test_what_is_significant_is_not_below_the_quantile_of_its_null(values, value, level, area):
    """Whether people were exchanged or lists were simulated: p and quantile are on the scale of the value."""
    draws, observed = np.array(values, dtype=float), float(value)
    if permutation_p_value(observed, draws) <= alpha(level):
        assert observed >= Null.from_draws(draws, level).quantile
    null, p_value = list_null(observed, draws, area, level)
    assert p_value >= area
    if p_value <= alpha(level):
        assert observed >= null.quantile
    if observed >= null.quantile:
        assert p_value == area
