"""The choices of a protocol: what each changes in speech and scores, and where it is not offered."""

from dataclasses import replace

import numpy as np
import pytest

from tests.auditing.people import joined, named
from tests.effort import slow
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.auditing import AuditOptions, EmbeddingSets, audit
from zeroevidence.auditing.embedding_sets import draw_sets, recordings_of_each
from zeroevidence.auditing.protocols import (
    ENROLLED,
    PROTOCOLS,
    ProtocolChoice,
    ProtocolOption,
    first_recordings,
    pooled,
    sex_classifier,
)
from zeroevidence.auditing.step_attack import score_trials
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.evaluation import Options
from zeroevidence.evaluation.results import from_json, to_json
from zeroevidence.evaluation.rows.about import DrawUse, Protocol
from zeroevidence.report.document import audit_text


def speech(people=40, each=8, sexes=("f", "m"), noise=0.5) -> EmbeddingSets:
    """People of several sexes that can be heard, in one split."""
    rng = np.random.default_rng(0)
    index, sex = np.repeat(np.arange(people), each), np.arange(people) % len(sexes)
    vectors = rng.normal(size=(people, 6))
    vectors[:, 0] = 6.0 * sex
    vectors = vectors[index] + noise * rng.normal(size=(len(index), 6))
    embeddings = named(vectors, index, sex=np.array(sexes)[sex[index]])
    return draw_sets(embeddings, embeddings, 0, 0)[0][0]


def relabelled(sets, change) -> EmbeddingSets:
    """The sets with other labels of sex in each part."""
    parts = {
        name: Embeddings(part.vectors, part.ids, part.speakers, {"sex": change(name, part.attributes["sex"])})
        for name, part in sets.parts().items()
    }
    return EmbeddingSets(**parts)


def protocols(name, sets) -> list[Protocol]:
    """The protocols of the options of a choice."""
    options = PROTOCOLS.find(name).options(sets.train, sets)
    return list(dict.fromkeys(option.protocol(Protocol(sets.most_enrolled)) for option in options))


@pytest.mark.parametrize(("each", "expected"), [(8, [1, 2]), (10, [1, 2, 4]), (2, [])])
def test_fewer_recordings_are_enrolled_than_there_are(each, expected):
    sets = speech(each=each)
    assert [protocol.enrolled for protocol in protocols("enrolled", sets)] == expected
    for option, number in zip(PROTOCOLS.find("enrolled").options(sets.train, sets), expected, strict=True):
        changed = option.sets(sets)
        assert set(recordings_of_each(changed.eval_enrol)) == set(recordings_of_each(changed.dev_enrol)) == {number}
        assert np.array_equal(changed.eval_trial.vectors, sets.eval_trial.vectors)


def test_the_same_recordings_are_enrolled_of_every_encoder_and_every_draw():
    sets = speech()
    again = sets.with_draws([joined(sets)])
    fewer = again.with_enrolment(lambda part: first_recordings(part, 2))
    assert fewer.draws[0]["eval_enrol"].ids.tolist() == fewer.eval_enrol.ids.tolist()
    assert set(first_recordings(sets.eval_enrol, 1).ids) < set(fewer.eval_enrol.ids)


def test_trials_are_taken_together_where_a_person_has_several():
    assert protocols("pooled", speech(each=8)) == [Protocol(4, tried=4)]
    assert protocols("pooled", speech(each=2)) == []
    part = Embeddings(
        [[1.0, 0.0], [3.0, 2.0], [5.0, 5.0]],
        ["a", "b", "c"],
        ["x", "x", "y"],
        {"sex": ["f", "f", "m"], "n": ["1", "2", "3"]},
    )
    together = pooled(part)
    assert together.vectors.tolist() == [[2.0, 1.0], [5.0, 5.0]]
    assert together.ids.tolist() == ["x, 2 recordings", "y, 1 recordings"]
    assert {name: values.tolist() for name, values in together.attributes.items()} == {
        "sex": ["f", "m"],
        "n": ["", "3"],
    }


