"""Attacks that fail are left out and named, and rows that other processes evaluate are the same."""

import numpy as np
import pytest

from tests.auditing.people import joined, named
from tests.effort import slow
from zeroevidence import parallel
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit
from zeroevidence.auditing.embedding_sets import draw_sets
from zeroevidence.auditing.step_attack import FailedAttack
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options
from zeroevidence.report.document import audit_text
from zeroevidence.run import Run

FAST = Options(intervals=0, null=0)


def sides(people=36, each=4, dimension=6) -> tuple[EmbeddingSets, EmbeddingSets]:
    """People, and the same voice for all of them."""
    rng = np.random.default_rng(0)
    index = np.repeat(np.arange(people), each)
    vectors = rng.normal(size=(people, dimension))[index] + 0.2 * rng.normal(size=(len(index), dimension))
    return draw_sets(named(vectors, index), named(np.ones_like(vectors), index), 0, 0)[0]


@pytest.mark.parametrize("folds", [None, pytest.param(3, marks=slow)])
def test_the_same_voice_for_everybody_does_not_end_an_audit(folds):
    speech = [joined(side) for side in sides()] if folds else sides()
    result = audit(*speech, AuditOptions(folds=folds, effort="quick", measuring=FAST))
    assert result.failed == (FailedAttack("backend-informed", "embeddings", "whitened", result.failed[0].reason),)
    assert "directions without variance" in result.failed[0].reason
    for row in result.rows:
        flags = [str(flag) for flag in row.flags if flag.code == "attacks-failed"]
        assert len(flags) == (row.about.role == "attack")
        assert all("was left out: backend-informed, embeddings, whitened" in flag for flag in flags)
    assert "1 attack could not be carried out" in " ".join(audit_text(result, verbose=True).split())
    assert len(result.rows) == len(result.cards) == len(result.seconds)
    with pytest.raises(InputError, match=r"^no attack on protected speech could be carried out .*whitened.*variance"):
        audit(
            *speech, AuditOptions(folds=folds, attackers=("backend-informed",), backends=("whitened",), measuring=FAST)
        )


def test_rows_that_other_processes_evaluate_are_the_same(monkeypatch):
    monkeypatch.setattr(parallel, "_LITTLE", 0.0)
    people = sides()[0]
    options = AuditOptions(effort="quick", measuring=Options(intervals=10, null=10))
    here, there = (audit(people, people, options, run=Run(cores=cores)) for cores in (1, 2))
    assert [row.to_dict() for row in here.rows] == [row.to_dict() for row in there.rows]
    assert min(there.seconds) > 0.0
