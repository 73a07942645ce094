"""The audit: bounds where they belong, informed attackers above ignorant ones, the strongest as headline."""

import os
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from zeroevidence.attack.adapter import Adapter
from zeroevidence.attack.backends import Cosine
from zeroevidence.attack.plda import Plda
from zeroevidence.audit import EmbeddingSets, audit_embeddings
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options

QUICK = Options(intervals=20, null=99, linkability="pav")
DIMENSION = 12


def corpus(seed=0, people=60, per_person=10, noise=0.5):
    """Embeddings, split and role of each: a third of the people to train on, to calibrate on, to evaluate."""
    rng = np.random.default_rng(seed)
    index = np.repeat(np.arange(people), per_person)
    x = rng.normal(size=(people, DIMENSION))[index] + noise * rng.normal(size=(len(index), DIMENSION))
    names = np.array([f"s{i:02d}" for i in index])
    ids = np.array([f"{name}-{j % per_person}" for j, name in enumerate(names)])
    split = np.array(["train", "dev", "eval"])[index % 3]
    role = np.where(np.arange(len(index)) % per_person < 4, "enrol", "trial")
    return Embeddings(x, ids, names), split, role


def changed(embeddings, vectors):
    return Embeddings(vectors, embeddings.ids, embeddings.speakers)


