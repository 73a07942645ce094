"""Local Information Disclosure: worked examples, a model with known posterior, invariances."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import integrate

import zeroevidence as ze
from zeroevidence.calibrate.rows import (
    ROW_SCALINGS,
    AffineCalibration,
    RowFit,
    TabulatedCalibration,
    fit_rows,
    standardise,
)
from zeroevidence.errors import InputError
from zeroevidence.measure.measures import MEASURES
from zeroevidence.measure.search.disclosure import (
    PRIOR_FREE_MAX,
    RowEvidence,
    by_speaker,
    ccdf,
    lid_at,
    log_ratio_from_lid,
    prior_free,
    row_evidence,
    search_view,
    total_lid_at,
)

matrices = arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(2, 8)), elements=st.integers(-3, 3).map(float))


def direct_lid(scores, mated, calibration, prior=None):
    """Eqs. 2, 3, 4, 7 written out, row by row."""
    n = scores.shape[1]
    prior = np.full(n, 1 / n) if prior is None else prior
    values = []
    for row, true in zip(scores, mated, strict=True):
        if row.max() == row.min():
            values.append(0.0)
            continue
        z = {"standardise": (row - row.mean()) / row.std(), "centre": row - row.mean(), "none": row}
        llr = calibration.llr(z[calibration.scaling])
        posterior = prior * np.exp(llr) / (prior * np.exp(llr)).sum()
        values.append(np.log2(posterior[true] / prior[true]))
    return np.array(values)


def test_worked_example():
    scores = np.array([[0.9, 0.7, 0.4, 1.1, 1.2, 0.4]])
    calibration = AffineCalibration("example", 1.5, -1.0, np.log(1 / 5))
    z = standardise(scores)
    assert z[0].round(2).tolist() == [0.37, -0.27, -1.22, 1.01, 1.33, -1.22]
    # the published LLRs were computed from rounded z
    assert calibration.llr(z)[0].tolist() == pytest.approx([1.17, 0.21, -1.23, 2.12, 2.61, -1.23], abs=8e-3)
    evidence = row_evidence(scores, np.array([3]), calibration)
    assert evidence.lid[0] == pytest.approx(0.90002411, abs=1e-8)
    assert evidence.posterior[0] == pytest.approx(0.31, abs=5e-3)
    assert (evidence.greater[0], evidence.equal[0]) == (1, 0)


@given(matrices, st.floats(-5, 5), st.randoms(use_true_random=False))
def test_equals_the_equations(scores, weight, random):
    mated = np.array([random.randrange(scores.shape[1]) for _ in scores])
    prior = np.random.default_rng(0).dirichlet(np.ones(scores.shape[1]))
    table = np.array([-1.0, 0.0, 2.0]), np.array([-2.0, 0.5, 1.0])
    fits = [AffineCalibration("a", weight, 0.3, 0.1, scaling=scaling) for scaling in ROW_SCALINGS]
    fits += [TabulatedCalibration("t", *table, scaling) for scaling in ROW_SCALINGS]
    for fit in fits:
        for given_prior in (None, prior):
            evidence = row_evidence(scores, mated, fit, prior=given_prior)
            np.testing.assert_allclose(evidence.lid, direct_lid(scores, mated, fit, given_prior), atol=1e-9)
    true = scores[np.arange(len(mated)), mated][:, None]
    np.testing.assert_array_equal(evidence.greater, (scores > true).sum(axis=1))
    np.testing.assert_array_equal(evidence.equal, (scores == true).sum(axis=1) - 1)


@given(matrices, st.integers(0, 2**32 - 1))
def test_permuting_identities_and_trials_changes_nothing(scores, seed):
    rng = np.random.default_rng(seed)
    mated = rng.integers(scores.shape[1], size=len(scores))
    calibration = AffineCalibration("a", 1.7, 0.0, 0.0)
    lid = row_evidence(scores, mated, calibration).lid
    columns, rows = rng.permutation(scores.shape[1]), rng.permutation(len(scores))
    moved = row_evidence(scores[rows][:, columns], np.argsort(columns)[mated[rows]], calibration).lid
    np.testing.assert_allclose(moved, lid[rows], atol=1e-12)


def value(name, lid):
    """A measure of trials with these LIDs."""
    ranks = np.zeros(len(lid), dtype=np.int64)
    return float(MEASURES[name].compute(search_view(RowEvidence(lid, ranks, ranks, 29)))[0])


def test_summary_identity_and_bounds():
    lid = np.array([2.0, -1.0, 0.0, 0.5])
    assert [value(name, lid) for name in ("pdr", "ndr", "lid_pos", "lid_neg", "lid_max")] == [0.5, 0.5, 1.25, -0.5, 2.0]
    assert value("alid", lid) == pytest.approx(0.5 * 1.25 - 0.5 * 0.5)
    assert np.isnan(value("lid_neg", np.array([1.0])))
    assert value("lid_neg", np.array([0.0])) == 0.0
    assert np.isnan(value("lid_pos", np.array([-1.0, 0.0])))


# system, ALID, PDR, NDR, LID+, LID-, LID_max, as published in table 4 (LID- of the plain row does not exist)
TABLE_4 = [
    ("B3", 1.40, 83.9, 16.1, 1.91, -1.25, 4.51),
    ("B4", 1.79, 87.9, 12.1, 2.19, -1.12, 4.74),
    ("B5", 1.10, 79.4, 20.6, 1.65, -1.02, 3.94),
    ("T8-5", 0.10, 65.8, 34.2, 0.35, -0.37, 1.16),
    ("T10-2", 0.40, 76.0, 24.0, 0.83, -0.97, 2.57),
    ("T12-5", 0.04, 63.4, 36.6, 0.26, -0.33, 1.05),
    ("T25-1", 0.04, 63.9, 36.1, 0.20, -0.25, 0.82),
    ("plain", 4.84, 100.0, 0.0, 4.84, 0.0, 4.86),
    ("random", 0.00, 49.9, 50.1, 0.03, -0.03, 0.12),
]


@pytest.mark.parametrize("row", TABLE_4, ids=lambda row: row[0])
def test_summaries_of_trials_like_the_published_ones(row):
    """Trials built to a published row's PDR, LID+ and LID- have its ALID: eq. 9."""
    _, alid, pdr, _, positive, negative, highest = row
    n_positive = round(pdr * 10)
    lid = np.concatenate((np.full(n_positive, positive), np.full(1000 - n_positive, negative)))
    assert value("alid", lid) == pytest.approx(alid, abs=0.012)
    assert highest <= np.log2(29) + 0.005


