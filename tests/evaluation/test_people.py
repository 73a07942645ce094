"""Every speaker's own numbers, and whether speakers differ."""

import json
from dataclasses import replace
from itertools import permutations

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.isotonic import IsotonicRegression

import zeroevidence as ze
from tests.effort import slow
from tests.evaluation.made import named_search
from zeroevidence.calibrate.pav import pav_llrs
from zeroevidence.data.scores import Pairs
from zeroevidence.evaluation.people import (
    people_differ,
    speaker_columns,
    speaker_errors,
    with_seconds,
    with_speaker_eer,
)
from zeroevidence.measure.pairs.zebra import tag_of
from zeroevidence.report.people import differing_lines, speaker_table
from zeroevidence.uncertainty.compare import variation_between_people

QUICK = ze.Options(intervals=0, null=0)


def matrix(gaps, trials=10, seed=0):
    """A search among people whose voices stand out by a gap of their own."""
    rng = np.random.default_rng(seed)
    people = len(gaps)
    mated = np.repeat(np.arange(people), trials)
    noise = rng.normal(size=(len(mated), people))
    return named_search(noise + np.array(gaps)[mated][:, None] * np.eye(people)[mated], mated)


def test_eer_of_a_person_by_hand():
    """Ann's four targets against her six other comparisons: one of four and two of six err at the same threshold."""
    targets = Pairs([0, 0, 0, 0, 1], [0, 1, 2, 3, 4])
    others = Pairs([0, 1, 1, 1, 1, 0], [4, 0, 1, 2, 3, 5])
    people = ["ann", "bob"]
    heard = ["ann"] * 4 + ["bob", "eve"]
    scores = ze.Scores(
        [4.0, 3.0, 2.0, 0.5, 9.0],
        [1.0, 0.1, 0.2, 0.3, 0.4, 2.5],
        targets,
        others,
        people,
        list("uvwxyz"),
        people,
        heard,
    )
    found = speaker_errors(scores)
    assert found.speaker.tolist() == ["ann", "bob", "eve"]
    assert (found.targets.tolist(), found.nontargets.tolist()) == ([4, 1, 0], [6, 5, 1])
    assert np.isnan([found.eer[2], found.low[2], found.high[2]]).all()  # eve has no target
    own = [1.0, 0.1, 0.2, 0.3, 0.4, 2.5]
    assert found.eer[0] == ze.eer([4.0, 3.0, 2.0, 0.5], own)
    assert found.eer[1] == 0.0
    assert found.passed.tolist() == pytest.approx([0.0, 0.0, 1 / 6, 2 / 6, 0.0])
    # Clopper and Pearson: no error of one trial, and as many errors of four as the rate says
    assert (found.low[1], found.high[1]) == (0.0, pytest.approx(0.975))
    errors = 4 * found.eer[0]
    assert found.low[0] == pytest.approx(stats.beta.ppf(0.025, errors, 4 - errors + 1))
    assert found.high[0] == pytest.approx(stats.beta.ppf(0.975, errors + 1, 4 - errors))


def crossing(target, nontarget):
    """EER in plain NumPy: where straight lines through (false alarms, misses) at all thresholds meet the diagonal."""
    thresholds = np.append(-np.inf, np.unique(np.concatenate((target, nontarget))))
    miss, false_alarm = (np.array([f(at) for at in thresholds]) for f in
                         (lambda at: np.mean(target <= at), lambda at: np.mean(nontarget > at)))  # fmt: skip
    after = int(np.argmax(miss >= false_alarm))
    gap = (false_alarm - miss)[[after - 1, after]]
    return miss[after - 1] + gap[0] / (gap[0] - gap[1]) * (miss[after] - miss[after - 1])


