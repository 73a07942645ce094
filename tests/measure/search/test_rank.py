"""Rank disclosure and CMC."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binom, binomtest

import zeroevidence as ze
from tests.effort import repetitions, slow
from tests.evaluation.made import named_search
from zeroevidence.errors import UsageError
from zeroevidence.measure.search.rank import (
    cmc,
    count_names,
    first_identity,
    named_by_guessing,
    named_people,
    rank_disclosure,
    rank_distribution,
)


def zeros(greater):
    return np.zeros(len(greater), dtype=np.int64)


def test_all_first_discloses_everything():
    greater = np.zeros(10, dtype=np.int64)
    result = rank_disclosure(greater, zeros(greater), 16)
    assert (result.mean, result.max, result.identification_rate) == (4.0, 4.0, 1.0)
    assert result.share_above_chance == 1 / 16


@pytest.mark.parametrize("method", ["histogram", "beta-binomial"])
def test_evenly_spread_ranks_disclose_nothing(method):
    result = rank_disclosure(np.arange(8), zeros(range(8)), 8, method=method)
    assert result.mean == pytest.approx(0.0, abs=1e-6)
    assert result.max == pytest.approx(0.0, abs=1e-3)
    constant = rank_disclosure(zeros(range(5)), np.full(5, 7), 8)
    assert (constant.mean, constant.share_above_chance) == (pytest.approx(0.0, abs=1e-12), 0.0)


def test_histogram_by_its_formula():
    greater = np.array([0, 0, 0, 1, 3, 3])
    result = rank_disclosure(greater, zeros(greater), 4)
    gamma = np.array([3, 1, 0, 2]) / 6
    assert result.gamma.tolist() == pytest.approx(gamma.tolist())
    used = gamma[gamma > 0]
    assert result.mean == pytest.approx((used * np.log2(4 * used)).sum())
    assert result.max == pytest.approx(1.0)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20))
def test_distribution_sums_to_one_and_keeps_the_mean_rank(pairs):
    greater = np.array([g for g, _ in pairs])
    equal = np.array([min(e, 10 - g) for g, e in pairs])
    share = rank_distribution(greater, equal, 11)
    assert share.sum() == pytest.approx(1.0)
    assert (share >= 0).all()
    assert share @ np.arange(1, 12) == pytest.approx((1 + greater + equal / 2).mean())
    curve = cmc(greater, equal, 11)
    assert curve[-1] == pytest.approx(1.0)
    assert (np.diff(curve) >= -1e-12).all()
    for k in (1, 3, 11):  # ties in equal parts
        assert curve[k - 1] == pytest.approx(np.clip((k - greater) / (equal + 1.0), 0.0, 1.0).mean())


def test_beta_binomial_recovers_its_parameters():
    rng = np.random.default_rng(0)
    greater = stats.betabinom.rvs(49, 0.5, 2.0, size=20_000, random_state=rng)
    result = rank_disclosure(greater, zeros(greater), 50, method="beta-binomial")
    truth = stats.betabinom.pmf(np.arange(50), 49, 0.5, 2.0)
    np.testing.assert_allclose(result.gamma, truth, atol=6e-3)
    assert result.mean == pytest.approx((truth * np.log2(50 * truth)).sum(), rel=0.05)


def test_beta_binomial_is_finite_when_all_are_first():
    greater = np.zeros(30, dtype=np.int64)
    result = rank_disclosure(greater, greater, 10, method="beta-binomial")
    assert result.identification_rate == pytest.approx(1.0, abs=1e-3)


def test_wrong_choices():
    with pytest.raises(UsageError, match="unknown rank method"):
        rank_disclosure(np.zeros(1, dtype=int), np.zeros(1, dtype=int), 2, method="x")


PEOPLE, RECORDINGS = 30, 5


def matrix(exposed=0, *, shift=0.0, seed=0, people=PEOPLE, recordings=RECORDINGS, hub=0.0):
    """A search in which the first people are fully exposed and the others stand out by `shift`."""
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(people), recordings)
    scores = rng.normal(size=(len(mated), people))
    scores[np.arange(len(mated)), mated] += np.where(mated < exposed, 50.0, shift)
    scores[:, -1] += hub
    return named_search(scores, mated)


def by_definition(data):
    """Trial by trial and person by person, with SciPy's binomial distribution."""
    firsts = []
    for row in data.scores:
        top = np.flatnonzero(row == row.max())
        firsts.append(int(top[0]) if len(top) == 1 else None)
    named, counted = 0, 0
    for person in sorted(set(data.mated.tolist())):
        own = [first == person for first, mated in zip(firsts, data.mated, strict=True) if mated == person]
        others = [first == person for first, mated in zip(firsts, data.mated, strict=True) if mated != person]
        if len(own) < 2:
            continue
        counted += 1
        rate = sum(others) / len(others)
        named += sum(own) >= 0.8 * len(own) and binom.sf(sum(own) - 1, len(own), rate) <= 0.01
    return named / counted


