"""Replicates by counts against scores that are really resampled and sorted again."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.calibrate.pav import rank
from zeroevidence.calibrate.rows import AffineCalibration
from zeroevidence.data.scores import Pairs
from zeroevidence.measure.disclosure import row_evidence, summarise
from zeroevidence.measure.rank import rank_disclosure, top_k
from zeroevidence.measure.registry import of_family
from zeroevidence.measure.singling import link_probability
from zeroevidence.measure.views import PairSettings
from zeroevidence.uncertainty.draws import batches, cluster_draws, half_draws, leave_one_out, run_batches
from zeroevidence.uncertainty.pairs import PairResampler, find_clusters
from zeroevidence.uncertainty.search import SearchResampler


def matrix(n_speakers=6, per_speaker=4, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    mated = np.repeat(np.arange(n_speakers), per_speaker)
    scores = rng.normal(size=(len(mated), n_speakers))
    scores[np.arange(len(mated)), mated] += 1.5
    names = np.array([f"s{i}" for i in range(n_speakers)])
    return ze.ScoreMatrix(
        np.round(scores, 0 if ties else 9), mated, trial_speakers=names[mated], enrolment_speakers=names
    )


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("method", ["pav", "histogram"])
def test_weighted_counts_equal_repeated_scores(ties, method):
    """A cluster drawn c times stands c times in the data; copies of one person are not compared with each other."""
    data = matrix(ties=ties, per_speaker=12)
    scores = data.to_scores()
    ranked = rank(scores.target, scores.nontarget)
    resampler = PairResampler(scores, ranked, PairSettings(linkability=method, seed=1))
    draws = np.array([[2, 0, 1, 1, 3, 0], [1, 1, 1, 1, 1, 1], [0, 0, 6, 0, 0, 0]])
    found = resampler.replicates(draws)
    for r, drawn in enumerate(draws[:2]):
        target, nontarget = [], []
        for row, true in zip(data.scores, data.mated, strict=True):
            for column, score in enumerate(row):
                times = drawn[true] if column == true else drawn[true] * drawn[column]
                (target if column == true else nontarget).extend([score] * times)
        target, nontarget = np.array(target), np.array(nontarget)
        options = {"prior": 0.05}
        expected = {
            "eer": ze.eer(target, nontarget),
            "eer_rocch": ze.eer(target, nontarget, method="rocch"),
            "cllr": ze.cllr(target, nontarget),
            "cllr_min": ze.cllr_min(target, nontarget),
            "dcf_act": ze.dcf_act(target, nontarget, **options),
            "dcf_min": ze.dcf_min(target, nontarget, **options),
            "d_ece": ze.d_ece(target, nontarget),
            "worst_case": ze.worst_case(target, nontarget),
        }
        if method == "pav":
            expected["linkability"] = ze.linkability(target, nontarget, method="pav")
        for name, value in expected.items():
            assert found[name][r] == pytest.approx(value, abs=1e-9), name
    # one speaker alone has no others to be compared with
    assert np.isnan(found["eer"][2])


def test_every_cluster_once_is_the_value_itself():
    data = matrix(20, 10)
    scores = data.to_scores()
    result = ze.evaluate(scores, options=ze.Options(intervals=0, null=0))
    resampler = PairResampler(scores, rank(scores.target, scores.nontarget))
    once = resampler.replicates(np.ones((1, 20), dtype=int))
    assert {one.name for one in of_family("one-to-one")} > set(once)
    for name in once:
        tolerance = 0.03 if name == "linkability" else 1e-9  # the model behind it is held fixed
        assert once[name][0] == pytest.approx(result.metrics[name].value, abs=tolerance), name


def test_independent_scores_are_drawn_within_their_class():
    rng = np.random.default_rng(0)
    target, nontarget = rng.normal(1, 1, 200), rng.normal(0, 1, 2000)
    scores = ze.Scores(target, nontarget)
    resampler = PairResampler(scores, rank(target, nontarget), PairSettings(seed=3))
    assert resampler.unit == "score"
    assert resampler.jackknife() is None
    drawn = np.concatenate([resampler.draw(b, 64)["cllr"] for b in range(8)])
    direct = [ze.cllr(rng.choice(target, 200), rng.choice(nontarget, 2000)) for _ in range(500)]
    assert drawn.mean() == pytest.approx(np.mean(direct), abs=3 * np.std(direct) / np.sqrt(500))
    assert drawn.std() == pytest.approx(np.std(direct), rel=0.15)
    eers = np.concatenate([resampler.draw(b, 64)["eer"] for b in range(8)])
    direct = [ze.eer(rng.choice(target, 200), rng.choice(nontarget, 2000)) for _ in range(500)]
    assert eers.std() == pytest.approx(np.std(direct), rel=0.15)


def test_clusters_are_people_where_known():
    scores = matrix().to_scores()
    clusters = find_clusters(scores)
    assert clusters.unit == "speaker"
    assert len(clusters.names) == 6
    assert (clusters.target.enrolment == clusters.target.trial).all()
    assert find_clusters(ze.Scores([1.0], [0.0])) is None


def test_unknown_speakers_are_clusters_of_their_own():
    scores = ze.Scores(
        [1.0],
        [0.0, 0.1],
        Pairs([0], [0]),
        Pairs([0, 0], [1, 2]),
        ["a"],
        ["t", "a", "u"],
        enrolment_speakers=["a"],
        trial_speakers=["a", "", ""],
    )
    assert find_clusters(scores).names.tolist() == ["?a", "?u", "a"]


def test_identifiers_stand_in_for_people():
    scores = ze.Scores([1.0, 1.1], [0.0], Pairs([0, 1], [0, 1]), Pairs([0], [1]), ["a", "b"], ["x", "y"])
    assert find_clusters(scores).unit == "identifier"


@pytest.mark.parametrize("ties", [False, True])
def test_search_replicates_equal_repeated_trials(ties):
    data = matrix(ties=ties)
    evidence = row_evidence(data.scores, data.mated, AffineCalibration("a", 1.5, 0.0, 0.0))
    singled = (np.arange(len(data.mated)) % 3 == 0).astype(np.int64)
    resampler = SearchResampler(evidence, singled, data.mated)
    draws = np.array([[2, 0, 1, 1, 2, 0], [0, 6, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1]])
    found = resampler.replicates(draws)
    for r, drawn in enumerate(draws):
        trials = np.repeat(np.arange(len(data.mated)), drawn[data.mated])
        lid, greater, equal = evidence.lid[trials], evidence.greater[trials], evidence.equal[trials]
        summary = summarise(lid)
        ranks = rank_disclosure(greater, equal, 6)
        expected = {
            **{name: getattr(summary, name) for name in ("alid", "pdr", "ndr", "lid_pos", "lid_neg", "lid_max")},
            "top1": top_k(greater, equal),
            "mean_rank_disclosure": ranks.mean,
            "max_rank_disclosure": ranks.max,
            "identification_rate": ranks.identification_rate,
            "link_probability": link_probability(greater, equal),
            "singling_out": singled[trials].mean(),
        }
        assert set(expected) == set(found)
        for name, value in expected.items():
            assert found[name][r] == pytest.approx(value, abs=1e-9), name


def test_draws():
    draws = cluster_draws(7, 0, 64, seed=5)
    assert (draws.sum(axis=1) == 7).all()
    assert (cluster_draws(7, 1, 64, seed=5) != draws).any()
    np.testing.assert_array_equal(cluster_draws(7, 0, 64, seed=5), draws)
    assert leave_one_out(3).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    assert (half_draws(9, 20, 0).sum(axis=1) == 5).all()
    assert batches(130) == [(0, 64), (1, 64), (2, 2)]


def test_progress_counts_replicates():
    seen = []
    list(run_batches(lambda batch, size: size, 130, progress=lambda done, total: seen.append((done, total))))
    assert seen == [(64, 130), (128, 130), (130, 130)]


def test_any_number_of_workers_gives_the_same_result():
    data = matrix(10, 5)
    options = ze.Options(intervals=200, null=130)
    one = ze.evaluate(data, options=options)
    two = ze.evaluate(data, options=options, workers=2)
    assert one.metrics == two.metrics
    assert one.signature == two.signature


def test_the_seed_decides():
    data = matrix(10, 5)
    runs = [ze.evaluate(data, options=ze.Options(intervals=100, null=50, seed=s)).metrics["eer"] for s in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_many_speakers_are_resampled_in_groups(monkeypatch):
    from zeroevidence.evaluation import trust
    from zeroevidence.uncertainty import search

    data = matrix(40, 6)
    evidence = row_evidence(data.scores, data.mated, AffineCalibration("a", 1.5, 0.0, 0.0))
    singled = np.zeros(len(data.mated), dtype=np.int64)
    options = ze.Options(intervals=400)
    by_speaker = trust.search_replicates(evidence, singled, data.mated, options, data.trial_names)
    monkeypatch.setattr(trust, "_MOST_CLUSTERS", 20)
    monkeypatch.setattr(search, "_MOST_RANKS", 1)
    by_group = trust.search_replicates(evidence, singled, data.mated, options, data.trial_names)
    assert (by_speaker.unit, by_group.unit) == ("speaker", "speaker-group")
    assert by_group.clusters == 20
    assert "mean_rank_disclosure" not in by_group.values
    assert by_group.values["alid"].std() == pytest.approx(by_speaker.values["alid"].std(), rel=0.4)
