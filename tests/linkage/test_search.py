"""Linking from embeddings gives what the score matrix gives, whatever computes it."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.effort import slow
from zeroevidence.calibrate.rows import AffineCalibration, row_llrs
from zeroevidence.errors import InputError, UsageError
from zeroevidence.linkage import LinkSummary, link
from zeroevidence.linkage.engines import numpy_blocks
from zeroevidence.measure.search.disclosure import row_evidence
from zeroevidence.measure.search.rank import rank_distribution


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 1e-9), (np.float32, 1e-5), (np.float16, 1e-5)])
@pytest.mark.parametrize("weight", [3.0, -2.0, 40.0])
@pytest.mark.parametrize("scoring", ["dot", "cosine"])
def test_equals_the_matrix_path_on_random_vectors(engine, dtype, bits, weight, scoring, draw, check, need):
    if engine == "torch":
        need("torch")
    x, y, mated = draw(dtype=dtype)
    result = link(x, y, mated, weight=weight, engine=engine, scoring=scoring)
    check(result, x, y, mated, weight, bits=bits * max(1.0, abs(weight) / 4), cosine=scoring == "cosine")


@pytest.mark.parametrize("engine", ["numpy", "torch", "dot function"])
@pytest.mark.parametrize(("dtype", "bits"), [(np.float64, 1e-9), (np.float32, 1e-5)])
@pytest.mark.parametrize("side", ["trials_f", "trials_m"])
def test_equals_the_matrix_path_on_real_x_vectors(shared, engine, dtype, bits, side, check, need):
    if engine == "torch":
        need("torch")
    arrays = np.load(shared / "embeddings" / "vpc2020_xvectors" / "samegender_f0orig.npz")
    y, names = arrays["enrolls_anon_spkmean_x"].astype(dtype), arrays["enrolls_anon_spkmean_spk"].tolist()
    speakers = arrays[f"{side}_anon_spk"].tolist()
    kept = [at for at, speaker in enumerate(speakers) if speaker in names]
    x, mated = arrays[f"{side}_anon_x"][kept].astype(dtype), np.array([names.index(speakers[at]) for at in kept])
    options = {"engine": engine}
    if engine == "dot function":
        options = {
            "scoring": lambda a, b: (
                (a / np.linalg.norm(a, axis=1)[:, None]) @ (b / np.linalg.norm(b, axis=1)[:, None]).T
            )
        }
    else:
        options["scoring"] = "cosine"
    result = link(x, y, mated, weight=2.5, **options)
    check(result, x, y, mated, 2.5, bits=bits, cosine=True)


def test_column_blocks_change_nothing(monkeypatch, draw, arrays):
    x, y, mated = draw()
    whole = link(x, y, mated, weight=3.0, engine="numpy", threshold=20.0)
    monkeypatch.setattr(numpy_blocks, "_COLUMNS", 97)
    monkeypatch.setattr(numpy_blocks, "_PANEL_BYTES", 1 << 17)
    monkeypatch.setattr(numpy_blocks, "_KEPT_BYTES", 0)
    monkeypatch.setattr(numpy_blocks, "_ROWS", 64)
    split = link(x, y, mated, weight=3.0, engine="numpy", threshold=20.0, chunk=111)
    for name in arrays:
        np.testing.assert_allclose(getattr(split, name), getattr(whole, name), rtol=1e-12, atol=1e-11)


def test_the_number_of_threads_changes_nothing_at_all(draw, arrays):
    # many enough for blocks of other sizes; rows of equal scores, and exponents that overflow, are special cases
    x, y, mated = draw(trials=3000, identities=3000, dim=16, dtype=np.float32)
    x[7] = 0.0
    weight = np.where(np.arange(3000) == 11, 90.0, 3.0)
    results = [link(x, y, mated, weight=weight, engine="numpy", threads=threads) for threads in (1, 2, 5)]
    for name in arrays:
        for other in results[1:]:
            np.testing.assert_array_equal(getattr(other, name), getattr(results[0], name))


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [8192, 50])
def test_equal_vectors_tie(engine, dtype, columns, monkeypatch, check, need):
    if engine == "torch":
        need("torch")
    monkeypatch.setattr(numpy_blocks, "_COLUMNS", columns)
    rng = np.random.default_rng(1)
    y = rng.integers(-2, 3, (400, 3)).astype(dtype)  # few distinct vectors, many ties
    x = rng.integers(-2, 3, (200, 3)).astype(dtype)
    x[5] = 0.0  # scores all equal
    mated = rng.integers(0, 400, 200)
    result = link(x, y, mated, weight=2.0, engine=engine)
    check(result, x, y, mated, 2.0, bits=1e-5)
    assert result.lid[5] == 0.0
    assert result.deviation[5] == 0.0
    assert result.equal[5] == 399
    assert result.equal.max() > 10


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_identical_enrolments_disclose_nothing(engine, need):
    if engine == "torch":
        need("torch")
    rng = np.random.default_rng(2)
    y = np.repeat(rng.standard_normal((1, 19)), 33, axis=0)
    result = link(rng.standard_normal((7, 19)), y, np.arange(7), weight=3.0, engine=engine)
    np.testing.assert_array_equal(result.lid, 0.0)
    np.testing.assert_array_equal(result.equal, 32)
    np.testing.assert_array_equal(result.top, 0)


@given(seed=st.integers(0, 10_000))
def test_the_order_of_trials_and_identities_does_not_matter(seed, draw):
    rng = np.random.default_rng(seed)
    x, y, mated = draw(trials=20, identities=31, dim=5, seed=seed)
    rows, columns = rng.permutation(20), rng.permutation(31)
    place = np.argsort(columns)
    one = link(x, y, mated, weight=2.0, engine="numpy")
    other = link(x[rows], y[columns], place[mated[rows]], weight=2.0, engine="numpy")
    np.testing.assert_allclose(other.lid, one.lid[rows], atol=1e-10)
    np.testing.assert_array_equal(other.greater, one.greater[rows])
    np.testing.assert_array_equal(columns[other.top], one.top[rows])


def test_weight_bias_and_threshold_may_differ_between_trials(draw):
    x, y, mated = draw()
    weight = np.linspace(1.0, 4.0, len(x))
    result = link(x, y, mated, weight=weight, bias=weight - 2.0, threshold=10.0 * weight, engine="numpy")
    scores = x @ y.T
    for at in (0, 150, 299):
        alone = link(x[at : at + 1], y, mated[at : at + 1], weight=weight[at], engine="numpy")
        np.testing.assert_allclose(result.lid[at], alone.lid[0], atol=1e-10)
        np.testing.assert_allclose(result.log_sum[at], alone.log_sum[0] + weight[at] - 2.0)
        assert result.fires[at] == (scores[at] > 10.0 * weight[at]).sum()


def test_memory_mapped_vectors_on_both_sides(tmp_path, draw):
    x, y, mated = draw(dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "y.npy", y)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("x.npy", "y.npy")]
    expected = link(x, y, mated, weight=3.0, engine="numpy")
    for sides in (mapped, [tmp_path / "x.npy", str(tmp_path / "y.npy")]):
        np.testing.assert_array_equal(link(*sides, mated, weight=3.0, engine="numpy").lid, expected.lid)


def test_summaries_add_up(draw):
    x, y, mated = draw(trials=500)
    result = link(x, y, mated, weight=3.0, engine="numpy")
    parts = [LinkSummary.of(result.take(slice(start, start + 70))) for start in range(0, 500, 70)]
    merged, whole = LinkSummary.merge(parts), LinkSummary.of(result)
    positive = result.lid > 0.0
    assert merged.alid == pytest.approx(result.lid.mean(), abs=1e-12)
    assert merged.lid_pos == pytest.approx(result.lid[positive].mean(), abs=1e-12)
    assert merged.lid_neg == pytest.approx(result.lid[~positive].mean(), abs=1e-12)
    for name in ("alid", "pdr", "lid_pos", "lid_neg", "lid_max"):
        assert getattr(merged, name) == pytest.approx(getattr(whole, name), abs=1e-12)
    np.testing.assert_allclose(merged.gamma(), rank_distribution(result.greater, result.equal, 700), atol=1e-12)
    with pytest.raises(InputError, match="same number"):
        LinkSummary.merge([])


def wrong_entry(draw, value, side):
    x, y, mated = draw(trials=20, identities=30)
    (x if side == "trial" else y)[7, 3] = value
    return x, y, mated


@pytest.mark.parametrize("engine", ["numpy", "torch"])
@pytest.mark.parametrize("side", ["trial", "enrolment"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_row_with_a_number_that_is_none_is_named(engine, side, value, need, draw):
    if engine == "torch":
        need("torch")
    x, y, mated = wrong_entry(draw, value, side)
    with pytest.raises(InputError, match=f"{side} 7: entry 3 of its vector is {value}"):
        link(x, y, mated, weight=1.0, engine=engine)


@pytest.mark.parametrize("engine", ["numpy", "torch"])
def test_a_zero_vector_has_no_cosine(engine, draw, need):
    if engine == "torch":
        need("torch")
    x, y, mated = draw(trials=20, identities=30)
    x[4] = 0.0
    with pytest.raises(InputError, match="trial 4: a zero vector"):
        link(x, y, mated, weight=1.0, scoring="cosine", engine=engine)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mated": np.full(20, 30)}, "trial 0 names identity 30"),
        ({"mated": np.full(20, -1)}, "trial 0 names identity -1"),
        ({"mated": np.zeros(19, int)}, "expected 20 whole numbers"),
        ({"mated": np.zeros(20)}, "expected 20 whole numbers"),
        ({"enrol": np.zeros((30, 47))}, "48 entries, enrolment vectors 47"),
        ({"enrol": np.zeros((1, 48))}, "at least two enrolled"),
        ({"trial": np.zeros(48)}, "expected numbers, one vector per row"),
        ({"trial": np.full((20, 48), "a")}, "expected numbers"),
        ({"weight": np.nan}, "weight: expected finite"),
        ({"weight": np.ones(3)}, "weight: expected one number, or 20"),
        ({"threshold": np.nan}, "threshold: expected finite"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, words, draw):
    x, y, mated = draw(trials=20, identities=30)
    options = {"trial": x, "enrol": y, "mated": mated, "weight": 1.0, **change}
    with pytest.raises(InputError, match=words):
        link(options.pop("trial"), options.pop("enrol"), options.pop("mated"), engine="numpy", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"engine": "gpu"}, "unknown engine"),
        ({"scoring": "euclid"}, "unknown scoring"),
        ({"ddof": 2}, "ddof 0 or 1"),
        ({"dtype": np.float16, "engine": "numpy"}, "need the engine triton"),
        ({"dtype": np.int32, "engine": "numpy"}, "float32 or float64"),
        ({"scoring": lambda a, b: a @ b.T, "engine": "torch"}, "scoring function works with"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, words, draw):
    x, y, mated = draw(trials=20, identities=30)
    with pytest.raises(UsageError, match=words):
        link(x, y, mated, weight=1.0, **options)


def test_scoring_functions_are_checked(draw):
    x, y, mated = draw(trials=20, identities=30)
    with pytest.raises(InputError, match="gave shape"):
        link(x, y, mated, weight=1.0, scoring=lambda a, b: np.zeros(3))
    with pytest.raises(InputError, match="trial 0, identity 0: the scoring function gave nan"):
        link(x, y, mated, weight=1.0, scoring=lambda a, b: np.full((len(a), len(b)), np.nan))


def test_any_scoring_function(monkeypatch, draw):
    def distance(a, b):
        return -((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=2)

    x, y, mated = draw(trials=40, identities=60, dim=7)
    result = link(x, y, mated, weight=2.0, scoring=distance, threshold=-12.0)
    scores = distance(x, y)
    evidence = row_evidence(scores, mated, AffineCalibration("given", 2.0, 0.0, 0.0))
    np.testing.assert_allclose(result.lid, evidence.lid, atol=1e-10)
    np.testing.assert_array_equal(result.greater, evidence.greater)
    np.testing.assert_array_equal(result.fires, (scores > -12.0).sum(axis=1))


def test_importing_needs_numpy_alone():
    heavy = ("scipy", "sklearn", "polars", "torch", "triton", "dask", "click", "rich", "threadpoolctl")
    code = f"import sys, zeroevidence.linkage; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("digits", ["few", "many"])
def test_ties_survive_the_scale_of_the_exponents(digits):
    """Counts tie although their vectors differ; equal vectors tie whatever their entries."""
    rng = np.random.default_rng(0)
    enrol = rng.integers(-2, 3, (60, 5)).astype(np.float32)
    if digits == "many":
        enrol = np.repeat(rng.standard_normal((30, 5)).astype(np.float32), 2, axis=0)
    trial = (enrol + rng.integers(0, 2, enrol.shape)).astype(np.float32)
    mated = np.arange(60)
    found = link(trial, enrol, mated, weight=2.5, scoring="dot", engine="numpy")
    scores = trial.astype(np.float64) @ enrol.T.astype(np.float64)
    own = scores[mated, mated][:, None]
    np.testing.assert_array_equal(found.equal, (scores == own).sum(axis=1) - 1)
    np.testing.assert_array_equal(found.greater, (scores > own).sum(axis=1))
    assert found.equal.sum() > 20
    np.testing.assert_allclose(found.best_other, np.where(np.eye(60), -np.inf, scores).max(axis=1), rtol=1e-5)


ENGINES = ("numpy", "torch", "rows")


def by_every_engine(x, y, mated, need, **options):
    """Evidence by every engine of a processor, none of which may warn; or the messages of those that refuse."""
    need("torch")
    results, messages = [], []
    for engine in ENGINES:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                results.append(link(x, y, mated, engine=engine, **options))
            except InputError as error:
                messages.append(str(error))
    return results, messages


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weight", [1e3, -1e6, 1e6])
def test_engines_agree_on_large_weights(dtype, weight, draw, need):
    x, y, mated = draw(trials=60, identities=90, dim=12, dtype=dtype)
    results, messages = by_every_engine(x, y, mated, need, weight=weight)
    scores = x.astype(float) @ y.astype(float).T
    lid = row_evidence(scores, mated, AffineCalibration("given", weight, 0.0, 0.0)).lid
    assert not messages
    assert abs(lid).max() > 100.0
    for result in results:
        np.testing.assert_array_less(abs(result.lid - lid), 1e-4 * (1.0 + abs(lid)))


@pytest.mark.parametrize("weight", [1.001e6, 1e12, -1e39, 1e300])
def test_weights_out_of_range_are_refused_by_every_engine(weight, draw, need):
    x, y, mated = draw(trials=20, identities=30, dtype=np.float32)
    results, messages = by_every_engine(x, y, mated, need, weight=weight)
    assert not results
    assert messages == 3 * [f"weight: expected numbers from -1e+06 to 1e+06, got {weight:g}"]
    weights = np.where(np.arange(20) == 7, weight, 1.0)
    assert len(by_every_engine(x, y, mated, need, weight=weights)[1]) == 3


@pytest.mark.parametrize("scaling", ["centre", "none"])
def test_weights_of_rows_that_are_not_standardised_go_with_their_deviation(scaling, draw, need):
    x, y, mated = draw(trials=20, identities=30)
    expected = link(x, y, mated, weight=3.0, row_scaling=scaling, engine="rows").lid
    for scale in (1e-10, 1e10):
        results, messages = by_every_engine(scale * x, y, mated, need, weight=3.0 / scale, row_scaling=scaling)
        assert not messages
        for result in results:
            np.testing.assert_allclose(result.lid, expected, rtol=1e-9, atol=1e-9)
    results, messages = by_every_engine(x, y, mated, need, weight=1e9, row_scaling=scaling)
    assert not results
    assert all("is out of range; expected at most 1e+06" in text for text in messages)


@pytest.mark.parametrize("scale", [1e-25, 1e-12, 1e12, 1e25])
def test_the_scale_of_vectors_changes_nothing_or_is_refused(scale, draw, need):
    x, y, mated = draw(trials=20, identities=30)
    expected = link(x, y, mated, weight=2.0, engine="rows").lid
    exact, messages = by_every_engine(scale * x, scale * y, mated, need, weight=2.0)
    assert not messages
    single, messages = by_every_engine(
        (scale * x).astype(np.float32), (scale * y).astype(np.float32), mated, need, weight=2.0
    )
    for result in (*exact, *single):
        np.testing.assert_allclose(result.lid, expected, atol=1e-4)
    fits = 1e-14 < scale < 1e14
    assert len(messages) == (0 if fits else 2)  # the engine `rows` computes in double precision
    assert all("out of range for products of 32 bits; use 64 bits, or scale the vectors" in text for text in messages)


@pytest.mark.parametrize("scale", [1e-300, 1e-80, 1e80, 1e300])
def test_vectors_whose_scores_no_precision_holds_are_refused(scale, draw, need):
    x, y, mated = draw(trials=20, identities=30)
    results, messages = by_every_engine(scale * x, scale * y, mated, need, weight=2.0)
    assert not results
    assert all("expected 1e-70 to 1e+70 (scale the vectors, or use cosine)" in text for text in messages)
    cosine, messages = by_every_engine(scale * x, scale * y, mated, need, weight=2.0, scoring="cosine")
    assert not messages
    for result in cosine:
        np.testing.assert_allclose(result.lid, link(x, y, mated, weight=2.0, scoring="cosine").lid, atol=1e-9)


def test_the_digest_depends_on_data_and_options_not_on_engines(draw, need):
    x, y, mated = draw(trials=20, identities=30)
    results, _ = by_every_engine(x, y, mated, need, weight=2.0)
    results.append(link(x, y, mated, weight=2.0, chunk=7, threads=1))
    assert len({result.digest for result in results}) == 1
    others = [{"weight": 2.1}, {"weight": 2.0, "bias": 1.0}, {"weight": 2.0, "threshold": 1.0}]
    digests = {link(x, y, mated, **options).digest for options in others}
    digests.add(link(x, y, mated, weight=2.0, dtype=np.float32).digest)
    digests.add(link(x[::-1], y, mated, weight=2.0).digest)
    assert len(digests | {results[0].digest}) == 6


@pytest.mark.parametrize("scaling", ["centre", "none"])
@pytest.mark.parametrize("engine", ["numpy", "rows", pytest.param("torch", marks=slow)])
def test_rows_may_keep_their_spread(engine, scaling, draw):
    x, y, mated = draw(trials=60, identities=90)
    result = link(x, y, mated, weight=0.3, bias=0.2, row_scaling=scaling, engine=engine)
    scores = x @ y.T
    calibration = AffineCalibration("given", 0.3, 0.2, 0.0, scaling=scaling)
    evidence = row_evidence(scores, mated, calibration)
    np.testing.assert_allclose(result.lid, evidence.lid, atol=1e-9)
    np.testing.assert_array_equal(result.greater, evidence.greater)
    llrs = row_llrs(scores, calibration)
    np.testing.assert_allclose(result.log_sum, np.log(np.exp(llrs).sum(axis=1)), atol=1e-9)
    assert result.row_scaling == scaling
    with pytest.raises(UsageError, match="row_scaling: expected one of standardise, centre, none, got 'auto'"):
        link(x, y, mated, weight=0.3, row_scaling="auto", engine=engine)