def test_everybody_in_published_scores_has_a_row(shared, run, tmp_path):
    """Also the four who are on trial without being enrolled; compared with plain NumPy on the lines of the files."""
    home = shared / "scores" / "vpc2020"
    files = [str(home / "samegender_f0orig_retrained" / f"aa_{sex}.scores") for sex in "fm"]
    arguments = ["evaluate", files[0], "--key", str(home / "trials_f"), "--dev", files[1], "--dev-key",
                 str(home / "trials_m"), "--intervals", "0", "--null", "0", "-f", "json"]  # fmt: skip
    _, out, _ = run(*arguments, "--per-speaker", tmp_path / "people.csv")
    frame = pl.read_csv(tmp_path / "people.csv", schema_overrides={"speaker": pl.String})
    lines = {line["speaker"]: line for line in frame.iter_rows(named=True)}
    key, scored = (np.loadtxt(path, dtype=str) for path in (home / "trials_f", files[0]))
    np.testing.assert_array_equal(key[:, :2], scored[:, :2])
    enrolled, heard = key[:, 0], np.array([name.split("-")[0] for name in key[:, 1]])
    score, mated = scored[:, 2].astype(float), key[:, 2] == "target"
    strangers = {"3729", "2094", "4507", "3575"}
    assert set(heard) - set(enrolled) == strangers
    assert set(lines) == {*enrolled, *heard}
    rates = {}
    with_ends = np.concatenate(([-1e4, -1e3], score, [1e3, 1e4]))  # Laplace's rule
    share = IsotonicRegression().fit_transform(with_ends, np.concatenate(([1.0, 0.0], mated, [1.0, 0.0])))[2:-2]
    llrs = np.log(share / (1.0 - share)) - np.log(mated.sum() / (~mated).sum())
    for name, line in lines.items():
        involved = (enrolled == name) | (heard == name)
        target, nontarget = score[involved & mated], score[involved & ~mated]
        assert (line["targets"], line["nontargets"]) == (len(target), len(nontarget))
        assert line["worst_case"] == pytest.approx(np.abs(llrs[involved]).max() / np.log(10.0), abs=1e-12)
        if name in strangers:
            assert (round(line["worst_case"], 3), line["tag"]) == (2.414, "C")
            assert {line[column] for column in ("trials", "lid_mean", "lid_high", "lid_max", "eer", "eer_low")} == {
                None
            }
        else:
            rates[name] = crossing(target, nontarget)
            assert line["eer"] == pytest.approx(rates[name], abs=1e-12)
            assert line["lid_low"] <= line["lid_mean"] <= line["lid_high"] <= 4.0
    assert lines["5142"]["lid_high"] == 4.0
    metrics = json.loads(out)["rows"][0]["metrics"]
    assert metrics["eer_speaker_mean"]["value"] == pytest.approx(np.mean(list(rates.values())), abs=1e-12)
    assert metrics["eer_speaker_mean"]["value"] == pytest.approx(0.09402, abs=1e-5)


def test_nobody_makes_up_for_others_by_an_eer_above_half():
    row = with_speaker_eer(ze.evaluate(matrix([3.0] * 5 + [-3.0] * 3), options=QUICK))
    rates = np.array(speaker_columns(row)["eer"])
    assert (rates > 0.5).sum() == 3
    assert row["eer_speaker_mean"].value == pytest.approx(np.where(rates > 0.5, 0.5, rates).mean())
    assert row["eer_speaker_mean"].method == "mean over 8 speakers of min(EER, 50 %)"
    assert with_speaker_eer(replace(row, metrics={}, scores=None)).metrics == {}
    nameless = ze.evaluate([1.0, 2.0], [0.5, 1.5], options=QUICK)
    assert with_speaker_eer(nameless).metrics == nameless.metrics


