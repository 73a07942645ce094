"""Row calibration: standardised scores to LLRs, fitted on other speakers."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logit, logsumexp
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from zeroevidence import Options, ScoreMatrix, evaluate
from zeroevidence.calibrate.rows import (
    METHODS,
    ROW_SCALINGS,
    AffineCalibration,
    RowFit,
    count_rows,
    fit_rows,
    held_out_loss,
    rescale_extreme_rows,
    row_llrs,
    row_sums,
    scale_rows,
    speaker_folds,
    standardise,
)
from zeroevidence.errors import InputError, UsageError


def simulated(n_speakers=20, per_speaker=20, separation=2.0, seed=0, skew=False):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    noise = rng.normal(size=(len(mated), n_speakers))
    if skew:
        noise = rng.exponential(size=noise.shape) ** 1.5
    noise[np.arange(len(mated)), mated] += separation
    return noise, mated


def test_rows_have_zero_mean_and_unit_deviation():
    scores, _ = simulated()
    z = standardise(scores)
    np.testing.assert_allclose(z.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(z.std(axis=1), 1)
    np.testing.assert_allclose(standardise(scores, ddof=1).std(axis=1, ddof=1), 1)


def test_rows_of_equal_scores_become_zeros():
    # three times 0.1 does not sum to 0.3, so the deviation is not exactly zero
    assert (standardise(np.full((2, 3), 0.1)) == 0).all()


def test_row_shifts_and_scales_do_not_matter():
    scores, mated = simulated()
    rng = np.random.default_rng(1)
    changed = scores * rng.uniform(0.5, 2, (len(mated), 1)) + rng.normal(size=(len(mated), 1))
    for method in METHODS:
        one, two = fit_rows(scores, mated, RowFit(method=method)), fit_rows(changed, mated, RowFit(method=method))
        grid = np.linspace(-3, 3, 13)
        np.testing.assert_allclose(one.llr(grid), two.llr(grid), atol=1e-6)


def test_logistic_equals_scikit_learn_with_the_authors_choices():
    scores, mated = simulated()
    z = standardise(scores, ddof=1)
    labels = (np.arange(scores.shape[1]) == mated[:, None]).ravel()
    reference = LogisticRegression(class_weight="balanced", tol=1e-10, max_iter=1000).fit(z.reshape(-1, 1), labels)
    fit = fit_rows(scores, mated, RowFit(ddof=1, l2=1.0, balanced=True))
    assert fit.weight == pytest.approx(reference.coef_[0, 0], rel=1e-5)
    assert fit.bias == pytest.approx(reference.intercept_[0], rel=1e-4)
    assert fit.prior_log_odds == 0.0


@pytest.mark.parametrize("method", METHODS)
def test_separable_rows_give_finite_llrs(method):
    scores, mated = simulated(separation=30.0)
    fit = fit_rows(scores, mated, RowFit(method=method))
    assert np.isfinite(fit.llr(np.linspace(-10, 10, 50))).all()
    assert fit.llr(np.array([4.0]))[0] > fit.llr(np.array([0.0]))[0]


def test_pav_is_monotone_and_density_need_not_be():
    scores, mated = simulated()
    grid = np.linspace(-4, 5, 300)
    assert (np.diff(fit_rows(scores, mated, RowFit(method="pav")).llr(grid)) >= 0).all()
    # true identities in the middle of their rows
    rng = np.random.default_rng(0)
    middle = np.where(rng.random(scores.shape) < 0.5, -1.0, 1.0) + 0.1 * rng.normal(size=scores.shape)
    middle[np.arange(len(mated)), mated] = 0.1 * rng.normal(size=len(mated))
    fit = fit_rows(middle, mated, RowFit(method="density"))
    assert fit.llr(np.array([0.0]))[0] > 2 + fit.llr(np.array([-1.0, 1.0])).max()


def scaled(scores, scaling):
    """Rows minus their means, over their deviations, by the definition."""
    mean, deviation = scores.mean(axis=1, keepdims=True), scores.std(axis=1, keepdims=True)
    return {"standardise": (scores - mean) / deviation, "centre": scores - mean, "none": scores}[scaling]


def row_loss(llr, mated):
    """-ln of the softmax at the true identity, summed over rows."""
    return float((logsumexp(llr, axis=1) - llr[np.arange(len(mated)), mated]).sum())


def laplace_pav(z, target):
    """The map of Laplace PAV, by isotonic regression of scikit-learn: a pair of each class beyond either end."""
    order = np.argsort(z, kind="stable")
    span = np.ptp(z) + 1.0
    x = np.concatenate([z.min() - [2 * span, span], z[order], z.max() + np.array([span, 2 * span])])
    share = IsotonicRegression().fit_transform(x, np.concatenate([[1, 0], target[order], [1, 0]]))[2:-2]
    knots, first = np.unique(z[order], return_index=True)
    llr = logit(share) - np.log(target.sum() / (~target).sum())
    return lambda new: np.interp(new, knots, llr[first])


def fitted_map(method, scaling, scores, mated):
    """What a method learns of rows, without the toolkit but for the density, whose map is taken from it."""
    z, target = scaled(scores, scaling), np.arange(scores.shape[1]) == mated[:, None]
    if method == "density":
        return fit_rows(scores, mated, RowFit(method="density", scaling=scaling)).llr
    if method == "pav":
        return laplace_pav(z.ravel(), target.ravel())
    if method == "logistic":
        model = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(z.reshape(-1, 1), target.ravel())
        slope = model.coef_[0, 0]
    else:
        slope = minimize_scalar(lambda w: row_loss(w * z, mated), bounds=(-20.0, 20.0), method="bounded").x
    return lambda new: slope * new  # a softmax over a row has no use for the bias


def independent_loss(method, scaling, scores, mated):
    """Log-loss of held-out speakers: fifths of them in random order."""
    people, total = np.random.default_rng(0).permutation(np.unique(mated)), 0.0
    for part in np.array_split(people, 5):
        held = np.isin(mated, part)
        llr = fitted_map(method, scaling, scores[~held], mated[~held])
        total += row_loss(llr(scaled(scores[held], scaling)), mated[held])
    return total / len(mated)


def nuisance(kind, seed=0, trials=400):
    """Rows whose spread, whose level, or neither differs from trial to trial for no reason."""
    rng = np.random.default_rng(seed)
    mated = np.arange(trials) % 10
    noise, true = rng.normal(size=(trials, 10)), np.eye(10)[mated]
    sure = np.where(rng.random((trials, 1)) < 0.5, 6.0, 0.0)  # every other trial says nothing
    if kind == "spread":
        return np.exp(rng.normal(size=(trials, 1))) * (noise + 2.0 * true), mated
    return noise + sure * true + (3.0 * rng.normal(size=(trials, 1)) if kind == "level" else 0.0), mated


AUTO = [
    (RowFit(method="auto"), simulated(per_speaker=10), "temperature", "standardise"),
    (RowFit(method="auto"), simulated(per_speaker=20, skew=True), "density", "standardise"),
    (RowFit(scaling="auto"), nuisance("spread"), "logistic", "standardise"),
    (RowFit(scaling="auto"), nuisance("level"), "logistic", "centre"),
    (RowFit(scaling="auto"), nuisance("none"), "logistic", "none"),
    (RowFit(method="auto", scaling="auto"), nuisance("level", trials=200), "pav", "centre"),
]


@pytest.mark.parametrize(("auto", "rows", "method", "scaling"), AUTO)
def test_auto_chooses_the_least_held_out_loss_of_an_independent_computation(auto, rows, method, scaling):
    losses = {(how.method, how.scaling): independent_loss(how.method, how.scaling, *rows) for how in auto.candidates}
    assert len(losses) == (4 if auto.method == "auto" else 1) * (3 if auto.scaling == "auto" else 1)
    for how in auto.candidates:
        found = held_out_loss(*rows, partial(fit_rows, how=how))
        assert found == pytest.approx(losses[how.method, how.scaling], abs=2e-6)
    assert min(losses, key=losses.get) == (method, scaling)
    fit = fit_rows(*rows, auto)
    assert (fit.name, fit.scaling) == (f"auto:{method}" if auto.method == "auto" else method, scaling)


def test_folds_keep_speakers_together():
    speakers = np.repeat(np.arange(13), 3)
    folds = speaker_folds(speakers, seed=1)
    assert sorted(np.concatenate(folds)) == list(range(39))
    owners = [set(speakers[fold]) for fold in folds]
    assert sum(map(len, owners)) == 13
    assert len(speaker_folds(np.array([0, 0, 1]))) == 2


@pytest.mark.parametrize(
    ("scores", "mated", "message"),
    [
        ([[1.0], [2.0]], [0, 0], "at least two enrolled identities, got 1"),
        ([[1.0, np.inf], [2.0, 3.0]], [0, 0], "trial 0, identity 1: a search needs finite scores, got inf"),
        ([[1.0, 0.0], [2.0, 3.0]], [0, -1], "trial 1: its speaker is not enrolled"),
    ],
)
def test_what_is_no_search(scores, mated, message):
    with pytest.raises(InputError, match=message):
        fit_rows(np.array(scores), np.array(mated))


def test_wrong_choices():
    scores, mated = simulated()
    with pytest.raises(UsageError, match="unknown calibration 'magic'; expected logistic, temperature, pav"):
        fit_rows(scores, mated, RowFit(method="magic"))
    with pytest.raises(UsageError, match="ddof 0 or 1"):
        fit_rows(scores, mated, RowFit(ddof=2))
    with pytest.raises(InputError, match="at least two speakers"):
        speaker_folds(np.zeros(4, dtype=int))


def test_large_fits_use_bins_and_agree_with_exact_ones(monkeypatch):
    from zeroevidence.calibrate import logistic

    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 3000), rng.standard_t(3, 200_000)
    exact = logistic.fit_logistic(target, nontarget)
    monkeypatch.setattr(logistic, "_EXACT_BELOW", 1000)
    binned = logistic.fit_logistic(target, nontarget)
    assert binned.weight == pytest.approx(exact.weight, rel=1e-7)
    assert binned.bias == pytest.approx(exact.bias, rel=1e-7)
    assert isinstance(fit_rows(*simulated()), AffineCalibration)


@pytest.mark.parametrize(
    ("dtype", "scale"), [("f4", 1e20), ("f4", 1e37), ("f4", 1e-30), ("f8", 1e120), ("f8", 1e306), ("f8", 1e-200)]
)
def test_the_scale_of_scores_changes_nothing(dtype, scale):
    rng = np.random.default_rng(0)
    mated = np.arange(60) % 12
    scores = (rng.normal(size=(60, 12)) + 2.0 * np.eye(12)[mated]).astype(dtype)
    scaled = scores * np.dtype(dtype).type(scale)
    np.testing.assert_allclose(standardise(scaled), standardise(scores), rtol=1e-4, atol=1e-5)
    here, there = (evaluate(ScoreMatrix(x, mated), options=Options(intervals=20, null=10)) for x in (scaled, scores))
    for name in ("alid", "top1", "eer", "d_ece", "lid_max", "singling_out"):
        assert here[name].value == pytest.approx(there[name].value, abs=1e-4), name
        assert (here[name].low, here[name].high) == pytest.approx((there[name].low, there[name].high), abs=1e-4), name


def test_moderate_rows_are_left_alone():
    scores = np.array([[1.0, 2.0], [1e10, 0.0]])
    assert rescale_extreme_rows(scores) is scores
    extreme = np.array([[2.0**600, 2.0**599], [3.0, 4.0]])
    np.testing.assert_array_equal(rescale_extreme_rows(extreme), [[0.5, 0.25], [3.0, 4.0]])


def test_held_out_loss_is_the_mean_of_minus_log_posteriors():
    rng = np.random.default_rng(4)
    mated = np.arange(30) % 6
    scores = rng.normal(size=(30, 6)) + 2.0 * np.eye(6)[mated]
    fitted = fit_rows(scores, mated)
    posterior = np.exp(fitted.llr(standardise(scores)))
    posterior /= posterior.sum(axis=1, keepdims=True)
    expected = -np.log(posterior[np.arange(30), mated]).mean()
    assert held_out_loss(scores, mated, lambda *_: fitted) == pytest.approx(expected, rel=1e-12)


def scaled_by_hand(scores, scaling):
    """Each row by itself, in plain Python."""
    rows = []
    for row in scores.tolist():
        mean = sum(row) / len(row)
        deviation = (sum((x - mean) ** 2 for x in row) / len(row)) ** 0.5
        shift, divisor = {"standardise": (mean, deviation), "centre": (mean, 1.0), "none": (0.0, 1.0)}[scaling]
        rows.append([(x - shift) / divisor for x in row])
    return np.array(rows)


@pytest.mark.parametrize("scaling", ROW_SCALINGS)
def test_rows_are_scaled_and_fitted_as_said(scaling):
    from scipy.optimize import minimize

    scores, mated = simulated(n_speakers=8, per_speaker=10)
    z = scaled_by_hand(scores, scaling)
    np.testing.assert_allclose(scale_rows(scores, scaling), z, atol=1e-12)
    labels = np.arange(8) == mated[:, None]

    def pair_loss(theta):
        logit = theta[0] * z + theta[1]
        return float((np.logaddexp(0.0, logit) - labels * logit).sum())

    def row_loss(theta):
        logit = theta[0] * z
        return float((np.log(np.exp(logit).sum(axis=1)) - logit[labels]).sum())

    logistic, temperature = (fit_rows(scores, mated, RowFit(method=name, scaling=scaling)) for name in METHODS[:2])
    expected = minimize(pair_loss, [1.0, 0.0], tol=1e-12).x
    assert (logistic.weight, logistic.bias) == pytest.approx(tuple(expected), abs=1e-4)
    assert temperature.weight == pytest.approx(minimize(row_loss, [1.0], tol=1e-12).x[0], abs=1e-4)
    assert logistic.scaling == temperature.scaling == scaling
    np.testing.assert_allclose(row_llrs(scores, logistic), logistic.llr(z), atol=1e-12)


def test_a_temperature_does_not_feel_the_level_of_a_row():
    scores, mated = simulated()
    moved = scores + np.random.default_rng(1).normal(size=(len(mated), 1))
    weights = [fit_rows(x, mated, RowFit(method="temperature", scaling=s)).weight
               for x in (scores, moved) for s in ("centre", "none")]  # fmt: skip
    assert weights == pytest.approx([weights[0]] * 4, rel=1e-9)
    logistic = [fit_rows(x, mated, RowFit(scaling="centre")).weight for x in (scores, moved)]
    assert logistic[0] == pytest.approx(logistic[1], rel=1e-6)


@pytest.mark.parametrize("scaling", ["centre", "none"])
@pytest.mark.parametrize("method", METHODS)
def test_units_of_scores_do_not_matter_whatever_the_scaling(method, scaling):
    """Scores in other units, the same in all rows, give the same LLRs."""
    scores, mated = simulated(per_speaker=5)
    expected = row_llrs(scores, fit_rows(scores, mated, RowFit(method=method, scaling=scaling)))
    for factor, shift in ((1e-6, 0.0), (1e6, 1e6), (0.37, -12.0)):
        other = factor * scores + shift
        found = row_llrs(other, fit_rows(other, mated, RowFit(method=method, scaling=scaling)))
        expected_shift = found.mean() - expected.mean() if method == "temperature" else 0.0  # no bias to make up for it
        np.testing.assert_allclose(found - expected_shift, expected, atol=1e-4)


@pytest.mark.parametrize("scaling", ["centre", "none"])
def test_scores_that_only_standardised_rows_can_take_are_refused(scaling):
    scores, mated = simulated(per_speaker=3)
    for factor in (1e200, 1e-200):
        fit_rows(factor * scores, mated)
        with pytest.raises(InputError, match=f"row scaling {scaling}: expected scores between"):
            fit_rows(factor * scores, mated, RowFit(scaling=scaling))
    for value in (np.inf, -np.inf):
        wrong = scores.copy()
        wrong[3, 4] = value
        for method in METHODS:
            with pytest.raises(InputError, match="finite"):
                fit_rows(wrong, mated, RowFit(method=method, scaling=scaling))
    with pytest.raises(UsageError, match="unknown row scaling 'tilt'; expected standardise, centre, none, auto"):
        fit_rows(scores, mated, RowFit(scaling="tilt"))
    assert fit_rows(np.ones((4, 3)), np.array([0, 1, 2, 0]), RowFit(scaling=scaling)).weight == 0.0


@pytest.mark.parametrize("columns", [1, 7, 8, 999, 1000, 2041, 5003])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sums_and_counts_of_rows(columns, kind):
    x = np.random.default_rng(columns).normal(1.0, 2.0, (5, columns)).round(1).astype(kind)
    exact = x.astype(np.longdouble)
    np.testing.assert_allclose(row_sums(x), exact.sum(axis=1), rtol=0, atol=1e-5 * columns**0.5)
    np.testing.assert_allclose(row_sums(x, squared=True), (exact**2).sum(axis=1), rtol=1e-6)
    limit = x[:, :1]
    assert count_rows(np.greater, x, limit).tolist() == (x > limit).sum(axis=1).tolist()
    assert count_rows(np.greater_equal, x, 0.5).tolist() == (x >= 0.5).sum(axis=1).tolist()


def test_all_of_a_long_row_is_counted():
    assert count_rows(np.less, np.zeros((2, 100_000), np.float32), 1.0).tolist() == [100_000, 100_000]
