"""One-to-N evaluation end to end: published matrices, what is left out, what is refused."""

import json
from dataclasses import replace
from math import factorial, prod

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from tests.evaluation.made import named_search
from tests.uncertainty.test_null import fit_slowly, standardised
from zeroevidence.calibrate.rows import RowFit, fit_rows, speaker_folds
from zeroevidence.data.formats.scores.read import read_scores
from zeroevidence.data.matrix import FoldedScores, closed_set_search
from zeroevidence.data.preparing import sort_by_name
from zeroevidence.data.scores import Pairs
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options, search_task
from zeroevidence.evaluation.people import speaker_errors
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.searches import FoldedSearch, MatrixSearch
from zeroevidence.measure.search.rank import join_names
from zeroevidence.uncertainty.groups import generator
from zeroevidence.uncertainty.search import SearchNull

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
    return named_search(scores, mated, prefix + "{}", prefix + "u{}")


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
    if method != "auto":  # of what is no line there is no weight
        assert ("weight" in result.metrics, "bias" in result.metrics) == (method == "temperature", False)


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
        for name in ("alid", "top1"):
            low, high = getattr(found, f"{name}_low"), getattr(found, f"{name}_high")
            assert (low[0], high[0]) == (result[name].low, result[name].high)
            assert all(a <= b <= c for a, b, c in zip(low, getattr(found, name), high, strict=True))
        assert found.alid[-1] > found.alid[0] + 0.3
    assert evaluate(matrix).recordings.alid_low is None


def test_more_recordings_of_noise_name_nobody_more_often():
    """Values stand as they were measured: where nothing leaks they fall as often as they rise."""
    mated, rates = np.repeat(np.arange(8), 4), []
    for seed in range(40):
        scores = np.random.default_rng((31, seed)).normal(size=(32, 8))
        row = evaluate(ze.ScoreMatrix(scores, mated), replace(QUICK, linkability="pav"))
        rates.append(np.array(row.recordings.top1)[[0, row.recordings.held.index(3)]])
    one, three = np.transpose(rates)
    error = three.std(ddof=1) / np.sqrt(len(three))
    assert abs(three.mean() - 1 / 8) < 3.0 * error
    assert (three < one).any()
    assert (three > one).any()


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


@pytest.mark.parametrize(
    ("condition", "pair", "weight"),
    [
        ("samegender_f0orig", "oo", 5.998),
        ("samegender_f0orig_retrained", "aa", 4.723),
        ("samegender_f0orig", "oa", -0.139),
    ],
)
def test_weight_and_bias_of_published_scores(shared, condition, pair, weight):
    home = shared / "scores" / "vpc2020"
    here, there = (
        closed_set_search(read_scores(home / condition / f"{pair}_{sex}.scores", home / f"trials_{sex}").data)[0]
        for sex in "fm"
    )
    row = evaluate(here, dev=there)
    assert (row["weight"].value, row["bias"].value) == pytest.approx(
        fit_slowly(standardised(there.scores), there.mated), abs=1e-6
    )
    assert row["weight"].value == pytest.approx(weight, abs=5e-4)
    flags = [flag.sentence for flag in row.flags if flag.code == "negative-weight"]
    assert len(flags) == (weight < 0)
    assert all("548 of 548 trials" in sentence and "(-0.139 on average" in sentence for sentence in flags)


def test_every_disclosure_measure_finds_unprotected_speech(shared):
    home = shared / "scores" / "vpc2020"
    here, there = (
        closed_set_search(read_scores(home / "samegender_f0orig" / f"oo_{sex}.scores", home / f"trials_{sex}").data)[0]
        for sex in "fm"
    )
    row = evaluate(here, ze.Options(intervals=0, null=199), dev=there)
    tested = {name: result for name, result in row.metrics.items() if result.null is not None}
    assert {"alid", "lid_max", "link_probability", "mean_rank_disclosure", "people_named", "weight"} < set(tested)
    assert {result.p_value for result in tested.values()} == {0.005}
    assert -0.15 < row["alid"].null.mean < 0.0 < row["alid"].null.quantile < 0.2
    assert 0.5 < row["lid_max"].null.mean < row["lid_max"].null.quantile < 2.5


