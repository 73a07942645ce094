"""Long lists are counted in cells: nothing that anybody prints may notice."""

import itertools
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.stats import norm

import zeroevidence as ze
from zeroevidence.calibrate.pav import Counts, count, pool, rank
from zeroevidence.evaluation.finding.chance import chances
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.measure.pairs.verification import eer_of
from zeroevidence.measure.pairs.zebra import d_ece_of
from zeroevidence.uncertainty import groups, lists
from zeroevidence.uncertainty.groups import find_clusters
from zeroevidence.uncertainty.lists import (
    ListSimulator,
    PreparedScores,
    _Effect,
    assign_cells,
    cell_starts,
    certain_runs,
    people_test,
)
from zeroevidence.uncertainty.null import ListNull, PairNull, pair_null, permutation_p_value
from zeroevidence.uncertainty.pairs import PairResampler

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))

from validity_designs import DESIGNS, complete_list, trial_list


def cells_of(counts, most):
    starts = cell_starts(counts, most)
    return Counts(np.add.reduceat(counts.target, starts), np.add.reduceat(counts.nontarget, starts))


@pytest.fixture(scope="module")
def scores():
    rng = np.random.default_rng(0)
    return rng.normal(1.5, 1.0, 8000), rng.normal(0.0, 1.0, 40_000)


def test_few_atoms_are_cells_of_their_own(scores):
    target, nontarget = scores[0][:50], scores[1][:300]
    placed = assign_cells(target, nontarget, rank(target, nontarget))
    assert placed.counts.target.tolist() == count(target, nontarget).target.tolist()
    # higher scores are never in lower cells
    both, place_of = np.concatenate((target, nontarget)), np.concatenate((placed.target, placed.nontarget))
    assert (np.diff(place_of[np.argsort(both)].astype(int)) >= 0).all()
    assert (np.bincount(placed.nontarget, minlength=len(placed.middle)) == placed.counts.nontarget).all()


def test_equal_scores_are_in_one_cell():
    target, nontarget = np.array([1.0, 1.0, 2.0, -np.inf]), np.array([1.0, 0.0, 0.0, np.inf])
    placed = assign_cells(target, nontarget, rank(target, nontarget))
    assert (placed.target.tolist(), placed.nontarget.tolist()) == ([2, 2, 3, 0], [2, 1, 1, 4])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["normal", "heavy", "tied", "infinite", "equal"])
def test_many_scores_are_placed_as_by_a_search(kind, dtype, monkeypatch):
    monkeypatch.setattr(lists, "_BUCKETS", 1 << 10)
    monkeypatch.setattr(lists, "_BUCKETED_FROM", 1 << 10)
    monkeypatch.setattr(lists, "_BLOCK", 300)
    rng = np.random.default_rng(5)
    normal = rng.normal(size=5000)
    drawn = {"normal": normal, "heavy": rng.standard_cauchy(5000) ** 3, "tied": normal.round(1), "equal": np.ones(5000)}
    drawn["infinite"] = np.append(normal[1:], np.inf)
    scores = drawn[kind].astype(dtype)
    lows = np.unique(np.append(rng.choice(scores, 200), scores.min()))
    assert (lists._places(lows, scores) == np.searchsorted(lows, scores, "right") - 1).all()


def test_neighbours_of_one_class_are_put_together():
    counts = Counts(np.array([0, 0, 1, 2, 1, 0]), np.array([2, 1, 0, 0, 1, 3]))
    assert cell_starts(counts).tolist() == [0, 2, 4, 5]


def test_cells_keep_the_measures(scores):
    counts = count(*scores)
    few = cells_of(counts, 2048)
    assert len(few.target) <= 2048 < len(counts.target) / 4
    assert (few.n_target, few.n_nontarget) == (8000, 40_000)
    assert eer_of(few) == pytest.approx(eer_of(counts), abs=2e-4)
    assert d_ece_of(pool(few)) == pytest.approx(d_ece_of(pool(counts)), abs=2e-4)
    # the ends are kept, and with them the worst case
    assert pool(few).llr[[0, -1]].tolist() == pool(counts).llr[[0, -1]].tolist()


