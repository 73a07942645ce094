"""Protectors fitted, loaded and applied from Python as by the commands."""

from pathlib import Path

import numpy as np
import pytest

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import Roles, load_model, save_model
from zeroevidence.protect.applying import protect_embeddings
from zeroevidence.protect.fitting import fit, fit_protectors, protectors_that_keep, suitable_protectors


def voices(people=18, dimension=5, start=0):
    """Vectors of people whose sex and accent show."""
    rng = np.random.default_rng(start)
    who = np.repeat(np.arange(people), 4)
    vectors = rng.normal(size=(people, dimension))[who] + 0.3 * rng.normal(size=(len(who), dimension))
    vectors[:, 0] += 3.0 * (who % 2)
    words = {"sex": np.array(["f", "m"])[who % 2], "accent": np.array(["n", "s"])[who // 2 % 2]}
    names = np.array([f"p{start + one}" for one in who])
    return Embeddings(vectors.astype(np.float32), np.arange(len(who)).astype(str), names, words)


def test_the_attribute_goes_and_everything_else_stays():
    data = voices()
    model = fit(data, "sex", "linear", parameters={"shrinkage": 0.1})
    assert model.protector.shrinkage == 0.1
    assert model.seen(["p3", "q3"]) == ["p3"]
    protected = protect_embeddings(model, data)
    assert protected.vectors.dtype == np.float32
    assert set(protected.attributes) == {"accent"}
    np.testing.assert_array_equal(protected.ids, data.ids)
    np.testing.assert_array_equal(protected.speakers, data.speakers)
    np.testing.assert_allclose(model.protector.llr(protected.vectors), 0.0, atol=1e-3)
    with pytest.raises(UsageError, match="only a flow"):
        protect_embeddings(model, data, llr=1.0)
    with pytest.raises(InputError, match="vectors of 5 entries; these have 6"):
        protect_embeddings(model, voices(dimension=6))


def test_what_a_protector_cannot_do_is_said_before_it_is_fitted():
    assert "flow" in protectors_that_keep()
    with pytest.raises(UsageError, match=r"linear cannot keep a second attribute; .*flow"):
        fit(voices(), "sex", "linear", keep="accent")
    with pytest.raises(UsageError, match="no preset"):
        fit(voices(), "sex", "linear", preset="paper")
    with pytest.raises(UsageError, match="unknown protector"):
        fit(voices(), "sex", "magic")


def test_several_are_fitted_and_those_that_can_keep_an_attribute_do():
    pytest.importorskip("torch")
    seen = []

    def progress(kind):
        return lambda done, total: seen.append((kind, done, total))

    assert list(fit_protectors(["linear"], voices(), "sex", keep="accent", progress=progress)) == ["linear"]
    flow = fit_protectors(["flow"], voices(), "sex", keep="accent", parameters={"epochs": 1}, progress=progress)["flow"]
    assert flow.kept_classes_.tolist() == ["n", "s"]
    assert seen[-1] == ("flow", 1, 1)


def test_models_that_would_make_an_assessment_unfair_are_refused(tmp_path):
    pytest.importorskip("safetensors")
    data = voices()
    roles = Roles.split(data, "sex")
    for name, people in (("own", data), ("other", voices(start=100)), ("wide", voices(start=200, dimension=6))):
        save_model(fit(people, "sex", "linear"), tmp_path / name)
    save_model(fit(voices(start=100), "accent", "linear"), tmp_path / "accent")
    models = {str(folder): load_model(folder) for folder in tmp_path.iterdir()}

    def suitable(*folders):
        chosen = {folder: models[str(tmp_path / Path(folder).name)] for folder in folders}
        return suitable_protectors(chosen, roles, "sex")

    assert list(suitable(str(tmp_path / "other"))) == ["other"]
    for name, reason in (("own", "was trained on"), ("wide", "vectors of 6"), ("accent", "conceals 'accent'")):
        with pytest.raises(InputError, match=reason) as error:
            suitable(str(tmp_path / name))
        assert error.value.path == str(tmp_path / name)
    with pytest.raises(UsageError, match="two models are called 'other'"):
        suitable("a/other", "b/other")