@pytest.mark.parametrize("exposed", [0, 1, 2, 3])
@pytest.mark.parametrize(("shift", "hub"), [(0.0, 0.0), (3.0, 0.0), (1.0, 4.0)])
def test_as_defined(exposed, shift, hub):
    data = matrix(exposed, shift=shift, hub=hub)
    result = ze.evaluate(data, options=ze.Options(intervals=0, null=0))["people_named"]
    assert result.value == pytest.approx(by_definition(data))
    if shift == hub == 0.0:
        assert result.value == exposed / PEOPLE


def test_four_of_five_recordings_are_enough_and_three_are_not():
    speaker = np.zeros(5, dtype=np.int64)
    for right, named in ((5, True), (4, True), (3, False)):
        first = np.where(np.arange(5) < right, 0, -1)
        counts = count_names(speaker, first, np.array([0]), np.array([100]))
        assert named_people(counts).tolist() == [named]


def test_limits_are_those_of_clopper_and_pearson_where_recordings_are_many():
    result = ze.evaluate(matrix(2, recordings=40), options=ze.Options(intervals=100, null=0))["people_named"]
    two_sided = binomtest(2, PEOPLE).proportion_ci(0.95, method="exact")
    assert (result.low, result.high) == pytest.approx((two_sided.low, two_sided.high), abs=2e-3)
    assert result.bound == pytest.approx(binomtest(2, PEOPLE, alternative="less").proportion_ci(0.95).high, abs=2e-3)
    few = ze.evaluate(matrix(2, recordings=2), options=ze.Options(intervals=100, null=0))["people_named"]
    assert few.low < result.low < float(few) == float(result) < result.bound < few.bound
    assert ze.evaluate(matrix(2), options=ze.Options(intervals=0, null=0))["people_named"].bound is None


def test_exchanged_names_would_name_one_person_where_everybody_has_one_voice_of_their_own():
    rng = np.random.default_rng(1)
    mated = np.repeat(np.arange(PEOPLE), RECORDINGS)
    scores = rng.normal(size=(len(mated), PEOPLE))
    scores[np.arange(len(mated)), rng.permutation(PEOPLE)[mated]] += 50.0  # the wrong person, every time
    options = ze.Options(intervals=0, null=repetitions(50, 150))
    result = ze.evaluate(ze.ScoreMatrix(scores, mated), options=options)["people_named"]
    assert result.null.mean == pytest.approx(1.0 / PEOPLE, rel=0.3)
    assert result.p_value > 0.05


@slow
def test_exchanged_names_would_name_next_to_nobody_where_one_person_is_named():
    one = ze.evaluate(matrix(1), options=ze.Options(intervals=0, null=400))["people_named"]
    assert one.null.mean == pytest.approx(1.0 / PEOPLE**2, rel=0.8)


def test_guessing_by_closed_form():
    assert named_by_guessing(np.array([5]), 10) == pytest.approx(5 * 0.1**4 * 0.9 + 0.1**5)
    assert named_by_guessing(np.array([1]), 10) == 0.0


def test_people_with_one_recording_are_not_counted():
    row = ze.evaluate(matrix(PEOPLE, recordings=1), options=ze.Options(intervals=0, null=20))
    assert "people_named" not in row.metrics
    assert not any(row.people.named)


def test_ties_and_everybody_s_name_name_nobody():
    assert first_identity(np.zeros((2, 3))).tolist() == [-1, -1]
    row = ze.evaluate(matrix(hub=50.0), options=ze.Options(intervals=0, null=0))
    assert max(row.people.linked) == 1.0
    assert row["people_named"].value == max(row.people.named) == 0.0
    many = count_names(np.repeat([0, 1], 3000), np.zeros(6000, dtype=np.int64), np.arange(2))
    assert named_people(many).tolist() == [False, False]