def test_random_scores_tell_nothing():
    rng = np.random.default_rng(0)
    n = 29
    dev, scores = rng.normal(size=(10_000, n)), rng.normal(size=(10_000, n))
    mated = rng.integers(n, size=10_000)
    calibration = fit_rows(dev, rng.integers(n, size=10_000))
    lid = row_evidence(scores, mated, calibration).lid
    assert abs(value("alid", lid)) < 0.01
    assert value("pdr", lid) == pytest.approx(0.5, abs=0.02)


def test_a_gaussian_model_with_known_posterior_is_recovered():
    """Scores that are LLRs of a Gaussian model: the ideal attacker's ALID is known from the true posterior."""
    d, n, trials = 4.0, 50, 4000
    rng = np.random.default_rng(1)

    def draw():
        mated = rng.integers(n, size=trials)
        llr = rng.normal(-d / 2, np.sqrt(d), (trials, n))
        llr[np.arange(trials), mated] += d
        return llr, mated

    (dev, dev_mated), (llr, mated) = draw(), draw()
    top = llr.max(axis=1, keepdims=True)
    log_mean = top[:, 0] + np.log(np.exp(llr - top).mean(axis=1))
    ideal = ((llr[np.arange(trials), mated] - log_mean) / np.log(2)).mean()
    for method in ("logistic", "temperature"):
        calibration = fit_rows(0.1 * dev + 3, dev_mated, RowFit(method=method))
        alid = value("alid", row_evidence(0.1 * llr + 3, mated, calibration).lid)
        assert alid == pytest.approx(ideal, rel=0.02), method


