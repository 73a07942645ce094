"""Long lists are counted in cells: nothing that anybody prints may notice."""

import numpy as np
import pytest

import zeroevidence as ze
from zeroevidence.calibrate.pav import Counts, count, pool, rank
from zeroevidence.measure.pairs.verification import eer_of
from zeroevidence.measure.pairs.zebra import d_ece_of
from zeroevidence.uncertainty import groups, lists
from zeroevidence.uncertainty.lists import PreparedScores, assign_cells, cell_starts, certain_runs
from zeroevidence.uncertainty.pairs import PairResampler


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
    assert placed.target.tolist() == [2, 2, 3, 0]
    assert placed.nontarget.tolist() == [2, 1, 1, 4]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("kind", ["normal", "heavy", "tied", "infinite", "equal"])
def test_many_scores_are_placed_as_by_a_search(kind, dtype, monkeypatch):
    monkeypatch.setattr(lists, "_BUCKETS", 1 << 10)
    monkeypatch.setattr(lists, "_BUCKETED_FROM", 1 << 10)
    monkeypatch.setattr(lists, "_BLOCK", 300)
    rng = np.random.default_rng(5)
    drawn = {
        "normal": rng.normal(size=5000),
        "heavy": rng.standard_cauchy(5000) ** 3,
        "tied": rng.normal(size=5000).round(1),
        "infinite": np.append(rng.normal(size=4999), np.inf),
        "equal": np.ones(5000),
    }
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
        tar, non = (
            np.bincount(side[keep], minlength=len(placed.middle))
            for side, keep in zip((placed.target, placed.nontarget), kept, strict=True)
        )
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