def measured_slowly(data, folds, lines):
    """Measures of a search in plain NumPy, given which rows share a line."""
    z, n = standardised(data.scores), data.scores.shape[1]
    at = np.arange(len(data.mated)), data.mated
    slope = np.empty(len(z))
    for rows, line in zip(folds, lines, strict=True):
        slope[rows] = line[0]
    likelihood = np.exp(slope[:, None] * z)
    lid = np.log2(likelihood[at] / likelihood.mean(axis=1))
    ratio = likelihood[at] * (n - 1) / (likelihood.sum(axis=1) - likelihood[at])
    return {
        "alid": lid.mean(),
        "pdr": (lid > 0).mean(),
        "lid_pos": lid[lid > 0].sum() / max(1, (lid > 0).sum()),
        "lid_neg": lid[lid <= 0].sum() / max(1, (lid <= 0).sum()),
        "lid_prior_free": ((1 - np.log(ratio) / (ratio - 1)) / np.log(2)).mean(),
        "top1": (data.scores[at] == data.scores.max(axis=1)).mean(),
        "weight": slope.mean(),
    }


def without(data, person):
    """The matrix without one person, and which of its rows are left."""
    rows, columns = data.mated != person, np.arange(data.scores.shape[1]) != person
    mated = data.mated[rows] - (data.mated[rows] > person)
    return ze.ScoreMatrix(data.scores[np.ix_(rows, columns)], mated), np.flatnonzero(rows)


def fit_matrix_slowly(data, rows=slice(None)):
    return fit_slowly(standardised(data.scores[rows]), data.mated[rows])


def folds_fitted_slowly(data, folds):
    return [fit_matrix_slowly(data, np.setdiff1d(np.arange(len(data.mated)), rows)) for rows in folds]


def jackknife(values):
    return (len(values) - 1) / len(values) * ((values - values.mean()) ** 2).sum()


def check_replicates(row, without_each, developed=()):
    """Values without each person, and the standard errors that follow."""
    replicates = row.replicates
    for name in without_each[0]:
        sources = [np.array([fewer[name] for fewer in side]) for side in (without_each, developed) if side]
        np.testing.assert_allclose(replicates.left_out[name], sources[0], rtol=1e-6, atol=1e-9, err_msg=name)
        if developed:
            np.testing.assert_allclose(replicates.developed[name], sources[1], rtol=1e-6, atol=1e-9, err_msg=name)
        assert row[name].spread.error == pytest.approx(np.sqrt(sum(map(jackknife, sources))), rel=1e-5), name
        assert row[name].low < row[name].value < row[name].high


def test_a_cross_fitted_search_without_each_person():
    """Everybody leaves the trials, the identities, and the people whom the other folds were fitted on."""
    data = sort_by_name(simulated(12, 4, 1.0))  # folds follow the order of names
    row = evaluate(data, ze.Options(intervals=200, null=0))
    folds, without_each = speaker_folds(data.mated), []
    for person in range(12):
        fewer, rows = without(data, person)
        parts = [np.flatnonzero(np.isin(rows, fold)) for fold in folds]
        without_each.append(measured_slowly(fewer, parts, folds_fitted_slowly(fewer, parts)))
    check_replicates(row, without_each)
    assert row["bias"].low is None  # it hardly moves where nothing leaks, and then to one side
    whole = measured_slowly(data, folds, folds_fitted_slowly(data, folds))
    assert {name: row[name].value for name in whole} == pytest.approx(whole, abs=1e-6)
    few = evaluate(simulated(9, 4, 1.0), ze.Options(intervals=200, null=0))
    assert few["weight"].low is None


def test_a_calibrated_search_without_each_person():
    """Searched people leave the search alone; development people leave the calibration alone, a second source."""
    data, dev = (sort_by_name(simulated(n, 5, 1.0, seed, prefix)) for n, seed, prefix in ((12, 0, "s"), (11, 1, "d")))
    row = evaluate(data, ze.Options(intervals=200, null=0), dev=dev)
    line = fit_matrix_slowly(dev)
    without_each = [measured_slowly(without(data, person)[0], [slice(None)], [line]) for person in range(12)]
    developed = [
        measured_slowly(data, [slice(None)], [fit_matrix_slowly(without(dev, person)[0])]) for person in range(11)
    ]
    check_replicates(row, without_each, developed)
    few = evaluate(data, ze.Options(intervals=200, null=0), dev=simulated(9, 4, 1.0, 1, "d"))
    assert few["alid"].low is not None
    assert few["weight"].low is few["lid_pos"].low is few["lid_neg"].low is None


