"""Audits of few people: everybody is evaluated once, by attackers who learned from the others."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from tests.auditing.people import changed, named
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit
from zeroevidence.auditing.embedding_sets import draw_sets, noise_like
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.finding.chance import row_chosen_on_development as chosen_row
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.run import Run

OPTIONS = Options(intervals=10, null=39, linkability="pav")
PLAIN = Options(intervals=0, null=0, linkability="pav")


def speech(people=9, each=4, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), each)
    vectors = rng.normal(size=(people, 16))[who] + noise * rng.normal(size=(len(who), 16))
    return named(vectors, who, "s")


def protected(embeddings, noise=0.1, seed=1):
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    return changed(embeddings, embeddings.vectors @ turn + noise * rng.normal(size=embeddings.vectors.shape))


@pytest.fixture(scope="module")
def audited():
    original = speech()
    return audit(original, protected(original), AuditOptions(effort="quick", measuring=OPTIONS, splits=1))


def test_few_people_have_the_same_p_values_with_every_seed():
    original = speech()
    released = protected(original, noise=1.5)
    options = AuditOptions(attackers=("backend-informed",), backends=("whitened",), measuring=OPTIONS)
    first, second = (audit(original, released, options, run=Run(seed=seed)).strongest for seed in (0, 1))
    assert {name: result.p_adjusted for name, result in first.metrics.items()} == {
        name: result.p_adjusted for name, result in second.metrics.items()
    }
    assert any(result.p_adjusted is not None for result in first.metrics.values())
    once = replace(options, splits=1)
    assert audit(original, released, once, run=Run(seed=1)).strongest.setup.seed == 1


def test_nine_people_who_leak_are_found(audited):
    row = audited.strongest
    assert row.counts["speakers"] == 9
    assert row.counts["identities"] == 3
    assert row.setup.search.folds == (3, 3, 3)
    assert set(row.people.speaker) == {f"s{i:02d}" for i in range(9)}
    assert row.number("top1") > 0.95
    assert row.number("eer") < 0.05  # scores of different folds are on one scale
    assert row["alid"].p_value < 0.05
    assert audited.finding.chance[audited.finding.strongest].beaten
    assert audited.finding.level == "leaks"  # few exchanges of few people: the adjusted p-value of top-1 is above 5 %


def test_rows_say_that_people_were_cross_validated(audited):
    for row, card in zip(audited.rows, audited.cards, strict=True):
        assert [flag.severity for flag in row.flags if flag.code == "cross-validated"] == ["note"]
        assert "3 folds" in " ".join(card.resources)
    assert [row.about.role for row in audited.rows[:2]] == ["control", "floor"]
    text = to_json(audited.rows)  # people of different folds were not compared: NaN in the similarity of voices
    assert to_json(from_json(text)) == text


def test_noise_differs_between_folds():
    original = speech()
    folds = [noise_like(sides[0], 0, fold) for fold, sides in enumerate(draw_sets(original, original, None, 0))]
    assert all(not np.array_equal(a.eval_trial.vectors, b.eval_trial.vectors) for a, b in pairwise(folds))


def test_what_folds_choose_is_a_row_of_its_own():
    """Where folds choose different steps, what each chose is evaluated, and speaks for the attacker."""
    original = speech(people=12, noise=0.8)
    found = audit(original, protected(original, noise=1.6), AuditOptions(effort="quick", measuring=PLAIN, splits=1))
    steps = [(row.about.threat.name, row.labels["backend"]) for row in found.rows]
    chosen = [i for i, (_, step) in enumerate(steps) if step == "chosen"]
    assert chosen
    for i in chosen:
        alike = [number for number, (name, _) in enumerate(steps) if name == steps[i][0]]
        assert chosen_row(found.rows, alike, found.finding.chance) == i
        (fusion,) = (number for number in alike if steps[number][1] == "fusion")
        assert found.rows[i].about.development >= found.rows[fusion].about.development


def test_a_corpus_of_many_people_is_split_as_before():
    original = speech(people=40)
    anonymised = protected(original)
    ((sets, _),) = draw_sets(original, anonymised, None, 0)
    assert [len(sets.speakers(split)) for split in ("train", "dev", "eval")] == [12, 12, 16]
    found = audit(original, anonymised, AuditOptions(backends=("cosine",), measuring=PLAIN))
    assert found.strongest.counts["identities"] == 16
    assert found.strongest.setup.search.folds == ()
    assert not any(flag.code == "cross-validated" for row in found.rows for flag in row.flags)


def test_folds_can_be_asked_for_and_refused():
    original = speech(people=20)
    anonymised = protected(original)
    plain = AuditOptions(backends=("cosine",), measuring=PLAIN)
    assert audit(original, anonymised, replace(plain, folds=3)).strongest.setup.search.folds == (7, 7, 6)
    assert audit(original, anonymised, replace(plain, folds=0)).strongest.counts["identities"] == 8
    ((sets, other),) = draw_sets(original, anonymised, 0, 0)
    assert isinstance(sets, EmbeddingSets)
    with pytest.raises(UsageError, match="shared out already"):
        audit(sets, other, replace(plain, folds=3))


def test_six_people_are_evaluated_and_four_are_too_few():
    original = speech(people=6)
    found = audit(original, protected(original), AuditOptions(backends=("cosine",), measuring=OPTIONS))
    assert found.strongest.setup.search.folds == (2, 2, 2)
    assert found.finding.level == "too-few"  # eight exchanges of people cannot show anything
    few = speech(people=4)
    with pytest.raises(InputError, match=r"4 speakers, .* expected more speakers"):
        audit(few, protected(few), AuditOptions(backends=("cosine",), measuring=PLAIN))
    with pytest.raises(InputError, match="is in only one of original and protected"):
        audit(original, protected(original).take(np.arange(20)), AuditOptions(backends=("cosine",)))