def rotated(embeddings, noise=0.0, seed=1):
    """A protector that turns the space (the ignorant is lost) and adds loud noise in a few fixed directions."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(DIMENSION, DIMENSION)))[0]
    x = embeddings.vectors @ turn
    x[:, :4] += noise * rng.normal(size=(len(x), 4))
    return changed(embeddings, x)


def sets(seed=0, protector=rotated, **words):
    embeddings, split, role = corpus(seed)
    return tuple(EmbeddingSets.from_roles(e, split, role) for e in (embeddings, protector(embeddings, **words)))


def named(audit, attacker, backend=None):
    return next(
        row
        for row in audit.rows
        if row.labels["attacker"].startswith(attacker) and backend in (None, row.labels["backend"])
    )


def value(row, name):
    return row.metrics[name].value


@pytest.fixture(scope="module")
def audit():
    seen = []
    found = audit_embeddings(
        *sets(noise=4.0), options=QUICK, system="rotation", dataset="made", progress=lambda *now: seen.append(now)
    )
    assert seen == [(i, 10) for i in range(1, 11)]
    return found


def test_bounds(audit):
    assert len(audit.rows) == len(audit.cards) == 2 * (2 + 3)
    for backend in ("cosine", "plda"):
        plain, noise = named(audit, "unprotected", backend), named(audit, "random", backend)
        assert value(plain, "top1") > 0.9
        assert value(plain, "eer") < 0.1
        assert abs(value(noise, "alid")) < 0.1
        assert noise.metrics["alid"].p_value > 0.01
        assert noise.metrics["d_ece"].p_value > 0.01


def test_who_knows_more_learns_more(audit):
    for backend in ("cosine", "plda"):
        ignorant, lazy = named(audit, "ignorant", backend), named(audit, "lazy-informed", backend)
        assert value(lazy, "alid") > value(ignorant, "alid") + 0.2
        assert value(lazy, "d_ece") > value(ignorant, "d_ece")
    assert value(named(audit, "semi", "plda"), "alid") > value(named(audit, "lazy", "plda"), "alid")


def test_the_strongest_is_the_headline(audit):
    attackers = [row for row in audit.rows if not row.labels["attacker"].startswith(("unprotected", "random"))]
    assert audit.strongest in attackers
    assert value(audit.strongest, "alid") == max(value(row, "alid") for row in attackers)
    assert audit.strongest.labels["attacker"] in audit.summary
    assert "among 20" in audit.summary
    assert audit.cards[audit.headline].name == audit.strongest.labels["attacker"]


def test_labels_flags_and_cross_measures(audit):
    plain, ignorant, lazy = (named(audit, name, "plda") for name in ("unprotected", "ignorant", "lazy-informed"))
    assert dict(lazy.labels) == {
        "system": "rotation",
        "dataset": "made",
        "split": "eval",
        "enrolment": "anonymised",
        "trial": "anonymised",
        "attacker": "lazy-informed (enrolment anonymised, trained on original)",
        "backend": "plda",
    }
    assert plain.labels["attacker"] == "unprotected (enrolment original, trained on original)"
    assert "deid" in ignorant.metrics
    assert "voice_distinctiveness_gain" in lazy.metrics
    assert not any(flag.startswith("no-positive-control") for row in audit.rows for flag in row.flags)
    assert "calibrated on" in audit.cards[0].to_text()


def test_frozen_and_repeatable(audit):
    with pytest.raises(FrozenInstanceError):
        audit.headline = 0
    again = audit_embeddings(*sets(noise=4.0), options=QUICK, system="rotation", dataset="made")
    assert [row.signature for row in again.rows] == [row.signature for row in audit.rows]
    assert again.summary == audit.summary


def test_matched_calibration_does_not_mislead():
    quick = Options(intervals=0, null=0)
    words = {"options": quick, "attackers": ["ignorant"], "backends": ["cosine"]}
    own = audit_embeddings(*sets(), **words, calibration="attacker").strongest
    assert any(flag.startswith("calibration-misled") for flag in own.flags)
    matched = audit_embeddings(*sets(), **words).strongest
    assert value(own, "alid") < value(matched, "alid")
    assert abs(value(matched, "alid")) < 0.2
    assert value(own, "d_ece") == value(matched, "d_ece")


def test_summary_when_nothing_is_found():
    def erased(embeddings):
        return changed(embeddings, np.random.default_rng(3).normal(size=embeddings.vectors.shape))

    found = audit_embeddings(*sets(protector=erased), options=QUICK, backends=["cosine"])
    assert "none did better than chance" in found.summary
    assert "no proof" in found.summary


def test_summary_without_a_positive_control():
    embeddings, split, role = corpus()
    noise = changed(embeddings, np.random.default_rng(3).normal(size=embeddings.vectors.shape))
    lost = EmbeddingSets.from_roles(noise, split, role)
    found = audit_embeddings(lost, lost, options=QUICK, attackers=["lazy-informed"], backends=["cosine"])
    assert "cannot say" in found.summary


def test_own_estimators_are_not_changed():
    mine = Plda(lda=5)
    found = audit_embeddings(
        *sets(),
        options=Options(intervals=0, null=0),
        attackers=["lazy-informed"],
        backends=[mine, Cosine(centre=False)],
    )
    assert {row.labels["backend"] for row in found.rows} == {"plda5", "cosine"}
    assert not hasattr(mine, "psi_")


def test_adapter_attacker():
    if not os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
        pytest.importorskip("torch")
    found = audit_embeddings(
        *sets(noise=4.0),
        options=Options(intervals=0, null=0),
        attackers=["semi-informed", "semi-informed-adapter"],
        backends=["cosine"],
        adapter=Adapter(epochs=10, hidden=16),
    )
    row = found.rows[-1]
    assert "adapter network" in row.labels["attacker"]
    assert value(row, "alid") > value(named(found, "semi-informed (enrolment anonymised, trained"), "alid") - 0.2


def test_shared_speakers_are_refused():
    embeddings, split, role = corpus()
    for one, other, words in (
        ("train", "dev", "training and development"),
        ("train", "eval", "training and evaluation"),
        ("dev", "eval", "development and evaluation"),
    ):
        mixed = split.copy()
        mixed[np.flatnonzero(split == one)[9]] = other
        with pytest.raises(InputError, match=f"{words} share 1 speaker"):
            EmbeddingSets.from_roles(embeddings, mixed, role)


def test_other_errors():
    embeddings, split, role = corpus()
    good = EmbeddingSets.from_roles(embeddings, split, role)
    with pytest.raises(InputError, match="no embedding is of dev, trial"):
        EmbeddingSets.from_roles(embeddings, split, np.where(split == "dev", "enrol", role))
    parts = good.parts()
    with pytest.raises(InputError, match="both enrolment and trial"):
        EmbeddingSets(**{**parts, "dev_trial": parts["dev_enrol"]})
    with pytest.raises(InputError, match="speakers are not known"):
        EmbeddingSets(**{**parts, "train": Embeddings(parts["train"].vectors)})
    with pytest.raises(InputError, match="dimensions"):
        EmbeddingSets(**{**parts, "train": changed(parts["train"], parts["train"].vectors[:, :3])})
    fewer = split.copy()
    fewer[embeddings.speakers == "s00"] = "nobody"
    with pytest.raises(InputError, match="'s00' is in only one"):
        audit_embeddings(good, EmbeddingSets.from_roles(embeddings, fewer, role))
    with pytest.raises(UsageError, match="more than once"):
        audit_embeddings(good, good, backends=["cosine", "cosine"])
    with pytest.raises(UsageError, match="at least one"):
        audit_embeddings(good, good, attackers=[])


@pytest.mark.parametrize("encoder", ["ecapa", "resemblyzer"])
def test_audiomnist(shared, encoder):
    arrays = np.load(shared / "embeddings" / f"audiomnist_{encoder}.npz")
    vectors, speakers = arrays["vectors"], arrays["speaker"]
    rng = np.random.default_rng(0)
    take = np.array([int(name.partition("_")[2]) for name in arrays["utterance"]])
    split = np.array(["train", "dev", "eval"])[speakers.astype(int) % 3]
    role = np.where(take < 6, "enrol", "trial")
    turn = np.linalg.qr(rng.normal(size=(vectors.shape[1],) * 2))[0]
    hidden = (vectors + 3.0 * vectors.std() * rng.normal(size=vectors.shape)) @ turn
    original, protected = (
        EmbeddingSets.from_roles(Embeddings(x, arrays["utterance"], speakers), split, role) for x in (vectors, hidden)
    )
    found = audit_embeddings(original, protected, options=Options(intervals=0, null=19, linkability="pav"))
    for backend in ("cosine", "plda"):
        assert value(named(found, "unprotected", backend), "top1") > 0.95
        assert abs(value(named(found, "random", backend), "alid")) < 0.1
        assert value(named(found, "semi", backend), "alid") > value(named(found, "ignorant", backend), "alid")
    assert 0.3 < value(found.strongest, "top1") < 1.0
