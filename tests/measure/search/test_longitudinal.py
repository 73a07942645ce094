"""Link probability and singling out, exact curves against drawn subsets."""

import itertools

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.search.longitudinal import (
    firing_threshold,
    fuse_recordings,
    fused_sums,
    lid_of_llrs,
    link_curve,
    link_probability,
    recording_counts,
    shrinkage,
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


@pytest.mark.parametrize("n", [2, 4, 8])
def test_chance_of_singling_out_depends_on_the_number_of_identities(n):
    rng = np.random.default_rng(0)
    curve = singling_out_curve(rng.normal(size=(20_000, 16)), rng.normal(size=(20_000, 16)), sizes=(n, 16))
    by_hand = n * (1 / n) * (1 - 1 / n) ** (n - 1)  # one of n fires, the others do not
    assert curve.baseline[0] == pytest.approx(by_hand)
    assert curve.y[0] == pytest.approx(by_hand, abs=0.01)


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
    assert link_curve(greater, equal, 8).y[-1] == link_probability(greater, equal) == ((greater + equal) == 0).mean()
    assert link_curve(greater, equal, 8, sizes=(2, 5, 8)).baseline.tolist() == [1 / 2, 1 / 5, 1 / 8]
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


KS = (1, 2, 3, 5, 10)


def llrs(shared=0.0, d=2.0, n=40, per_speaker=20, seed=0):
    """LLR rows of a Gaussian model; `shared` is the part of the noise that all utterances of a speaker have."""
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n), per_speaker)
    own = rng.normal(size=(len(mated), n))
    common = rng.normal(size=(n, n))[mated]
    rows = -d / 2 + np.sqrt(d) * (np.sqrt(1 - shared) * own + np.sqrt(shared) * common)
    rows[np.arange(len(mated)), mated] += d
    return rows, mated


def alid(found):
    return np.array([one.lid.mean() for one in found])


def summed(rows, mated, ks=KS):
    return np.array([lid_of_llrs(fused_sums(rows, mated, k, 0)[0], mated).mean() for k in ks])


def test_each_trial_is_added_to_others_of_its_speaker():
    rows, mated = np.eye(9), np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    before = rows
    for k in (2, 3, 4):
        fused, size = fused_sums(rows, mated, k, seed=1)
        assert size.tolist() == [min(k, n) for n in (4, 4, 4, 4, 3, 3, 3, 2, 2)]
        members = np.round(fused).astype(int)  # which trials are in each sum
        assert (members.sum(axis=1) == size).all()
        assert (members.diagonal() == 1).all()
        assert all(set(mated[np.flatnonzero(line)]) == {own} for line, own in zip(members, mated, strict=True))
        assert (fused >= before - 1e-9).all()  # a larger number adds to a smaller one
        before = fused
    np.testing.assert_allclose(fused_sums(rows, mated, 1, 0)[0], rows)


def test_numbers_that_half_of_the_people_have():
    assert recording_counts(np.array([0, 1, 2])) == [1]
    assert recording_counts(np.repeat([0, 1, 2, 3], [10, 10, 1, 1])) == [1, 2, 3, 5, 10]
    assert recording_counts(np.repeat([0, 1, 2], [10, 2, 2])) == [1, 2]


@pytest.mark.parametrize("dev", [None, llrs(seed=1)], ids=["cross-fitted", "development"])
def test_independent_recordings_add_up(dev):
    rows, mated = llrs()
    found = fuse_recordings(rows, mated, ks=KS, dev=dev)
    # k recordings with LLR variance d are one recording with variance k d
    exact = [lid_of_llrs(*llrs(d=2.0 * k, per_speaker=500, seed=5)).mean() for k in KS]
    np.testing.assert_allclose(alid(found), exact, atol=0.1)


def test_two_identities_have_a_closed_form():
    rows, mated = llrs(n=2, per_speaker=4000)
    found = fuse_recordings(rows, mated, ks=KS, dev=llrs(n=2, per_speaker=4000, seed=1))
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    for k, bits in zip(KS, alid(found), strict=True):
        ratio = 2.0 * k + np.sqrt(4.0 * k) * x  # LLR of the true identity against the other: N(k d, 2 k d)
        closed = 1.0 - (weight * np.logaddexp(0.0, -ratio)).sum() / weight.sum() / np.log(2.0)
        assert bits == pytest.approx(closed, abs=0.03)