def test_ccdf_and_shares():
    lid = np.array([0.5, -1.0, 2.0, 0.5])
    levels, share = ccdf(lid)
    assert (levels.tolist(), share.tolist()) == ([-1.0, 0.5, 2.0], [0.75, 0.25, 0.0])


def test_speakers_are_listed_by_exposure():
    risk = by_speaker(np.array([1.0, 3.0, -1.0, 0.0]), np.array(["a", "b", "a", "c"]))
    assert (risk.speaker.tolist(), risk.trials.tolist()) == (["b", "a", "c"], [1, 2, 1])
    assert (risk.mean.tolist(), risk.max.tolist()) == ([3.0, 0.0, 0.0], [3.0, 1.0, 0.0])
    assert risk.share_positive.tolist() == [1.0, 0.5, 0.0]


def test_priors_are_checked():
    scores, mated, fit = np.eye(2), np.array([0, 1]), AffineCalibration("a", 1.0, 0.0, 0.0)
    with pytest.raises(InputError, match="prior: expected 2 probabilities"):
        row_evidence(scores, mated, fit, prior=np.array([1.0]))
    with pytest.raises(InputError, match="positive probabilities that sum to 1"):
        row_evidence(scores, mated, fit, prior=np.array([0.0, 1.0]))


def test_standardised_rows_cannot_tell_far_from_near_and_others_can():
    """Softmax by hand: the true one stands 0.8 and 0.05 above two equal others."""
    rows, mated = np.array([[0.90, 0.10, 0.10], [0.50, 0.45, 0.45]]), np.array([0, 0])
    lid = {s: row_evidence(rows, mated, AffineCalibration("a", 2.0, 0.0, 0.0, scaling=s)).lid for s in ROW_SCALINGS}
    assert lid["standardise"][0] == pytest.approx(lid["standardise"][1], abs=1e-12)
    for scaling in ("centre", "none"):
        expected = [np.log2(3.0 / (1.0 + 2.0 * np.exp(-2.0 * gap))) for gap in (0.8, 0.05)]
        assert lid[scaling].tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("scaling", ["centre", "none"])
def test_people_who_are_far_leave_posteriors_of_rows_that_keep_their_spread(scaling):
    """Under one calibration; a standardised row shrinks, and with it what the others differ by."""
    rng = np.random.default_rng(0)
    mated = np.arange(200) % 20
    near = rng.normal(size=(200, 20)) + 2.0 * np.eye(20)[mated]
    both = np.hstack((near, np.full((200, 5), -30.0)))
    kept, shrunk = (
        [row_evidence(rows, mated, AffineCalibration("a", 2.0, 0.0, 0.0, scaling=name)).posterior.mean()
         for rows in (near, both)]
        for name in (scaling, "standardise")
    )  # fmt: skip
    assert kept[1] == pytest.approx(kept[0], abs=1e-9)
    assert shrunk[1] < 0.5 * shrunk[0]


@pytest.mark.parametrize(("mean", "deviation"), [(0.05, 0.1), (-3.0, 0.5), (0.0, 1.0)])
@pytest.mark.parametrize("weight", [2.0, -1.5, 60.0])
def test_single_precision_is_enough_for_many_identities(mean, deviation, weight):
    rng = np.random.default_rng(0)
    scores = rng.normal(mean, deviation, (4, 100_003)).astype(np.float32)
    mated = np.arange(4)
    scores[mated, mated] += 2.0 * deviation
    calibration = AffineCalibration("logistic", weight, 0.0, 0.0)
    single, double = (row_evidence(scores.astype(kind), mated, calibration).lid for kind in (np.float32, np.float64))
    np.testing.assert_allclose(single, double, rtol=0.0, atol=1e-6 * abs(weight))