def test_no_interval_of_what_a_fixed_calibration_moves(monkeypatch):
    monkeypatch.setattr(search_task, "_REFITTED", 1000)
    row = evaluate(simulated(), ze.Options(intervals=200, null=0))
    assert row["alid"].low < row["alid"].value
    assert {row[name].low for name in ("lid_pos", "lid_neg", "weight")} == {None}


def test_weight_of_folds_is_the_mean_over_trials():
    data = folded(2, separation=1.0, sizes=(4, 3, 3), trials=6)
    row = ze.evaluate(data, options=QUICK)
    lines = [fit_slowly(standardised(dev.scores), dev.mated) for dev in data.dev]
    expected = np.average(lines, axis=0, weights=[len(part.mated) for part in data.parts])
    assert (row["weight"].value, row["bias"].value) == pytest.approx(expected, abs=1e-6)


def test_folds_without_each_person():
    """Whoever is searched in one fold and developed another on leaves both; identities stay."""
    names = [[f"f{f}p{i}" for i in range(4)] for f in range(3)]
    parts = [fold(people, 1, 0.0, trials=8) for people in names]
    data = FoldedScores(tuple(parts), tuple(parts[1:] + parts[:1]))
    row = ze.evaluate(data, options=Options(intervals=200, null=0, linkability="pav"))
    expected = []
    for left_out in np.concatenate(names):
        total, trials = np.zeros(2), 0
        for part, dev in zip(data.parts, data.dev, strict=True):
            place = np.flatnonzero(dev.enrolment_speakers == left_out)
            line = fit_matrix_slowly(without(dev, place[0])[0] if len(place) else dev)
            rows = part.trial_speakers != left_out
            fewer = ze.ScoreMatrix(part.scores[rows], part.mated[rows])
            found = measured_slowly(fewer, [slice(None)], [line])
            total += len(fewer.mated) * np.array([found["alid"], found["weight"]])
            trials += len(fewer.mated)
        expected.append(total / trials)
    found = np.column_stack([row.replicates.left_out[name] for name in ("alid", "weight")])
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert row.replicates.developed == {}  # nobody was developed on alone


def test_some_folds_with_a_negative_weight_are_counted():
    data = folded(2, separation=3.0, sizes=(4, 3, 3), trials=6)
    turned = tuple(dev.with_scores(-dev.scores) if i == 1 else dev for i, dev in enumerate(data.dev))
    flags = [flag.sentence for flag in ze.evaluate(FoldedScores(data.parts, turned), options=QUICK).flags]
    assert any("for 18 of 60 trials the weight of the calibration is negative" in sentence for sentence in flags)


FAST = Options(intervals=0, null=199, linkability="pav")
FEW = Options(intervals=0, null=60, linkability="pav")


def fold(names, seed, separation=0.0, trials=2, scale=1.0):
    """Trials of some people against each other; what trials of a person have in common says nothing of who it is."""
    rng = np.random.default_rng([seed, len(names), *map(ord, "".join(names)[:8])])
    n = len(names)
    mated = np.repeat(np.arange(n), trials)
    scores = rng.normal(size=(n, n))[mated] + rng.normal(size=(1, n)) + 0.5 * rng.normal(size=(len(mated), n))
    scores[np.arange(len(mated)), mated] += separation
    ids = [f"{names[i]}-{k}" for k, i in enumerate(mated)]
    return ze.ScoreMatrix(scale * scores, mated, ids, names, np.array(names)[mated], names)


def folded(seed=0, separation=0.0, sizes=(3, 3, 3), **words):
    names = [[f"f{f}p{i}" for i in range(size)] for f, size in enumerate(sizes)]
    dev = [fold([f"d{f}{i}" for i in range(3)], seed, separation, **words) for f in range(len(sizes))]
    return FoldedScores.from_folds([fold(one, seed, separation, **words) for one in names], dev)