@pytest.mark.parametrize("share", [None, 0.01, 0.9])
def test_limits_of_a_mean_reach_certainty_at_most(share):
    """Certainty is -log2 of what a person had beforehand: log2 N, or less of a suspect."""
    data = matrix([9.0] * 11 + [2.5], trials=4)
    prior = None if share is None else {f"p{i:02d}": share if i == 11 else (1.0 - share) / 11.0 for i in range(12)}
    columns = speaker_columns(ze.evaluate(data, prior=prior, options=QUICK))
    most = [np.log2(12.0) if prior is None else -np.log2(prior[name]) for name in columns["speaker"]]
    assert all(high <= limit + 1e-12 for high, limit in zip(columns["lid_high"], most, strict=True))
    at = columns["speaker"].index("p11")
    assert columns["lid_high"][at] == pytest.approx(most[at], abs=1e-9)
    assert columns["lid_mean"][at] < most[at]


def test_disclosure_of_a_person_with_its_interval():
    row = ze.evaluate(matrix([2.0] * 12), options=QUICK)
    columns = speaker_columns(row)
    assert columns["lid_mean"] == sorted(columns["lid_mean"], reverse=True)
    name = columns["speaker"][0]
    lid = row.trials.lid[row.trials.speaker == name]
    low, high = stats.t.interval(0.95, len(lid) - 1, lid.mean(), stats.sem(lid))
    assert (columns["lid_low"][0], columns["lid_high"][0]) == pytest.approx((low, high))
    frame = speaker_table([row])
    assert frame["eer"].null_count() == 0
    assert frame["targets"].to_list() == [10] * 12


def test_permutation_of_two_people_is_exact():
    """Of the 24 orders of four values, eight put the equal ones together."""
    values, whose = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0, 0, 1, 1])
    together = sum(order[0] == order[1] for order in permutations(values))
    assert together == 8
    found = variation_between_people(values, whose)
    assert found.p_value == pytest.approx(8 / 24, abs=0.05)
    # nothing within, and 1 between with two recordings each: the variance of the means
    assert found.deviation == pytest.approx(np.sqrt(0.5))
    assert variation_between_people(values, np.arange(4)) is None
    assert variation_between_people(values, np.zeros(4, dtype=int)) is None
    assert variation_between_people(np.ones(4), whose).p_value == 1.0


def test_people_who_differ_are_found_and_equal_ones_are_not():
    options = QUICK
    alike = people_differ(ze.evaluate(matrix([1.5] * 20), options=options))
    apart = people_differ(ze.evaluate(matrix([0.5] * 10 + [4.0] * 10), options=options))
    for name in ("alid", "eer"):
        assert apart[name].p_value == 0.001
        assert apart[name].deviation > 2.0 * alike[name].deviation
    assert min(alike["alid"].p_value, alike["eer"].p_value) > 0.01


@slow
def test_false_alarms_are_as_rare_as_they_should_be():
    rng = np.random.default_rng(0)
    whose = np.repeat(np.arange(10), 6)
    found = [variation_between_people(rng.normal(size=60), whose, seed=i).p_value for i in range(200)]
    assert 0.01 <= np.mean(np.array(found) <= 0.05) <= 0.1


def some_of(scores, kept):
    """Scores without some non-targets, so that no trial was compared with everybody."""
    pairs = Pairs(scores.nontarget_pairs.enrolment[kept], scores.nontarget_pairs.trial[kept])
    return replace(scores, nontarget=scores.nontarget[kept], nontarget_pairs=pairs)


def test_lists_of_pairs_have_error_rates_alone():
    whole = matrix([2.0] * 12).to_scores()
    row = ze.evaluate(some_of(whole, np.arange(len(whole.nontarget)) % 7 == 0), options=QUICK)
    assert row.trials is None
    frame = speaker_table([row])
    assert frame["lid_mean"].null_count() == 12
    assert frame["eer"].null_count() == 0
    (line,) = differing_lines([row])
    assert "how many others pass for them" in line


def by_hand(scores):
    """The largest |LLR| of each speaker's comparisons, by the LLR of every score of the whole list."""
    llrs = pav_llrs(scores.target, scores.nontarget, laplace=True)
    worst = {}
    for pairs, values in zip((scores.target_pairs, scores.nontarget_pairs), llrs, strict=True):
        for enrolment, trial, llr in zip(pairs.enrolment, pairs.trial, values, strict=True):
            for name in (str(scores.enrolment_speakers[enrolment]), str(scores.trial_speakers[trial])):
                worst[name] = max(worst.get(name, 0.0), abs(llr) / np.log(10.0))
    return worst


