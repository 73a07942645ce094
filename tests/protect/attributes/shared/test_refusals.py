"""Data that teach nothing and training that leads nowhere: one clear message, and never a model of NaN."""

from __future__ import annotations

import numpy as np
import pytest

from tests.protect.attributes import classes
from zeroevidence.cli import main
from zeroevidence.errors import InputError
from zeroevidence.protect import make_protector
from zeroevidence.protect.attributes import ATTRIBUTE_PROTECTORS, protectors_of

OF_CLASSES = [kind.name for kind in protectors_of("classes")]
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


@pytest.mark.parametrize("name", OF_CLASSES)
def test_one_class_is_not_enough(name, data):
    x, _ = data
    with pytest.raises(InputError, match="y: every label is 'a'; expected at least two classes"):
        made(name).fit(x, np.full(len(x), "a"))


def test_one_class_to_keep_is_not_enough(data):
    x, y = data
    with pytest.raises(InputError, match="keep: every label is '3'; expected at least two classes"):
        made("flow").fit(x, y, keep=np.full(len(x), 3))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_the_command_line_says_so_without_a_traceback(name, data, tmp_path, capsys):
    x, _ = data
    made(name)
    pytest.importorskip("safetensors")
    np.savez(tmp_path / "v.npz", vectors=x, speaker=FEW.astype(str), sex=np.full(len(x), "F"))
    arguments = ["fit", tmp_path / "v.npz", "--attribute", "sex", "--protector", name, "-o", tmp_path / "model"]
    with pytest.raises(SystemExit) as stop:
        main(["protect", *map(str, arguments)])
    assert stop.value.code == InputError.exit_code
    said = f"{tmp_path / 'v.npz'}: y: every label is 'F'; expected at least two classes"
    assert capsys.readouterr().err.strip() == said
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("rate", [1e6, 1e20])
@pytest.mark.parametrize("speakers", [FEW, EACH], ids=["few people", "many people"])
def test_training_that_diverges_is_an_error(name, rate, speakers, data):
    x, y = data
    with pytest.raises(InputError, match=r"training diverged: .*; lower learning_rate \(it is 1e\+?\d|1000000"):
        made(name, learning_rate=rate).fit(x, y, speakers=speakers)


@pytest.mark.parametrize("name", TRAINED)
def test_finite_nonsense_has_diverged_too(name, data):
    x, y = data
    with pytest.raises(InputError, match=r"training diverged: .* no longer (be inverted|reconstructs vectors)"):
        made(name, learning_rate=1.0, epochs=10).fit(x, y, speakers=FEW)


@pytest.mark.parametrize(("losses", "best"), [((3.0, 2.0, np.nan), 1), ((3.0, 2.5, 2.0, np.inf), 2)])
def test_a_flow_that_diverges_late_keeps_what_it_had(losses, best, data, monkeypatch):
    x, y = data
    flow = made("flow", epochs=9)
    given = iter(losses)
    monkeypatch.setattr("zeroevidence.protect.attributes.flows.training.held_out_loss", lambda *_: next(given))
    flow.fit(x, y, speakers=EACH)
    assert flow.history_.losses == losses
    assert (flow.history_.best, flow.history_.diverged) == (best, False)


def test_a_flow_that_diverges_at_once_is_no_linear_protector(data, monkeypatch):
    x, y = data
    flow = made("flow", epochs=9)
    given = iter((3.0, np.nan))
    monkeypatch.setattr("zeroevidence.protect.attributes.flows.training.held_out_loss", lambda *_: next(given))
    with pytest.raises(
        InputError, match=r"training diverged: the loss is not finite; lower learning_rate \(it is 'auto'"
    ):
        flow.fit(x, y, speakers=EACH)


def test_a_broken_model_is_never_returned(data, monkeypatch):
    x, y = data
    nuller = make_protector("linear")
    monkeypatch.setattr(type(nuller), "_arrays", lambda self: {"directions": np.array([1.0, np.nan])})
    with pytest.raises(InputError, match="fitting failed: the model's numbers are not finite"):
        nuller.fit(x, y)


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_vectors_that_cannot_be_squared(name, data):
    x, y = data
    with pytest.raises(InputError, match=r"entries as large as 1\.\d+e\+201 cannot be squared; scale"):
        made(name).fit(x / np.abs(x).max() * 1.5e201, classes.target(ATTRIBUTE_PROTECTORS.find(name).conceals, y))


@pytest.mark.parametrize("name", ATTRIBUTE_PROTECTORS)
def test_vectors_out_of_all_proportion_are_refused_and_not_made_nan(name, data):
    x, y = data
    protector = made(name).fit(x, classes.target(ATTRIBUTE_PROTECTORS.find(name).conceals, y))
    far = x[:3].copy()
    far[1] = 1.7e308 * np.sign(make_protector("linear").fit(x, y).directions_[:, 0])
    with pytest.raises(InputError, match=r"[13] of 3 protected vectors would not be finite: .*1\.7e\+308.* is too far"):
        protector.transform(far)
    assert np.isfinite(protector.transform(far[:1])).all()
    if name not in ("adversarial", "inlp", "leace"):  # whose scores are small enough to bear it
        with pytest.raises(InputError, match="1 of 3 log-likelihood ratios would not be finite"):
            protector.llr(far)


def test_evidence_out_of_all_proportion_is_refused(data):
    x, y = data
    flow = made("flow").fit(x, y)
    with pytest.raises(InputError, match=r"vectors with evidence as large as 1e\+60 would not be finite"):
        flow.set_evidence(x, 1e60)
    for method in (flow.to_latent, flow.from_latent):
        with pytest.raises(InputError, match="would not be finite"):
            method(x * 1e300)


def test_vectors_that_do_not_vary(data):
    _, y = data
    with pytest.raises(InputError, match="that vary cannot hold"):
        made("flow").fit(np.ones((len(y), 4)), y)
