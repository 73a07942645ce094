"""Link probability and singling out, exact curves against drawn subsets."""

import itertools

import numpy as np
import pytest

from zeroevidence.errors import InputError
from zeroevidence.measure.search import longitudinal
from zeroevidence.measure.search.longitudinal import (
    firing_threshold,
    link_curve,
    link_probability,
    singling_out,
    singling_out_curve,
)


def simulated(trials=300, n=20, separation=1.0, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(trials, n))
    mated = rng.integers(n, size=trials)
    scores[np.arange(trials), mated] += separation
    true = scores[np.arange(trials), mated][:, None]
    return scores, mated, (scores > true).sum(axis=1), (scores == true).sum(axis=1) - 1


def test_link_needs_a_strict_maximum():
    assert link_probability(np.array([0, 0, 1]), np.array([0, 1, 0])) == pytest.approx(1 / 3)


def test_link_curve_is_the_mean_over_subsets():
    scores, mated, greater, equal = simulated()
    curve = link_curve(greater, equal, 20, sizes=(2, 5, 20))
    assert curve.baseline.tolist() == [0.5, 0.2, 0.05]
    assert curve.y[-1] == pytest.approx(link_probability(greater, equal))
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(300):
        row = rng.integers(len(mated))
        others = rng.permutation(np.delete(np.arange(20), mated[row]))[:4]
        drawn.append(scores[row, mated[row]] > scores[row, others].max())
    assert np.mean(drawn) == pytest.approx(curve.y[1], abs=0.08)


def test_chance_links_once_in_n():
    rng = np.random.default_rng(0)
    greater = rng.integers(0, 32, size=50_000)
    curve = link_curve(greater, np.zeros_like(greater), 32)
    np.testing.assert_allclose(curve.y, curve.baseline, atol=0.01)


def test_threshold_lets_one_in_n_fire():
    scores = np.random.default_rng(0).normal(size=(500, 25))
    threshold = firing_threshold(scores, 25)
    assert (scores > threshold).sum() == 500
    assert firing_threshold(np.zeros((4, 4)), 4) == 0.0


def test_large_arrays_find_the_same_threshold(monkeypatch):
    scores = np.random.default_rng(0).normal(size=(2000, 700)).astype(np.float32)
    exact = np.sort(scores, axis=None)[::-1][2000]
    assert firing_threshold(scores, 700) == exact
    # a sample that misleads must not decide
    ordered = np.sort(scores, axis=None).reshape(2000, 700)
    assert firing_threshold(ordered, 700) == exact


def test_independent_scores_are_singled_out_once_in_e():
    rng = np.random.default_rng(0)
    value = singling_out(rng.normal(size=(20_000, 50)), rng.normal(size=(20_000, 50)))
    assert value == pytest.approx(longitudinal.singling_out_by_chance(50), abs=0.01)


@pytest.mark.parametrize("n", [2, 4, 8])
def test_chance_of_singling_out_depends_on_the_number_of_identities(n):
    rng = np.random.default_rng(0)
    curve = singling_out_curve(rng.normal(size=(20_000, 16)), rng.normal(size=(20_000, 16)), sizes=(n, 16))
    by_hand = n * (1 / n) * (1 - 1 / n) ** (n - 1)  # one of n fires, the others do not
    assert curve.baseline[0] == pytest.approx(by_hand)
    assert curve.y[0] == pytest.approx(by_hand, abs=0.01)


def test_a_clear_winner_in_each_row_is_always_singled_out():
    scores = np.eye(10)
    assert singling_out(scores, np.eye(10)) == 1.0


def test_singling_out_curve_is_the_mean_over_subsets():
    scores, *_ = simulated(seed=2)
    calibration, *_ = simulated(seed=3)
    curve = singling_out_curve(scores, calibration, sizes=(4, 20))
    assert curve.y[1] == pytest.approx(singling_out(scores, calibration))
    threshold = firing_threshold(calibration, 4)
    rng = np.random.default_rng(0)
    drawn = [(scores[rng.integers(len(scores)), rng.permutation(20)[:4]] > threshold).sum() == 1 for _ in range(4000)]
    assert np.mean(drawn) == pytest.approx(curve.y[0], abs=0.03)


