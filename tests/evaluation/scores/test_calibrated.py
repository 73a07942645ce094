"""Evaluation of scores that other data turned into LLRs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeroevidence as ze
from tests.effort import repetitions, slow
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation import read_result

QUICK = ze.Options(intervals=0, null=0)
ONLY_OF_LLRS = {"devpav", "elub_low", "elub_high"}


def drawn(seed, scale=0.1):
    rng = np.random.default_rng(seed)
    return Scores(rng.normal(0.5, scale, 200), rng.normal(0.2, scale, 400))


def named(seed, people):
    rng, ids = np.random.default_rng(seed), np.array([f"p{one}" for one in people])
    pairs = Pairs(np.arange(4), np.arange(4)), Pairs(np.arange(4), np.arange(4)[::-1].copy())
    return Scores(rng.normal(2.0, 1.0, 4), rng.normal(0.0, 1.0, 4), *pairs, ids, ids, ids, ids)


def test_measures_are_those_of_the_llrs():
    dev, case = drawn(0), drawn(1)
    row = ze.evaluate(case, calibrate=dev, options=QUICK)
    fit = fit_logistic(dev.target, dev.nontarget)
    llrs = fit.llr(case.target), fit.llr(case.nontarget)
    assert float(row["cllr"]) == pytest.approx(ze.cllr(*llrs))
    assert set(row.metrics) >= ONLY_OF_LLRS
    plain = ze.evaluate(case, options=QUICK)
    assert not ONLY_OF_LLRS & set(plain.metrics)
    assert float(row["cllr"]) < float(plain["cllr"])
    for name in ("eer", "d_ece", "cllr_min"):  # only the order counts
        assert float(row[name]) == pytest.approx(float(plain[name]))


def test_curves_are_those_of_the_llrs():
    dev, case = drawn(0), drawn(1)
    row = ze.evaluate(case, calibrate=dev, options=QUICK)
    fit = fit_logistic(dev.target, dev.nontarget)
    curve = row.curves["tippett_target"]
    powers = fit.llr(case.target) / np.log(10.0)
    assert curve.y == pytest.approx([np.mean(powers > x) for x in curve.x], abs=0.0051)
    assert min(row.curves["pav"].x) == pytest.approx(min(fit.llr(case.target).min(), fit.llr(case.nontarget).min()))
    assert "ece_actual" in row.curves
    pytest.importorskip("matplotlib")
    assert ze.plot.tippett(row).get_xlabel() == "log10 LR"
    assert ze.plot.tippett(ze.evaluate(case, options=QUICK)).get_xlabel() == "log10 LR after PAV"


def test_the_signature_says_so_and_files_keep_it(tmp_path):
    row = ze.evaluate(drawn(1), calibrate=drawn(0), options=QUICK)
    assert f"|llr:logistic:sha256:{row.setup.llr.data[:16]}|" in row.signature
    other = ze.evaluate(drawn(1), calibrate=drawn(2), options=QUICK)
    assert other.setup.llr.data != row.setup.llr.data
    row.save(tmp_path / "row.json")
    assert read_result(tmp_path / "row.json") == row


RANKED = ("eer", "eer_rocch", "d_ece", "cllr_min", "top1", "link_probability", "singling_out", "mean_rank_disclosure")


def search(rng, people, trials, *, high=0):
    """A search whose scores are whole numbers: no increasing map of these makes two of them equal."""
    mated = rng.permutation(np.arange(trials) % people)
    return ScoreMatrix(rng.integers(-50, 50, (trials, people)) + high * np.eye(people, dtype=int)[mated], mated)


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(2, 9), st.floats(0.05, 20.0), st.floats(-30.0, 30.0))
@settings(max_examples=repetitions(5, 60))
def test_an_increasing_calibration_changes_no_search(seed, people, dev_people, scale, shift):
    rng = np.random.default_rng(seed)
    case, dev = search(rng, people, 24, high=60), search(rng, dev_people, 20, high=60)
    others = Scores(*(scale * rng.normal(mean, 1.0, 99) + shift for mean in (2.0, 0.0)))
    rows = [ze.evaluate(case, dev=dev, calibrate=calibrate, options=QUICK) for calibrate in (None, dev, others)]
    for row in rows[1:]:
        for name in RANKED:
            assert float(row[name]) == pytest.approx(float(rows[0][name]), abs=1e-12), name
        assert row.curves["singling_out_over_identities"] == rows[0].curves["singling_out_over_identities"]
        assert row.trials.lid == pytest.approx(rows[0].trials.lid, abs=1e-9)


@pytest.mark.parametrize("set_up", ["samegender_f0orig_retrained", pytest.param("samegender_f0mod", marks=slow)])
def test_published_scores_single_out_as_many_after_calibration(shared, set_up):
    home = shared / "scores" / "vpc2020"
    case, dev = (read_scores(home / set_up / f"aa_{sex}.scores", home / f"trials_{sex}") for sex in "fm")
    plain = ze.evaluate(case, dev=dev, options=QUICK)
    row = ze.evaluate(case, dev=dev, calibrate=dev, options=QUICK)
    for name in (*RANKED, "alid", "lid_max"):
        assert float(row[name]) == pytest.approx(float(plain[name]), abs=1e-9), name
    if set_up.endswith("retrained"):
        assert float(row["singling_out"]) == pytest.approx(0.52, abs=0.005)


def test_people_must_be_others():
    with pytest.raises(InputError, match="share 1 speaker"):
        ze.evaluate(named(0, range(4)), calibrate=named(1, range(3, 7)), options=QUICK)
    codes = {one.code for one in ze.evaluate(named(0, range(4)), calibrate=named(1, range(4, 8)), options=QUICK).flags}
    assert "overlap-unchecked" not in codes
    assert "overlap-unchecked" in {one.code for one in ze.evaluate(drawn(1), calibrate=drawn(0), options=QUICK).flags}


def test_scores_that_point_the_wrong_way_calibrate_nothing():
    dev = drawn(0)
    with pytest.raises(InputError, match="higher scores do not speak for targets"):
        ze.evaluate(drawn(1), calibrate=Scores(dev.nontarget, dev.target), options=QUICK)