@pytest.mark.parametrize("dev", [None, llrs(shared=0.6, seed=1)], ids=["cross-fitted", "development"])
def test_alike_recordings_still_help_where_a_plain_sum_misleads(dev):
    rows, mated = llrs(shared=0.6)
    found = fuse_recordings(rows, mated, ks=KS, dev=dev)
    assert summed(rows, mated)[-1] < -2.0
    assert (np.diff(alid(found)) > -0.05).all()
    assert alid(found)[-1] > alid(found)[0] + 0.3


def test_copies_tell_nothing_more():
    rows, mated = llrs(shared=1.0)
    found = fuse_recordings(rows, mated, ks=KS, dev=llrs(shared=1.0, seed=1))
    assert summed(rows, mated)[-1] < -5.0
    np.testing.assert_allclose(alid(found), alid(found)[0], atol=0.1)


def test_an_attacker_uses_fewer_where_more_was_worse_on_others():
    rows, mated = llrs(per_speaker=10)
    spoiled = rows.copy()
    for own in np.split(np.arange(len(mated)), 40):
        spoiled[own[3:]] = -9.0 * np.eye(40)[mated[own[0]]]  # from the fourth on, recordings mislead
    tried = fuse_recordings(spoiled, mated, ks=(1, 10))
    assert alid(tried)[1] >= alid(tried)[0]


def test_development_people_without_enough_recordings_are_not_asked():
    rows, mated = llrs(shared=0.6)
    alone = fuse_recordings(rows, mated, ks=KS)
    few = fuse_recordings(rows, mated, ks=KS, dev=llrs(per_speaker=2, seed=1))
    enough = fuse_recordings(rows, mated, ks=KS, dev=llrs(per_speaker=10, seed=1))
    np.testing.assert_array_equal(alid(alone), alid(few))
    assert alid(enough)[-1] < alid(alone)[-1]  # these development people claim independence


def test_nobody_decides_about_their_own_recordings():
    rows, mated = llrs(n=5, per_speaker=10, shared=0.5)
    usual = fuse_recordings(rows, mated, ks=(1, 3))[1]
    own = mated == 2
    changed = rows.copy()
    changed[own] *= 4.0  # a fold has one of five people
    expected = lid_of_llrs(4.0 * _scaled(rows, mated, own, usual), mated[own])
    assert fuse_recordings(changed, mated, ks=(1, 3))[1].lid[own] == pytest.approx(expected)


def _scaled(rows, mated, own, usual):
    """The rows of one person as they were shrunk, found by their disclosure."""
    sums, size = fused_sums(rows, mated, 3, 0)
    candidates = (sums[own] * shrinkage(size[own], r)[:, None] for r in (3 / 3 ** np.linspace(0, 1, 13) - 1) / 2)
    return min(candidates, key=lambda one: np.abs(lid_of_llrs(one, mated[own]) - usual.lid[own]).max())


def test_a_prior_is_kept():
    rows, mated = llrs(n=4)
    prior = np.array([0.7, 0.1, 0.1, 0.1])
    found = fuse_recordings(rows, mated, ks=(1, 3), log_prior=np.log(prior))
    posterior = np.exp(rows) * prior
    posterior /= posterior.sum(axis=1, keepdims=True)
    own = posterior[np.arange(len(mated)), mated] / prior[mated]
    np.testing.assert_allclose(found[0].lid, np.log2(own))
    assert found[1].lid.max() <= np.log2(1 / 0.1)


def test_names_and_singling_out_follow_the_sums():
    rows, mated = llrs()
    dev = llrs(seed=1)
    one, many = fuse_recordings(rows, mated, ks=(1, 10), dev=dev)
    assert one.singled.mean() == pytest.approx(singling_out(rows, dev[0]))
    assert many.singled.mean() > one.singled.mean()
    assert (many.greater == 0).mean() > 0.95 > (one.greater == 0).mean()
    assert not many.equal.any()


def test_errors_are_clear():
    rows, mated = llrs(n=3, per_speaker=4)
    with pytest.raises(UsageError, match="at least 1"):
        fuse_recordings(rows, mated, ks=(0,))
    with pytest.raises(InputError, match="at least two speakers"):
        fuse_recordings(rows[:4], mated[:4], ks=(1, 2))
