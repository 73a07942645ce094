"""Limits of shares of people, against slow computations and simulated people."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import betainc

from tests.effort import spread
from zeroevidence.uncertainty.shares import mean_share_limits, rate_share_limits


@pytest.mark.parametrize(("people", "exposed"), [(12, 0), (12, 3), (30, 15), (100, 1), (100, 100)])
def test_many_recordings_leave_clopper_and_pearson(people, exposed):
    """The same of rates and of means, where it is certain who is exposed."""
    named = np.arange(people) < exposed
    trials = np.where(np.arange(people) % 2 == 0, 200, 300)  # numbers may differ
    high, bound, *rest = rate_share_limits(np.where(named, trials, 3), trials, 0.8, (0.975, 0.95))
    exact = [stats.binomtest(exposed, people).proportion_ci(0.95), stats.binomtest(exposed, people).proportion_ci(0.9)]
    assert (1.0 - rest[0], high, bound) == pytest.approx((exact[0].low, exact[0].high, exact[1].high), abs=2e-3)
    whose = np.repeat(np.arange(people), 50)
    values = np.where(named, 4.0, 0.0)[whose] + np.random.default_rng(0).normal(0.0, 0.5, len(whose))
    assert mean_share_limits(values, whose, np.array([1.0]), 0.95)[0] == pytest.approx(exact[1].high, abs=5e-3)


def loss_at(share, successes, trials):
    """Log-likelihood lost by the best distribution of rates with that share at 80 % or more: by a general optimiser."""
    rates = np.concatenate((np.linspace(0.0, 0.8, 33), np.linspace(0.8, 1.0, 9)))
    likelihood = stats.binom.pmf(successes, trials, rates[:, None])
    low, high = np.arange(42) < 33, np.arange(42) >= 33

    def lowest(kinds):
        rules = [{"type": "eq", "fun": lambda w, kind=kind, part=part: w[kind].sum() - part} for kind, part in kinds]
        return optimize.minimize(
            lambda w: -np.log(w @ likelihood).sum(),
            np.full(42, 1.0 / 42.0),
            jac=lambda w: -(likelihood / (w @ likelihood)).sum(axis=1),
            bounds=[(0.0, 1.0)] * 42,
            constraints=rules,
            method="SLSQP",
            options={"maxiter": 1000, "ftol": 1e-12},
        ).fun

    return lowest([(low, 1.0 - share), (high, share)]) - lowest([(low | high, 1.0)])


@pytest.mark.parametrize("trials", [2, 4])
def test_the_limit_loses_as_much_likelihood_as_a_count_of_people_just_rejected(trials):
    successes = np.array([trials] * 4 + [1] * 2 + [0] * 6)
    (limit, _) = rate_share_limits(successes, np.full(12, trials), 0.8, (0.95,))
    assert 4 / 12 < limit < 1.0
    lost = loss_at(limit, successes, trials)
    # the number of certain people that fits a share of `limit` as badly, and how seldom so few are seen

    def deviance(count):
        return stats.entropy([count, 12 - count], [limit, 1.0 - limit]) * 12

    count = optimize.brentq(lambda count: deviance(count) - lost, 1e-9, 12 * limit)
    assert 1.0 - betainc(count + 1.0, 12 - count, limit) == pytest.approx(0.05, abs=0.002)


def held(rates, recordings, share, simulations=100):
    """How often lower limit, upper limit and bound are on their side of the share."""
    rng, hits = np.random.default_rng((7, recordings)), np.zeros(3)
    for _ in range(simulations):
        people = rates(rng)
        trials = np.full(len(people), recordings)
        high, bound, rest, _ = rate_share_limits(rng.binomial(trials, people), trials, 0.8, (0.975, 0.95))
        hits += 1.0 - rest <= share + 1e-9, high >= share - 1e-9, bound >= share - 1e-9
    return hits / simulations


@pytest.mark.parametrize(
    ("rates", "recordings", "share"),
    spread(
        [
            (lambda rng: np.full(12, 0.7), 2, 0.0),  # half of them are named in 2 of 2
            (lambda rng: np.where(rng.random(30) < 0.1, 0.95, 1 / 30), 4, 0.1),
            (lambda rng: np.where(rng.random(30) < 0.5, 0.85, 1 / 30), 4, 0.5),  # three of four are not yet named
            (lambda rng: rng.beta(8.0, 2.0, 12), 6, stats.beta.sf(0.8, 8.0, 2.0)),
            (lambda rng: np.full(30, 0.82), 10, 1.0),
        ],
        3,
    ),
)
def test_limits_of_rates_hold(rates, recordings, share):
    assert (held(rates, recordings, share) >= 0.93).all()


@pytest.mark.parametrize(("recordings", "share"), [(2, 0.5), (4, 1.0)])
def test_limits_of_means_hold_where_few_recordings_hide_who_is_above(recordings, share):
    """Long-run means of 1.3 bits or none, seen with a deviation of 1.2: many of the former are seen below one bit."""
    rng, hits = np.random.default_rng((8, recordings)), 0
    whose = np.repeat(np.arange(30), recordings)
    for _ in range(100):
        values = np.where(rng.random(30) < share, 1.3, 0.0)[whose] + rng.normal(0.0, 1.2, len(whose))
        hits += mean_share_limits(values, whose, np.array([1.0]), 0.95)[0] >= share - 1e-9
    assert hits >= 93


def test_limits_of_means_need_somebody_with_two_recordings():
    values = np.array([3.0, 0.0, 0.1, -np.inf])
    assert mean_share_limits(values, np.arange(4), np.array([1.0]), 0.95) is None
    limits = mean_share_limits(values, np.array([0, 1, 1, 2]), np.array([-np.inf, 1.0]), 0.95)
    assert limits[0] == 1.0  # who is ruled out once has the lowest of all means, and the others are above
    assert 0.5 < limits[1] <= 1.0
