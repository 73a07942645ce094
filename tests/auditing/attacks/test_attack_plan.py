"""Attacks that cannot be carried out are left out and named; an audit fails where none is left."""

import numpy as np
import pytest

from zeroevidence.auditing import EmbeddingSets, audit
from zeroevidence.auditing.attacks.attack_result import FailedAttack
from zeroevidence.auditing.inputs.speaker_folds import draw_sets
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError
from zeroevidence.evaluation import Options
from zeroevidence.report.audit_folder import audit_text

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


@pytest.mark.parametrize("folds", [None, 3])
def test_the_same_voice_for_everybody_does_not_end_an_audit(folds):
    original, protected = sides()
    if folds:
        joined = [
            Embeddings(*(np.concatenate([getattr(part, field) for part in side.parts().values()]) for field in fields))
            for side in (original, protected)
            for fields in [("vectors", "ids", "speakers")]
        ]
        result = audit(*joined, folds=folds, effort="quick", options=FAST)
    else:
        result = audit(original, protected, effort="quick", options=FAST)
    assert result.failed == (FailedAttack("semi-informed", "embeddings", "whitened", result.failed[0].reason),)
    assert "directions without variance" in result.failed[0].reason
    attacks = [row for row in result.rows if row.about.role == "attack"]
    assert attacks
    for row in result.rows:
        flags = [flag for flag in row.flags if flag.code == "attacks-failed"]
        assert len(flags) == (row.about.role == "attack")
        for flag in flags:
            assert "1 attack could not be carried out and was left out: semi-informed, embeddings, whitened" in str(
                flag
            )
    assert "1 attack could not be carried out" in " ".join(audit_text(result).split())
    assert len(result.rows) == len(result.cards) == len(result.seconds)


def test_an_audit_without_any_attack_fails_with_one_message():
    with pytest.raises(InputError, match=r"^no attack on protected speech could be carried out .*whitened.*variance"):
        audit(*sides(), attackers=["semi-informed"], backends=["whitened"], options=FAST)


def test_nothing_is_flagged_where_every_attack_was_carried_out():
    original, _ = sides()
    result = audit(original, original, effort="quick", options=FAST)
    assert result.failed == ()
    assert not any(flag.code == "attacks-failed" for row in result.rows for flag in row.flags)