def test_worst_case_and_tag_of_each_person():
    """One person of eight stands out: the data have their worst case, and the others their own."""
    data = matrix([6.0, *[0.5] * 7], trials=6)
    row = ze.evaluate(data, options=QUICK)
    frame = speaker_table([row])
    found = dict(zip(frame["speaker"], frame["worst_case"], strict=True))
    assert found == pytest.approx(by_hand(data.to_scores()), abs=1e-12)
    assert max(found.values()) == row["worst_case"].value
    assert found["p00"] == row["worst_case"].value
    assert min(found.values()) < 0.7 * found["p00"]
    tags = dict(zip(frame["speaker"], frame["tag"], strict=True))
    assert tags["p00"] == row["tag"].value
    assert len(set(tags.values())) > 1
    assert dict(zip(row.people.speaker, row.people.worst_case, strict=True)) == pytest.approx(found, abs=1e-12)


def test_worst_cases_of_a_list_without_a_search():
    whole = matrix([3.0, 1.0, 1.0, 1.0], trials=3).to_scores()
    scores = some_of(whole, np.arange(len(whole.nontarget)) % 3 != 0)
    row = ze.evaluate(scores, options=QUICK)
    assert row.people is None
    columns = speaker_columns(row)
    found = dict(zip(columns["speaker"], columns["worst_case"], strict=True))
    assert found == pytest.approx(by_hand(scores), abs=1e-12)
    assert columns["tag"] == [tag_of(worst) for worst in columns["worst_case"]]


@pytest.mark.parametrize("first", ["a", "z"])
def test_a_person_without_a_name_is_called_by_their_enrolment_in_all_columns(first):
    """Whether names of trials come before those of enrolments, or after, or nothing has a name."""
    named = matrix([6.0, *[0.5] * 11], trials=6)
    expected = speaker_columns(ze.evaluate(named, options=QUICK))
    unknown = ze.ScoreMatrix(named.scores, named.mated, trials=[f"{first}{i:02d}" for i in range(72)],
                             enrolments=named.enrolments)  # fmt: skip
    row = ze.evaluate(unknown, options=QUICK)
    assert speaker_columns(row) == expected
    assert row.people.worst_case is not None
    columns = speaker_columns(ze.evaluate(ze.ScoreMatrix(named.scores, named.mated), options=QUICK))
    assert sorted(map(int, columns["speaker"])) == list(range(12))
    assert sorted(columns["worst_case"]) == sorted(expected["worst_case"])
    assert None not in columns["eer"]


def test_link_probability_stands_beside_the_seconds_of_a_persons_trials():
    scores = np.random.default_rng(0).normal(size=(12, 4)) + 2.0 * np.repeat(np.eye(4), 3, axis=0)
    row = ze.evaluate(ze.ScoreMatrix(scores, np.repeat(np.arange(4), 3)), options=QUICK)
    assert speaker_columns(row)["seconds"] == [None] * 4
    seconds = {name: 1.0 + 2.0 * k for k, name in enumerate(row.trials.trial.tolist())}
    timed = with_seconds(row, seconds)
    assert with_seconds(row, dict(list(seconds.items())[1:])) is row  # one is not known
    columns = speaker_columns(timed)
    highest = (scores.argmax(axis=1) == np.repeat(np.arange(4), 3)).reshape(4, 3).mean(axis=1)
    for place, name in enumerate(columns["speaker"]):
        of_speaker = row.trials.speaker == name
        assert columns["seconds"][place] == pytest.approx(1.0 + 2.0 * np.flatnonzero(of_speaker).mean())
        assert columns["link_probability"][place] == pytest.approx(highest[np.flatnonzero(of_speaker)[0] // 3])
    assert timed.people.seconds == tuple(columns["seconds"])