@pytest.mark.parametrize("digits", [2, 8])
def test_runs_are_pooled_whatever_is_left_out(digits):
    rng = np.random.default_rng(3)
    target, nontarget = rng.normal(1.0, 1.0, 300).round(digits), rng.normal(size=900).round(digits)
    placed = assign_cells(target, nontarget, rank(target, nontarget))
    runs = certain_runs(placed.counts)
    assert len(runs) < len(placed.middle)
    for share in (0.02, 0.3, 0.9):
        kept = [rng.random(len(side)) < share for side in (target, nontarget)]
        sides = zip((placed.target, placed.nontarget), kept, strict=True)
        tar, non = (np.bincount(side[keep], minlength=len(placed.middle)) for side, keep in sides)
        some = tar + non > 0
        expected, found = pool(Counts(tar[some], non[some])), pool(Counts(tar, non), runs)
        assert all((getattr(found, part) == getattr(expected, part)).all() for part in ("target", "nontarget", "llr"))


def test_people_of_another_kind_may_be_anywhere(scores):
    """The runs hold for fewer scores, not for targets that look like non-targets or score above all."""
    data = ze.ScoreMatrix(np.random.default_rng(0).normal(size=(60, 6)), np.repeat(np.arange(6), 10)).to_scores()
    resampler = PairResampler(PreparedScores(data))
    found = resampler.unseen()
    resampler.runs = np.arange(len(resampler.placed.middle))
    assert resampler.unseen() == found


def test_values_on_fewer_people_are_those_of_all_atoms(scores):
    rng = np.random.default_rng(1)
    people = np.array([f"p{i:02}" for i in range(40)])
    pairs = [rng.integers(0, 40, (2, len(one))) for one in scores]
    pairs[0][1] = pairs[0][0]
    pairs[1][1] = (pairs[1][0] + 1 + pairs[1][1] % 39) % 40
    data = ze.Scores(*scores, *(ze.Pairs(*one) for one in pairs), people, people, people, people)
    exact, few = (PreparedScores(data) for _ in range(2))
    exact.cells, few.cells = (assign_cells(*scores, exact.ranked, most) for most in (1 << 16, 2048))
    exact, few = map(PairResampler, (exact, few))
    assert len(few.placed.middle) <= 2048 < len(exact.placed.middle) / 4
    for found, expected in ((few.left_out(0, 40), exact.left_out(0, 40)), (few.halves(8), exact.halves(8))):
        for name, values in expected.items():
            assert found[name].std() == pytest.approx(values.std(), rel=0.1), name
            assert found[name].mean() == pytest.approx(values.mean(), abs=0.02 if name == "worst_case" else 1e-3), name


def test_a_person_is_left_out_whatever_is_counted_at_a_time(scores, monkeypatch):
    data = ze.ScoreMatrix(np.random.default_rng(0).normal(size=(60, 6)), np.repeat(np.arange(6), 10)).to_scores()
    expected = PairResampler(PreparedScores(data)).left_out(0, 6)
    monkeypatch.setattr(groups, "_COUNTED", 1)
    monkeypatch.setattr(groups, "BATCH", 4)
    found = PairResampler(PreparedScores(data)).left_out(0, 6)
    assert all((found[name] == values).all() for name, values in expected.items())


def placed(scores):
    return assign_cells(scores.target, scores.nontarget, rank(scores.target, scores.nontarget))


def null_of(scores):
    return pair_null(PreparedScores(scores), None)


def all_signs(people):
    return np.array(list(itertools.product((1.0, -1.0), repeat=people)))


