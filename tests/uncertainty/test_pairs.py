"""Values on fewer people by counts, against scores that are really taken away and sorted again."""

import tracemalloc

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.calibrate.pav import count
from zeroevidence.calibrate.rows import AffineCalibration
from zeroevidence.data.scores import Pairs
from zeroevidence.measure.pairs.verification import eer_atom_costs
from zeroevidence.measure.search.disclosure import RowEvidence, row_evidence
from zeroevidence.measure.search.longitudinal import link_probability
from zeroevidence.measure.search.rank import rank_disclosure
from zeroevidence.measure.search.sizes import IdentityEvidence
from zeroevidence.measure.views import PairSettings
from zeroevidence.uncertainty.groups import batches, draw_groups, draw_halves, find_clusters
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.pairs import PairResampler, _Subset
from zeroevidence.uncertainty.search import SearchResampler


def matrix(n_speakers=6, per_speaker=4, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    scores = rng.normal(size=(len(mated), n_speakers))
    scores[np.arange(len(mated)), mated] += 1.5
    names = np.array([f"s{i}" for i in range(n_speakers)])
    scores = np.round(scores, 0 if ties else 9)
    return ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)


def some(data, kept):
    """Targets and non-targets of the comparisons between some people."""
    target, nontarget = [], []
    for row, true in zip(data.scores, data.mated, strict=True):
        for column, score in enumerate(row):
            if kept[true] and kept[column]:
                (target if column == true else nontarget).append(score)
    return np.array(target), np.array(nontarget)


def directly(target, nontarget, method):
    found = {
        "eer": ze.eer(target, nontarget),
        "eer_rocch": ze.eer(target, nontarget, method="rocch"),
        "cllr": ze.cllr(target, nontarget),
        "cllr_min": ze.cllr_min(target, nontarget),
        "dcf_act": ze.dcf_act(target, nontarget, prior=0.05),
        "dcf_min": ze.dcf_min(target, nontarget, prior=0.05),
        "d_ece": ze.d_ece(target, nontarget),
    }
    return found | ({"linkability": ze.linkability(target, nontarget, method="pav")} if method == "pav" else {})


def resampled(scores, settings=None, **options):
    return PairResampler(PreparedScores(scores), settings, **options)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("method", ["pav", "histogram"])
def test_left_out_people_are_gone_on_both_sides(ties, method):
    data = matrix(ties=ties, per_speaker=12)
    scores = data.to_scores()
    resampler = resampled(scores, PairSettings(linkability=method, seed=1))
    found = resampler.left_out(0, 6)
    for g in range(6):
        # groups are numbered as people's names are sorted
        for name, value in directly(*some(data, np.arange(6) != g), method).items():
            if name not in resampler.linear:
                assert found[name][g] == pytest.approx(value, abs=1e-9), name


@pytest.mark.parametrize("digits", [9, 1])
def test_values_at_a_threshold_move_as_they_do_without_a_person(digits):
    """Scores of each person are the quantiles of a Gaussian, so that chance does not move the threshold."""
    rng = np.random.default_rng(0)
    quantiles = [norm.ppf((np.arange(n) + 0.5) / n) for n in (400, 2000)]
    target = [np.round(quantiles[0] + shift, digits) for shift in rng.normal(1.5, 0.5, 30)]
    nontarget = [np.round(quantiles[1] + shift, digits) for shift in rng.normal(0.0, 0.3, 30)]
    names = np.array([f"s{i:02}" for i in range(30)])
    owners = [np.repeat(np.arange(30), n) for n in (400, 2000)]
    pairs = [Pairs(owner, owner) for owner in owners]
    scores = ze.Scores(np.concatenate(target), np.concatenate(nontarget), *pairs, *[names] * 4)
    resampler = resampled(scores, PairSettings(linkability="pav"))
    assert set(resampler.linear) == {"eer", "eer_rocch", "dcf_min"}
    foretold = resampler.left_out(0, 30)
    for g in range(0, 30, 3):
        rest = (np.concatenate([part for i, part in enumerate(parts) if i != g]) for parts in (target, nontarget))
        actual = directly(*rest, "")
        assert foretold["eer"][g] == pytest.approx(actual["eer"], abs=3e-4)
        assert foretold["eer_rocch"][g] == pytest.approx(actual["eer_rocch"], abs=3e-4)
        # Another threshold may be better, but not by much.
        assert actual["dcf_min"] - 1e-12 <= foretold["dcf_min"][g] <= actual["dcf_min"] + 2e-3
    assert np.std(foretold["eer"]) > 1.5e-3


