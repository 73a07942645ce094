"""Noise on protected vectors: its size and shape, who can draw it again, and who cannot."""

from __future__ import annotations

import numpy as np
import pytest

from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import ClassMeans, load_model, make_protector, new_model, save_model
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS


@pytest.fixture(scope="module")
def data():
    """Forty people, whose vectors differ much in the first entry and little in the others."""
    rng = np.random.default_rng(0)
    speakers = np.repeat([f"p{i:02d}" for i in range(40)], 20)
    y = np.repeat(np.arange(40) % 2, 20)
    inside = rng.standard_normal((800, 5)) * [3.0, 1.0, 1.0, 1.0, 0.5]
    return np.repeat(4.0 * rng.standard_normal((40, 5)), 20, axis=0) + inside + 2.0 * y[:, None], y, speakers


def noise_of(protector, x, **how):
    quiet = protector.get_params()["noise"]
    noisy = protector.transform(x, **how)
    still = protector.set_params(noise=0.0).transform(x)
    protector.set_params(noise=quiet)
    return noisy - still


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_every_protector_takes_noise_of_any_level_after_it_was_fitted(name, data):
    if ATTRIBUTE_PROTECTORS.find(name).extra is not None:
        pytest.importorskip("torch")
    x, y, speakers = data
    quick = {"epochs": 1} if "epochs" in ATTRIBUTE_PROTECTORS.find(name).parameters else {}
    protector = make_protector(name, quick, noise_seed=3).fit(x, y, speakers=speakers)
    still = protector.transform(x)
    one = noise_of(protector.set_params(noise=1.0), x)
    two = noise_of(protector.set_params(noise=2.0), x)
    np.testing.assert_allclose(two, 2.0 * one, atol=1e-8)
    assert one.std() > 0.1
    np.testing.assert_array_equal(protector.set_params(noise=0.0).transform(x), still)


@pytest.mark.parametrize(
    ("shape", "spreads"),
    [
        ("within", [3.0, 1.0, 1.0, 1.0, 0.5]),
        ("isotropic", [np.sqrt((9 + 3 + 0.25) / 5)] * 5),
    ],
)
def test_noise_is_measured_by_how_much_one_person_varies(shape, spreads, data):
    x, y, speakers = data
    protector = ClassMeans(noise=0.5, noise_shape=shape, noise_seed=0).fit(x, y, speakers=speakers)
    found = noise_of(protector, np.repeat(x[:1], 20_000, axis=0)).std(axis=0)
    np.testing.assert_allclose(found, 0.5 * np.array(spreads), rtol=0.08)


def test_total_noise_is_larger(data):
    x, y, speakers = data
    sizes = [
        noise_of(ClassMeans(noise=1.0, noise_shape=shape, noise_seed=0).fit(x, y, speakers=speakers), x).std()
        for shape in ("within", "total")
    ]
    assert sizes[1] > 1.5 * sizes[0]


def test_with_a_seed_the_same_and_without_it_another(data):
    x, y, speakers = data
    seeded = ClassMeans(noise=1.0, noise_seed=5).fit(x, y, speakers=speakers)
    np.testing.assert_array_equal(seeded.transform(x), seeded.transform(x))
    fresh = ClassMeans(noise=1.0).fit(x, y, speakers=speakers)
    assert (fresh.transform(x) != fresh.transform(x)).all()


def test_a_key_gives_each_person_an_offset(data):
    x, y, speakers = data
    protector = ClassMeans(noise=1.0).fit(x, y, speakers=speakers)
    offsets = noise_of(protector, x, speakers=speakers, noise_key="secret")
    first = offsets[::20]
    np.testing.assert_allclose(offsets, np.repeat(first, 20, axis=0), atol=1e-9)
    assert len(np.unique(first.round(6), axis=0)) == 40
    np.testing.assert_allclose(
        offsets[40:60], noise_of(protector, x[40:60], speakers=speakers[40:60], noise_key=b"secret"), atol=1e-9
    )
    other = noise_of(protector, x, speakers=speakers, noise_key="another")
    assert np.abs(other - offsets).min() > 1e-9
    # vectors of one person stay as far apart as without noise
    apart = np.linalg.norm(protector.transform(x, speakers=speakers, noise_key="secret")[0:20:2] - x[0:20:2], axis=1)
    assert apart.std() < apart.mean()
    with pytest.raises(InputError, match="needs to know the speakers"):
        protector.transform(x, noise_key="secret")
    with pytest.raises(InputError, match="speakers: expected 800"):
        protector.transform(x, speakers=speakers[:3], noise_key="secret")
    with pytest.raises(UsageError, match="not empty"):
        protector.transform(x, speakers=speakers, noise_key="")


def test_a_saved_model_keeps_its_noise_and_no_key(data, tmp_path):
    pytest.importorskip("safetensors")
    x, y, speakers = data
    protector = make_protector("transport", noise=0.7).fit(x, y, speakers=speakers)
    expected = protector.transform(x, speakers=speakers, noise_key="secret")
    save_model(new_model(protector, "sex"), tmp_path / "m")
    assert not any(b"secret" in path.read_bytes() for path in (tmp_path / "m").iterdir())
    loaded = load_model(tmp_path / "m").protector
    assert loaded.noise == 0.7
    np.testing.assert_allclose(loaded.transform(x, speakers=speakers, noise_key="secret"), expected)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"noise": -1.0}, "noise: expected a number from 0 on"),
        ({"noise": np.nan}, "noise: expected a number from 0 on"),
        ({"noise_shape": "round"}, "noise_shape: expected one of within, isotropic, total"),
    ],
)
def test_bad_noise_is_named(settings, words, data):
    with pytest.raises(UsageError, match=words):
        ClassMeans(**settings).fit(*data[:2])
