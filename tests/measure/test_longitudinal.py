"""Several utterances of one speaker, fused."""

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.longitudinal import (
    fit_temperature,
    fuse,
    group_utterances,
    lid_of_llrs,
    longitudinal,
    singling_out_over_utterances,
)
from zeroevidence.measure.singling import singling_out


def llrs(shared=0.0, d=0.5, n=10, per_speaker=32, seed=0):
    """LLR rows of a Gaussian model; `shared` is the part of the noise that all utterances of a speaker have."""
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n), per_speaker)
    own = rng.normal(size=(len(mated), n))
    common = rng.normal(size=(n, n))[mated]
    noise = np.sqrt(d) * (np.sqrt(1 - shared) * own + np.sqrt(shared) * common)
    rows = -d / 2 + noise
    rows[np.arange(len(mated)), mated] += d
    return rows, mated


def test_groups_are_disjoint_and_of_one_speaker():
    speakers = np.array([0, 0, 0, 1, 1, 2])
    groups = group_utterances(speakers, 2, np.random.default_rng(0))
    assert len(groups) == 2
    assert len(np.unique(groups)) == 4
    assert (speakers[groups] == speakers[groups][:, :1]).all()


def test_sums_of_independent_evidence_add_up():
    rows, mated = llrs()
    curve = longitudinal(rows, mated, ks=(1, 2, 4, 8), temperature="sum")
    assert (np.diff(curve.alid) > 0).all()
    assert curve.alid[0] == pytest.approx(lid_of_llrs(rows, mated).mean())
    assert curve.groups.tolist() == [320, 160, 80, 40]
    assert (curve.link_probability[1:] >= curve.link_probability[:-1] - 0.1).all()


def test_one_utterance_is_the_same_for_all_temperatures():
    rows, mated = llrs()
    values = [longitudinal(rows, mated, ks=(1,), temperature=t).alid[0] for t in ("sum", "mean")]
    assert values[0] == values[1]


def test_fitted_temperature_sees_that_utterances_are_alike():
    dev = llrs(shared=0.9, seed=1)
    rows, mated = llrs(shared=0.9, seed=2)
    fitted = longitudinal(rows, mated, ks=(16,), temperature="fitted", dev=dev)
    summed = longitudinal(rows, mated, ks=(16,), temperature="sum")
    independent = longitudinal(*llrs(seed=2), ks=(16,), temperature="fitted", dev=llrs(seed=1))
    assert fitted.temperature[0] > 3 > independent.temperature[0]
    assert fitted.alid[0] > summed.alid[0]


def test_fit_temperature_recovers_a_scale():
    rows, mated = llrs(n=20, per_speaker=200, d=2.0)
    assert fit_temperature(5.0 * rows, mated) == pytest.approx(5.0, rel=0.1)


def test_fusion_is_a_sum_of_rows():
    rows, mated = llrs(n=3, per_speaker=4)
    fused, true = fuse(rows, mated, 4, seed=0)
    np.testing.assert_allclose(fused, rows.reshape(3, 4, 3).sum(axis=1))
    assert true.tolist() == [0, 1, 2]


def test_sizes_without_groups_are_left_out_and_errors_are_clear():
    rows, mated = llrs(n=3, per_speaker=4)
    assert longitudinal(rows, mated, ks=(2, 8)).k.tolist() == [2]
    with pytest.raises(InputError, match="no speaker has 8 utterances"):
        longitudinal(rows, mated, ks=(8,))
    with pytest.raises(InputError, match="fitted temperature needs development data"):
        longitudinal(rows, mated, temperature="fitted")
    with pytest.raises(UsageError, match="unknown temperature"):
        longitudinal(rows, mated, temperature="warm")
    with pytest.raises(UsageError, match="at least 1"):
        longitudinal(rows, mated, ks=(0,))


def test_singling_out_over_utterances():
    rows, mated = llrs(d=2.0)
    dev = llrs(d=2.0, seed=1)
    k, share = singling_out_over_utterances(rows, mated, ks=(1, 4, 64), dev=dev)
    assert k.tolist() == [1, 4]
    assert share[0] == pytest.approx(singling_out(rows, dev[0]))
    assert share[1] > share[0]  # fused evidence leaves one candidate more often
    k, crossed = singling_out_over_utterances(rows, mated, ks=(1, 4))
    assert crossed == pytest.approx(share, abs=0.15)