def test_the_test_of_a_list_by_brute_force(monkeypatch):
    """Effects of people by least squares with a penalty, the excess of each person's targets, and all sign flips."""
    scores = trial_list(DESIGNS["zipf"], 0.5, 9, 3)
    few_rounds = people_test(placed(scores), find_clusters(scores), all_signs)
    monkeypatch.setattr(lists, "_ROUNDS", 300)
    monkeypatch.setattr(lists, "_SETTLED", 0.0)
    found = people_test(placed(scores), find_clusters(scores), all_signs)
    assert few_rounds.draws == pytest.approx(found.draws, abs=0.01)
    pooled = np.concatenate((scores.target, scores.nontarget))
    # neighbours of one class share their rank
    order, is_target = np.argsort(pooled), np.arange(len(pooled)) < len(scores.target)
    run = np.cumsum(np.diff(is_target[order], prepend=False) != 0)
    ranks = np.empty(len(pooled))
    ranks[order] = [np.flatnonzero(run == of_score).mean() for of_score in run]
    normal = norm.ppf((ranks + 0.5) / len(pooled))
    mated, others = normal[: len(scores.target)], normal[len(scores.target) :]
    person = {name: number for number, name in enumerate(sorted(set(scores.enrolment_speakers)))}
    first, second = (
        np.array([person[names[i]] for i in side])
        for names, side in (
            (scores.enrolment_speakers, scores.nontarget_pairs.enrolment),
            (scores.trial_speakers, scores.nontarget_pairs.trial),
        )
    )
    n, pairs = len(person), sorted(set(zip(first.tolist(), second.tolist(), strict=True)))
    design, means, weights = np.zeros((len(pairs), 2 * n + 1)), np.empty(len(pairs)), np.empty(len(pairs))
    for k, (i, j) in enumerate(pairs):
        values = others[(first == i) & (second == j)]
        design[k, [i, n + j, 2 * n]] = 1.0
        means[k], weights[k] = values.mean(), len(values) / (1 + len(values))
    penalty = np.diag([*np.ones(2 * n), 0.0])
    effects = np.linalg.solve(design.T @ (weights[:, None] * design) + penalty, design.T @ (weights * means))
    whose = np.array([person[scores.enrolment_speakers[i]] for i in scores.target_pairs.enrolment])
    excess = mated - effects[whose] - effects[n + whose] - effects[-1]
    of_people = [excess[whose == i] for i in range(n)]
    within = sum(((values - values.mean()) ** 2).sum() for values in of_people) / (len(excess) - n)
    mean, number = (np.array([function(values) for values in of_people]) for function in (np.mean, len))
    between = max(0.0, np.mean(mean**2 - within / number))
    weighted = mean / (between + within / number)
    expected = all_signs(n) @ weighted / np.linalg.norm(weighted)
    assert found.draws == pytest.approx(expected, abs=1e-9)
    assert found.statistic == pytest.approx(expected[0], abs=1e-9)
    # the other way round the same evidence speaks against targets
    turned = replace(scores, target=-scores.target, nontarget=-scores.nontarget)
    assert people_test(placed(turned), find_clusters(scores), all_signs).statistic == pytest.approx(-found.statistic)


@pytest.mark.parametrize(
    ("design", "people", "enrolments"), [("equal", 10, 3), ("zipf", 30, 1), ("heavy", 10, 1), ("heavy", 30, 3)]
)
def test_lists_that_tell_nothing_are_seldom_called_a_leak(design, people, enrolments):
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (199, people))
    p_values = []
    for seed in range(150):
        scores = trial_list(DESIGNS[design], 0.0, people, (1, seed), enrolments=enrolments)
        test = people_test(placed(scores), find_clusters(scores), lambda _: signs)
        p_values.append(permutation_p_value(test.statistic, test.draws))
    assert 0.005 < np.mean(np.array(p_values) <= 0.05) < 0.1
    assert 0.35 < np.mean(np.array(p_values) <= 0.5) < 0.65


