"""The sentence on other protocols, on either side of what they promised."""

from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.attack.attackers.attacker import find_attacker
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation import Options, evaluate, findings
from zeroevidence.evaluation.rows.about import About, Protocol
from zeroevidence.report.html.methods import describe_methods
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.protocols import protocol_sentences

TOGETHER = Protocol(4, tried=3, sex="told")


def made(gap, development, protocol, role):
    rng = np.random.default_rng(0)
    mated = np.arange(60) % 20
    people = np.array([f"p{k:02d}" for k in range(20)])
    scores = ScoreMatrix(
        rng.normal(size=(60, 20)) + gap * np.eye(20)[mated],
        mated,
        enrolments=people,
        trial_speakers=people[mated],
        enrolment_speakers=people,
    )
    about = replace(
        About.against(find_attacker("semi-informed")), role=role, development=development, protocol=protocol
    )
    options = Options(intervals=0, null=0, linkability="pav")
    return evaluate(scores, labels={"system": "pitch", "backend": "whitened"}, about=about, options=options)


@pytest.fixture(scope="module")
def attack():
    return made(2.0, 1.5, Protocol(4), "attack")


@pytest.fixture(scope="module")
def other():
    return made(3.5, 2.5, TOGETHER, "protocol")


def test_the_protocol_that_promised_most(attack, other):
    rows = [attack, other, replace(other, about=replace(other.about, development=0.5, protocol=Protocol(2)))]
    (sentence,) = protocol_sentences(rows, findings(rows)[0])
    assert "(4 recordings enrolled, 3 of one person tried together, people of the same sex searched for" in sentence
    named, bits = f"{100 * other.number('top1'):.3g} %", f"{other.number('alid'):.2f} bits"
    assert sentence.endswith(f"puts the right name to {named} of 60 trials, and a trial gives away {bits}.")
    assert sentence in " ".join(verdict(rows).paragraph.split())
    assert any(paragraph.startswith("Protocols: ") for paragraph in describe_methods(rows, ["alid"]))


def test_a_protocol_that_promised_less(attack, other):
    rows = [attack, replace(other, about=replace(other.about, development=1.5))]
    assert protocol_sentences(rows, findings(rows)[0]) == [
        "No other protocol that was tried promised more on other people."
    ]


def test_without_other_protocols_nothing_is_said(attack, other):
    elsewhere = replace(other, labels={**other.labels, "system": "mcadams"})
    for rows in ([attack], [attack, elsewhere]):
        assert protocol_sentences(rows, findings(rows)[0]) == []
    assert "rotocol" not in verdict([attack]).paragraph
    assert not any(paragraph.startswith("Protocols: ") for paragraph in describe_methods([attack], ["alid"]))


def test_the_main_number_does_not_change(attack, other):
    alone, beside = findings([attack])[0], findings([attack, other])[0]
    assert (alone.strongest, alone.attempts) == (beside.strongest, beside.attempts) == (0, (0,))
    assert alone.chance[0] == beside.chance[0]
