"""Thresholds: against closed forms, and on either side of what they refuse and say."""

import json

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.cli import main
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.score_checks import threshold
from zeroevidence.report.evaluations import threshold_sentence

RNG = np.random.default_rng(0)
TARGET, NONTARGET = RNG.normal(2.0, 2.0, 4000), RNG.normal(-2.0, 2.0, 4000)  # LLRs: variance is twice the mean


def search(people=20, each=5):
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
    given = threshold(search(), prior=0.5)
    for rate in (given.miss, given.false_alarm):
        assert 0.0 <= rate.low <= rate.value <= rate.high <= 1.0
    assert given.miss.high - given.miss.low < 0.5
    wide = threshold(search(), prior=0.5, run=ze.Run(level=0.99))
    assert wide.miss.high >= given.miss.high
    for unknown in (threshold(search(9), prior=0.5), threshold(TARGET, NONTARGET)):
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
