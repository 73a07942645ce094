"""One-to-N evaluation end to end: published matrices, what is left out, what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.calibrate.rows import RowFit, fit_rows
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import closed_set_search
from zeroevidence.data.scores import Pairs
from zeroevidence.evaluation.searches import MatrixSearch

QUICK = ze.Options(intervals=0, null=0)
LID_MEASURES = ("alid", "pdr", "ndr", "lid_pos", "lid_neg", "lid_max", "top1", "mean_rank_disclosure",
                "max_rank_disclosure")  # fmt: skip


def evaluate(data, options=QUICK, **more):
    """Without intervals and nulls, which are tested elsewhere."""
    return ze.evaluate(data, options=options, **more)


def simulated(n_speakers=12, per_speaker=10, separation=2.0, seed=0, prefix="s"):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    scores = rng.normal(size=(len(mated), n_speakers))
    scores[np.arange(len(mated)), mated] += separation
    names = np.array([f"{prefix}{i}" for i in range(n_speakers)])
    return ze.ScoreMatrix(
        scores,
        mated,
        trials=[f"{prefix}u{i}" for i in range(len(mated))],
        enrolments=names,
        trial_speakers=names[mated],
        enrolment_speakers=names,
    )


def test_every_row_of_the_reference(shared):
    home = shared / "scores" / "vpc2020"
    rows = json.loads((home / "reference_lid.json").read_text())
    assert len(rows) == 12
    for row in rows:
        dev, scores = (
            read_scores(home / row["condition"] / f"{row['enrol_trial']}_{sex}.scores", home / f"trials_{sex}").data
            for sex in (row["dev"], row["eval"])
        )
        result = evaluate(scores, dev=dev)
        assert (result.counts["trials"], result.counts["identities"]) == (row["T"], row["N"])
        for name in LID_MEASURES:
            assert result.metrics[name].value == pytest.approx(row[name], abs=1e-4), name
        assert result.metrics["link_probability"].value == pytest.approx(row["pi_link"], abs=1e-9)
        matrix, left_out = closed_set_search(dev)
        fit = fit_rows(matrix.scores, matrix.mated)
        assert fit.weight == pytest.approx(row["w"], abs=1e-4)
        assert fit.bias == pytest.approx(row["b"], abs=1e-4)
        assert left_out == {"not_enrolled": 762 - 449}


def test_four_by_four_example():
    matrix = ze.ScoreMatrix(
        [[0.9, 0.8, 0.8, 0.8], [0.7, 0.6, 0.6, 0.6], [0.4, 0.5, 0.4, 0.4], [0.2, 0.2, 0.3, 0.2]], [0, 0, 1, 2]
    )
    result = evaluate(matrix)
    assert result.metrics["eer"].value == 0.5
    assert result.metrics["eer_rocch"].value == pytest.approx(0.375)
    assert result.metrics["d_ece"].value == pytest.approx(0.1803368801, abs=1e-10)
    assert result.metrics["top1"].value == 1.0
    assert result.metrics["link_probability"].value == 1.0


def test_without_development_data_it_is_cross_fitted_and_says_so():
    matrix = simulated(40, 20)
    crossed = evaluate(matrix)
    assert crossed.metrics["alid"].method == "logistic, cross-fitted by speaker"
    assert "|rows:logistic+cross-fitted|" in crossed.signature
    developed = evaluate(matrix, dev=simulated(40, 20, seed=1, prefix="d"))
    assert developed.metrics["alid"].method == "logistic"
    assert "|dev:sha256:" in developed.signature
    assert crossed.metrics["alid"].value == pytest.approx(developed.metrics["alid"].value, rel=0.03)


def test_people_who_occur_twice_are_refused():
    with pytest.raises(ze.InputError, match=r"share 12 speaker\(s\), among them 's0'"):
        evaluate(simulated(), dev=simulated(seed=1))
    with pytest.raises(ze.InputError, match="speaker 'a' is enrolled more than once"):
        evaluate(ze.ScoreMatrix([[1.0, 0.0, 0.5]], [0], enrolment_speakers=["a", "b", "a"]))


def as_scores(matrix, drop=()):
    scores = matrix.to_scores()
    pairs = scores.nontarget_pairs
    names = zip(scores.enrolments[pairs.enrolment], scores.trials[pairs.trial], strict=True)
    keep = np.array([name not in drop for name in names])
    kept = Pairs(pairs.enrolment[keep], pairs.trial[keep])
    return replace(scores, nontarget=scores.nontarget[keep], nontarget_pairs=kept)


def test_incomplete_rows_are_left_out_and_counted():
    matrix = simulated()
    dev = simulated(seed=1, prefix="d")
    result = evaluate(as_scores(matrix, drop={("s3", "su0"), ("s4", "su0"), ("s0", "su50")}), dev=dev)
    assert result.counts["incomplete"] == 2
    assert "incomplete-rows" in {flag.code for flag in result.flags}
    assert result.counts["trials"] == 118
    kept = np.delete(np.arange(120), [0, 50])
    assert result.metrics["alid"].value == pytest.approx(evaluate(matrix.take(kept), dev=dev).metrics["alid"].value)


def test_trials_of_strangers_are_left_out_and_counted():
    matrix = simulated()
    mated = matrix.mated.copy()
    mated[:7] = -1
    result = evaluate(ze.ScoreMatrix(matrix.scores, mated), dev=simulated(seed=1, prefix="d"))
    assert result.counts["not_enrolled"] == 7
    assert result.counts["trials"] == 113
    assert result.counts["target"] == 113


def test_scores_that_form_no_rows_have_no_search():
    # pairs of utterances, each compared with few others
    pairs = Pairs([0, 1], [0, 1])
    sparse = ze.Scores([1.0, 2.0], [0.0, 0.5], pairs, Pairs([2, 3], [2, 3]), list("abcd"), list("wxyz"))
    result = evaluate(sparse)
    assert "alid" not in result.metrics
    assert result.signature.startswith("ZE|one-to-one|")
    with pytest.raises(ze.InputError, match="development scores do not form rows"):
        evaluate(simulated(), dev=sparse)


def test_one_trial_needs_development_data():
    single = ze.ScoreMatrix([[0.9, 0.7, 0.4]], [0])
    assert "alid" not in evaluate(single).metrics
    result = evaluate(single, dev=simulated())
    assert result.counts["trials"] == 1
    assert result.metrics["top1"].value == 1.0


def test_constant_matrix_discloses_nothing():
    matrix = ze.ScoreMatrix(np.full((6, 3), 0.1), [0, 1, 2, 0, 1, 2])
    metrics = evaluate(matrix).metrics
    for name in ("alid", "lid_max", "pdr", "link_probability"):
        assert metrics[name].value == 0.0, name
    assert metrics["mean_rank_disclosure"].value == pytest.approx(0.0, abs=1e-12)
    assert metrics["top1"].value == pytest.approx(1 / 3)


def test_prior_is_matched_by_name():
    matrix, dev = simulated(), simulated(seed=1, prefix="d")
    uniform = {f"s{i}": 1 / 12 for i in range(12)}
    plain = evaluate(matrix, dev=dev)
    given = evaluate(matrix, dev=dev, prior=uniform)
    assert given.metrics["alid"].value == pytest.approx(plain.metrics["alid"].value)
    assert "|prior:given|" in given.signature
    with pytest.raises(ze.InputError, match="'s11' is enrolled but has no probability"):
        evaluate(matrix, dev=dev, prior={f"s{i}": 1 / 11 for i in range(11)})
    with pytest.raises(ze.InputError, match="'x' has a probability but is not enrolled"):
        evaluate(matrix, dev=dev, prior={**uniform, "x": 0.1})
    uneven = evaluate(matrix, prior={name: 0.45 if name == "s0" else 0.05 for name in uniform})
    assert uneven.recordings.alid[0] == uneven["alid"].value
    assert max(uneven.recordings.lid_max) <= np.log2(20.0) + 1e-9


@pytest.mark.parametrize("method", ["temperature", "pav", "density", "auto"])
def test_other_calibrations_run_and_are_named(method):
    result = evaluate(simulated(), replace(QUICK, calibration=method), dev=simulated(seed=1, prefix="d"))
    assert method in result.metrics["alid"].method
    assert result.metrics["alid"].value > 0.5


def test_curves_and_trials():
    matrix, dev = simulated(), simulated(seed=1, prefix="d")
    result = evaluate(matrix, dev=dev)
    link = result.curves["link_probability_over_identities"]
    assert link.x[-1] == 12
    assert link.y[-1] == pytest.approx(result.metrics["link_probability"].value)
    assert link.baseline[0] == 0.5
    assert result.curves["singling_out_over_identities"].y[-1] == pytest.approx(result.metrics["singling_out"].value)
    assert result.curves["cmc"].y[0] == pytest.approx(result.metrics["top1"].value)
    assert result.curves["singling_out_over_identities"].baseline[:2] == pytest.approx((0.5, 0.421875))
    assert result.trials.lid.mean() == pytest.approx(result.metrics["alid"].value)
    assert result.trials.speaker.tolist() == matrix.trial_speakers.tolist()
    assert str(MatrixSearch(matrix, dev).measure().setup) == "logistic"


def test_several_recordings_of_one_person():
    matrix, dev = simulated(), simulated(seed=1, prefix="d")
    for given in (None, dev):
        result = evaluate(matrix, dev=given, options=ze.Options(intervals=12, null=0))
        found = result.recordings
        assert found.held == (1, 2, 3, 5, 10)
        assert found.people == (12,) * 5
        for name in ("alid", "top1", "lid_max", "link_probability", "singling_out"):
            values = getattr(found, name)
            assert values[0] == result[name].value
            assert list(values) == sorted(values)
        for name in ("alid", "top1"):
            low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
            assert (low[0], high[0]) == (result[name].low, result[name].high)
            assert all(a <= b <= c for a, b, c in zip(low, getattr(found, name), high, strict=True))
        assert found.alid[-1] > found.alid[0] + 0.3
        assert 1.0 < found.worth[-1] <= 10.0
    assert evaluate(matrix).recordings.alid_low is None


def test_names_that_come_up_for_everybody_are_counted():
    names = np.array(["a", "b", "c", "d"])
    mated = np.repeat(np.arange(4), 2)
    scores = 2.0 * np.eye(4)[mated]
    scores[2:, 0] = 3.0  # whoever speaks, it is a
    scores[7] = 1.0  # nobody stands out
    matrix = ze.ScoreMatrix(scores, mated, enrolments=names, trial_speakers=names[mated], enrolment_speakers=names)
    people = evaluate(matrix).people
    falsely = dict(zip(people.speaker, people.falsely, strict=True))
    assert falsely == pytest.approx({"a": 5 / 6, "b": 0.0, "c": 0.0, "d": 0.0})
    assert dict(zip(people.speaker, people.linked, strict=True))["a"] == 1.0


RANKS = ("top1", "identification_rate", "mean_rank_disclosure", "max_rank_disclosure", "link_probability",
         "singling_out", "eer", "d_ece", "worst_case")  # fmt: skip


@pytest.mark.parametrize("with_dev", [False, True])
def test_row_scaling_changes_lid_and_no_measure_of_ranks(with_dev):
    dev = simulated(seed=10, prefix="d") if with_dev else None
    plain, *others = (
        evaluate(simulated(), replace(QUICK, row_scaling=scaling), dev=dev)
        for scaling in ("standardise", "centre", "none", "auto")
    )
    for row in others:
        for name in RANKS:
            assert row[name].value == plain[name].value, name
        for curve in ("cmc", "rank_disclosure", "link_probability_over_identities", "singling_out_over_identities"):
            assert row.curves[curve] == plain.curves[curve]
        np.testing.assert_array_equal(row.trials.rank, plain.trials.rank)
    assert len({row["alid"].value for row in (plain, *others[:2])}) == 3


@pytest.mark.parametrize("scaling", ["standardise", "centre", "none"])
def test_row_scaling_of_an_evaluation_is_that_of_its_calibration(scaling):
    """Fitted on the development people by hand, and applied row by row."""
    dev, data = simulated(seed=1, prefix="d"), simulated()
    row = evaluate(data, replace(QUICK, row_scaling=scaling), dev=dev)
    fit = fit_rows(dev.scores, dev.mated, RowFit(scaling=scaling))
    expected = {}
    for trial, scores, true in zip(data.trials, data.scores, data.mated, strict=True):
        z = {"standardise": (scores - scores.mean()) / scores.std(), "centre": scores - scores.mean(), "none": scores}
        odds = np.exp(fit.weight * z[scaling])
        expected[str(trial)] = np.log2(12 * odds[true] / odds.sum())
    found = dict(zip(row.trials.trial.tolist(), row.trials.lid.tolist(), strict=True))
    assert found == pytest.approx(expected, abs=1e-9)
    named = f"row-scaling:{scaling}" in row.signature
    assert named == (scaling != "standardise")  # the definition goes without saying
    assert row["alid"].method == ("logistic" if scaling == "standardise" else f"logistic, row scaling {scaling}")
    assert row.setup.search.row_scaling == scaling


@pytest.mark.parametrize("with_dev", [False, True])
def test_row_scaling_auto_is_chosen_on_other_people(with_dev):
    """Rows whose spread is a nuisance, then rows whose spread says how sure they are."""
    rng = np.random.default_rng(0)
    sure = np.where(rng.random((120, 1)) < 0.5, 6.0, 0.0)

    def nuisance(data):
        true = np.eye(12)[data.mated]
        spread = np.exp(rng.normal(size=(120, 1)))
        return replace(data, scores=spread * data.scores), replace(data, scores=data.scores + (sure - 2.0) * true)

    here, there = nuisance(simulated()), nuisance(simulated(seed=1, prefix="d"))
    auto = replace(QUICK, row_scaling="auto")
    rows = [evaluate(data, auto, dev=dev if with_dev else None) for data, dev in zip(here, there, strict=True)]
    assert rows[0].setup.search.row_scaling == "auto:standardise"
    assert rows[1].setup.search.row_scaling in ("auto:none", "auto:centre", "auto:centre+none")
    for row in rows:
        assert f"|row-scaling:{row.setup.search.row_scaling}|" in row.signature
        assert f"row scaling {row.setup.search.row_scaling}" in row["alid"].method
    with_intervals = evaluate(here[0], replace(auto, intervals=20, null=20), dev=there[0] if with_dev else None)
    assert with_intervals["alid"].low < with_intervals["alid"].value < with_intervals["alid"].high
    assert with_intervals["alid"].p_value == pytest.approx(1 / 21)
    assert with_intervals["alid"].value == rows[0]["alid"].value
