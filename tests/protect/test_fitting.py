"""Protectors fitted, loaded and applied from Python as by the commands."""

from pathlib import Path

import numpy as np
import pytest

from tests.protect.people import voices
from zeroevidence.data.embeddings import Embeddings
from zeroevidence.errors import InputError, UsageError
from zeroevidence.protect import Roles, load_model, save_model
from zeroevidence.protect.fitting import FitOptions, fit, fit_protectors, shared_boundaries, suitable_protectors
from zeroevidence.run import Run


def accented(start=0, dimension=5):
    """People of two accents, in single precision."""
    accents = np.array(["n", "s"])[np.arange(18) // 2 % 2]
    data = voices(people=18, each=4, dimension=dimension, start=start, accent=accents)
    return Embeddings(data.vectors.astype(np.float32), data.ids, data.speakers, data.attributes)


def test_several_are_fitted_and_those_that_can_keep_an_attribute_do():
    pytest.importorskip("torch")
    seen = []

    run = Run(progress=lambda title, _: lambda done, total: seen.append((title, done, total)))
    assert list(fit_protectors(["linear"], accented(), "sex", FitOptions(keep="accent"), run)) == ["linear"]
    flow = fit_protectors(["flow"], accented(), "sex", FitOptions("flow", {"epochs": 1}, keep="accent"), run)["flow"]
    assert flow.kept_classes_.tolist() == ["n", "s"]
    assert seen[-1] == ("training flow", 1, 1)


def test_models_that_would_make_an_assessment_unfair_are_refused(tmp_path):
    pytest.importorskip("safetensors")
    data = accented()
    roles = Roles.split(data, "sex")
    for name, people in (("own", data), ("other", accented(start=100)), ("wide", accented(start=200, dimension=6))):
        save_model(fit(people, "sex", FitOptions("linear")), tmp_path / name)
    save_model(fit(accented(start=100), "accent", FitOptions("linear")), tmp_path / "accent")
    models = {str(folder): load_model(folder) for folder in tmp_path.iterdir()}

    def suitable(*folders):
        chosen = {folder: models[str(tmp_path / Path(folder).name)] for folder in folders}
        assert shared_boundaries(chosen, "sex") == ()
        return suitable_protectors(chosen, roles)

    assert list(suitable(str(tmp_path / "other"))) == ["other"]
    for name, reason in (("own", "was trained on"), ("wide", "vectors of 6"), ("accent", "conceals 'accent'")):
        with pytest.raises(InputError, match=reason) as error:
            suitable(str(tmp_path / name))
        assert error.value.path == str(tmp_path / name)
    with pytest.raises(UsageError, match="two models are called 'other'"):
        suitable("a/other", "b/other")
