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
from zeroevidence.calibrate.rows import METHODS, ROW_SCALINGS, speaker_folds
from zeroevidence.data.scores import Pairs
from zeroevidence.evaluation.resampling import _permutation_nulls
from zeroevidence.evaluation.searches import MatrixSearch
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.pairs.verification import eer_of
from zeroevidence.measure.views import PairSettings
from zeroevidence.uncertainty.level import alpha
from zeroevidence.uncertainty.lists import PeopleTest, PreparedScores
from zeroevidence.uncertainty.null import (
    ListNull,
    Null,
    PairNull,
    PooledLabels,
    adjusted_p_values,
    list_null,
    pair_null,
    permutation_p_value,
)
from zeroevidence.uncertainty.search import SearchNull


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


def fit_slowly(z, mated):
    """Weight and bias of the logistic regression over all pairs, by Newton steps in plain NumPy."""
    label = np.zeros(z.shape)
    label[np.arange(len(mated)), mated] = 1.0
    x, label, theta = np.column_stack((z.ravel(), np.ones(z.size))), label.ravel(), np.zeros(2)
    for _ in range(60):
        p = 1.0 / (1.0 + np.exp(-x @ theta))
        theta = theta - np.linalg.solve(x.T @ (x * (p * (1.0 - p))[:, None]), x.T @ (p - label))
    return theta


def standardised(scores):
    return (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)


def disclosed(z, mated, weight):
    """LID of each trial: log2 of N times the posterior of the true identity."""
    posterior = np.exp(weight * z) / np.exp(weight * z).sum(axis=1, keepdims=True)
    return np.log2(z.shape[1] * posterior[np.arange(len(mated)), mated])


QUICK = ze.Options(intervals=0, null=0)


def search_null(data, dev, times, options=QUICK, prior=None):
    task = MatrixSearch(data, dev, prior, options)
    folds = task.measure().folds
    return SearchNull(task.hypothetical(folds), data.scores.shape[1], task.exchanged, times), folds


@pytest.mark.parametrize("people", [6, 40])  # with and without a table over weights
@pytest.mark.parametrize("with_dev", [True, False])
def test_search_null_by_brute_force(with_dev, people):
    """Exchange people in development and evaluation data, fit w and b again, and measure, in plain NumPy."""
    data, dev = matrix(people, 4, 1.0), matrix(7, 5, 1.0, seed=1)
    times = 6 if people == 6 else 40
    null, folds = search_null(data, dev if with_dev else None, times)
    drawn = null.draw(0, times)
    expected = {name: [] for name in ("alid", "lid_max", "weight", "bias")}
    z, z_dev = standardised(data.scores), standardised(dev.scores)
    for exchange, elsewhere in zip(null.exchanges[0], null.elsewhere[0], strict=True):
        assert sorted(exchange) == list(range(people))
        mated, lid, lines = exchange[data.mated], np.empty(len(z)), np.empty((len(z), 2))
        if with_dev:
            lines[:] = fit_slowly(z_dev, elsewhere[dev.mated])
            lid = disclosed(z, mated, lines[0, 0])
        else:
            for rows in speaker_folds(data.mated):
                rest = np.setdiff1d(np.arange(len(z)), rows)
                lines[rows] = fit_slowly(z[rest], mated[rest])
                lid[rows] = disclosed(z[rows], mated[rows], lines[rows[0], 0])
        values = lid.mean(), lid.max(), *lines.mean(axis=0)
        for name, value in zip(expected, values, strict=True):
            expected[name].append(value)
    for name, values in expected.items():
        np.testing.assert_allclose(drawn[name], values, atol=1e-6, err_msg=name)
    assert len(folds) == (1 if with_dev else 5)
    assert np.std(drawn["weight"]) > 0.01


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scaling", ROW_SCALINGS)
def test_every_calibration_is_fitted_again(method, scaling):
    """The null is what the same search shows whose people, and development people, were exchanged beforehand."""
    options = ze.Options(intervals=0, null=0, calibration=method, row_scaling=scaling, balanced=scaling == "centre")
    prior = np.arange(1.0, 9.0) / 36.0 if scaling == "none" else None
    data, dev = matrix(8, 3, 2.0), matrix(5, 4, 2.0, seed=1)
    null, _ = search_null(data, dev, 3, options, prior)
    drawn = null.draw(0, 3)
    for r in range(3):
        here = ze.ScoreMatrix(data.scores, null.exchanges[0][r][data.mated])
        there = ze.ScoreMatrix(dev.scores, null.elsewhere[0][r][dev.mated])
        metrics = MatrixSearch(here, there, prior, options).measure().metrics
        for name in ("alid", "lid_max", "mean_rank_disclosure", "link_probability", "weight", "bias"):
            expected = float(metrics[name]) if name in metrics else np.nan
            assert drawn[name][r] == pytest.approx(expected, nan_ok=True, abs=1e-6)
    assert ("weight" in metrics) == (method in ("logistic", "temperature"))
    assert ("bias" in metrics) == (method == "logistic")


