"""Data that teach nothing and training that leads nowhere: one clear message, and never a model of NaN."""

from __future__ import annotations

import numpy as np
import pytest

from tests.protect.attributes import classes
from zeroevidence.errors import InputError
from zeroevidence.protect import make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS

TRAINED = [name for name in ATTRIBUTE_PROTECTORS if "learning_rate" in ATTRIBUTE_PROTECTORS.find(name).parameters]
FEW, EACH = np.repeat(np.arange(20), 15), np.arange(300)  # speakers: without and with early stopping of the flow


@pytest.fixture(scope="module")
def data():
    return classes.gaussian(np.random.default_rng(0), 300)[:2]


def made(name, **parameters):
    """A protector that is quick to train; without torch there may be none."""
    if ATTRIBUTE_PROTECTORS.find(name).extra is not None:
        pytest.importorskip("torch")
        parameters = {"epochs": 3, **parameters}
    return make_protector(name, parameters)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_one_class_is_not_enough(name, data):
    x, _ = data
    with pytest.raises(InputError, match="y: every label is 'a'; expected at least two classes"):
        made(name).fit(x, np.full(len(x), "a"))


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize(
    ("rate", "speakers", "words"),
    [
        (1e20, FEW, r".*; lower learning_rate \(it is 1e\+20"),
        (1e20, EACH, r".*; lower learning_rate \(it is 1e\+20"),
        (1.0, FEW, r".* no longer (be inverted|reconstructs vectors)"),  # finite nonsense
    ],
)
def test_training_that_diverges_is_an_error(name, rate, speakers, words, data):
    x, y = data
    with pytest.raises(InputError, match=f"training diverged: {words}"):
        made(name, learning_rate=rate, epochs=10).fit(x, y, speakers=speakers)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_vectors_out_of_all_proportion_are_refused_and_not_made_nan(name, data):
    x, y = data
    with pytest.raises(InputError, match=r"entries as large as 1\.\d+e\+201 cannot be squared; scale"):
        made(name).fit(x / np.abs(x).max() * 1.5e201, y)
    protector = made(name).fit(x, y)
    far = x[:3].copy()
    far[1] = 1.7e308 * np.sign(make_protector("linear").fit(x, y).directions_[:, 0])
    with pytest.raises(InputError, match=r"[13] of 3 protected vectors would not be finite: .*1\.7e\+308.* is too far"):
        protector.transform(far)
    assert np.isfinite(protector.transform(far[:1])).all()
    if name not in ("adversarial", "leace"):  # whose scores are small enough to bear it
        with pytest.raises(InputError, match="1 of 3 log-likelihood ratios would not be finite"):
            protector.llr(far)


def test_what_a_flow_cannot_learn_from(data):
    x, y = data
    with pytest.raises(InputError, match="keep: every label is '3'; expected at least two classes"):
        made("flow").fit(x, y, keep=np.full(len(x), 3))
    with pytest.raises(InputError, match=r"vectors with evidence as large as 1e\+60 would not be finite"):
        made("flow").fit(x, y).set_evidence(x, 1e60)