@pytest.mark.parametrize("sizes", [(3, 3, 3), (4, 3, 3)])
def test_leaking_folds_are_told_from_chance(sizes):
    row = ze.evaluate(folded(separation=9.0, sizes=sizes), options=FAST)
    assert row.counts["speakers"] == sum(sizes)
    assert row.counts["identities"] == 3
    assert row["top1"].value == 1.0
    assert row["alid"].value > 1.4
    for name in ("alid", "d_ece", "link_probability"):
        assert row[name].p_value < 0.05, name
    assert row.setup.search.folds == sizes
    assert f"|folds:{'+'.join(map(str, sizes))}|" in row.signature
    assert "cross-validated" in {flag.code for flag in row.flags}
    assert from_json(to_json([row])) == [row]


@slow
def test_nothing_is_found_where_nothing_leaks():
    rejected = {"alid": 0, "d_ece": 0}
    for seed in range(100):
        row = ze.evaluate(folded(seed), options=FEW)
        for name in rejected:
            rejected[name] += row[name].p_value <= 0.05
    assert max(rejected.values()) <= 9, rejected  # of 100, more are seen with a chance of 3 %


@pytest.mark.parametrize("sizes", [(3, 2), (3, 3)])
def test_the_null_exchanges_people_within_folds(sizes):
    """As if the people of each fold, and its development people, had been exchanged beforehand."""
    data = folded(3, separation=1.0, sizes=sizes, trials=4)
    options = Options(intervals=0, null=0)
    task = FoldedSearch(data, options)
    null = SearchNull(task.hypothetical(task.measure().folds), data.identities, task.exchanged, 30)
    drawn = null.draw(0, 30)
    for r in range(30):
        by_hand = FoldedScores(
            *(
                tuple(exchanged(part, order[r]) for part, order in zip(side, orders, strict=True))
                for side, orders in ((data.parts, null.exchanges), (data.dev, null.elsewhere))
            )
        )
        metrics = FoldedSearch(by_hand, options).measure().metrics
        for name in ("alid", "lid_max", "link_probability", "mean_rank_disclosure", "weight", "bias"):
            assert drawn[name][r] == pytest.approx(float(metrics[name]), abs=1e-6), name
    seen = {tuple(tuple(order[r]) for order in null.exchanges) for r in range(30)}
    assert len(seen) > prod(map(factorial, sizes)) / 3


def exchanged(part, order):
    mated = order[part.mated]
    speakers = part.enrolment_speakers
    return ze.ScoreMatrix(part.scores, mated, part.trials, part.enrolments, speakers[mated], speakers)


def test_larger_folds_search_among_as_many_as_the_smallest():
    data = folded(sizes=(5, 3))
    company = data.candidates(0)
    assert company.shape == (5, 3)
    assert (company[:, 0] == np.arange(5)).all()
    assert (np.bincount(company.ravel()) == 3).all()  # everybody is a stranger to equally many
    assert all(len(set(row)) == 3 for row in company.tolist())


def test_scales_of_folds_do_not_matter():
    plain, scaled = folded(1, separation=2.0), folded(1, separation=2.0, scale=50.0)
    mixed = FoldedScores.from_folds(
        (plain.parts[0], *(one.with_scores(7.0 + 3.0 * one.scores) for one in plain.parts[1:])),
        (plain.dev[0], *(one.with_scores(7.0 + 3.0 * one.scores) for one in plain.dev[1:])),
    )
    values = [ze.evaluate(one, options=FAST) for one in (plain, scaled, mixed)]
    for name in ("eer", "alid", "d_ece", "top1"):
        assert {round(float(row[name]), 9) for row in values} == {round(float(values[0][name]), 9)}, name


def test_a_fold_by_itself_is_an_ordinary_search():
    data = folded(5, separation=2.0)
    together = FoldedSearch(data, FAST).measure()
    apart = [ze.evaluate(part, dev=dev, options=FAST) for part, dev in zip(data.parts, data.dev, strict=True)]
    assert float(together.metrics["alid"]) == pytest.approx(np.mean([float(row["alid"]) for row in apart]))
    np.testing.assert_array_equal(together.trials.rank, np.concatenate([row.trials.rank for row in apart]))


