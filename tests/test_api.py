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
        ([1 + 2j], "expected numbers"),
        ([[1.0, 2.0]], r"expected 1 dimension\(s\), got shape \(1, 2\)"),
        ([[1.0], [1.0, 2.0]], "lists of different lengths"),
        ([True, False], "got True and False, which are labels or decisions"),
        (np.ma.masked_array([1.0, 2.0, -50.0], [False, False, True]), "a masked array; expected only the entries"),
        ([1.0, np.ma.masked], "a masked array"),
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
        ((TARGET, [0, 1] * 4), "nontarget: 0 and 1 alone, one for each score, as labels are"),
    ):
        with pytest.raises(ze.InputError, match=message):
            ze.evaluate(*arguments)
    with pytest.raises(ze.InputError, match="labels beside scores whose classes are known"):
        ze.evaluate(TARGET, NONTARGET, labels=[1] * 8)


def test_labels_in_the_place_of_scores_are_refused():
    scores, labels = np.array(TARGET + NONTARGET), np.repeat([1, 0], [len(TARGET), len(NONTARGET)])
    for measure in (getattr(ze, name) for name in MEASURES):
        for arguments, side in (((labels, scores), "target"), ((scores, labels), "nontarget")):
            with pytest.raises(ze.InputError, match=f"^{side}: 0 and 1 alone, one for each score, as labels are"):
                measure(*arguments)
    assert ze.eer(np.ones(10), np.linspace(0.0, 0.9, 10)) == 0.0  # all at the highest score: no labels


def test_decisions_and_swapped_classes_are_doubted():
    with pytest.warns(UserWarning, match="all scores are 0 or 1"):
        assert ze.eer([1, 1, 0, 1], [0, 0, 1, 0]) == 0.25
    assert ze.eer([1.0, 1.0], [0.0]) == 0.0
    target, nontarget = np.linspace(0.0, 1.0, 30), np.linspace(0.5, 1.5, 30)
    with pytest.warns(UserWarning, match="the EER exceeds 50 % by more than chance explains"):
        assert ze.d_ece(target, nontarget) < 0.1
    for few in (ze.eer(target[:5], nontarget[:5]), ze.eer(nontarget, target), ze.eer(target, target + 0.1)):
        assert 0.0 <= few <= 1.0  # without a warning, which would be an error here

    # scores that were labelled, or evaluated, have been checked before
    assert ze.scorers.eer(np.repeat([1, 0], 30), np.concatenate((target, nontarget))) > 0.5

    def codes(*scores):
        return [flag.code for flag in ze.evaluate(*scores, options=ze.Options(intervals=0, null=0)).flags]

    assert "scores-decisions" in codes([1, 1, 0, 1], [0, 0, 1, 0])
    assert "eer-above-half" in codes(target, nontarget)
    assert {"scores-decisions", "eer-above-half"}.isdisjoint(codes(nontarget, target))


FRAME = {
    "enrol": [name for name in "abc" for _ in range(6)],
    "trial": [f"t{place}" for _ in range(3) for place in range(6)],
    "score": [2.0, 1.5, 0.2, 0.1, -0.5, 0.3, 0.4, -1.0, 1.8, 2.2, 0.7, -0.2, 0.0, 0.6, -0.3, 0.5, 1.4, 0.25],
    "label": [("target" if place // 2 == person else "nontarget") for person in range(3) for place in range(6)],
}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_evaluated_as_files_are(library, tmp_path):
    frames = pytest.importorskip(library)
    quick = ze.Options(intervals=0, null=0)
    rows = zip(*FRAME.values(), strict=True)
    (tmp_path / "scores.csv").write_text("\n".join(",".join(map(str, row)) for row in [tuple(FRAME), *rows]))
    expected = ze.evaluate(ze.read_scores(tmp_path / "scores.csv"), options=quick)
    assert {"eer", "alid", "top1"} <= set(expected.metrics)
    mated = [label == "target" for label in FRAME["label"]]
    for labels in (FRAME["label"], mated, list(map(int, mated)), list(map(float, mated))):
        assert ze.evaluate(frames.DataFrame({**FRAME, "label": labels}), options=quick) == expected
    scores = frames.DataFrame({name: FRAME[name][::-1] for name in ("trial", "enrol", "score")})
    key = frames.DataFrame({name: FRAME[name] for name in ("enrol", "trial", "label")})
    assert ze.evaluate(ze.read_scores(scores, key), options=quick) == expected
    bare = ze.evaluate(frames.Series(FRAME["score"]), labels=frames.Series(FRAME["label"]), options=quick)
    assert bare["eer"].value == expected["eer"].value
    others = {**FRAME, "enrol": [f"other-{name}" for name in FRAME["enrol"]]}
    calibrated = ze.evaluate(frames.DataFrame(FRAME), calibrate=frames.DataFrame(others), options=quick)
    assert calibrated["cllr"].value != expected["cllr"].value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": ["maybe", *FRAME["label"][1:]]}, "<scores>:1: unknown label 'maybe'"),
        ({"score": [None, *FRAME["score"][1:]]}, "<scores>:1: score 'nan' is not finite"),
        ({"label": None}, "<scores>: no labels"),
    ],
)
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_refused_as_files_are(library, change, message):
    columns = {name: values for name, values in {**FRAME, **change}.items() if values is not None}
    with pytest.raises(ze.InputError, match=message):
        ze.evaluate(pytest.importorskip(library).DataFrame(columns))


