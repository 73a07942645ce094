"""Scores in the order of their names, against sorting tuples; recordings on both sides, against comparing all."""

from __future__ import annotations

import numpy as np
import pytest

from tests.effort import repetitions
from zeroevidence.data import preparing as order
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.formats.scores.read import diagnose, read_scores
from zeroevidence.data.formats.scores.score_format import ReadingOptions
from zeroevidence.data.preparing import find_same, sort_by_name
from zeroevidence.data.scores import Pairs, Scores
from zeroevidence.errors import InputError
from zeroevidence.linkage.inputs import pair


@pytest.mark.parametrize("seed", range(repetitions(3, 50)))
def test_recordings_on_both_sides_are_found_by_name_and_by_vector(seed):
    rng = np.random.default_rng(seed)

    def drawn(count, kind):
        ids, speakers = rng.permutation([f"u{i}" for i in range(20)])[:count], rng.choice(["ada", "bob", "cy"], count)
        return Embeddings(rng.integers(0, 2, (count, 3)).astype(kind), ids, speakers)

    trial, enrol = drawn(8, np.float32), drawn(9, np.float64)
    enrolled = list(zip(enrol.ids, enrol.speakers, enrol.vectors.tolist(), strict=True))
    tried = list(zip(trial.ids, trial.speakers, trial.vectors.tolist(), strict=True))
    same = [any((who == w and (name == n or v == x)) for n, w, x in enrolled) for name, who, v in tried]
    equal = [any(who != w and v == x for _, w, x in enrolled) for _, who, v in tried]
    assert [which.tolist() for which in find_same(trial, enrol)] == [same, equal]


def test_names_of_people_and_row_numbers_are_no_names_of_recordings():
    people, vectors = ["ada", "bob"], np.eye(2)
    for ids in (people, None):
        same, equal = find_same(Embeddings(vectors, ids, people), Embeddings(vectors + 1.0, ids, people))
        assert not same.any()
        assert not equal.any()


def test_a_target_with_one_name_on_both_sides_is_refused_and_a_nontarget_is_not(tmp_path):
    lines = {"u1 u1 2.5": "nontarget", "u2 u3 1.0": "target", "u1 u4 0.5": "nontarget", "u5 u6 2.0": "target"}
    scores = tmp_path / "s.txt"
    scores.write_text("".join(f"{pair} {label}\n" for pair, label in lines.items()))
    assert read_scores(scores).relaxed == ()
    scores.write_text(scores.read_text() + "u7 u7 9.0 target\n")
    with pytest.raises(InputError, match=r"s.txt: 'u7' is compared with itself; expected another recording"):
        read_scores(scores)
    assert [problem.path for problem in diagnose(scores)] == [str(scores)]
    allowed = read_scores(scores, options=ReadingOptions(allow_same=True))
    assert [str(rule) for rule in allowed.relaxed] == ["same-recordings:1"]
    assert len(allowed.data.target) == 3


@pytest.mark.parametrize("other", ["Jose\u0301", "Jos\u00e9"])
def test_names_are_compared_in_their_composed_form_and_that_is_said(tmp_path, other):
    respelled = int(other != "Jos\u00e9")
    lines = f"Jos\u00e9 u1 2.0 target\n{other} u2 1.5 target\nbob u1 0.1 nontarget\nbob u2 0.3 nontarget\n"
    (tmp_path / "s.txt").write_text(lines, encoding="utf-8")
    loaded = read_scores(tmp_path / "s.txt")
    assert sorted(loaded.data.enrolments.tolist()) == ["Jos\u00e9", "bob"]
    assert [rule.count for rule in loaded.relaxed if rule.rule == "names-composed"] == [1] * respelled
    trial = Embeddings(np.eye(2), ["u1", "u2"], [other, "bob"])
    search = pair(trial, Embeddings(np.eye(2) + 1.0, ["e1", "e2"], ["bob", "Jos\u00e9"]))
    assert search.mated.tolist() == [1, 0]
    assert [str(rule) for rule in search.relaxed] == ["names-composed:1"] * respelled


def some_scores(seed: int, *, again: bool, named_in_order: bool) -> Scores:
    rng = np.random.default_rng(seed)
    enrolments, trials = np.array([f"e{i:02d}" for i in range(30)]), np.array([f"t{i:02d}" for i in range(40)])
    if not named_in_order:
        enrolments, trials = rng.permutation(enrolments), rng.permutation(trials)
    pairs = [rng.choice(1200, n, replace=again) for n in (90, 500)]
    target, nontarget = (Pairs(one // 40, one % 40) for one in pairs)
    values = rng.normal(size=590).round(1)
    return Scores(values[:90], values[90:], target, nontarget, enrolments=enrolments, trials=trials)


def as_tuples(scores: Scores) -> list[list[tuple[str, str, float]]]:
    return [
        list(zip(scores.enrolments[of.enrolment], scores.trials[of.trial], values.tolist(), strict=True))
        for values, of in ((scores.target, scores.target_pairs), (scores.nontarget, scores.nontarget_pairs))
    ]


@pytest.mark.parametrize("bits", [63, 5])
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("named_in_order", [False, True])
def test_scores_are_sorted_by_names_and_then_by_score(bits, again, named_in_order, monkeypatch):
    """Packed into one number each, and column by column where that has too few bits."""
    monkeypatch.setattr(order, "_BITS", bits)
    monkeypatch.setattr(order, "_BLOCK", 64)
    given = some_scores(1, again=again, named_in_order=named_in_order)
    found = sort_by_name(given)
    assert found.enrolments.tolist() == sorted(given.enrolments)
    assert as_tuples(found) == [sorted(of_class) for of_class in as_tuples(given)]
    assert as_tuples(sort_by_name(found)) == as_tuples(found)
