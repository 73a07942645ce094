"""Linking from embeddings gives what the score matrix gives, whatever computes it; a result knows its trials."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.linkage.searches import check, draw, linked, read_x_vectors, same
from tests.programs import modules_after
from zeroevidence.calibrate.rows import AffineCalibration, row_llrs
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage import LinkOptions, SearchCalibration, TrialEvidence, link
from zeroevidence.linkage.engines import numpy_blocks
from zeroevidence.measure.search.disclosure import row_evidence
from zeroevidence.run import Run

on_numpy_and_torch = pytest.mark.parametrize("engine", ["numpy", "torch"], indirect=True)


@on_numpy_and_torch
@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 1e-9), (np.float32, 1e-5), (np.float16, 1e-5)])
@pytest.mark.parametrize("weight", [3.0, -2.0, 40.0])
@pytest.mark.parametrize("scoring", ["dot", "cosine"])
def test_equals_the_matrix_path_on_random_vectors(engine, dtype, bits, weight, scoring):
    x, y, mated = draw(dtype=dtype)
    result = linked(x, y, mated, weight=weight, engine=engine, scoring=scoring)
    check(result, x, y, mated, weight, bits=bits * max(1.0, abs(weight) / 4), cosine=scoring == "cosine")


def cosine(a, b):
    return (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T


@pytest.mark.parametrize("engine", ["numpy", "torch", "rows"], indirect=True)
@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 1e-9), (np.float32, 1e-5)])
@pytest.mark.parametrize("side", ["trials_f", "trials_m"])
def test_equals_the_matrix_path_on_real_x_vectors(shared, engine, dtype, bits, side):
    x, y, mated = read_x_vectors(shared, side, "anon", dtype)
    result = linked(x, y, mated, weight=2.5, engine=engine, scoring=cosine if engine == "rows" else "cosine")
    check(result, x, y, mated, 2.5, bits=bits, cosine=True)


def test_column_blocks_change_nothing(monkeypatch):
    x, y, mated = draw()
    whole = linked(x, y, mated, SearchCalibration(3.0, threshold=20.0), engine="numpy")
    monkeypatch.setattr(numpy_blocks, "_COLUMNS", 97)
    monkeypatch.setattr(numpy_blocks, "_PANEL_BYTES", 1 << 17)
    monkeypatch.setattr(numpy_blocks, "_KEPT_BYTES", 0)
    monkeypatch.setattr(numpy_blocks, "_ROWS", 64)
    same(linked(x, y, mated, SearchCalibration(3.0, threshold=20.0), engine="numpy", block=111), whole, 1e-11)


def test_the_number_of_threads_changes_nothing_at_all():
    # many enough for blocks of other sizes; rows of equal scores, and exponents that overflow, are special cases
    x, y, mated = draw(trials=3000, identities=3000, dim=16, dtype=np.float32)
    x[7] = 0.0
    weight = np.where(np.arange(3000) == 11, 90.0, 3.0)
    first, *others = (linked(x, y, mated, run=Run(cores=cores), weight=weight, engine="numpy") for cores in (1, 2, 5))
    for other in others:
        same(other, first, 0.0)


@on_numpy_and_torch
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [8192, 50])
def test_equal_vectors_tie(engine, dtype, columns, monkeypatch):
    monkeypatch.setattr(numpy_blocks, "_COLUMNS", columns)
    rng = np.random.default_rng(1)
    y = rng.integers(-2, 3, (400, 3)).astype(dtype)  # few distinct vectors, many ties
    x = rng.integers(-2, 3, (200, 3)).astype(dtype)
    x[5] = 0.0  # scores all equal
    mated = rng.integers(0, 400, 200)
    result = linked(x, y, mated, weight=2.0, engine=engine)
    check(result, x, y, mated, 2.0, bits=1e-5)
    assert (result.lid[5], result.deviation[5], result.equal[5]) == (0.0, 0.0, 399)
    assert result.equal.max() > 10


@on_numpy_and_torch
def test_identical_enrolments_disclose_nothing(engine):
    rng = np.random.default_rng(2)
    y = np.repeat(rng.standard_normal((1, 19)), 33, axis=0)
    result = linked(rng.standard_normal((7, 19)), y, np.arange(7), weight=3.0, engine=engine)
    np.testing.assert_array_equal(result.lid, 0.0)
    np.testing.assert_array_equal(result.equal, 32)
    np.testing.assert_array_equal(result.top, 0)


@given(seed=st.integers(0, 10_000))
def test_the_order_of_trials_and_identities_does_not_matter(seed):
    rng = np.random.default_rng(seed)
    x, y, mated = draw(trials=20, identities=31, dim=5, seed=seed)
    rows, columns = rng.permutation(20), rng.permutation(31)
    place = np.argsort(columns)
    result = linked(x, y, mated, weight=2.0, engine="numpy")
    permuted = linked(x[rows], y[columns], place[mated[rows]], weight=2.0, engine="numpy")
    np.testing.assert_allclose(permuted.lid, result.lid[rows], atol=1e-10)
    np.testing.assert_array_equal(permuted.greater, result.greater[rows])
    np.testing.assert_array_equal(columns[permuted.top], result.top[rows])


def test_weight_bias_and_threshold_may_differ_between_trials():
    x, y, mated = draw()
    weight = np.linspace(1.0, 4.0, len(x))
    calibration = SearchCalibration(weight, bias=weight - 2.0, threshold=10.0 * weight)
    result = linked(x, y, mated, calibration, engine="numpy")
    scores = x @ y.T
    for at in (0, 150, 299):
        alone = linked(x[at : at + 1], y, mated[at : at + 1], weight=weight[at], engine="numpy")
        np.testing.assert_allclose(result.lid[at], alone.lid[0], atol=1e-10)
        np.testing.assert_allclose(result.log_sum[at], alone.log_sum[0] + weight[at] - 2.0)
        assert result.fires[at] == (scores[at] > 10.0 * weight[at]).sum()


def test_memory_mapped_vectors_on_both_sides(tmp_path):
    x, y, mated = draw(dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("x.npy", "y.npy")]
    expected = linked(x, y, mated, weight=3.0, engine="numpy")
    for sides in (mapped, [tmp_path / "x.npy", str(tmp_path / "y.npy")]):
        np.testing.assert_array_equal(linked(*sides, mated, weight=3.0, engine="numpy").lid, expected.lid)


@on_numpy_and_torch
@pytest.mark.parametrize(
    ("side", "value", "words"),
    [
        ("trial", np.nan, "trial 7: entry 3 of its vector is nan"),
        ("enrolment", np.inf, "enrolment 7: entry 3 of its vector is inf"),
        ("trial", None, "trial 7: a zero vector"),
    ],
)
def test_the_row_with_a_wrong_vector_is_named(engine, side, value, words):
    x, y, mated = draw(trials=20, identities=30)
    vectors = x if side == "trial" else y
    if value is None:
        vectors[7] = 0.0
    else:
        vectors[7, 3] = value
    with pytest.raises(InputError, match=words):
        linked(x, y, mated, weight=1.0, scoring="cosine", engine=engine)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"mated": np.full(20, 30)}, InputError, "trial 0 names identity 30"),
        ({"mated": np.full(20, -1)}, InputError, "trial 0 names identity -1"),
        ({"mated": np.zeros(19, int)}, InputError, "expected 20 whole numbers"),
        ({"mated": np.zeros(20)}, InputError, "expected 20 whole numbers"),
        ({"enrol": np.zeros((30, 47))}, InputError, "48 entries, enrolment vectors 47"),
        ({"enrol": np.zeros((1, 48))}, InputError, "at least two enrolled"),
        ({"trial": np.zeros(48)}, InputError, "expected numbers, one vector per row"),
        ({"trial": np.full((20, 48), "a")}, InputError, "expected numbers"),
        ({"calibration": SearchCalibration(np.nan)}, InputError, "weight: expected finite"),
        ({"calibration": SearchCalibration(np.ones(3))}, InputError, "weight: expected one number, or 20"),
        ({"calibration": SearchCalibration(1.0, threshold=np.nan)}, InputError, "threshold: expected finite"),
        ({"engine": "gpu"}, UsageError, "unknown engine"),
        ({"scoring": "euclid"}, UsageError, "unknown scoring"),
        ({"ddof": 2}, UsageError, "ddof: expected one of 0, 1, got 2"),
        ({"row_scaling": "auto"}, UsageError, "row_scaling: expected one of standardise, centre, none, got 'auto'"),
        ({"precision": 16}, UsageError, "need the engine triton"),
        ({"precision": 8}, UsageError, "precision: expected one of None, 16, 32, 64, got 8"),
        ({"weight": None, "mated": np.zeros(20, int)}, InputError, "all trials are of one speaker; expected a second"),
        ({"weight": None, "mated": np.repeat([98, 99], 10)}, InputError, "trial 0 names identity 98"),
        ({"mated": None}, InputError, "trial: expected Embeddings, such as .* got ndarray"),
        ({"precision": 32, "engine": "rows"}, UsageError, "float32 inputs need the engine dask or numpy"),
        ({"scoring": cosine, "engine": "torch"}, UsageError, "scoring function works with"),
        ({"scoring": lambda a, b: np.zeros(3)}, InputError, "gave shape"),
        ({"scoring": lambda a, b: np.full((len(a), len(b)), np.nan)}, InputError, "trial 0, identity 0: .* gave nan"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, error, words):
    x, y, mated = draw(trials=20, identities=30)
    names = ("trial", "enrol", "mated", "calibration")
    inputs = dict(zip(names, (x, y, mated, None), strict=True))
    inputs |= {name: value for name, value in change.items() if name in names}
    options = {"scoring": "dot", "weight": 1.0, "engine": "numpy"}
    options |= {name: value for name, value in change.items() if name not in names}
    with pytest.raises(error, match=words):
        link(**inputs, options=LinkOptions(**options))


def test_any_scoring_function():
    def distance(a, b):
        return -((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)

    x, y, mated = draw(trials=40, identities=60, dim=7)
    result = linked(x, y, mated, SearchCalibration(2.0, threshold=-12.0), scoring=distance)
    scores = distance(x, y)
    evidence = row_evidence(scores, mated, AffineCalibration("given", 2.0, 0.0, 0.0))
    np.testing.assert_allclose(result.lid, evidence.lid, atol=1e-10)
    np.testing.assert_array_equal(result.greater, evidence.greater)
    np.testing.assert_array_equal(result.fires, (scores > -12.0).sum(axis=1))


def test_importing_needs_numpy_alone():
    heavy = {"scipy", "sklearn", "polars", "torch", "triton", "dask", "click", "rich", "threadpoolctl"}
    assert not heavy & modules_after("import zeroevidence.linkage")


@pytest.mark.parametrize("digits", ["few", "many"])
def test_ties_survive_the_scale_of_the_exponents(digits):
    """Counts tie although their vectors differ; equal vectors tie whatever their entries."""
    rng = np.random.default_rng(0)
    enrol = rng.integers(-2, 3, (60, 5)).astype(np.float32)
    if digits == "many":
        enrol = np.repeat(rng.standard_normal((30, 5)).astype(np.float32), 2, axis=0)
    trial = (enrol + rng.integers(0, 2, enrol.shape)).astype(np.float32)
    found = linked(trial, enrol, np.arange(60), weight=2.5, scoring="dot", engine="numpy")
    scores = trial.astype(np.float64) @ enrol.T.astype(np.float64)
    own = np.diagonal(scores)[:, None]
    np.testing.assert_array_equal(found.equal, (scores == own).sum(axis=1) - 1)
    np.testing.assert_array_equal(found.greater, (scores > own).sum(axis=1))
    assert found.equal.sum() > 20
    np.testing.assert_allclose(found.best_other, np.where(np.eye(60), -np.inf, scores).max(axis=1), rtol=1e-5)


def by_every_engine(x, y, mated, calibration=None, **options):
    """Evidence by every engine of a processor, none of which may warn; or the messages of those that refuse."""
    pytest.importorskip("torch")
    results, messages = [], []
    for engine in ("numpy", "torch", "rows"):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                settings = LinkOptions(**{"scoring": "dot", "engine": engine, **options})
                results.append(link(x, y, mated, settings, calibration))
            except InputError as error:
                messages.append(str(error))
    return results, messages


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [1e3, -1e6, 1e6])
def test_engines_agree_on_large_weights(dtype, weight):
    x, y, mated = draw(trials=60, identities=90, dim=12, dtype=dtype)
    results, messages = by_every_engine(x, y, mated, weight=weight)
    scores = x.astype(float) @ y.astype(float).T
    lid = row_evidence(scores, mated, AffineCalibration("given", weight, 0.0, 0.0)).lid
    assert not messages
    assert abs(lid).max() > 100.0
    for result in results:
        np.testing.assert_array_less(abs(result.lid - lid), 1e-4 * (1.0 + abs(lid)))


@pytest.mark.parametrize("weight", [1.001e6, -1e39, 1e300])
def test_weights_out_of_range_are_refused_by_every_engine(weight):
    x, y, mated = draw(trials=20, identities=30, dtype=np.float32)
    results, messages = by_every_engine(x, y, mated, weight=weight)
    assert not results
    assert messages == 3 * [f"weight: expected numbers from -1e+06 to 1e+06, got {weight:g}"]
    weights = np.where(np.arange(20) == 7, weight, 1.0)
    assert len(by_every_engine(x, y, mated, weight=weights)[1]) == 3


@pytest.mark.parametrize("scaling", ["centre", "none"])
def test_rows_may_keep_their_spread(scaling):
    x, y, mated = draw(trials=60, identities=90)
    scores = x @ y.T
    calibration = AffineCalibration("given", 0.3, 0.2, 0.0, scaling=scaling)
    evidence, llrs = row_evidence(scores, mated, calibration), row_llrs(scores, calibration)
    for scale in (1.0, 1e-10, 1e10):  # the weight makes up for it
        scaled = SearchCalibration(0.3 / scale, 0.2)
        results, messages = by_every_engine(scale * x, y, mated, scaled, row_scaling=scaling)
        assert not messages
        for result in results:
            np.testing.assert_allclose(result.lid, evidence.lid, atol=1e-9)
            np.testing.assert_array_equal(result.greater, evidence.greater)
            np.testing.assert_allclose(result.log_sum, np.log(np.exp(llrs).sum(axis=1)), atol=1e-9)
            assert result.options.row_scaling == scaling
    results, messages = by_every_engine(x, y, mated, weight=1e9, row_scaling=scaling)
    assert not results
    assert all("is out of range; expected at most 1e+06" in text for text in messages)


@pytest.mark.parametrize("scale", [1e-25, 1e-12, 1e12, 1e25])
def test_the_scale_of_vectors_changes_nothing_or_is_refused(scale):
    x, y, mated = draw(trials=20, identities=30)
    expected = linked(x, y, mated, weight=2.0, engine="rows").lid
    exact, messages = by_every_engine(scale * x, scale * y, mated, weight=2.0)
    assert not messages
    single, messages = by_every_engine(*((scale * vectors).astype(np.float32) for vectors in (x, y)), mated, weight=2.0)
    for result in (*exact, *single):
        np.testing.assert_allclose(result.lid, expected, atol=1e-4)
    fits = 1e-14 < scale < 1e14
    assert len(messages) == (0 if fits else 2)  # the engine `rows` computes in double precision
    assert all("out of range for products of 32 bits; use 64 bits, or scale the vectors" in text for text in messages)


@pytest.mark.parametrize("scale", [1e-300, 1e-80, 1e80, 1e300])
def test_vectors_whose_scores_no_precision_holds_are_refused(scale):
    x, y, mated = draw(trials=20, identities=30)
    results, messages = by_every_engine(scale * x, scale * y, mated, weight=2.0)
    assert not results
    assert all("expected 1e-70 to 1e+70 (scale the vectors, or use cosine)" in text for text in messages)
    unit, messages = by_every_engine(scale * x, scale * y, mated, weight=2.0, scoring="cosine")
    assert not messages
    for result in unit:
        np.testing.assert_allclose(result.lid, linked(x, y, mated, weight=2.0, scoring="cosine").lid, atol=1e-9)


@pytest.fixture
def search():
    return draw(trials=12, identities=9)


def test_arrays_have_numbers_for_names(search):
    x, y, mated = search
    found = linked(x, y, mated, weight=2.0, ddof=1)
    assert found.trial.tolist() == [str(at) for at in range(12)]
    assert found.speaker.tolist() == [str(at) for at in mated]
    assert (found.options.scoring, found.options.ddof, found.not_enrolled) == ("dot", 1, 0)
    assert (found.calibration.method, found.calibration.cross_fitted) == ("given", False)


def test_embeddings_have_names(search):
    x, y, mated = search
    people = np.array([f"p{at}" for at in range(9)])
    ids = np.array([f"u{at}" for at in range(12)])
    enrol = Embeddings(y, [f"e{at}" for at in range(9)], people)
    whole = linked(Embeddings(x, ids, people[mated]), enrol, mated, weight=2.0)
    assert whole.trial.tolist() == ids.tolist()
    assert whole.speaker.tolist() == people[mated].tolist()
    # what the trials do not say, the enrolment knows
    for sides in ((Embeddings(x, ids), enrol), (x, Embeddings(y, people))):
        assert linked(*sides, mated, weight=2.0).speaker.tolist() == people[mated].tolist()
    np.testing.assert_array_equal(whole.lid, linked(x, y, mated, weight=2.0).lid)


def test_the_digest_is_of_data_and_options_not_of_engines(search):
    pytest.importorskip("torch")
    x, y, mated = search
    changed = x.copy()
    changed[3, 2] += 1e-9
    same = [{}, {"block": 5}, {"engine": "torch"}, {"engine": "rows"}]
    assert len({linked(x, y, mated, **{"weight": 2.0, **options}).digest for options in same}) == 1
    named = Embeddings(x, [f"u{at}" for at in range(12)])
    searches = ((changed, y, mated), (x, y[::-1], mated), (x, y, mated[::-1]), (named, y, mated))
    others = [linked(*search, weight=2.0) for search in searches]
    different = [{"weight": 2.1}, {"precision": 32}, {}]
    others += [linked(x, y, mated, **{"weight": 2.0, **options}) for options in different]
    calibrations = [SearchCalibration(2.0, bias=0.1), SearchCalibration(2.0, threshold=1.0)]
    others += [linked(x, y, mated, calibration) for calibration in calibrations]
    assert len({other.digest for other in others}) == len(others)


def test_it_is_still_plain_evidence(search):
    x, y, mated = search
    found = linked(x, y, mated, weight=2.0)
    assert (len(found), found.identities) == (12, 9)
    same(TrialEvidence.join([found.take(slice(0, 5)), found.take(slice(5, 12))]), found, 0.0)
    np.testing.assert_array_equal(found.evidence.greater, found.greater)
    copy = pickle.loads(pickle.dumps(found))
    same(copy, found, 0.0)
    assert copy.digest == found.digest