@pytest.mark.parametrize(
    ("unknown", "expected"),
    [
        ((), {"told", "heard"}),
        (("dev_trial", "eval_trial"), {"heard"}),
        (("train",), {"told"}),
        (("eval_enrol",), set()),
        (tuple(speech().parts()), set()),
    ],
)
def test_a_sex_is_told_heard_or_neither(unknown, expected):
    sets = relabelled(speech(), lambda name, sex: np.full_like(sex, "") if name in unknown else sex)
    assert {protocol.sex for protocol in protocols("sex", sets)} == expected
    assert protocols("sex", speech(sexes=("f",))) == []


def test_a_sex_is_heard_only_if_enough_people_were_learned_from():
    train = speech().train
    assert sex_classifier(train) is not None
    men = np.unique(train.speakers[train.attributes["sex"] == "m"])
    assert sex_classifier(train.take(~np.isin(train.speakers, men[3:]))) is None
    assert sex_classifier(train.take(~np.isin(train.speakers, men[4:]))) is not None
    assert sex_classifier(Embeddings(train.vectors, train.ids, train.speakers)) is None


@pytest.mark.parametrize("source", ["told", "heard"])
def test_people_of_another_sex_are_put_back_and_the_others_keep_their_order(source):
    sets = speech()
    matrix = score_trials(Cosine().fit(*sets.training()), [sets.eval_enrol], sets.eval_trial, DrawUse())
    options = PROTOCOLS.find("sex").options(sets.train, sets)
    option = [each for each in options if each.protocol(Protocol(1)).sex == source][-1]
    changed = option.scores(matrix, sets.eval_trial, sets.eval_enrol)
    sex_of = dict(zip(sets.eval_enrol.speakers.tolist(), sets.eval_enrol.attributes["sex"].tolist(), strict=True))
    sexes = np.array([sex_of[name] for name in matrix.enrolment_names.tolist()])
    tried = np.array([sex_of[name] for name in matrix.trial_speakers.tolist()])
    for row in range(len(tried)):
        same = sexes == tried[row]
        assert changed.scores[row, same].min() > changed.scores[row, ~same].max()
        assert np.array_equal(np.argsort(changed.scores[row, same]), np.argsort(matrix.scores[row, same]))
    assert np.array_equal(changed.mated, matrix.mated)


FAST = Options(intervals=0, null=0, linkability="pav")


def people(number=40, each=8, noise=2.0, labels=True) -> Embeddings:
    """People who differ a little, and by sex."""
    rng = np.random.default_rng(0)
    index, sex = np.repeat(np.arange(number), each), np.arange(number) % 2
    vectors = rng.normal(size=(number, 8))
    vectors[:, 0] += 2.0 * sex
    attributes = {"sex": np.array(["f", "m"])[sex[index]]} if labels else {}
    return named(vectors[index] + noise * rng.normal(size=(len(index), 8)), index, **attributes)


def audited(embeddings, effort="full", **settings):
    usual = AuditOptions(effort=effort, attackers=("backend-informed",), folds=0, measuring=FAST)
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
    assert "4 enrolled, 4 tried together" in " ".join(audit_text(result, verbose=True).split())


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


def test_the_curve_over_enrolled_recordings(result, monkeypatch):
    curve = result.enrolment_curve
    assert curve.amount == (1, 2, 4)
    assert list(curve.bits) == sorted(curve.bits)
    assert result.strongest.curves["alid_over_enrolment"].y == curve.bits
    assert ("enrolment-pays" in {flag.code for flag in result.strongest.flags}) == (curve.gain >= 0.1)
    monkeypatch.setattr(PROTOCOLS, "_entries", {ENROLLED.name: ENROLLED})
    assert audited(people()).enrolment_curve == curve  # it ends with the usual protocol, whatever others there are


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
        result = audited(people(each=2), backends=("cosine",))
    finally:
        PROTOCOLS.remove("nothing")
    assert Protocol(1, tried=9) in {row.about.protocol for row in result.rows}
    assert result.enrolment_curve is None