def test_sizes_are_checked():
    with pytest.raises(InputError, match="numbers of identities from 2 to 5"):
        link_curve(np.zeros(1, dtype=int), np.zeros(1, dtype=int), 5, sizes=(1,))
    with pytest.raises(InputError, match="at least 9 calibration scores, got 4"):
        firing_threshold(np.zeros((2, 2)), 9)
    assert link_curve(np.zeros(1, dtype=int), np.zeros(1, dtype=int), 10).x.tolist() == [2, 4, 8, 10]


@pytest.mark.parametrize("identities", [300, (1 << 16), (1 << 16) + 1, 100_000])
def test_curves_are_exact_on_both_sides_of_the_table_of_factorials(identities):
    """Products of fractions, factor by factor, in place of logarithms of factorials."""
    sizes = (2, 3, 40, identities)
    greater = np.array([0, 1, identities // 3, identities - 1])
    curve = link_curve(greater, np.array([0, 0, 1, 0]), identities, sizes=sizes)
    for size, value in zip(sizes, curve.y, strict=True):
        others = np.arange(size - 1)
        below = identities - 1 - greater - np.array([0, 0, 1, 0])
        drawn = [np.prod(np.maximum(n - others, 0) / (identities - 1 - others)) for n in below]
        assert value == pytest.approx(np.mean(drawn), rel=1e-7, abs=1e-300)


@pytest.mark.parametrize("identities", [200, (1 << 16) + 5])
def test_singling_out_curve_is_hypergeometric(identities):
    """Exactly one of the entries that fire is among the drawn ones: a factor for each of the others."""
    scores = np.zeros((3, identities))
    scores[0, :1], scores[1, :2], scores[2, :7] = 1.0, 1.0, 1.0
    calibration = np.repeat([0.0, 0.5], [identities, 3])  # a threshold between the two scores
    size = identities // 2
    (value,) = singling_out_curve(scores, calibration, sizes=(size,)).y
    expected = []
    for fires in (1, 2, 7):
        silent = np.arange(fires - 1)
        rest = np.prod((identities - size - silent) / (identities - 1 - silent))
        expected.append(fires * size / identities * rest)
    assert value == pytest.approx(np.mean(expected), rel=1e-7)


def legal_link(scores, mated, size):
    """The published formula of the legal evaluation, every set of candidates by itself; a tie goes to the speaker."""
    linked = []
    for row, speaker in zip(scores, mated, strict=True):
        others = np.delete(row, speaker)
        sets = itertools.combinations(others, size - 1)
        linked.append(np.mean([row[speaker] >= max(candidates) for candidates in sets]))
    return np.mean(linked)


@pytest.mark.parametrize("digits", [1, 12])
def test_link_curve_is_that_of_the_legal_evaluation(digits):
    scores, mated, _, _ = simulated(trials=12, n=8)
    scores = scores.round(digits)
    true = scores[np.arange(12), mated][:, None]
    greater, equal = (scores > true).sum(axis=1), (scores == true).sum(axis=1) - 1
    assert equal.any() == (digits == 1)
    for size in (2, 5, 8):
        expected = legal_link(scores, mated, size)
        assert link_curve(greater, np.zeros_like(equal), 8, sizes=(size,)).y[0] == pytest.approx(expected)
        strict = link_curve(greater, equal, 8, sizes=(size,)).y[0]
        assert strict == pytest.approx(expected) if digits == 12 else strict < expected


def legal_threshold(calibration, own):
    """Midway between the scores that as many as the person's own calibration scores exceed, and the next."""
    ordered = sorted(calibration.ravel().tolist(), reverse=True)
    return (ordered[own - 1] + ordered[own]) / 2.0


def test_singling_out_is_that_of_the_legal_evaluation_but_for_the_place_of_the_threshold():
    """There the threshold lies midway between two calibration scores, here at the lower; else nothing differs."""
    rng = np.random.default_rng(3)
    people, own = 10, 9
    between = compared = 0
    for person in range(200):
        calibration, tested = rng.normal(size=(own, people)), rng.normal(size=people)
        calibration[:, person % people] += 1.5
        tested[person % people] += 1.5
        midway = legal_threshold(calibration, own)
        expected = np.count_nonzero(tested > midway) == 1
        found = singling_out(tested[None], calibration) == 1.0
        here = firing_threshold(calibration, people)
        assert here < midway
        if ((tested > here) & (tested <= midway)).any():
            between += 1
        else:
            compared += 1
            assert found == expected
    assert compared > 150
    assert between > 0
