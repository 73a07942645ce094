import hashlib
import json

import numpy as np
import pytest

from tests.protect.attributes import classes
from tests.protect.people import voices
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import FitOptions, LinearNuller, fit, load_model, make_protector, new_model, save_model
from zeroevidence.protect.models import protect_embeddings

pytest.importorskip("torch")
pytest.importorskip("safetensors")


def test_a_saved_model_gives_the_same_vectors(fitted, tmp_path):
    protector, x = fitted
    save_model(new_model(protector, "sex", speakers=np.array(["ann", "bob"] * (len(x) // 2))), tmp_path / "m")
    loaded = load_model(tmp_path / "m")
    np.testing.assert_array_equal(loaded.protector.transform(x), protector.transform(x))
    np.testing.assert_array_equal(loaded.protector.llr(x), protector.llr(x))
    assert (loaded.protector.get_params(), loaded.attribute) == (protector.get_params(), "sex")
    assert loaded.seen(["ann", "eve"]) == ["ann"]
    assert loaded.trained_on == {"vectors": len(x), "speakers": 2}
    assert b"ann" not in (tmp_path / "m" / "model.json").read_bytes()
    assert sorted(path.name for path in (tmp_path / "m").iterdir()) == ["model.json", "model.safetensors"]


@pytest.fixture
def folder(tmp_path):
    x, y, _ = classes.gaussian(np.random.default_rng(0), 100)
    save_model(new_model(make_protector("linear", {}).fit(x, y), "sex"), tmp_path / "m")
    return tmp_path / "m"


def test_what_could_not_be_loaded_is_not_saved(folder, tmp_path):
    class Mine(LinearNuller):
        """Under the name of another class."""

    x, y, _ = classes.gaussian(np.random.default_rng(0), 100)
    with pytest.raises(UsageError, match="Mine: the protector called 'linear' is another class"):
        save_model(new_model(Mine().fit(x, y), "sex"), tmp_path / "n")
    with pytest.raises(ValueError, match="not fitted"):
        save_model(new_model(LinearNuller(), "sex"), tmp_path / "n")
    assert not (tmp_path / "n").exists()
    with pytest.raises(UsageError, match="exists"):
        save_model(load_model(folder), folder)


def edited(folder, **changes):
    path = folder / "model.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "model.json").unlink(), "no model"),
        (lambda f: (f / "model.json").write_text("{"), "not JSON"),
        (lambda f: edited(f, schema="zeroevidence/protector/99"), "schema"),
        (lambda f: (f / "model.safetensors").write_bytes(b"x"), "digest"),
        (lambda f: edited(f, protector="magic"), "unknown protector"),
        (lambda f: edited(f, dimension=None), "model.dimension: expected a whole number, got None"),
        (lambda f: edited(f, dimension=7), "cannot be used"),
        (lambda f: edited(f, classes=["f", "f"]), "classes: expected at least two, each once"),
        (lambda f: edited(f, speakers=[["ada"]]), r"model.speakers\[0\]: expected text"),
        (lambda f: edited(f, guess=1), "model: has no field 'guess'"),
        (lambda f: edited(f, boundaries=["old"]), r"model.boundaries\[0\]: expected a number"),
    ],
)
def test_a_damaged_model_is_refused(folder, damage, words):
    damage(folder)
    with pytest.raises(InputError, match=words):
        load_model(folder)


@pytest.mark.parametrize(
    ("name", "array", "words"),
    [
        ("rotation.centre", np.zeros(8), "an earlier version fitted it for vectors that a key rotates; fit it again"),
        ("people.directions", np.zeros((1, 1)), "cannot be used"),  # which only people as a whole meet
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(folder, name, array, words):
    from safetensors.numpy import load_file, save

    data = save({**load_file(folder / "model.safetensors"), name: array})
    (folder / "model.safetensors").write_bytes(data)
    edited(folder, sha256=hashlib.sha256(data).hexdigest())
    with pytest.raises(InputError, match=words):
        load_model(folder)


def test_people_stay_comparable_and_noise_is_drawn_anew():
    data = voices()
    model = fit(data, "sex", FitOptions("leace", {"noise": 0.5}))
    once, again = (protect_embeddings(model, data, noise_seed=3) for _ in range(2))
    np.testing.assert_array_equal(once.vectors, again.vectors)
    assert (protect_embeddings(model, data).vectors != once.vectors).any()
    assert "sex" not in once.attributes
    # vectors of different people have the cosines that they had, but for noise and the sex
    cosines = []
    for vectors in (data.vectors, once.vectors):
        lengths = np.linalg.norm(vectors, axis=1)
        cosines.append((vectors @ vectors.T / np.outer(lengths, lengths))[data.speakers[:, None] != data.speakers])
    assert np.corrcoef(*cosines)[0, 1] > 0.7


@pytest.mark.parametrize("name", ["adversarial", "flow"])
def test_deviations_that_nothing_can_be_divided_by_are_refused(name):
    x, y, _ = classes.gaussian(np.random.default_rng(0), 100)
    fitted = make_protector(name, {"epochs": 1}).fit(x, y)
    numbers = fitted.numbers()
    (place,) = (one for one in numbers if one.rpartition(".")[2] == "scale")
    for scale in (np.zeros(8), np.array([0]), np.full(8, -1.0)):
        with pytest.raises(InputError, match="scale: expected 8 positive numbers"):
            fitted.restore({**numbers, place: scale})
