from __future__ import annotations

import numpy as np
import pytest

from tests.protect.attributes import classes
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import LinearNuller


@pytest.fixture
def data():
    return classes.gaussian(np.random.default_rng(0), 4000)


def test_llr_is_the_true_one(data):
    x, y, truth = data
    found = LinearNuller().fit(x, y).llr(x)
    assert np.corrcoef(found, truth)[0, 1] > 0.995
    np.testing.assert_allclose(found, truth, atol=1.0)


def test_equation_8_literally(data):
    x, y, _ = data
    nuller = LinearNuller().fit(x, y)
    means = np.stack([x[y == label].mean(axis=0) for label in ("a", "b")])
    inside = np.concatenate([x[y == label] - means[i] for i, label in enumerate(("a", "b"))])
    weights = np.concatenate([np.full((y == label).sum(), 0.5 / (y == label).sum()) for label in ("a", "b")])
    inverse = np.linalg.inv((inside * weights[:, None]).T @ inside)
    w = inverse @ (means[1] - means[0])
    constant = 0.5 * (means[1] @ inverse @ means[1] - means[0] @ inverse @ means[0])
    expected = x - np.outer(x @ w, w) / (w @ w) + constant / (w @ w) * w
    np.testing.assert_allclose(nuller.transform(x), expected, rtol=1e-9, atol=1e-9)


def test_nothing_is_left_of_the_evidence_and_the_rest_stays(data):
    x, y, _ = data
    nuller = LinearNuller().fit(x, y)
    protected = nuller.transform(x)
    np.testing.assert_allclose(nuller.llr(protected), 0.0, atol=1e-9)
    np.testing.assert_allclose(nuller.transform(protected), protected, atol=1e-9)
    swapped = LinearNuller().fit(x, np.where(y == "a", "b", "a"))
    np.testing.assert_allclose(nuller.llr(x), -swapped.llr(x), atol=1e-8)
    across = np.linalg.svd(protected - x)[1]
    assert across[1] < 1e-9 * across[0]  # vectors moved along one direction


def test_three_classes_meet_at_the_circumcentre():
    x, y = classes.three(np.random.default_rng(0), 3000)
    nuller = LinearNuller().fit(x, y)
    assert nuller.llr(x).shape == (3000, 3)
    np.testing.assert_allclose(nuller.llr(nuller.transform(x)), 0.0, atol=1e-8)


def test_a_talkative_speaker_counts_once():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 4))
    y = np.repeat(["a", "b"], 20)
    speakers = np.arange(40)
    again = np.concatenate([np.arange(40), np.zeros(30, dtype=int)])
    once = LinearNuller().fit(x, y, speakers=speakers)
    often = LinearNuller().fit(x[again], y[again], speakers=speakers[again])
    np.testing.assert_allclose(once.directions_, often.directions_)


def test_takes_data_frames(data):
    x, y, _ = data
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    plain = LinearNuller(shrinkage=0.25).fit(x, y).transform(x)
    frame = pandas.DataFrame(x, columns=[f"e{i}" for i in range(x.shape[1])])
    shown = LinearNuller(shrinkage=0.25).set_output(transform="pandas").fit(frame, y).transform(frame)
    assert list(shown.columns) == list(frame.columns)
    np.testing.assert_allclose(shown.to_numpy(), plain)
    other = polars.DataFrame(x, schema=list(frame.columns))
    np.testing.assert_allclose(LinearNuller(shrinkage=0.25).fit(other, y).transform(other), plain)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda n, x, y: n.fit(x, np.full(len(x), "a")), ValueError, "two classes"),
        (lambda n, x, y: n.fit(x, y[:-1]), ValueError, "inconsistent"),
        (lambda n, x, y: n.fit(x, None), ValueError, "requires y"),
        (lambda n, x, y: n.fit(x, y, speakers=["s"]), InputError, "one per row"),
        (lambda n, x, y: n.fit(x * np.nan, y), ValueError, "NaN"),
        (lambda n, x, y: n.fit(x, y).transform(x[:, :3]), ValueError, "features"),
        (lambda n, x, y: n.set_params(shrinkage=2.0).fit(x, y), UsageError, "share from 0 to 1"),
        (lambda n, x, y: n.set_params(noise=-1.0).fit(x, y), UsageError, "noise: expected a number from 0 on"),
        (lambda n, x, y: n.set_params(noise=np.nan).fit(x, y), UsageError, "noise: expected a number from 0 on"),
        (lambda n, x, y: n.set_params(noise_shape="round").fit(x, y), UsageError, "within, isotropic, total"),
    ],
)
def test_bad_input_is_named(data, call, error, words):
    x, y, _ = data
    with pytest.raises(error, match=words):
        call(LinearNuller(), x, y)
