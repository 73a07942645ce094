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


def person_means(vectors):
    return vectors.reshape(40, 20, -1).mean(axis=1)


def test_a_key_gives_each_person_an_offset(data):
    x, y, speakers = data
    protector = ClassMeans().fit(x, y, speakers=speakers)
    quiet = protector.transform(x)
    keyed, again, other = (
        protector.transform(x, speakers=speakers, noise_key=key) for key in ("secret", b"secret", "another")
    )
    offsets = person_means(keyed - quiet)
    np.testing.assert_allclose(person_means(again - quiet), offsets, atol=1e-9)
    assert np.abs(person_means(other - quiet) - offsets).min() > 1e-9
    spread = np.sqrt(((x - x.mean(axis=0)) ** 2).mean())
    assert offsets.std() == pytest.approx(protector.key_noise * spread, rel=0.15)
    # a person's offset depends on nobody else
    alone = protector.transform(x[40:60], speakers=speakers[40:60], noise_key="secret")
    np.testing.assert_allclose((alone - quiet[40:60]).mean(axis=0), offsets[2], atol=1e-9)
    np.testing.assert_allclose(
        person_means(protector.subtract(keyed, speakers=speakers, noise_key="secret")), person_means(quiet), atol=1e-9
    )
    with pytest.raises(InputError, match="needs to know the speakers"):
        protector.transform(x, noise_key="secret")
    for method in (protector.transform, protector.subtract):
        with pytest.raises(InputError, match="speakers: expected 800"):
            method(x, speakers=speakers[:3], noise_key="secret")
        with pytest.raises(UsageError, match="not empty"):
            method(x, speakers=speakers, noise_key="")


def test_with_a_key_differences_between_vectors_of_a_person_are_others(data):
    x, y, speakers = data
    keyed = ClassMeans().fit(x, y, speakers=speakers).transform(x, speakers=speakers, noise_key="secret")
    differences = (vectors.reshape(40, 20, -1) - person_means(vectors)[:, None] for vectors in (x, keyed))
    true, drawn = (difference.reshape(800, -1) for difference in differences)
    correlations = [np.corrcoef(true[:, entry], drawn[:, entry])[0, 1] for entry in range(5)]
    assert np.abs(correlations).max() < 0.15
    np.testing.assert_allclose(drawn.std(axis=0), [3.0, 1.0, 1.0, 1.0, 0.5], rtol=0.15)
    single = ClassMeans().fit(x, y, speakers=speakers)
    moved = single.transform(x[:1], speakers=speakers[:1], noise_key="secret")  # one vector is its own mean
    np.testing.assert_allclose(
        single.subtract(moved, speakers=speakers[:1], noise_key="secret"), single.transform(x[:1])
    )


def test_a_saved_model_keeps_its_noise_and_no_key(data, tmp_path):
    pytest.importorskip("safetensors")
    x, y, speakers = data
    protector = make_protector("transport", noise=0.7, noise_seed=1).fit(x, y, speakers=speakers)
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
        ({"key_noise": -1.0}, "key_noise: expected a number from 0 on"),
        ({"noise_shape": "round"}, "noise_shape: expected one of within, isotropic, total"),
    ],
)
def test_bad_noise_is_named(settings, words, data):
    with pytest.raises(UsageError, match=words):
        ClassMeans(**settings).fit(*data[:2])
