"""Rows that are evaluated in other processes are the same, in the same order."""

import numpy as np
import pytest

from zeroevidence.auditing.attacks import row_evaluation
from zeroevidence.auditing.attacks.row_evaluation import RowTask, evaluate_tasks
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation import About, Options

OPTIONS = Options(intervals=10, null=10)


def task(number):
    rng = np.random.default_rng(number)
    mated = np.repeat(np.arange(4), 3)
    scores = rng.normal(size=(12, 4)) + number * np.eye(4)[mated]
    return RowTask(ScoreMatrix(scores, mated), None, {"system": f"s{number}"}, About(), OPTIONS)


@pytest.fixture
def started(monkeypatch):
    """How often processes were asked for."""
    seen, original = [], row_evaluation.in_processes

    def counting(make):
        seen.append(make)
        return original(make)

    monkeypatch.setattr(row_evaluation, "in_processes", counting)
    return seen


def test_many_rows_are_evaluated_by_processes_and_are_the_same(started, monkeypatch):
    here = list(evaluate_tasks(map(task, range(3)), 3, OPTIONS, workers=1, processes=2))
    assert not started
    monkeypatch.setattr(row_evaluation, "_MANY", 30)
    there = list(evaluate_tasks(map(task, range(3)), 3, OPTIONS, workers=1, processes=2))
    assert len(started) == 1
    assert [each.row.labels["system"] for each in there] == ["s0", "s1", "s2"]
    for before, after in zip(here, there, strict=True):
        assert before.row.to_dict() == after.row.to_dict()
        assert after.seconds > 0.0


def test_an_error_of_a_task_comes_through(monkeypatch):
    monkeypatch.setattr(row_evaluation, "_MANY", 1)

    def tasks():
        yield task(1)
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        list(evaluate_tasks(tasks(), 2, OPTIONS, workers=1, processes=2))