def test_several_recordings_of_folds():
    data = folded(2, separation=1.5, sizes=(3, 3, 3), trials=6)
    row = ze.evaluate(data, options=Options(intervals=0, null=0))
    apart = [
        ze.evaluate(part, dev=dev, options=Options(intervals=0, null=0))
        for part, dev in zip(data.parts, data.dev, strict=True)
    ]
    assert row.recordings.held == (1, 2, 3, 5)
    assert row.recordings.people == (9,) * 4
    assert row.recordings.lid_max == pytest.approx(np.max([part.recordings.lid_max for part in apart], axis=0))
    uneven = ze.evaluate(folded(2, separation=3.0, sizes=(4, 3, 3), trials=6), options=Options(intervals=0, null=0))
    assert uneven.recordings.people == (10,) * 4
    assert uneven.recordings.alid[-1] >= uneven.recordings.alid[0]


def test_names_come_up_falsely_only_where_they_are_compared():
    data = folded()
    parts = [part.with_scores(np.tile([9.0, 0.0, 0.0], (6, 1))) for part in data.parts]
    row = ze.evaluate(FoldedScores(tuple(parts), data.dev), options=Options(intervals=0, null=0))
    falsely = dict(zip(row.people.speaker, row.people.falsely, strict=True))
    assert falsely == {f"f{f}p{i}": float(i == 0) for f in range(3) for i in range(3)}


def test_people_in_two_folds_are_refused():
    one = fold(["a", "b"], 0)
    dev = fold(["x", "y"], 0)
    with pytest.raises(InputError, match="person 'b' is in more or fewer folds than others"):
        FoldedScores((one, fold(["a", "c"], 0)), (dev, dev))
    renamed = replace(one, trial_speakers=["c", "c", "d", "d"], enrolments=["c", "d"], enrolment_speakers=["c", "d"])
    with pytest.raises(InputError, match="trial 'a-0' is in two folds of a split"):
        FoldedScores((one, renamed), (dev, dev))
    with pytest.raises(InputError, match="share 1 speaker"):
        ze.evaluate(FoldedScores((one, fold(["c", "d"], 0)), (fold(["b", "e"], 0), fold(["a", "b"], 0))))


@pytest.mark.parametrize("scaling", ["centre", "none", "auto"])
def test_rows_of_folds_are_scaled_as_asked(scaling):
    plain, row = (ze.evaluate(folded(separation=3.0, trials=4), options=replace(FEW, row_scaling=name, null=0))
                  for name in ("standardise", scaling))  # fmt: skip
    assert row["top1"].value == plain["top1"].value
    assert row.setup.search.row_scaling.startswith("auto:" if scaling == "auto" else scaling)
    assert row.setup.search.folds == (3, 3, 3)
    if scaling != "auto":
        assert row["alid"].value != plain["alid"].value
    assert from_json(to_json([row])) == [row]


SIDES = "target", "nontarget"


def dealt(splits=5, separation=1.0):
    """Three folds of six blocks of three, in which every two blocks meet, and the others in blocks for development."""
    blocks = [[f"b{b}{i}" for i in range(3)] for b in range(6)]
    rounds = [[[5, 0], [1, 4], [2, 3]], [[5, 1], [2, 0], [3, 4]], [[5, 2], [3, 1], [4, 0]],
              [[5, 3], [4, 2], [0, 1]], [[5, 4], [0, 3], [1, 2]]][:splits]  # fmt: skip
    parts, dev = [], []
    for number, pairs in enumerate(rounds):
        for place, pair in enumerate(pairs):
            other = pairs[(place + 1) % 3]
            parts.append(fold([name for b in pair for name in blocks[b]], number, separation))
            dev.append(fold([name for b in other for name in blocks[b]], 100 + number, separation))
    named = [replace(part, trials=[f"{name}-{k % 2}" for k, name in enumerate(part.trial_speakers)]) for part in parts]
    return FoldedScores.from_folds(named, dev)


