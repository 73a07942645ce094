"""Learning curves and training effort of attackers, in verdict and report."""

from dataclasses import replace

import pytest

from tests.report.verdict.made import AGAINST, check_sides, search_row, text
from zeroevidence.evaluation import Curve, findings
from zeroevidence.evaluation.rows.about import TrainingEffort
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.report.page_tables import effort_table
from zeroevidence.report.verdict.phrases import curve_sentence

ABOUT = replace(AGAINST.informed, development=1.5, spent=TrainingEffort(40, 7, 12, 320))
ROW = search_row(0.4, 1.6, about=ABOUT, system="pitch", backend="whitened", encoder="campplus-trained")
LEVEL = replace(ROW, curves={"alid_over_training_people": Curve((10.0, 20.0, 40.0), (0.5, 1.0, 1.6))})
RISING = LEVEL.with_flags(flag("still-rising", gain=0.6))


def test_a_rising_curve_makes_the_verdict_a_lower_bound():
    check_sides(text, "gives away at least 1.60 bits", [[RISING]], [[LEVEL], [ROW]])
    check_sides(text, "instead of 20 it learned 0.60 bits more; this has not levelled off.", [[RISING]], [[LEVEL]])
    assert curve_sentence(findings([LEVEL])[0].curves[0]).endswith("0.60 bits more; this has levelled off.")


@pytest.mark.parametrize(
    ("curve", "over", "code"),
    [
        ("alid_over_training_people", "training people", "still-rising"),
        ("alid_over_epochs", "epochs of training", "training-pays"),
        ("alid_over_draws", "runs of the anonymiser", "draws-pay"),
        ("alid_over_enrolment", "enrolled recordings of each person", "enrolment-pays"),
    ],
)
def test_each_kind_of_curve_has_its_flag(curve, over, code):
    row = replace(ROW, curves={curve: Curve((6.0, 12.0), (1.0, 0.9))})
    assert findings([row])[0].rising == []
    (rising,) = findings([row.with_flags(flag(code, gain=0.1, amount=12, before=6))])[0].rising
    assert f"With 12 {over} instead of 6 it learned 0.10 bits less" in curve_sentence(rising)


def test_the_table_holds_the_training_effort_of_every_attacker():
    texts = [cell.text for cell in effort_table([ROW]).body[0]]
    assert texts[:10] == ["1", "semi-informed", "campplus-trained", "whitened", "40", "7", "12", "320", "1", "1.50"]
    ignorant = replace(ABOUT, threat=AGAINST.ignorant.threat)
    assert effort_table([replace(ROW, about=ignorant)]).body[0][8].text == ""
    assert effort_table([replace(ROW, about=replace(ABOUT, spent=None))]) is None
