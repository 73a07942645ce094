"""The Python API as people who have never read the manual expect it."""

import copy
import pickle

import numpy as np
import pytest

import zeroevidence as ze

TARGET = [2.0, 1.4, 0.9, 3.1, 0.2, 2.2, 1.1, 0.7]
NONTARGET = [-1.0, 0.3, 0.8, -0.4, 0.1, 1.2, -2.0, 0.5, -0.6, 0.0]
QUICK = {"options": ze.Options(intervals=20, null=20)}


def kinds_of(values):
    """The same numbers as everything that holds numbers."""
    import polars as pl

    pd, torch = pytest.importorskip("pandas"), pytest.importorskip("torch")
    return {
        "list": values,
        "tuple": tuple(values),
        "numpy": np.array(values),
        "polars": pl.Series(values),
        "pandas": pd.Series(values),
        "pandas nullable": pd.Series(values, dtype="Float64"),
        "torch with a gradient": torch.tensor(values, dtype=torch.float64, requires_grad=True),
    }


MEASURES = ["eer", "cllr", "cllr_min", "dcf_act", "dcf_min", "d_ece", "worst_case", "linkability", "tag"]


def test_measures_take_whatever_holds_numbers():
    nontargets = kinds_of(NONTARGET)
    for measure in (getattr(ze, name) for name in MEASURES):
        expected = measure(np.array(TARGET), np.array(NONTARGET))
        for kind, target in kinds_of(TARGET).items():
            assert measure(target, nontargets[kind]) == expected, kind


@pytest.mark.parametrize("name", ["eer", "ece_profile"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ([1.0, float("nan")], "NaN at position 1"),
        ([], "at least one score, got none"),
        (["a", "b"], "expected numbers, got text"),
        ([[1.0, 2.0]], r"expected 1 dimension\(s\), got shape \(1, 2\)"),
        ([[1.0], [1.0, 2.0]], "lists of different lengths"),
    ],
)
def test_measures_refuse_what_is_no_scores(name, bad, message):
    measure = getattr(ze, name)
    with pytest.raises(ze.InputError, match=f"target: .*{message}"):
        measure(bad, NONTARGET)
    with pytest.raises(ze.InputError, match=f"nontarget: .*{message}"):
        measure(TARGET, bad)


@pytest.fixture(scope="module")
def result():
    return ze.evaluate(TARGET, NONTARGET, labels={"system": "mine <b>"}, **QUICK)


def test_evaluate_two_arrays(result):
    same = ze.evaluate(ze.Scores(TARGET, NONTARGET), labels={"system": "mine <b>"}, **QUICK)
    assert same == result
    row = ze.evaluate(np.array(TARGET), nontarget=np.array(NONTARGET), options=ze.Options(null=0, intervals=0))
    assert (row["eer"].value, row["eer"].low, row["d_ece"].p_value) == (result["eer"].value, None, None)


def test_evaluate_says_what_it_wants():
    for arguments, message in (
        ((TARGET,), "nontarget scores beside"),
        ((ze.Scores(TARGET, NONTARGET), NONTARGET), "not both"),
    ):
        with pytest.raises(ze.InputError, match=message):
            ze.evaluate(*arguments)


def test_evaluate_what_was_read(tmp_path):
    (tmp_path / "scores").write_text("a t1 1.0\nb t1 0.2\na t2 0.1\nb t2 0.9\n")
    (tmp_path / "trials").write_text("a t1 target\nb t1 nontarget\na t2 nontarget\nb t2 target\n")
    read = ze.evaluate(
        ze.read_scores(tmp_path / "scores", key=tmp_path / "trials"), options=ze.Options(intervals=0, null=0)
    )
    assert read["eer"].value == 0.0
    assert read.counts["target"] == 2
    (tmp_path / "scores").write_text("a t1 1.0\nb t1 0.2\na t2 0.1\n")
    loose = ze.read_scores(tmp_path / "scores", key=tmp_path / "trials", options=ze.ReadingOptions(allow_missing=True))
    with_note = ze.evaluate(loose, options=ze.Options(intervals=0, null=0))
    assert "|missing:1|" in with_note.signature
    assert [flag.code for flag in with_note.flags] == ["missing"]


@pytest.mark.parametrize(
    "labels", [[1, 0, 0], [True, False, False], ["target", "nontarget", "nontarget"], ["1", "0", "0"]]
)
def test_scores_from_labels(labels):
    scores = ze.Scores.from_labels([2.0, -1.0, 0.5], labels)
    assert (scores.target.tolist(), scores.nontarget.tolist()) == ([2.0], [-1.0, 0.5])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 2], "labels: 2 at position 1; expected 1, 0, target or nontarget"),
        (["imposter", "target"], "labels: imposter at position 0"),
        ([0, 1, 1], r"labels: expected 2, one per score, got shape \(3,\)"),
        ([1, 1], "nontarget: expected at least one score"),
    ],
)
def test_scores_from_wrong_labels(labels, message):
    with pytest.raises(ze.InputError, match=message):
        ze.Scores.from_labels([1.0, 2.0], labels)