def test_repeated_splits_are_averaged():
    """Values of a search are means over splits; people and trials are those of one, and each trial has one line."""
    data = dealt()
    row = ze.evaluate(data, options=replace(FEW, intervals=20))
    each = [ze.evaluate(FoldedScores(data.parts[k : k + 3], data.dev[k : k + 3]), options=FEW) for k in range(0, 15, 3)]
    for name in ("top1", "alid", "pdr", "lid_prior_free", "link_probability", "singling_out"):
        assert row[name].value == pytest.approx(np.mean([one[name].value for one in each])), name
    assert dict(row.counts) == dict(each[0].counts)
    assert sum(row["tag_counts"].value.values()) == pytest.approx(sum(row.counts[name] for name in SIDES), abs=3)
    assert len(row.trials.trial) == 36 == len(set(row.trials.trial))
    lids = [dict(zip(one.trials.trial, one.trials.lid, strict=True)) for one in each]
    for name, lid in zip(row.trials.trial, row.trials.lid, strict=True):
        assert lid == pytest.approx(np.mean([of_split[name] for of_split in lids]))
    people = dict(zip(row.people.speaker, row.people.linked, strict=True))
    for name, linked in people.items():
        rates = [dict(zip(one.people.speaker, one.people.linked, strict=True))[name] for one in each]
        assert linked == pytest.approx(np.mean(rates))
    assert set(row.people.trials) == {2}
    assert "|folds:6+6+6|splits:5|" in row.signature
    assert row.setup.intervals.times == 18
    assert from_json(to_json([row])) == [row]
    errors = speaker_errors(row.scores)
    assert errors.targets.tolist() == [2] * 18
    assert len(errors.passed) == 36


def test_one_exchange_of_people_in_all_splits():
    """The null of the mean over splits, in plain NumPy: a person's trials are given to the same other everywhere."""
    data, times = dealt(), 20
    people = data.exchanged
    names = np.unique(data.people)
    assert sorted(names[block].tolist() for block in people.blocks) == [
        [f"b{b}{i}" for i in range(3)] for b in range(6)
    ]
    null = SearchNull((task := FoldedSearch(data, FEW)).hypothetical(task.measure().folds), 6, people, times, seed=3)
    drawn = null.draw(0, times)["top1"]
    rng = generator(3, 1, 0)
    for number in range(times):
        other = {}
        for block in people.blocks:
            members = names[block]
            other |= dict(zip(members.tolist(), members[rng.permutation(3)].tolist(), strict=True))
        hits = [
            row[part.enrolment_speakers.tolist().index(other[speaker])] == row.max()
            for part in data.parts
            for row, speaker in zip(part.scores, part.trial_speakers.tolist(), strict=True)
        ]
        assert drawn[number] == pytest.approx(np.mean(hits))


def test_development_people_are_exchanged_alike_where_blocks_stay_together():
    data = dealt()
    assert len(data.exchanged.development) == 15
    searched, developed = data.exchanged.draw(np.random.default_rng(0))
    other = {}
    for side, matrices in ((searched, data.parts), (developed, data.dev)):
        for columns, part in zip(side, matrices, strict=True):
            exchanged = part.enrolment_speakers[columns]
            for before, after in zip(part.enrolment_speakers.tolist(), exchanged.tolist(), strict=True):
                assert other.setdefault(before, after) == after
    apart = [replace(part, enrolment_speakers=np.roll(part.enrolment_speakers, k)) for k, part in enumerate(data.dev)]
    assert len(FoldedScores(data.parts, tuple(apart)).exchanged.development) == 15
    one = FoldedScores(data.parts[:3], tuple(fold(["b00", "b10", "x"], 0) for _ in range(3)))
    assert one.exchanged.development == ()


@pytest.mark.parametrize("sizes", [(5, 4), (4, 3, 3), "dealt"])
def test_names_are_counted_in_the_null_as_in_the_search(sizes):
    """The exchange that changes nothing gives what was observed."""
    options = Options(intervals=0, null=0)
    data = dealt() if sizes == "dealt" else folded(2, separation=2.0, sizes=sizes, trials=4)
    task = FoldedSearch(data, options)
    result = task.measure()
    ranks = task.hypothetical(result.folds)
    by_hypothesis = join_names([fold.names(fold.mated) for fold in ranks], task.exchanged.columns)
    columns = [tuple(getattr(counts, name) for name in ("trials", "named", "compared", "falsely"))
               for counts in (result.names, by_hypothesis)]  # fmt: skip
    assert sorted(zip(*columns[0], strict=True)) == sorted(zip(*columns[1], strict=True))
