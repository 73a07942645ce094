"""The strongest attacker under other protocols: chosen on development people, beside the main rows and not in them."""

from dataclasses import replace

import numpy as np
import pytest

from tests.effort import slow
from zeroevidence.auditing import AuditOptions, audit
from zeroevidence.auditing.protocols import PROTOCOLS, ProtocolChoice, ProtocolOption
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.about import Protocol
from zeroevidence.report.document import audit_text

FAST = Options(intervals=0, null=0, linkability="pav")


def people(number=40, each=8, noise=2.0, labels=True) -> Embeddings:
    """People who differ a little, and by sex."""
    rng = np.random.default_rng(0)
    index, sex = np.repeat(np.arange(number), each), np.arange(number) % 2
    vectors = rng.normal(size=(number, 8))
    vectors[:, 0] += 2.0 * sex
    names = np.array([f"p{i:02d}" for i in index])
    ids = np.array([f"{name}-{i}" for i, name in enumerate(names)])
    attributes = {"sex": np.array(["f", "m"])[sex[index]]} if labels else {}
    return Embeddings(vectors[index] + noise * rng.normal(size=(len(index), 8)), ids, names, attributes)


def audited(embeddings, effort="full", **settings):
    usual = AuditOptions(effort=effort, attackers=("semi-informed",), folds=0, measuring=FAST)
    return audit(embeddings, embeddings, replace(usual, **settings))


@pytest.fixture(scope="module")
def result():
    return audited(people())


def test_every_row_says_its_protocol(result):
    rows = from_json(to_json(result.rows))
    usual, others = [], []
    for row in rows:
        (others if row.about.role == "protocol" else usual).append(row)
    assert {row.about.protocol for row in usual} == {Protocol(4)}
    assert not any("protocol" in row.labels for row in usual)
    protocols = [row.about.protocol for row in others]
    assert {Protocol(4, tried=4), Protocol(4, sex="told"), Protocol(4, sex="heard")} < set(protocols)
    assert [row.labels["protocol"] for row in others] == list(map(str, protocols))
    assert len(rows) == len(result.cards) == len(result.seconds)
    assert "4 enrolled, 4 tried together" in " ".join(audit_text(result).split())


def test_development_people_choose(result):
    others = {row.about.protocol: row for row in result.rows if row.about.role == "protocol"}
    best = max(others, key=lambda protocol: others[protocol].about.development)
    assert best == Protocol(4, tried=4, sex="told")
    assert others[best].number("alid") > others[Protocol(4, tried=4)].number("alid") > result.strongest.number("alid")
    assert others[best].counts["trials"] == others[best].counts["identities"] == result.strongest.counts["speakers"]
    assert others[Protocol(4, sex="told")].counts["trials"] == result.strongest.counts["trials"]


def test_the_main_rows_are_those_of_an_audit_without_other_protocols(result, monkeypatch):
    monkeypatch.setattr(PROTOCOLS, "_entries", {})
    alone = audited(people())
    main = [row for row in result.rows if row.about.role != "protocol"]
    assert [row.metrics for row in main] == [row.metrics for row in alone.rows]
    assert result.finding.strongest == alone.finding.strongest
    assert result.strongest.about.role == "attack"


def test_the_curve_over_enrolled_recordings(result):
    curve = result.enrolment_curve
    assert curve.amount == (1, 2, 4)
    assert list(curve.bits) == sorted(curve.bits)
    assert result.strongest.curves["alid_over_enrolment"].y == curve.bits
    assert ("enrolment-pays" in {flag.code for flag in result.strongest.flags}) == (curve.gain >= 0.1)


@slow
@pytest.mark.parametrize("labels", [True, False])
def test_folds_of_people(labels):
    rows = audited(people(12, labels=labels, noise=1.0), folds=3).rows
    protocols = {row.about.protocol for row in rows if row.about.role == "protocol"}
    assert Protocol(4, tried=4) in protocols
    assert any(protocol.sex == "told" for protocol in protocols) == labels


def test_a_new_choice_is_one_entry():
    def options(_train, _sets):
        return [ProtocolOption(lambda protocol: replace(protocol, tried=9), lambda sets: sets.with_trials(lambda x: x))]

    PROTOCOLS.add(ProtocolChoice("nothing", "changes nothing", options))
    try:
        result = audited(people(each=2))
    finally:
        PROTOCOLS.remove("nothing")
    assert Protocol(1, tried=9) in {row.about.protocol for row in result.rows}
    assert result.enrolment_curve is None