def test_a_weak_leak_is_found_as_often_as_by_one_who_knows_what_chance_does():
    """The other one goes by the area under the ROC, and knows its distribution where nothing leaks."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (199, 30))
    areas, found = {0.0: [], 0.35: []}, []
    for shift, of_shift in areas.items():
        for seed in range(100):
            scores = trial_list(DESIGNS["zipf"], shift, 30, (2, seed))
            of_shift.append((scores.target[:, None] > scores.nontarget).mean())
            if shift:
                test = people_test(placed(scores), find_clusters(scores), lambda _: signs)
                found.append(permutation_p_value(test.statistic, test.draws) <= 0.05)
    assert np.mean(found) >= np.mean(np.array(areas[0.35]) > np.quantile(areas[0.0], 0.95))


def test_effects_are_recovered():
    scores = trial_list(DESIGNS["crossed"], 0.0, 150, 0, targets=20, nontargets=60)
    simulated = ListSimulator(scores, find_clusters(scores), placed(scores))
    people, pair, enrolment, trial, chance = simulated.deviations
    assert people > 2 * pair
    (drawn,) = simulated.draw(np.random.default_rng(0), 1)
    total = np.std(np.concatenate(drawn.scores))
    assert total == pytest.approx(1.0, rel=0.15)
    assert chance == pytest.approx(0.7 / 1.8, rel=0.4)
    assert max(enrolment, trial) < people


def test_what_scores_share_is_counted_as_by_products_of_incidence_matrices():
    rng = np.random.default_rng(0)
    some = np.sort(rng.choice(300, 200, replace=False))
    people = _Effect((rng.integers(12, size=300), rng.integers(12, size=300)), 12)
    recordings = _Effect((rng.integers(90, size=300),), 90)
    values = rng.normal(size=200)
    matrices = []
    for effect in (people, recordings):
        index = np.concatenate([place[some] for place in effect.places])
        rows = np.tile(np.arange(200), len(effect.places))
        matrices.append(csr_matrix((np.ones(len(index)), (rows, index)), shape=(200, effect.number)))
        kept = effect.on(some)
        assert kept.sum_of_squares(values) == pytest.approx(((matrices[-1].T @ values) ** 2).sum())
        assert kept.shared_with_itself() == matrices[-1].power(2).sum()
        assert kept.shared_with(kept) == (matrices[-1].T @ matrices[-1]).power(2).sum()
    both = people.on(some).shared_with(recordings.on(some))
    assert both == (matrices[0].T @ matrices[1]).power(2).sum()


def test_which_null_suits_which_scores():
    sparse = trial_list(DESIGNS["equal"], 0.0, 12, 0)
    assert isinstance(null_of(sparse), ListNull)
    complete = complete_list(DESIGNS["equal"], 0.0, 12, 0)
    null = null_of(complete)
    assert isinstance(null, PairNull)
    assert (null.unit, null_of(ze.Scores([1.0, 2.0], [0.0])).unit) == ("speaker", "label")


def test_a_list_says_what_its_p_value_is_of():
    made = (trial_list(DESIGNS["equal"], shift, 20, 0) for shift in (0.0, 3.0))
    weak, strong = (ze.evaluate(scores, options=ze.Options(null=40)) for scores in made)
    assert "|null:list20|" in strong.signature
    assert strong["d_ece"].null.tested_by == "list"
    assert strong["d_ece"].p_value == strong["linkability"].p_value == 1 / 41
    assert len(strong["d_ece"].null.draws) == 40
    assert strong["linkability"].null.draws == ()
    assert strong["d_ece"].null.mean < strong["d_ece"].value
    (read,) = from_json(to_json([strong]))
    assert read["d_ece"] == strong["d_ece"]
    # one test for the row, however many measures share it
    assert chances([strong])[0].p_value == strong["d_ece"].p_value
    assert chances([weak, strong])[1].p_value == strong["d_ece"].p_value
    assert chances([weak, strong])[0].p_value > weak["d_ece"].p_value


def test_beside_the_test_of_a_list_no_measure_is_significant_below_the_quantile_of_its_null():
    options = ze.Options(null=40, intervals=0)
    rows = [ze.evaluate(trial_list(DESIGNS["zipf"], 0.7, 14, seed), options=options) for seed in range(8)]
    others = [row[name] for row in rows for name in ("worst_case", "linkability")]
    for result in others:
        assert result.p_value > 0.05 or result.value >= result.null.quantile
    assert any(row["d_ece"].p_value <= 0.05 < row["worst_case"].p_value for row in rows)


def test_recordings_without_names_are_joined_by_the_key():
    """Recordings that are mated are one person: twenty people, not two hundred recordings."""
    named = trial_list(DESIGNS["equal"], 1.0, 20, 0, targets=30)
    nameless = replace(named, enrolment_speakers=None, trial_speakers=None)
    assert len(find_clusters(nameless).names) < 60 < len(named.enrolments) + len(named.trials)
    assert ze.evaluate(nameless, options=ze.Options(null=0))["eer"].spread.error == pytest.approx(
        ze.evaluate(named, options=ze.Options(null=0))["eer"].spread.error, rel=0.3
    )


def test_what_a_list_tells_does_not_move_its_null():
    """Targets that score higher are no effect of pairs of people."""
    nothing, much = (ze.evaluate(trial_list(DESIGNS["equal"], shift, 40, 0, targets=40)) for shift in (0.0, 4.0))
    for name in ("d_ece", "linkability"):
        assert much[name].null.mean == pytest.approx(nothing[name].null.mean, abs=0.02), name
        assert much[name].value > 10 * much[name].null.mean + 0.1, name


def test_long_lists_in_cells_are_like_lists_of_scores(monkeypatch):
    scores = trial_list(DESIGNS["crossed"], 0.0, 30, 0, targets=100, nontargets=900)

    def drawn():
        found = ListNull(PreparedScores(scores)).draw(0, 40)
        return {name: values.mean() for name, values in found.items()}, np.std(found["d_ece"]) / np.sqrt(40.0)

    expected, error = drawn()
    monkeypatch.setattr("zeroevidence.uncertainty.lists._EXACT", 100)
    monkeypatch.setattr("zeroevidence.uncertainty.lists._PART", 1000)
    found, _ = drawn()
    assert found["d_ece"] == pytest.approx(expected["d_ece"], abs=4 * error)
    assert found["d_ece"] != expected["d_ece"]