def test_one_recording_of_each_person_tells_how_far_the_eer_varies():
    """The jackknife of a quantile does not: here by the deviation over samples of 60 people."""
    values, errors = {"eer": [], "eer_rocch": []}, {"eer": [], "eer_rocch": []}
    for seed in range(60):
        scores = matrix(60, 1, seed=seed).to_scores()
        left_out = resampled(scores, PairSettings(linkability="pav")).left_out(0, 60)
        all_values = directly(scores.target, scores.nontarget, "")
        for name in values:
            values[name].append(all_values[name])
            errors[name].append(np.sqrt(59 * left_out[name].var()))
    for name in values:
        assert np.mean(errors[name]) == pytest.approx(np.std(values[name]), rel=0.25), name
        assert np.std(errors[name]) < 0.3 * np.mean(errors[name]), name


def test_without_errors_a_threshold_tells_nothing_of_others():
    counts = count(np.array([2.0, 3.0]), np.array([0.0, 1.0]))
    target, nontarget = eer_atom_costs(counts, 2.0)
    assert (counts.target @ target, counts.nontarget @ nontarget) == (0.0, 0.0)


def test_halves_come_with_their_complements():
    data = matrix(7)
    scores = data.to_scores()
    resampler = resampled(scores, PairSettings(linkability="pav", seed=2))
    found, taken = resampler.halves(3), draw_halves(7, 3, 2)
    assert (taken[0::2] ^ taken[1::2]).all()
    assert (taken[0::2].sum(axis=1) == 4).all()
    for row, kept in enumerate(taken):
        for name, value in directly(*some(data, kept), "pav").items():
            assert found[name][row] == pytest.approx(value, abs=1e-9), name


def test_nobody_left_out_is_the_value_itself():
    data = matrix(20, 10)
    scores = data.to_scores()
    result = ze.evaluate(scores, options=ze.Options(intervals=0, null=0))
    resampler = resampled(scores)
    view = _Subset(resampler, resampler.target.all, resampler.nontarget.all)
    assert len(resampler.measures) == 9
    for one, _ in resampler.measures:
        tolerance = 0.03 if one.name == "linkability" else 1e-9  # the model behind it is held fixed
        assert one.compute(view) == pytest.approx(result.metrics[one.name].value, abs=tolerance), one.name


