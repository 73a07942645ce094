"""Warnings where development people were searched in another way than the evaluated ones, and where not."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import zeroevidence as ze
from tests.effort import repetitions, slow
from zeroevidence.calibrate.logistic import fit_logistic
from zeroevidence.cli import main
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError
from zeroevidence.evaluation import read_result
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.score_checks import development_flags, sex_flags, threshold
from zeroevidence.report.evaluations import threshold_sentence

QUICK = ze.Options(intervals=0, null=0)
CODES = {"development-size", "development-spread", "development-sex"}


def search(people, prefix, spread=1.0, trials=300):
    rng = np.random.default_rng(people)
    mated = np.arange(trials) % people
    names = np.array([f"{prefix}{number:03d}" for number in range(people)])
    # rows of the same deviation, whatever their level
    scores = rng.normal(size=(trials, people)) + 3.0 * np.eye(people)[mated]
    scores = spread * (scores - scores.mean(axis=1, keepdims=True)) / scores.std(axis=1, keepdims=True)
    return ze.ScoreMatrix(scores + rng.normal(0.0, 9.0, (trials, 1)), mated, None, names, names[mated], names)


def codes(row):
    return {flag.code for flag in row.flags} & CODES


@pytest.mark.parametrize(
    ("people", "spread", "expected"),
    [
        (20, 1.0, set()),
        (14, 1.0, set()),
        (13, 1.0, {"development-size"}),
        (30, 1.0, set()),
        (31, 1.0, {"development-size"}),
        (20, 1.49, set()),
        (20, 1.51, {"development-spread"}),
        (20, 0.67, set()),
        (20, 0.66, {"development-spread"}),
        (40, 3.0, {"development-size", "development-spread"}),
    ],
)
def test_searches_that_differ(people, spread, expected):
    evaluated, dev = search(20, "p"), search(people, "d", spread)
    assert {flag.code for flag in development_flags(evaluated, dev)} == expected
    assert codes(ze.evaluate(evaluated, dev=dev, options=QUICK)) == expected
    assert codes(ze.evaluate(evaluated, options=QUICK)) == set()


def test_many_trials_are_looked_at_in_part():
    assert development_flags(search(5, "p", trials=5000), search(5, "d", trials=40)) == []


@pytest.mark.parametrize(
    ("here", "there", "expected"),
    [("f", "m", {"development-sex"}), ("f", "f", set()), (None, "m", set()), ("f", None, set())],
)
def test_sexes_that_differ(here, there, expected):
    labels = [{} if sex is None else {"sex": sex} for sex in (here, there)]
    assert {flag.code for flag in sex_flags(*labels)} == expected


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


def calibrated_search(rng, people, trials, *, high=0):
    """A search whose scores are whole numbers: no increasing map of these makes two of them equal."""
    mated = rng.permutation(np.arange(trials) % people)
    return ScoreMatrix(rng.integers(-50, 50, (trials, people)) + high * np.eye(people, dtype=int)[mated], mated)


@given(st.integers(0, 2**32 - 1), st.integers(2, 9), st.integers(2, 9), st.floats(0.05, 20.0), st.floats(-30.0, 30.0))
@settings(max_examples=repetitions(5, 60))
def test_an_increasing_calibration_changes_no_search(seed, people, dev_people, scale, shift):
    rng = np.random.default_rng(seed)
    case, dev = calibrated_search(rng, people, 24, high=60), calibrated_search(rng, dev_people, 20, high=60)
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


RNG = np.random.default_rng(0)
TARGET, NONTARGET = RNG.normal(2.0, 2.0, 4000), RNG.normal(-2.0, 2.0, 4000)  # LLRs: variance is twice the mean


def decided_search(people=20, each=5):
    mated = np.repeat(np.arange(people), each)
    scores = np.random.default_rng(1).normal(size=(len(mated), people)) + 2.0 * np.eye(people)[mated]
    names = [f"p{i:02d}" for i in range(people)]
    return ze.ScoreMatrix(
        scores, mated, enrolments=names, trial_speakers=np.array(names)[mated], enrolment_speakers=names
    )


@pytest.mark.parametrize(("prior", "c_miss", "c_fa"), [(0.5, 1.0, 1.0), (0.1, 1.0, 1.0), (0.5, 10.0, 1.0)])
def test_of_llrs_it_is_that_of_bayes(prior, c_miss, c_fa):
    expected = np.log((1.0 - prior) * c_fa / (prior * c_miss))
    given = threshold(ze.Scores(TARGET, NONTARGET), prior=prior, c_miss=c_miss, c_fa=c_fa, are_llrs=True)
    assert given.score == given.llr == pytest.approx(expected)
    fitted = threshold(TARGET, NONTARGET, prior=prior, c_miss=c_miss, c_fa=c_fa)
    assert fitted.score == pytest.approx(expected, abs=0.15)
    assert fitted.miss.value == np.mean(fitted.score > TARGET)
    assert fitted.false_alarm.value == np.mean(fitted.score <= NONTARGET)
    blind = min(prior * c_miss, (1.0 - prior) * c_fa)
    cost = prior * c_miss * fitted.miss.value + (1.0 - prior) * c_fa * fitted.false_alarm.value
    assert fitted.dcf == pytest.approx(cost / blind)
    assert ze.dcf_min(TARGET, NONTARGET, prior=prior, c_miss=c_miss, c_fa=c_fa) <= fitted.dcf + 1e-12


def test_other_scores_may_calibrate():
    shifted = ze.Scores(TARGET + 1.0, NONTARGET + 1.0)
    given = threshold(TARGET, NONTARGET, calibrate=shifted)
    assert given.score == pytest.approx(threshold(TARGET, NONTARGET).score + 1.0)
    assert given.calibrated_elsewhere
    assert "calibrated on other people" in threshold_sentence(given)
    assert "calibrated on these scores themselves" in threshold_sentence(threshold(TARGET, NONTARGET))


def test_rates_have_intervals_where_ten_people_are_known():
    given = threshold(decided_search(), prior=0.5)
    for rate in (given.miss, given.false_alarm):
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0
    assert given.miss.high - given.miss.low < 0.5
    wide = threshold(decided_search(), prior=0.5, run=ze.Run(level=0.99))
    assert wide.miss.high >= given.miss.high
    for unknown in (threshold(decided_search(9), prior=0.5), threshold(TARGET, NONTARGET)):
        assert unknown.miss.low is None
        assert "whose intervals need ten known speakers" in threshold_sentence(unknown)


@pytest.mark.parametrize("wrong", [{"prior": 0.0}, {"prior": 1.0}, {"c_miss": 0.0}, {"c_fa": -1.0}])
def test_impossible_costs_are_refused(wrong):
    with pytest.raises(ze.UsageError, match="expected a prior between 0 and 1 and positive costs"):
        threshold(TARGET, NONTARGET, **wrong)


def test_scores_that_point_the_wrong_way_are_refused():
    with pytest.raises(ze.InputError, match="higher scores do not speak for targets"):
        threshold(NONTARGET, TARGET)
    with pytest.raises(ze.UsageError, match="expected Scores"):
        threshold(TARGET)


def test_the_command_prints_and_keeps_it(tmp_path, capsys):
    lines = [f"{score} 1" for score in TARGET[:60]] + [f"{score} 0" for score in NONTARGET[:60]]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    common = ["evaluate", str(tmp_path / "a.txt"), "--intervals", "0", "--null", "0"]
    options = ["--threshold", "--dcf-prior", "0.2", "--c-miss", "2"]
    expected = threshold(TARGET[:60], NONTARGET[:60], prior=0.2, c_miss=2.0)

    def run(*more):
        with pytest.raises(SystemExit) as stop:
            main([*common, *more])
        assert stop.value.code == 0
        return capsys.readouterr().out

    shown = " ".join(run(*options).split())
    assert "Threshold (prior 0.2, cost of a miss 2, of a false alarm 1): accept scores from " in shown
    assert f"accept scores from {expected.score:.4g} on" in shown
    document = run(*options, "-f", "json")
    assert json.loads(document)["rows"][0]["threshold"]["score"] == pytest.approx(expected.score)
    (row,) = from_json(document)
    assert from_json(to_json([row]))[0].threshold == row.threshold
    assert "Threshold (" not in run()
