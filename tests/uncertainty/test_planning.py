"""The arithmetic of plans: spreads with more people, and where limits pass a bound."""

import numpy as np
import pytest
from scipy.stats import norm, t

from zeroevidence.uncertainty.level import LEAST_PEOPLE
from zeroevidence.uncertainty.planning import confirmed_people, guessed_people, needed_from_spread
from zeroevidence.uncertainty.spread import Spread

PILOT = Spread(error=0.04, people=20.0, freedom=19.0, below=0.0, above=0.0)


def test_more_people_shorten_limits_by_the_root_and_by_the_quantile():
    for times in (0.5, 1.0, 4.0, 10.0):
        reach = PILOT.of_people(PILOT.people * times).at_most(0.0)
        assert reach == pytest.approx(0.04 / np.sqrt(times) * t.ppf(0.95, 20 * times - 1))


def test_unseen_people_are_fewer_among_more():
    nobody_erred = Spread(error=0.0, people=30.0, freedom=29.0, below=0.0, above=1.0)
    assert nobody_erred.of_people(nobody_erred.people * 10.0).at_most(0.0) == pytest.approx(1.0 - 0.05 ** (1.0 / 300.0))


def test_groups_that_were_left_out_keep_their_number_behind():
    """More than 200 people are left out in 200 groups: freedom grows with the people that are added."""
    grouped = Spread(error=0.01, people=400.0, freedom=199.0, below=0.0, above=0.0)
    assert grouped.of_people(grouped.people * 1.0) == grouped
    assert grouped.of_people(grouped.people * 2.0).freedom == 599.0


def test_people_needed_solve_the_equation_of_a_pilot():
    needed = needed_from_spread(0.1, PILOT, 20, 0.15, 0.8)
    at, before = (PILOT.of_people(PILOT.people * people / 20) for people in (needed.people, needed.people - 1))
    assert at.at_most(0.1) + norm.ppf(0.8) * at.error <= 0.15 < before.at_most(0.1) + norm.ppf(0.8) * before.error
    assert LEAST_PEOPLE <= needed.low < needed.people
    assert needed.high is None or needed.high > needed.people


@pytest.mark.parametrize(("bound", "why"), [(0.1, "never"), (0.05, "never"), (0.1001, "beyond")])
def test_a_truth_above_the_bound_is_not_shown_by_any_number(bound, why):
    needed = needed_from_spread(0.1, PILOT, 20, bound, 0.8)
    assert (needed.people, needed.high, needed.unreachable) == (None, None, why)


def excesses(needed, exponent, times=2000, seed=0):
    """Limits of which 80 % reach the bound with so many people, and which fall with a power of their number."""

    def excess(people):
        drawn = 1.0 + 0.2 * (np.random.default_rng((seed, people)).standard_normal(times) - norm.ppf(0.8))
        return (needed / people) ** exponent * drawn

    return excess


@pytest.mark.parametrize("exponent", [0.5, 0.7, 1.0])
@pytest.mark.parametrize("needed", [15, 60, 400])
def test_a_guess_follows_how_limits_fall(needed, exponent):
    assert guessed_people(excesses(needed, exponent), 0.8).people == pytest.approx(needed, rel=0.15)


@pytest.mark.parametrize("exponent", [1 / 3, 0.7])
def test_a_guess_beyond_what_can_be_simulated(exponent):
    tried = []

    def excess(people):
        tried.append(people)
        return excesses(400, exponent)(people)

    assert guessed_people(excess, 0.8, 80).people == pytest.approx(400, rel=0.2)
    assert tried == [24, 80]


def test_a_guess_beyond_all_measure():
    assert guessed_people(excesses(1e6, 0.5), 0.8).unreachable == "beyond"
    assert guessed_people(lambda _: np.full(20, np.inf), 0.8).unreachable == "beyond"


@pytest.mark.parametrize("guess", [20, 55, 70, 300])
def test_a_number_is_confirmed_from_either_side(guess):
    """The number that is quoted is simulated; not many more than are needed, unless they were not shown too often."""
    tried = []

    def excess(people):
        tried.append(people)
        return excesses(60, 0.5, times=400)(people)

    found = confirmed_people(guess, excess, 0.8, 1000)
    assert found.people in tried
    assert found.shown == (excesses(60, 0.5, times=400)(found.people) <= 1.0).mean()
    assert found.shown - found.shown_error >= 0.8
    assert 58 <= found.people <= 75
    assert len(tried) <= 5


def test_the_error_of_a_share_is_that_of_so_many_simulations():
    found = confirmed_people(60, excesses(50, 0.5, times=400), 0.8, 1000)
    assert found.times == 400
    assert found.shown_error == pytest.approx(np.sqrt(found.shown * (1.0 - found.shown) / 400), rel=0.1)
    always = confirmed_people(LEAST_PEOPLE, lambda _: np.zeros(50), 0.8, 100)
    assert (always.people, always.shown) == (LEAST_PEOPLE, 1.0)
    assert always.shown_error > 0.0


def test_more_people_than_can_be_simulated():
    short = confirmed_people(60, excesses(200, 0.5), 0.8, 100)
    assert short.people == short.low == short.high == pytest.approx(200, rel=0.15)
    assert (short.shown, short.unreachable) == (None, None)
    assert confirmed_people(60, excesses(1e6, 0.5), 0.8, 100).unreachable == "beyond"
    far = confirmed_people(160, excesses(200, 0.5), 0.8, 100)
    assert (far.people, far.shown, far.unreachable) == (160, None, None)
    just = confirmed_people(140, excesses(60, 0.5), 0.8, 100)
    assert just.people <= 100
