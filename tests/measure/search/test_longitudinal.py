"""Several recordings of one person: what they have in common is fitted on others, and more never tells less."""

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.search.longitudinal import (
    fuse_recordings,
    fused_sums,
    lid_of_llrs,
    make_nondecreasing,
    recording_counts,
    shrinkage,
    singling_out,
)

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
    np.testing.assert_allclose([one.worth for one in found], KS, rtol=0.25)


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
    assert found[-1].worth == pytest.approx(10 / (1 + 9 * 0.6), rel=0.4)


def test_copies_tell_nothing_more():
    rows, mated = llrs(shared=1.0)
    found = fuse_recordings(rows, mated, ks=KS, dev=llrs(shared=1.0, seed=1))
    assert summed(rows, mated)[-1] < -5.0
    np.testing.assert_allclose(alid(found), alid(found)[0], atol=0.1)
    assert found[-1].worth < 1.5


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
    assert enough[-1].worth > 5.0 > alone[-1].worth  # these development people claim independence


def test_nobody_decides_about_their_own_recordings():
    rows, mated = llrs(n=5, per_speaker=10, shared=0.5)
    usual = fuse_recordings(rows, mated, ks=(1, 3))[1]
    own = mated == 2
    changed = rows.copy()
    changed[own] *= 4.0  # a fold has one of five people
    assert fuse_recordings(changed, mated, ks=(1, 3))[1].lid[own] == pytest.approx(
        lid_of_llrs(4.0 * _scaled(rows, mated, own, usual), mated[own])
    )


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


def test_rising_keeps_the_first_and_pools_what_falls():
    np.testing.assert_allclose(make_nondecreasing(np.array([1.0, 3.0, 2.0, 2.5, 4.0])), [1.0, 2.5, 2.5, 2.5, 4.0])
    np.testing.assert_allclose(make_nondecreasing(np.array([2.0, 1.0])), [2.0, 2.0])
    np.testing.assert_allclose(make_nondecreasing(np.array([2.0])), [2.0])
    many = np.random.default_rng(0).normal(size=(50, 6))
    assert (np.diff(make_nondecreasing(many), axis=1) >= 0.0).all()
    np.testing.assert_array_equal(make_nondecreasing(many)[:, 0], many[:, 0])
    np.testing.assert_allclose(make_nondecreasing(many)[7], make_nondecreasing(many[7]))


def test_errors_are_clear():
    rows, mated = llrs(n=3, per_speaker=4)
    with pytest.raises(UsageError, match="at least 1"):
        fuse_recordings(rows, mated, ks=(0,))
    with pytest.raises(InputError, match="at least two speakers"):
        fuse_recordings(rows[:4], mated[:4], ks=(1, 2))
