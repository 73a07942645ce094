"""Attacks that fail are left out and named, and rows that other processes evaluate are the same."""

from functools import partial

import numpy as np
import pytest

from tests.auditing.people import joined
from tests.effort import slow
from zeroevidence.auditing import AuditOptions, EmbeddingSets, attack_plan, audit
from zeroevidence.auditing.embedding_sets import draw_sets
from zeroevidence.auditing.step_attack import FailedAttack
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options, evaluate
from zeroevidence.report.document import audit_text
from zeroevidence.run import Run

FAST = Options(intervals=0, null=0)


def sides(people=36, each=4, dimension=6) -> tuple[EmbeddingSets, EmbeddingSets]:
    """People, and the same voice for all of them."""
    rng = np.random.default_rng(0)
    index = np.repeat(np.arange(people), each)
    vectors = rng.normal(size=(people, dimension))[index] + 0.2 * rng.normal(size=(len(index), dimension))
    names = np.array([f"p{i:02d}" for i in index])
    ids = np.array([f"{name}-{i}" for i, name in enumerate(names)])
    same = np.ones_like(vectors)
    return draw_sets(Embeddings(vectors, ids, names), Embeddings(same, ids, names), 0, 0)[0]


@pytest.mark.parametrize("folds", [None, pytest.param(3, marks=slow)])
def test_the_same_voice_for_everybody_does_not_end_an_audit(folds):
    speech = [joined(side) for side in sides()] if folds else sides()
    result = audit(*speech, AuditOptions(folds=folds, effort="quick", measuring=FAST))
    assert result.failed == (FailedAttack("semi-informed", "embeddings", "whitened", result.failed[0].reason),)
    assert "directions without variance" in result.failed[0].reason
    for row in result.rows:
        flags = [str(flag) for flag in row.flags if flag.code == "attacks-failed"]
        assert len(flags) == (row.about.role == "attack")
        assert all("was left out: semi-informed, embeddings, whitened" in flag for flag in flags)
    assert "1 attack could not be carried out" in " ".join(audit_text(result).split())
    assert len(result.rows) == len(result.cards) == len(result.seconds)
    with pytest.raises(InputError, match=r"^no attack on protected speech could be carried out .*whitened.*variance"):
        audit(*speech, AuditOptions(folds=folds, attackers=("semi-informed",), backends=("whitened",), measuring=FAST))


def task(number):
    rng = np.random.default_rng(number)
    mated = np.repeat(np.arange(4), 3)
    scores = rng.normal(size=(12, 4)) + number * np.eye(4)[mated]
    options = Options(intervals=10, null=10)
    return partial(evaluate, ScoreMatrix(scores, mated), labels={"system": f"s{number}"}, options=options, run=Run())


def test_rows_that_other_processes_evaluate_are_the_same(monkeypatch):
    settings = {"permutations": 30, "run": Run(), "processes": 2}
    here = list(attack_plan.evaluate_tasks(map(task, range(3)), **settings))
    monkeypatch.setattr(attack_plan, "_MANY", 30)
    there = list(attack_plan.evaluate_tasks(map(task, range(3)), **settings))
    assert [row.labels["system"] for row, _ in there] == ["s0", "s1", "s2"]
    for (before, _), (after, seconds) in zip(here, there, strict=True):
        assert before.to_dict() == after.to_dict()
        assert seconds > 0.0

    def ends():
        yield task(1)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(attack_plan.evaluate_tasks(ends(), **settings))