@pytest.mark.parametrize("kind", ["unrecognised", "recognised"])
def test_people_of_unseen_kinds_by_scores_that_are_really_mixed(kind):
    """A share of the targets that looks like non-targets, or scores above all of these."""
    data = matrix(20, 10)
    scores = data.to_scores()
    resampler = resampled(scores)
    changes = {name: pair[kind == "recognised"] for name, pair in resampler.unseen().items()}
    share = 1.0 - 0.025 ** (1.0 / 20.0)
    n = len(scores.nontarget)
    replaced = round(share * n / (1 - share))
    highest = max(scores.target.max(), scores.nontarget.max())
    added = np.resize(scores.nontarget, replaced) if kind == "unrecognised" else np.full(replaced, highest)
    mixed = np.concatenate((np.repeat(scores.target, n // len(scores.target)), added))
    for name, compute in (("eer", ze.eer), ("d_ece", ze.d_ece), ("cllr_min", ze.cllr_min), ("cllr", ze.cllr)):
        change = compute(mixed, scores.nontarget) - compute(scores.target, scores.nontarget)
        assert changes[name] == pytest.approx(change / share, rel=0.15, abs=0.01), name
    lost, gained = ("d_ece", "eer") if kind == "unrecognised" else ("eer", "d_ece")
    assert changes[lost] < 0 < changes[gained]


def test_a_search_of_people_recognised_in_every_recording_leaves_no_doubt():
    data = matrix(20, 10)
    evidence = row_evidence(data.scores, data.mated, AffineCalibration("logistic", 1.0, 0.0, 0.0))
    changes = SearchResampler(evidence, None, data.mated).unseen()
    top = np.mean(np.where(evidence.greater == 0, 1.0 / (evidence.equal + 1.0), 0.0))
    assert changes["alid"][1] == pytest.approx(np.log2(20) - evidence.lid.mean())
    assert changes["top1"] == pytest.approx((1 / 20 - top, 1.0 - top))
    assert changes["mean_rank_disclosure"][1] > 0.0 > changes["mean_rank_disclosure"][0]
    assert changes["lid_prior_free"][1] > 0.0 > changes["lid_prior_free"][0]


@pytest.mark.parametrize("people", [12, 30])
def test_nobody_exposed_among_few_people_is_compatible_with_some_exposed(people):
    """Clopper and Pearson: none of n people is what a share of 1 - 0.05^(1/n) shows once in twenty samples."""
    rng = np.random.default_rng(3)
    mated = np.repeat(np.arange(people), 10)
    names = np.array([f"s{i}" for i in range(people)])
    scores = rng.normal(size=(len(mated), people))
    data = ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)
    row = ze.evaluate(data, options=ze.Options(null=0, linkability="pav"))
    share = 1.0 - 0.05 ** (1.0 / people)
    assert row["top1"].bound >= float(row["top1"]) + share * (1.0 - float(row["top1"])) - 1e-12
    assert row["alid"].bound >= share * np.log2(people) + float(row["alid"]) * (1.0 - share) - 1e-9
    exposed = np.concatenate((rng.normal(size=9500), np.full(round(9500 * share / (1.0 - share)), 9.0)))
    assert row["d_ece"].bound >= ze.d_ece(exposed, rng.normal(size=200_000)) - 0.002
    assert row["dcf_min"].bound <= 1.0 - share + 1e-6


def test_independent_scores_are_dealt_to_groups():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 400), rng.normal(0, 1, 4000)
    result = ze.evaluate(target, nontarget, options=ze.Options(null=0))
    assert "|ci:score200|" in result.signature
    direct = [ze.eer(rng.normal(1, 1, 400), rng.normal(0, 1, 4000)) for _ in range(300)]
    assert result["eer"].spread.error == pytest.approx(np.std(direct), rel=0.25)


def test_many_people_are_left_out_in_groups():
    data = matrix(60, 4)
    one_by_one, grouped = (ze.evaluate(data, options=ze.Options(null=0, intervals=n)) for n in (200, 20))
    assert "|ci:speaker60|" in one_by_one.signature
    assert "|ci:speaker20|" in grouped.signature
    for name in ("eer", "d_ece", "alid"):
        assert grouped[name].spread.error == pytest.approx(one_by_one[name].spread.error, rel=0.6), name
        assert grouped[name].spread.freedom == 19


def test_memory_is_that_of_the_trials():
    """A matrix of recordings by recordings would need 12.8 GB."""
    rng = np.random.default_rng(0)
    n = 40_000
    mated = rng.random(n) < 0.5
    first, second = rng.integers(0, n, n), rng.integers(0, n, n)
    values = rng.normal(size=n) + 2.0 * mated
    names = np.arange(n).astype(str)
    pairs = Pairs(first[mated], second[mated]), Pairs(first[~mated], second[~mated])
    scores = ze.Scores(values[mated], values[~mated], *pairs, names, names)
    tracemalloc.start()
    resampler = resampled(scores, most=10)
    resampler.left_out(0, 10)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 1500 * n


def test_unknown_speakers_are_clusters_of_their_own():
    pairs = Pairs([0], [0]), Pairs([0, 0], [1, 2])
    scores = ze.Scores([1.0], [0.0, 0.1], *pairs, ["a"], ["t", "a", "u"], ["a"], ["a", "", ""])
    assert find_clusters(scores).names.tolist() == ["?a", "?u", "a"]


def test_identifiers_stand_in_for_people():
    scores = ze.Scores([1.0, 1.1], [0.0], Pairs([0, 1], [0, 1]), Pairs([0], [1]), ["a", "b"], ["x", "y"])
    found = find_clusters(scores)
    assert found.unit == "identifier"
    # targets say that a and x, and b and y, are one person each
    assert found.names.tolist() == ["a", "b"]
    assert (found.nontarget.enrolment.tolist(), found.nontarget.trial.tolist()) == ([0], [1])


def test_contradictory_targets_join_no_identifiers():
    """Targets join all four identifiers, among which there is a non-target: each stays a cluster of its own."""
    scores = ze.Scores(
        [1.0, 1.1, 1.2], [0.0], Pairs([0, 0, 1], [0, 1, 0]), Pairs([1], [1]), ["a", "b"], ["a", "y"]
    )  # fmt: skip
    found = find_clusters(scores)
    assert (found.unit, found.names.tolist()) == ("identifier", ["a", "b", "y"])
    assert (found.target.enrolment.tolist(), found.target.trial.tolist()) == ([0, 0, 1], [0, 2, 0])
    assert (found.nontarget.enrolment.tolist(), found.nontarget.trial.tolist()) == ([1], [2])


def expected_of(lid, greater, equal, identities, singled):
    ranks, positive = rank_disclosure(greater, equal, identities), lid > 0.0
    return {
        "alid": lid.mean(),
        "pdr": positive.mean(),
        "ndr": 1.0 - positive.mean(),
        "top1": np.mean((greater == 0) / (equal + 1.0)),
        "mean_rank_disclosure": ranks.mean,
        "identification_rate": ranks.identification_rate,
        "link_probability": link_probability(greater, equal),
        "singling_out": singled.mean(),
        "lid_prior_free": np.mean([over_all_priors(one, identities) for one in lid]),
    }


def over_all_priors(lid, identities):
    """Mean over the prior of the true person, the others sharing the rest, by quadrature."""
    posterior = 2.0**lid / identities
    ratio = posterior / (1.0 - posterior) * (identities - 1.0)
    return quad(lambda prior: np.log2(ratio / (prior * ratio + 1.0 - prior)), 0.0, 1.0)[0]


def test_numbers_that_both_sides_use_are_not_one_recording():
    """Rows and columns without names are numbered from 0: the first row need not be of the first person."""
    data = matrix(12, 5)
    nameless = ze.ScoreMatrix(data.scores, data.mated).to_scores()
    found = find_clusters(nameless)
    assert found.unit == "identifier"
    assert len(found.names) == 12
    assert (found.target.enrolment == found.target.trial).all()
    assert not (found.nontarget.enrolment == found.nontarget.trial).any()


@pytest.mark.parametrize("ties", [False, True])
def test_trials_of_some_people(ties):
    data = matrix(ties=ties)
    evidence = row_evidence(data.scores, data.mated, AffineCalibration("a", 1.5, 0.0, 0.0))
    singled = (np.arange(len(data.mated)) % 3 == 0).astype(np.int64)
    resampler = SearchResampler(evidence, singled, data.mated)
    taken = np.array([[1, 0, 1, 1, 1, 0], [0, 1, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]], dtype=bool)
    found = resampler.of(taken)
    for r, kept in enumerate(taken):
        trials = np.flatnonzero(kept[data.mated])
        arrays = (each[trials] for each in (evidence.lid, evidence.greater, evidence.equal))
        expected = expected_of(*arrays, 6, singled[trials])
        assert set(expected) == set(found)
        for name, value in expected.items():
            assert found[name][r] == pytest.approx(value, abs=1e-9, nan_ok=True), name
    np.testing.assert_array_equal(resampler.left_out(0, 6)["alid"], resampler.of(~np.eye(6, dtype=bool))["alid"])


@pytest.mark.parametrize("ties", [False, True])
def test_left_out_people_are_not_searched_for(ties):
    """Against a search that never had the person: the evidence of each trial is that of the smaller search."""
    data = matrix(ties=ties)
    n = 6
    llr = data.scores * 1.5
    lid = (llr - np.log(np.exp(llr).mean(axis=1, keepdims=True))) / np.log(2)
    own = lid[np.arange(len(data.mated)), data.mated]
    searched = list(zip(data.scores, data.mated, strict=True))
    counts = [np.array([compare(row, row[true]).sum() for row, true in searched]) for compare in (np.greater, np.equal)]
    evidence = RowEvidence(own, counts[0], counts[1] - 1, n)
    fires = data.scores > 0.5
    everyone = IdentityEvidence(data.scores, data.mated, lid, np.full(n, 1 / n), fires)
    singled = (fires.sum(axis=1) == 1).astype(np.int64)
    found = SearchResampler(evidence, singled, data.mated, everyone=everyone).left_out(0, n)
    for g in range(n):
        rows, columns = np.flatnonzero(data.mated != g), np.flatnonzero(np.arange(n) != g)
        scores, smaller = data.scores[np.ix_(rows, columns)], llr[np.ix_(rows, columns)]
        mated = data.mated[rows] - (data.mated[rows] > g)
        bits = (smaller - np.log(np.exp(smaller).mean(axis=1, keepdims=True))) / np.log(2)
        at = np.arange(len(rows)), mated
        true = scores[at][:, None]
        greater, equal = (scores > true).sum(axis=1), (scores == true).sum(axis=1) - 1
        single = (scores > 0.5).sum(axis=1) == 1
        for name, value in expected_of(bits[at], greater, equal, n - 1, single).items():
            assert found[name][g] == pytest.approx(value, abs=1e-9), name


def test_draws():
    assert draw_groups(3, 5, seed=0).tolist() == [0, 1, 2]
    assert np.bincount(draw_groups(23, 5, seed=0)).tolist() == [5, 5, 5, 4, 4]
    assert batches(130) == [(0, 64), (1, 64), (2, 2)]


def test_progress_counts_people_left_out():
    seen = []
    run = ze.Run(progress=lambda *_: lambda done, total: seen.append((done, total)))
    ze.evaluate(matrix(130, 1), options=ze.Options(null=0), run=run)
    assert seen[:3] == [(64, 130), (128, 130), (130, 130)]


@pytest.mark.parametrize(
    "size", [(10, 5), pytest.param((130, 10), marks=slow)]
)  # the arrays of the second are shared by processes
def test_any_number_of_workers_gives_the_same_result(size):
    data = matrix(*size)
    options = ze.Options(intervals=200, null=130)
    one = ze.evaluate(data, options=options)
    two = ze.evaluate(data, options=options, run=ze.Run(cores=2))
    assert (one.metrics, one.signature) == (two.metrics, two.signature)


def test_too_few_people_give_no_interval_and_say_so():
    few, enough = (ze.evaluate(matrix(people, 8), options=ze.Options(null=0)) for people in (9, 10))
    with_limits = {name for name, one in few.metrics.items() if one.low is not None or one.high is not None}
    assert with_limits == {"people_named"}  # a share of people has the limits of a rate, however few they are
    assert [one.code for one in few.flags] == ["no-intervals"]
    assert enough["eer"].low < enough["eer"].value < enough["eer"].high
    assert [one.code for one in enough.flags] == ["few-speakers"]


def test_people_who_speak_most_count_as_few():
    data = matrix(40, 10)
    uneven = data.take(np.flatnonzero((data.mated < 4) | (np.arange(400) % 10 == 0)))
    (found,) = (one for one in ze.evaluate(uneven, options=ze.Options(null=0)).flags if one.code == "few-speakers")
    assert found.sentence.startswith("40 speakers, who count as 13 because")


def test_no_error_seen_is_not_certainty():
    scores = np.random.default_rng(0).normal(size=(300, 30)) + 30.0 * np.eye(30)[np.arange(300) % 30]
    names = np.array([f"s{i}" for i in range(30)])
    mated = np.arange(300) % 30
    data = ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)
    result = ze.evaluate(data, options=ze.Options(null=0))
    assert (result["eer"].value, result["eer"].high) == (0.0, pytest.approx(0.1, abs=0.03))
    assert result["top1"].low < 0.9
    assert result["d_ece"].low < 0.65
    assert result["alid"].low < 4.5