def test_likelihood_ratio_by_hand():
    """Section 5.2 of the paper: among six the true one has LLR 2.12, and the posterior 0.31."""
    llr = np.array([1.17, 0.21, -1.23, 2.12, 2.61, -1.23])
    posterior = np.exp(llr[3]) / np.exp(llr).sum()
    ratio = np.exp(llr[3]) / np.exp(np.delete(llr, 3)).mean()
    found = log_ratio_from_lid(np.log2([6.0 * posterior]), 1.0 / 6.0)
    assert np.exp(found) == pytest.approx([ratio])
    # an attacker who gave the true one half, and a tenth to each of the others
    half = 0.5 * np.exp(llr[3]) / (0.5 * np.exp(llr[3]) + 0.1 * np.exp(np.delete(llr, 3)).sum())
    assert lid_at(found, np.array([0.0])) == pytest.approx(np.array([[np.log2(half / 0.5)]]))
    with pytest.raises(InputError, match="between 0 and 1"):
        log_ratio_from_lid(np.array([0.0]), 1.0)


@pytest.mark.parametrize("ratio", [0.01, 0.5, 1.0, 1.00001, 3.0, 1e6])
def test_mean_over_priors_is_the_integral(ratio):
    value, _ = integrate.quad(lambda prior: np.log2(ratio / (prior * ratio + 1.0 - prior)), 0.0, 1.0)
    assert prior_free(np.log([ratio])) == pytest.approx([value], abs=1e-8)


def test_ends():
    assert prior_free(np.array([-np.inf, 0.0, np.inf])).tolist() == [-np.inf, 0.0, PRIOR_FREE_MAX]
    assert log_ratio_from_lid(np.array([2.0]), 0.25) == np.inf  # certain
    assert lid_at(np.array([np.inf]), np.array([0.0])).tolist() == [[1.0]]


def test_an_evaluation_agrees_with_priors_that_are_given():
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(8), 5)
    names = np.array([f"p{i}" for i in range(8)])
    scores = rng.normal(size=(40, 8)) + 2.0 * np.eye(8)[mated]
    matrix = ze.ScoreMatrix(scores, mated, enrolments=names)
    dev = ze.ScoreMatrix(rng.normal(size=(40, 8)) + 2.0 * np.eye(8)[mated], mated)
    row = ze.evaluate(matrix, dev=dev, options=ze.Options(intervals=0, null=0))
    ratio = log_ratio_from_lid(row.trials.lid, 1.0 / 8.0)
    assert row["lid_prior_free"].value == pytest.approx(prior_free(ratio).mean())
    curve = row.curves["lid_over_priors"]
    assert np.interp(-np.log(7.0), curve.x, curve.y) == pytest.approx(row["alid"].value, abs=1e-3)
    # 0.3 for one person, a tenth for each of the others: that person's trials follow the curve
    given = {str(name): 0.3 if name == "p3" else 0.1 for name in names}
    skewed = ze.evaluate(matrix, dev=dev, prior=given, options=ze.Options(intervals=0, null=0))
    own = mated == 3
    expected = lid_at(ratio[own], np.array([np.log(0.3 / 0.7)]))[:, 0]
    assert skewed.trials.lid[own] == pytest.approx(expected)
    assert "lid_prior_free" not in skewed


def test_sums_over_trials_are_those_of_the_matrix():
    rng = np.random.default_rng(3)
    ratio = np.concatenate((rng.normal(0.0, 5.0, 20_000), [np.inf, 700.0, -700.0, 0.0, 599.0, -599.0]))
    odds = np.linspace(-7.0, 7.0, 9)
    np.testing.assert_allclose(total_lid_at(ratio, odds), lid_at(ratio, odds).sum(axis=0), rtol=1e-12)
    assert total_lid_at(np.array([-np.inf, 1.0]), odds).tolist() == [-np.inf] * 9
