"""Searches of a cross-validation over people, measured as one."""

from dataclasses import replace
from itertools import permutations, product
from math import factorial, prod

import numpy as np
import pytest

import zeroevidence as ze
from tests.effort import slow
from zeroevidence.data.matrix import FoldedScores
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.searches import FoldedSearch
from zeroevidence.measure.search.rank import join_names

FAST = Options(intervals=0, null=199, linkability="pav")
QUICK = Options(intervals=0, null=60, linkability="pav")


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
        row = ze.evaluate(folded(seed), options=QUICK)
        for name in rejected:
            rejected[name] += row[name].p_value <= 0.05
    assert max(rejected.values()) <= 9, rejected  # of 100, more are seen with a chance of 3 %


def test_the_null_exchanges_people_within_folds():
    """All exchanges by hand: what the search would show, evaluated as if these people were the true ones."""
    data = folded(3, separation=1.0, sizes=(3, 2))
    options = Options(intervals=0, null=0)
    task = FoldedSearch(data, options)
    supposed = task.hypothetical(task.measure())
    orders = [list(permutations(range(size))) for size in data.sizes]
    assert prod(len(one) for one in orders) == prod(map(factorial, data.sizes))
    for exchange in product(*orders):
        mated = [np.array(order)[part.mated] for order, part in zip(exchange, data.parts, strict=True)]
        by_hand = FoldedScores(
            tuple(
                ze.ScoreMatrix(p.scores, m, p.trials, p.enrolments, p.enrolment_speakers[m], p.enrolment_speakers)
                for p, m in zip(data.parts, mated, strict=True)
            ),
            data.dev,
        )
        expected = FoldedSearch(by_hand, options).measure().evidence
        lid = np.concatenate([s.evidence(m, data.identities).lid for s, m in zip(supposed, mated, strict=True)])
        np.testing.assert_allclose(lid, expected.lid, atol=1e-12)


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


def test_intervals_leave_out_people():
    row = ze.evaluate(folded(separation=1.5, sizes=(5, 5, 5)), options=Options(intervals=200, null=0))
    assert row["alid"].low < float(row["alid"]) < row["alid"].high
    assert row.setup.intervals.times == 15


def test_several_recordings_of_folds():
    data = folded(2, separation=1.5, sizes=(3, 3, 3), trials=6)
    row = ze.evaluate(data, options=Options(intervals=0, null=0))
    apart = [
        ze.evaluate(part, dev=dev, options=Options(intervals=0, null=0))
        for part, dev in zip(data.parts, data.dev, strict=True)
    ]
    assert row.recordings.held == (1, 2, 3, 5)
    assert row.recordings.people == (9,) * 4
    for at in range(4):
        assert row.recordings.worth[at] == pytest.approx(np.mean([one.recordings.worth[at] for one in apart]))
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
    with pytest.raises(InputError, match="'a' is in two folds"):
        FoldedScores((one, one), (fold(["c", "d"], 0), fold(["c", "d"], 0)))
    with pytest.raises(InputError, match="share 1 speaker"):
        ze.evaluate(FoldedScores((one, fold(["c", "d"], 0)), (fold(["b", "e"], 0), fold(["a", "b"], 0))))


@pytest.mark.parametrize("scaling", ["centre", "none", "auto"])
def test_rows_of_folds_are_scaled_as_asked(scaling):
    plain, row = (ze.evaluate(folded(separation=3.0, trials=4), options=replace(QUICK, row_scaling=name, null=0))
                  for name in ("standardise", scaling))  # fmt: skip
    assert row["top1"].value == plain["top1"].value
    assert row.setup.search.row_scaling.startswith("auto:" if scaling == "auto" else scaling)
    assert row.setup.search.folds == (3, 3, 3)
    if scaling != "auto":
        assert row["alid"].value != plain["alid"].value
    for result in (plain, row):
        curve = result.curves["alid_over_identities"]
        assert curve.x == (2.0, 3.0)
        assert curve.y[-1] == pytest.approx(result["alid"].value, abs=1e-9)
    assert from_json(to_json([row])) == [row]


@pytest.mark.parametrize("sizes", [(5, 4), (4, 3, 3)])
def test_names_are_counted_in_the_null_as_in_the_search(sizes):
    """The exchange that changes nothing gives what was observed."""
    data, options = folded(2, separation=2.0, sizes=sizes, trials=4), Options(intervals=0, null=0)
    task = FoldedSearch(data, options)
    result = task.measure()
    by_hypothesis = join_names([fold.names(fold.mated) for fold in task.hypothetical(result)])
    columns = [tuple(getattr(counts, name) for name in ("trials", "named", "compared", "falsely"))
               for counts in (result.names, by_hypothesis)]  # fmt: skip
    assert sorted(zip(*columns[0], strict=True)) == sorted(zip(*columns[1], strict=True))