def test_evaluate_what_was_read(tmp_path):
    (tmp_path / "scores").write_text("a t1 1.0\nb t1 0.2\na t2 0.1\nb t2 0.9\n")
    (tmp_path / "trials").write_text("a t1 target\nb t1 nontarget\na t2 nontarget\nb t2 target\n")
    point = ze.Options(intervals=0, null=0)
    read = ze.evaluate(ze.read_scores(tmp_path / "scores", key=tmp_path / "trials"), options=point)
    assert (read["eer"].value, read.counts["target"]) == (0.0, 2)
    (tmp_path / "scores").write_text("a t1 1.0\nb t1 0.2\na t2 0.1\n")
    loose = ze.read_scores(tmp_path / "scores", key=tmp_path / "trials", options=ze.ReadingOptions(allow_missing=True))
    with_note = ze.evaluate(loose, options=point)
    assert "|missing:1|" in with_note.signature
    assert [flag.code for flag in with_note.flags] == ["missing"]


@pytest.mark.parametrize("labels", [[1, 0, 0], [True, False, False], ["target", "nontarget", "nontarget"], [*"100"]])
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


def test_values_are_typed_as_what_they_are():
    from typing import get_args

    from zeroevidence.evaluation.rows.evaluation import NotSingleNumber
    from zeroevidence.measure.measures import MEASURES

    others = [measure.name for measure in MEASURES.values() if measure.unit == "category" or measure.several]
    assert sorted(get_args(NotSingleNumber)) == sorted(others)


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
        assert (twin, twin.signature) == (result, result.signature)
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
    linked = ze.link(trial, enrol, mated, ze.LinkOptions(weight=2.0))
    row = linked.evaluate(options=ze.Options(intervals=50), labels={"system": "x"})
    assert row["top1"].value > 0.8
    assert row["alid"].low < row["alid"].value
    assert row.setup.search.scoring == "cosine"
    assert "|scoring:cosine|" in row.signature
    assert row.counts["identities"] == 12


def test_link_without_a_weight_is_cross_fitted_over_people():
    from zeroevidence.linkage import calibrate_search, pair

    rng = np.random.default_rng(0)
    profiles, mated = rng.normal(size=(12, 8)), np.repeat(np.arange(12), 5)
    vectors = profiles[mated] + rng.normal(size=(60, 8))
    linked = ze.link(trial=vectors, enrol=profiles, mated=mated)
    people = np.array([f"p{number:02d}" for number in range(12)])
    trial, enrol = ze.Embeddings(vectors, speakers=people[mated]), ze.Embeddings(profiles, speakers=people)
    for named in (ze.link(trial, enrol), ze.link(trial=trial, enrol=enrol, mated=mated)):
        np.testing.assert_array_equal(named.lid, linked.lid)
    fit = calibrate_search(pair(trial, enrol))
    np.testing.assert_array_equal(linked.calibration.weight, fit.weight)
    assert len(np.unique(fit.weight)) == 5  # one for each fold of people
    stranger = ze.Embeddings(np.vstack([vectors, vectors[:1]]), speakers=[*people[mated], "eve"])
    assert ze.link(stranger, enrol).not_enrolled == 1
    quick = ze.Options(intervals=0)
    options = (ze.LinkOptions(), ze.LinkOptions(weight=2.0))
    results = [ze.link(vectors, profiles, mated, each).evaluate(options=quick) for each in options]
    codes = [[flag.code for flag in result.flags] for result in results]
    assert ("cross-fitted" in codes[0], "cross-fitted" in codes[1]) == (True, False)


