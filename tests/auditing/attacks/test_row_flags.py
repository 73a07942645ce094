"""Flags that an audit adds to its rows, on either side of their conditions."""

from dataclasses import replace

import pytest

from zeroevidence.attack.attackers import find_attacker
from zeroevidence.auditing.embedding_audit import with_curve
from zeroevidence.auditing.encoded_speech import LearningCurve
from zeroevidence.auditing.row_flags import with_choice_flags, with_step_flags
from zeroevidence.evaluation import About, Evaluation, MeasureResult, findings

ABOUT = About.against(find_attacker("semi-informed"))


def attack(backend, development, low, bits, high):
    measured = MeasureResult(bits, "bit", low=low, high=high)
    about = replace(ABOUT, development=development)
    counts = {"identities": 20}
    metrics = {"alid": measured, "top1": MeasureResult(0.5, "rate")}
    return Evaluation(metrics, counts, labels={"system": "s", "backend": backend}, about=about)


@pytest.mark.parametrize(("low", "expected"), [(0.7, ["development-disagrees"]), (0.5, [])])
def test_evaluated_people_contradict_the_choice_beyond_the_intervals(low, expected):
    rows = [attack("cosine", 2.0, 0.4, 0.5, 0.6), attack("plda", 1.0, low, 0.9, 1.1)]
    finding = findings(rows)[0]
    assert finding.strongest == 0
    chosen, other = with_choice_flags(rows, finding)
    assert [flag.code for flag in chosen.flags] == expected
    assert other.flags == ()
    assert all("plda learns more than this attacker" in flag.sentence for flag in chosen.flags)


def test_a_step_is_warned_of_cheaper_ones_and_not_of_the_fusion_of_all():
    cosine, whitened, fusion = (
        attack(backend, 1.0, bits - 0.1, bits, bits + 0.1)
        for backend, bits in (("cosine", 2.0), ("whitened", 1.0), ("fusion", 3.0))
    )
    rows = with_step_flags([cosine, whitened, fusion], {"cosine": 10, "whitened": 20})
    assert [[flag.code for flag in row.flags] for row in rows] == [[], ["weaker-than-cheaper-step"], []]


@pytest.mark.parametrize("code", ["still-rising", "training-pays", "draws-pay", "enrolment-pays"])
def test_a_curve_is_flagged_until_it_has_levelled_off(code):
    row = Evaluation({})
    for gain, expected in ((0.5, [code]), (0.09, []), (-0.2, [])):
        curve = LearningCurve((10, 20), (1.0, 1.0 + gain))
        assert [flag.code for flag in with_curve(row, curve, "alid_over_epochs", code).flags] == expected
    assert with_curve(row, None, "alid_over_epochs", code) == row
