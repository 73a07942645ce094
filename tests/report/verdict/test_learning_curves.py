"""Learning curves and training effort of attackers, in verdict and report."""

from dataclasses import replace

import numpy as np
import pytest

from zeroevidence.attack.attackers.attacker import find_attacker
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.evaluation import Curve, Options, evaluate
from zeroevidence.evaluation.rows.about import About, TrainingEffort
from zeroevidence.evaluation.rows.flags import flag
from zeroevidence.report.html.tables import effort_table
from zeroevidence.report.verdict import verdict
from zeroevidence.report.verdict.learning_curves import learning_curves, rising_sentences

NAMES = ("alid_over_training_people", "alid_over_epochs", "alid_over_draws", "alid_over_enrolment")


@pytest.fixture(scope="module")
def row():
    rng = np.random.default_rng(0)
    mated = np.arange(60) % 20
    people = np.array([f"p{k:02d}" for k in range(20)])
    scores = ScoreMatrix(
        rng.normal(size=(60, 20)) + 2.0 * np.eye(20)[mated],
        mated,
        enrolments=people,
        trial_speakers=people[mated],
        enrolment_speakers=people,
    )
    about = replace(
        About.against(find_attacker("semi-informed")), development=1.5, spent=TrainingEffort(40, 7, 12, 320)
    )
    labels = {"system": "pitch", "backend": "whitened", "encoder": "campplus-trained"}
    return evaluate(scores, labels=labels, about=about, options=Options(intervals=20, null=99, linkability="pav"))


def grown(row, bits, code):
    found = replace(row, curves={**row.curves, "alid_over_training_people": Curve((10.0, 20.0, 40.0), bits)})
    return found.with_flags(flag(code, gain=bits[-1] - bits[-2])) if code else found


def test_a_rising_curve_makes_the_verdict_a_lower_bound(row):
    words = verdict([grown(row, (0.5, 1.0, 1.6), "still-rising")]).paragraph
    assert "gives away at least" in words
    assert "With 40 training people instead of 20 it learned 0.60 bits more; this has not levelled off." in words


def test_a_level_curve_does_not(row):
    level = grown(row, (0.5, 1.5, 1.52), "")
    words = verdict([level]).paragraph
    assert "at least" not in words.split("On average")[1].split(".")[0]
    assert learning_curves(level)[0].sentence == (
        "With 40 training people instead of 20 it learned 0.02 bits more; this has levelled off."
    )


def test_each_kind_of_curve_has_its_flag(row):
    curves = {name: Curve((6.0, 12.0), (1.0, 0.9)) for name in NAMES}
    both = replace(row, curves={**row.curves, **curves}).with_flags(flag("training-pays", gain=0.1))
    assert [(curve.over, curve.rising) for curve in learning_curves(both)] == [
        ("training people", False),
        ("epochs of training", True),
        ("runs of the anonymiser", False),
        ("enrolled recordings of each person", False),
    ]
    assert rising_sentences(both) == [
        "With 12 epochs of training instead of 6 it learned 0.10 bits less; this has not levelled off."
    ]
    assert rising_sentences(row) == []


def test_the_table_holds_the_training_effort_of_every_attacker(row):
    table = effort_table([row])
    texts = [cell.text for cell in table.body[0]]
    assert texts[:9] == ["1", "semi-informed", "campplus-trained", "whitened", "40", "7", "12", "320", "1"]
    assert texts[9] == "1.50"
    ignorant = replace(row.about, threat=find_attacker("ignorant"))
    assert effort_table([replace(row, about=ignorant)]).body[0][8].text == ""
    assert effort_table([replace(row, about=replace(row.about, spent=None))]) is None