def test_bfloat16_tensors_are_their_numbers():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    target, nontarget = (torch.tensor(rng.normal(mean, size=50)).bfloat16() for mean in (1.0, 0.0))
    assert ze.eer(target, nontarget) == ze.eer(target.float(), nontarget.float())
    vectors = torch.tensor(rng.normal(size=(40, 4)), requires_grad=True).bfloat16()
    plain, sex = vectors.float().detach().numpy(), np.repeat(["f", "m"], 20)
    np.testing.assert_array_equal(ze.Embeddings(vectors).vectors, plain)
    protector = ze.protect.Leace().fit(vectors, sex)
    np.testing.assert_array_equal(protector.transform(vectors), ze.protect.Leace().fit(plain, sex).transform(plain))
    linked = ze.link(vectors, vectors[:5], [0, 1, 2, 3, 4] * 8, ze.LinkOptions(weight=1.0))
    np.testing.assert_array_equal(linked.lid, ze.link(plain, plain[:5], [0, 1, 2, 3, 4] * 8, linked.options).lid)


@pytest.mark.parametrize("name", ["linear", "leace", "transport", "flow", "default"])
def test_protectors_are_saved_and_loaded(name, tmp_path):
    for needed in ("safetensors", "torch"):
        pytest.importorskip(needed)
    x, sex = np.random.default_rng(0).normal(size=(40, 4)), np.repeat(["f", "m"], 20)
    quick = {"flow": {"epochs": 1}}.get(name, {})
    unfitted = ze.protect.DefaultProtector() if name == "default" else ze.protect.make_protector(name, quick)
    with pytest.raises(ValueError, match="not fitted yet"):
        unfitted.save(tmp_path / "model")
    protector = unfitted.fit(x, sex)
    protector.save(tmp_path / "model")
    loaded = ze.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.transform(x), protector.transform(x))
    np.testing.assert_array_equal(loaded.transform(ze.Embeddings(x)), protector.transform(x))
    with pytest.raises(ze.UsageError, match="holds a model"):
        protector.save(tmp_path / "model")
    protector.save(tmp_path / "model", attribute="sex", overwrite=True)
    assert ze.protect.load_model(tmp_path / "model").attribute == "sex"
    with pytest.raises(ze.InputError, match="no model"):
        ze.load(tmp_path)


def test_protectors_refuse_what_is_no_training_data():
    x, sex = np.random.default_rng(0).normal(size=(40, 4)), np.repeat([0.0, 1.0], 20)
    age = np.linspace(20.0, 70.0, 40)
    with pytest.raises(ze.InputError, match=r"^y: 21\.2821 is a number and no class; expected the class of each row"):
        ze.protect.Leace().fit(x, age)
    assert ze.protect.Leace().fit(x, np.digitize(age, [30, 50])).classes_.tolist() == [0, 1, 2]
    protector = ze.protect.Leace().fit(x, sex)  # whole numbers are classes, whatever holds them
    for bad, word in ((np.nan, "NaN"), (np.inf, "inf")):
        spoiled = x.copy()
        spoiled[3, 2] = bad
        for use in (protector.transform, protector.llr, lambda vectors: ze.protect.Leace().fit(vectors, sex)):
            with pytest.raises(ze.InputError, match=f"^row 3: entry 2 is {word}; expected finite numbers$"):
                use(spoiled)


@pytest.mark.parametrize(
    "use",
    [
        lambda x: ze.protect.fit(x, "sex"),
        lambda x: ze.protect.Roles.split(x, "sex"),
        lambda x: ze.protect.Roles(x, x, x),
        lambda x: ze.EmbeddingSets(x, x, x, x, x),
        lambda x: ze.EmbeddingSets.from_roles(x, [], []),
        lambda x: ze.audit(x, x),
        lambda x: ze.link(x, x),
    ],
)
def test_arrays_in_the_place_of_embeddings_are_refused(use):
    with pytest.raises(ValueError, match=r"expected Embeddings, such as Embeddings\(vectors, .* got ndarray") as error:
        use(np.zeros((4, 3)))
    assert isinstance(error.value, ze.InputError)


def test_errors_of_usage_are_value_errors():
    with pytest.raises(ValueError, match="unknown EER method"):
        ze.eer(TARGET, NONTARGET, method="mine")
    assert issubclass(ze.UsageError, (ValueError, ze.ZeroEvidenceError))


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