def test_null_of_a_measure_that_falls_has_its_limit_below():
    draws = np.arange(100) / 100.0
    signs = {"bias": -1.0, "weight": -1.0}
    ((low, below), (high, above)) = _permutation_nulls(signs, dict.fromkeys(signs, draws), 0.95).values()
    assert (low.quantile, high.quantile) == (0.04, 0.95)
    assert (below, above) == (1 / 101, 1.0)


def test_p_values_are_uniform_when_nothing_leaks():
    """A light version of benchmarks/validity.py: clustered scores, speakers permuted."""
    quick = ze.Options(intervals=0, null=49, linkability="pav")
    rows = [ze.evaluate(matrix(seed=s), dev=matrix(seed=10_000 + s), options=quick) for s in range(repetitions(30, 60))]
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
    statistic=st.floats(-3.0, 3.0),
)
def test_what_is_significant_is_not_below_the_quantile_of_its_null(values, value, level, statistic):
    """Whether people were exchanged or lists were simulated; D_ECE stands for the test of the list itself."""
    draws, observed = np.array(values, dtype=float), float(value)
    if permutation_p_value(observed, draws) <= alpha(level):
        assert observed >= Null.from_draws(draws, level).quantile
    test = PeopleTest(statistic, np.linspace(-2.0, 2.0, 99))
    of_list = permutation_p_value(statistic, test.draws)
    null, p_value = list_null(MEASURES["worst_case"], observed, draws, test, level)
    assert p_value >= of_list
    if p_value <= alpha(level):
        assert observed >= null.quantile
    if observed >= null.quantile:
        assert p_value == of_list
    assert list_null(MEASURES["d_ece"], observed, draws, test, level)[1] == of_list


def max_t(tests):
    """Adjusted p-values as they are defined, one value at a time."""
    distances = []
    for observed, draws in tests:
        values = [*draws, observed]
        steps = np.diff(sorted(set(values)))
        least = np.median(steps) / np.sqrt(len(values)) if len(steps) else 1.0
        rest = [[*values[:i], *values[i + 1 :]] for i in range(len(values))]
        pairs = zip(values, rest, strict=True)
        distances.append([(value - np.mean(others)) / max(np.std(others), least) for value, others in pairs])
    largest = np.max(distances, axis=0)
    return [np.mean(largest >= of_test[-1] - 1e-9) for of_test in distances]


@given(values=st.lists(st.lists(st.integers(-5, 5), min_size=12, max_size=12), min_size=1, max_size=5))
def test_adjusted_p_values_by_brute_force(values):
    tests = [(float(of_test[0]), [float(x) for x in of_test[1:]]) for of_test in values]
    adjusted = adjusted_p_values(tests)
    assert adjusted == pytest.approx(max_t(tests))
    plain = [permutation_p_value(observed, np.array(draws)) for observed, draws in tests]
    assert all(p >= before - 1e-12 for p, before in zip(adjusted, plain, strict=True))
    assert adjusted_p_values(tests[:1]) == pytest.approx(plain[:1])


def test_adjusted_p_values_hold_for_the_whole_set():
    """Six measures that depend on each other, one of them a small count: any of them is unusual once in twenty."""
    rng = np.random.default_rng(0)
    smallest, plain = [], []
    for _ in range(400):
        common = rng.normal(size=(1, 100))
        values = 0.7 * common + rng.normal(size=(5, 100))
        values = np.vstack((values, rng.poisson(0.03, (1, 100)) + 0.0))
        tests = [(float(of_test[-1]), of_test[:-1].tolist()) for of_test in values]
        smallest.append(min(adjusted_p_values(tests)))
        plain.append(min(permutation_p_value(observed, np.array(draws)) for observed, draws in tests))
    assert 0.02 < np.mean(np.array(smallest) <= 0.05) < 0.08
    assert np.mean(np.array(plain) <= 0.05) > 0.12


def test_what_is_not_defined_is_no_leak():
    nan = float("nan")
    assert adjusted_p_values([(nan, [0.0] * 19), (3.0, [0.0] * 19)]) == [1.0, 0.05]
    assert adjusted_p_values([(3.0, [nan] * 19)]) == [1.0]
    assert adjusted_p_values([]) == []
