"""Results as a condition of a build."""

import pytest

from zeroevidence.cli.output import Gate
from zeroevidence.errors import UsageError
from zeroevidence.evaluation import Evaluation, MeasureResult
from zeroevidence.evaluation.finding.beside import flag_row
from zeroevidence.evaluation.rows.flags import FLAGS, flag
from zeroevidence.evaluation.rows.setup import Resampling, Setup

ROW = Evaluation({"eer": MeasureResult(0.25, "rate"), "tag": MeasureResult("B", "category")}, labels={"system": "ours"})


@pytest.mark.parametrize(
    ("text", "holds"),
    [("eer>0.2", True), ("eer > 0.25", False), ("eer>=0.25", True), ("eer<0.3", True), ("eer<=2e-1", False)],
)
def test_a_condition_that_holds_is_a_line(text, holds):
    lines = Gate.parse(text).failures([ROW, ROW])
    assert len(lines) == 2 * holds
    assert all(line.startswith("gate failed: ours: eer = 0.25 ") for line in lines)


def bounded(bound, flags=(), setup=None, **more):
    result = MeasureResult(0.5, "bit", bound=bound, **more)
    return Evaluation({"d_ece": result}, labels={"system": "ours"}, flags=flags, setup=setup or Setup())


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("d_ece>0.55", []),
        ("bound(d_ece)>0.55", ["gate failed: ours: bound(d_ece) = 0.6 > 0.55"]),
        (" bound( d_ece ) > 0.55 ", ["gate failed: ours: bound(d_ece) = 0.6 > 0.55"]),
        ("bound(d_ece)>0.6", []),
        ("bound(d_ece)<=0.6", ["gate failed: ours: bound(d_ece) = 0.6 <= 0.6"]),
    ],
)
def test_a_gate_can_ask_for_the_bound(text, lines):
    assert Gate.parse(text).failures([bounded(0.6, estimate=0.4)]) == lines


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (bounded(None), "computed without intervals"),
        (bounded(None, flags=(flag("no-intervals", speakers=9),)), "9 speakers are too few for intervals"),
        (bounded(None, setup=Setup(intervals=Resampling("speaker", 10))), "has no interval here"),
    ],
)
def test_a_missing_bound_is_refused_with_the_reason(row, reason):
    with pytest.raises(UsageError, match=rf"ours has no bound\(d_ece\): .*{reason}"):
        Gate.parse("bound(d_ece)>0.55").failures([row])


@pytest.mark.parametrize(
    ("name", "reason"), [("worst_case", "as a maximum has none"), ("wer", "no side on which an attacker learns more")]
)
def test_some_measures_have_no_bound(name, reason):
    row = Evaluation({name: MeasureResult.of(name, 0.5)})
    with pytest.raises(UsageError, match=reason):
        Gate.parse(f"bound({name})>0.1").failures([row])


NO_CONDITIONS = ("bound()>1", "bound(eer", "bound(nonsense)>1", "estimate(eer)>1", "eer", "eer=1", "eer>x", "eer>1.2.3")


@pytest.mark.parametrize("text", [*NO_CONDITIONS, "nonsense>1"])
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(UsageError):
        Gate.parse(text)


@pytest.mark.parametrize(("text", "reason"), [("d_ece>1", "ours has no d_ece"), ("tag>1", "not a single number")])
def test_a_row_that_cannot_be_judged_does_not_pass(text, reason):
    with pytest.raises(UsageError, match=reason):
        Gate.parse(text).failures([ROW])


@pytest.mark.parametrize("code", [code for code, (severity, _) in FLAGS.items() if severity == "fault"])
def test_a_row_with_a_fault_does_not_pass(code):
    words = {"measure": "EER", "kind": "targets"} if code == "eer-above-half" else {}
    wrong = Evaluation({"eer": MeasureResult(0.9, "rate")}, labels={"system": "turned"}, flags=(flag(code, **words),))
    failures = Gate.parse("eer<0.3").failures([ROW, wrong])
    assert failures[1:] == [f"gate failed: turned: eer cannot be judged because of {code}"]


@pytest.mark.parametrize(("low", "passes"), [(0.45, True), (0.51, False)])
def test_an_eer_that_is_above_half_by_chance_may_pass(low, passes):
    measured = MeasureResult(0.52, "rate", low=low, high=0.6)
    row = flag_row(Evaluation({"eer": measured}, counts={"target": 9, "nontarget": 9}))
    assert (Gate.parse("eer<0.3").failures([row]) == []) == passes