def uneven_search(slope, seed=0):
    """Each of 24 people against everybody, the more recordings the better recognised."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat([32, 16, 8, 4, 2], [2, 3, 4, 6, 9])
    mated = np.repeat(np.arange(24), numbers)
    scores = rng.normal(size=(len(mated), 24))
    scores[np.arange(len(mated)), mated] += 1.0 + slope * np.log(numbers[mated])
    names = np.array([f"s{i:02}" for i in range(24)])
    return ze.ScoreMatrix(scores, mated, trial_speakers=names[mated], enrolment_speakers=names)


@pytest.mark.parametrize("slope", [0.0, 1.5])
def test_values_of_people_who_count_the_same(slope):
    """Against repeating the scores of each person as often as makes everybody's number equal."""
    data = uneven_search(slope)
    row = ze.evaluate(data, options=ze.Options(null=0, linkability="pav"))
    numbers = np.bincount(data.mated)
    often = np.repeat(np.arange(len(data.mated)), (32 // numbers)[data.mated])
    repeated = ze.ScoreMatrix(data.scores[often], data.mated[often]).to_scores()
    for name, value in directly(repeated.target, repeated.nontarget, "pav").items():
        assert row[name].per_person == pytest.approx(value, abs=2e-4), name
    trials = row.trials
    by_person = [np.mean(np.asarray(trials.lid)[data.mated == person]) for person in range(24)]
    assert row["alid"].per_person == pytest.approx(np.mean(by_person))
    flags = {flag.code: flag.sentence for flag in row.flags}
    assert ("talkative-exposed" in flags) == (slope > 0.0)
    if slope:
        assert "recognised better" in flags["talkative-exposed"]
        assert row["alid"].per_person < float(row["alid"])


def test_people_with_as_many_recordings_each_have_one_average():
    row = ze.evaluate(matrix(12, 5), options=ze.Options(null=0, linkability="pav"))
    assert {result.per_person for result in row.metrics.values()} == {None}
    assert not any(flag.code == "talkative-exposed" for flag in row.flags)


def test_scores_that_are_all_equal_have_no_interval():
    names, mated = np.array([f"s{i:02}" for i in range(12)]), np.repeat(np.arange(12), 3)
    data = ze.ScoreMatrix(np.ones((36, 12)), mated, trial_speakers=names[mated], enrolment_speakers=names)
    row = ze.evaluate(data, options=ze.Options(null=0, linkability="pav"))
    limited = {name for name, one in row.metrics.items() if (one.low, one.high, one.bound) != (None, None, None)}
    assert limited == {"people_named"}