def test_a_measured_value_is_a_number(result):
    measured = result["d_ece"]
    assert float(measured) == measured.value
    assert (f"{measured:.3f}", f"{measured}") == (f"{measured.value:.3f}", str(measured.value))
    assert f"{result['tag']:>3}" == f"{result['tag'].value:>3}"
    with pytest.raises(TypeError, match="not a single number"):
        float(result["tag_counts"])
    with pytest.raises(KeyError, match="'alid' was not measured; there is eer"):
        result["alid"]
    assert ("d_ece" in result, "alid" in result, next(iter(result))) == (True, False, "eer")


def test_data_frames(result):
    import polars as pl

    pd = pytest.importorskip("pandas")

    frame = result.to_frame()
    assert isinstance(frame, pl.DataFrame)
    values = dict(frame.select("measure", "value").iter_rows())
    assert values["eer"] == result["eer"].value
    assert frame.filter(pl.col("measure") == "tag")["category"].item() == result["tag"].value
    assert frame.filter(pl.col("measure") == "d_ece")["low"].item() == result["d_ece"].low
    other = result.to_frame(backend="pandas")
    assert isinstance(other, pd.DataFrame)
    assert other.columns.tolist() == frame.columns
    with pytest.raises(ze.UsageError, match="nonsense"):
        result.to_frame(backend="nonsense")


def test_how_a_result_is_shown(result):
    lines = repr(result).splitlines()
    assert 3 <= len(lines) <= 15
    assert lines[0] == "Evaluation(system mine <b>: 8 target, 10 nontarget)"
    html = result._repr_html_()
    assert html.startswith("<table>")
    assert "mine &lt;b&gt;" in html
    assert "mine <b>" not in html


def test_copies_and_files(result, tmp_path):
    for twin in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result), copy.copy(result)):
        assert twin == result
        assert twin.signature == result.signature
    twin = pickle.loads(pickle.dumps(result))
    assert np.array_equal(twin.replicates.left_out["eer"], result.replicates.left_out["eer"])
    file = tmp_path / "result.json"
    result.save(file)
    assert ze.read_result(file) == result
    with pytest.raises(ze.UsageError, match="exists"):
        result.save(file)
    result.save(file, overwrite=True)
    ze.save_results([result, result], file, overwrite=True)
    assert ze.read_results(file) == [result, result]
    with pytest.raises(ze.UsageError, match="has 2 rows"):
        ze.read_result(file)
    with pytest.raises(ze.InputError, match="cannot be read"):
        ze.read_result(tmp_path / "nothing.json")


def test_link_and_evaluate():
    rng = np.random.default_rng(0)
    enrol = rng.normal(size=(12, 8))
    mated = np.repeat(np.arange(12), 5)
    trial = enrol[mated] + 0.5 * rng.normal(size=(60, 8))
    row = ze.link(trial, enrol, mated, ze.LinkOptions(weight=2.0)).evaluate(
        options=ze.Options(intervals=50), labels={"system": "x"}
    )
    assert row["top1"].value > 0.8
    assert row["alid"].low < row["alid"].value
    assert row.setup.search.scoring == "cosine"
    assert "|scoring:cosine|" in row.signature
    assert row.counts["identities"] == 12


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"linkability": "nonsense"}, "linkability: expected one of density, pav, histogram, got 'nonsense'"),
        ({"ddof": 2}, "ddof: expected one of 0, 1, got 2"),
        ({"dcf_prior": 1.0}, "dcf_prior: expected a number between 0 and 1"),
        ({"intervals": -1}, "intervals: expected a whole number from 0 on, got -1"),
        ({"l2": float("nan")}, "l2: expected a finite number from 0 on"),
        ({"balanced": "yes"}, "balanced: expected one of False, True"),
    ],
)
def test_options_are_checked_when_made(settings, message):
    with pytest.raises(ze.UsageError, match=message):
        ze.Options(**settings)


def test_every_measure_of_the_registry_is_in_a_full_result():
    """The same battery gives value, interval and null; a measure says itself what it has."""
    from zeroevidence.measure.measures import MEASURES as registered

    mated = np.repeat(np.arange(6), 5)
    scores = np.random.default_rng(0).normal(size=(30, 6)) + np.eye(6)[mated]
    other = ze.Scores(np.arange(4.0) + 1.0, np.arange(4.0))  # some measures are of LLRs only
    row = ze.evaluate(ze.ScoreMatrix(scores, mated), calibrate=other, **QUICK)
    expected = [name for name, entry in registered.items() if entry.family in ("one-to-one", "search")]
    expected.remove("eer_closed_set")  # it is given where the search leaves trials out
    assert list(row.metrics) == expected
    for name, measured in row.metrics.items():
        assert (measured.null is not None) == registered[name].null, name
