"""The audit: bounds where they belong, informed attackers above ignorant ones, the strongest as headline."""

import os
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from tests.auditing.people import changed, corpus
from zeroevidence.attack.attackers import find_attacker
from zeroevidence.attack.ladder import Adapter
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.evaluation import Options
from zeroevidence.run import Run

QUICK = Options(intervals=10, null=39, linkability="pav")
DIMENSION = 12
MADE = AuditOptions(backends=("cosine", "plda"), measuring=QUICK, system="rotation", dataset="made")


def rotated(embeddings, noise=0.0, seed=1):
    """A protector that turns the space (the ignorant is lost) and adds loud noise in a few fixed directions."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(DIMENSION, DIMENSION)))[0]
    x = embeddings.vectors @ turn
    x[:, :4] += noise * rng.normal(size=(len(x), 4))
    return changed(embeddings, x)


def sets(protector=rotated, **words):
    embeddings, split, role = corpus()
    return tuple(EmbeddingSets.from_roles(e, split, role) for e in (embeddings, protector(embeddings, **words)))


def named(audited, attacker, backend=None):
    return next(
        row for row in audited.rows if row.about.threat.name == attacker and backend in (None, row.labels["backend"])
    )


def value(row, name):
    return row.metrics[name].value


@pytest.fixture(scope="module")
def audited():
    seen = []
    found = audit(*sets(noise=4.0), MADE, run=Run(progress=lambda *_: lambda *now: seen.append(now)))
    assert seen[-12:] == [(i, 12) for i in range(1, 13)]  # rows, after fits
    return found


def test_rows(audited):
    assert len(audited.rows) == len(audited.cards) == 12
    assert [(row.about.role, row.labels["backend"]) for row in audited.rows] == [
        *(("control", "cosine"), ("floor", "cosine"), *[("attack", "cosine")] * 3),
        *(("control", "plda"), *[("attack", "plda")] * 3),
        *[("attack", "fusion")] * 3,
    ]


def test_bounds(audited):
    noise = named(audited, "random")
    assert (noise.about.role, noise.labels["system"]) == ("floor", "random")
    assert abs(value(noise, "alid")) < 0.1
    assert noise.metrics["alid"].p_value > 0.01
    assert noise.metrics["d_ece"].p_value > 0.01
    for backend in ("cosine", "plda"):
        plain = named(audited, "unprotected", backend)
        assert (plain.about.role, plain.labels["system"]) == ("control", "unprotected")
        assert value(plain, "top1") > 0.9
        assert value(plain, "eer") < 0.1


def test_who_knows_more_learns_more(audited):
    for backend in ("cosine", "plda"):
        ignorant, lazy = named(audited, "ignorant", backend), named(audited, "lazy-informed", backend)
        assert value(lazy, "alid") > value(ignorant, "alid") + 0.2
        assert value(lazy, "d_ece") > value(ignorant, "d_ece")
    semi, lazy = (named(audited, name, "plda") for name in ("backend-informed", "lazy-informed"))
    assert value(semi, "alid") > value(lazy, "alid")


def test_the_strongest_is_the_headline(audited):
    attackers = [row for row in audited.rows if row.about.role == "attack"]
    assert audited.strongest in attackers
    most = max((row.about for row in attackers), key=lambda about: about.development)
    fused = [row.about.development for row in attackers if row.about.fused]
    least = most.development - most.development_error
    assert 0.0 < most.development_error < 0.5
    assert audited.strongest.about.development == (max(fused) if max(fused) >= least else most.development)
    assert all(row.about.development is None for row in audited.rows if row.about.is_bound)
    finding = audited.finding
    assert audited.cards[finding.strongest].name == str(audited.strongest.about.threat)
    control, floor = audited.rows[finding.control], audited.rows[finding.floor]
    assert (control.about.role, floor.about.role) == ("control", "floor")
    assert finding.by_system == (finding.strongest,)
    assert finding.level in ("recognised", "leaks")


def test_labels_flags_and_cross_measures(audited):
    ignorant, lazy = (named(audited, name, "plda") for name in ("ignorant", "lazy-informed"))
    named_labels = {"system": "rotation", "dataset": "made", "split": "eval", "backend": "plda"}
    sides = {"enrolment": "anonymised", "trial": "anonymised"}
    attacker = "lazy-informed (enrolment anonymised, trained on original)"
    assert dict(lazy.labels) == named_labels | sides | {"attacker": attacker}
    assert lazy.about.threat == replace(find_attacker("lazy-informed"), calibration="matched")
    assert "deid" in ignorant.metrics
    assert "voice_distinctiveness_gain" in lazy.metrics
    codes = {flag.code for row in audited.rows for flag in row.flags}
    assert not codes & {"no-positive-control", "control-failed"}


def test_without_an_encoder_that_was_trained_on_anonymised_speech_nobody_is_semi_informed(audited):
    assert "semi-informed" not in {row.about.threat.name for row in audited.rows}
    assert "semi-informed: no encoder that was trained on anonymised speech" in audited.left_out
    for row, card in zip(audited.rows, audited.cards, strict=True):
        assert card.name == row.labels["attacker"] == str(row.about.threat)
        assert f"trained on {row.about.threat.extractor} speech" in card.extractor
    with pytest.raises(InputError, match="no attacker can be tried: semi-informed: no encoder that was trained on"):
        audit(*sets(), AuditOptions(measuring=QUICK, attackers=("semi-informed",), backends=("cosine",)))


def test_matched_calibration_does_not_mislead():
    quick = Options(intervals=0, null=0)
    matching = AuditOptions(measuring=quick, attackers=("ignorant",), backends=("cosine",))
    own = audit(*sets(), replace(matching, calibration="attacker")).strongest
    assert "calibration-misled" in {flag.code for flag in own.flags}
    matched = audit(*sets(), matching).strongest
    assert "calibration-misled" not in {flag.code for flag in matched.flags}
    assert value(own, "alid") < value(matched, "alid")
    assert abs(value(matched, "alid")) < 0.2
    assert value(own, "d_ece") == value(matched, "d_ece")


def test_nothing_is_found_where_nothing_is():
    def erased(embeddings):
        return changed(embeddings, np.random.default_rng(3).normal(size=embeddings.vectors.shape))

    found = audit(*sets(protector=erased), AuditOptions(measuring=QUICK, backends=("cosine",)))
    assert found.finding.level == "not-found"
    assert found.finding.chance[found.finding.control].beaten
    attacks = [row for row in found.rows if row.about.role == "attack"]
    assert all("attacker-at-chance" in {flag.code for flag in row.flags} for row in attacks)


def test_adapter_attacker():
    if not os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
        pytest.importorskip("torch")
    found = audit(
        *sets(noise=4.0),
        AuditOptions(
            measuring=Options(intervals=0, null=0),
            attackers=(
                "backend-informed",
                "backend-informed-adapter",
            ),
            backends=("cosine",),
            adapter=Adapter(epochs=10, hidden=16),
        ),
    )
    row = found.rows[-1]
    assert row.about.threat.adapter
    assert "adapter network" in row.labels["attacker"]
    (without,) = (one for one in found.rows if one.about.threat.name == "backend-informed" and one is not row)
    assert value(row, "alid") > value(without, "alid") - 0.2


def test_shared_speakers_are_refused():
    embeddings, split, role = corpus()
    names = {"train": "training", "dev": "development", "eval": "evaluation"}
    for one, other in combinations(names, 2):
        mixed = split.copy()
        mixed[np.flatnonzero(split == one)[9]] = other
        with pytest.raises(InputError, match=f"{names[one]} and {names[other]} share 1 speaker"):
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
        audit(good, EmbeddingSets.from_roles(embeddings, fewer, role))
    with pytest.raises(UsageError, match="more than once"):
        audit(
            good,
            good,
            AuditOptions(
                backends=(
                    "cosine",
                    "cosine",
                )
            ),
        )
    with pytest.raises(UsageError, match="at least one"):
        audit(good, good, AuditOptions(attackers=()))
