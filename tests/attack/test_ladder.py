"""The adapter network: better than nothing where there is something to gain, and the same every time."""

import os
import pickle
from copy import deepcopy

import numpy as np
import pytest

from tests.programs import modules_after
from zeroevidence.attack import ladder
from zeroevidence.attack.backends.cosine import Cosine
from zeroevidence.attack.ladder import Adapter
from zeroevidence.errors import InputError, UsageError
from zeroevidence.measure.pairs.verification import eer

if not os.environ.get("ZEROEVIDENCE_REQUIRE_ALL"):
    pytest.importorskip("torch")


def speech(people, per_person=10, seed=0, dimension=24):
    """Speakers differ in six directions; a loud channel that changes with the utterance covers them, all rotated."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(np.random.default_rng(99).normal(size=(dimension, dimension)))[0]
    x = 0.3 * rng.normal(size=(people * per_person, dimension))
    x[:, :6] += np.repeat(rng.normal(size=(people, 6)), per_person, axis=0)
    x[:, 6:14] += 3.0 * rng.normal(size=(len(x), 8))
    return x @ turn, np.repeat([f"{seed}-{i}" for i in range(people)], per_person)


def cosine_eer(x, speakers):
    scores = Cosine(centre=False).score(x, x)
    same = speakers[:, None] == speakers[None, :]
    other = ~same
    np.fill_diagonal(same, False)
    return eer(scores[same], scores[other])


@pytest.fixture(scope="module")
def trained():
    return Adapter(epochs=30, hidden=32, random_state=1).fit(*speech(60))


def test_new_speakers_stand_apart_again(trained):
    x, speakers = speech(30, seed=5)
    assert trained.best_epoch_ > 0
    assert cosine_eer(trained.transform(x), speakers) < cosine_eer(x, speakers) - 0.1


def test_the_same_seed_gives_the_same_network():
    import torch

    state = torch.random.get_rng_state()
    first, again, other = (Adapter(epochs=5, hidden=32, random_state=seed).fit(*speech(60)) for seed in (1, 1, 2))
    assert torch.equal(torch.random.get_rng_state(), state)
    x, _ = speech(5, seed=5)
    np.testing.assert_array_equal(again.transform(x), first.transform(x))
    assert again.losses_ == first.losses_
    assert not np.array_equal(other.transform(x), first.transform(x))


def test_before_training_it_is_the_identity():
    x, speakers = speech(20)
    idle = Adapter(epochs=0).fit(x, speakers)
    assert idle.best_epoch_ == 0
    np.testing.assert_allclose(idle.transform(x), (x - x.mean(axis=0)) / x.std(axis=0), atol=1e-5)


def test_training_stops_when_new_speakers_gain_nothing():
    rng = np.random.default_rng(0)
    found = Adapter(epochs=60, patience=3, hidden=16).fit(rng.normal(size=(120, 8)), np.arange(120) % 12)
    assert len(found.losses_) <= 1 + found.best_epoch_ + 3
    assert found.losses_[found.best_epoch_] == min(found.losses_)


def test_a_trained_network_can_be_kept_and_copied(trained):
    x, _ = speech(5, seed=5)
    for again in (pickle.loads(pickle.dumps(trained)), deepcopy(trained)):
        np.testing.assert_array_equal(again.transform(x), trained.transform(x))
        assert again.losses_ == trained.losses_


@pytest.mark.parametrize(
    ("name", "value"),
    [("hidden", 0), ("epochs", -1), ("patience", -1), ("batch", 1), ("held_out", 1.0), ("dropout", -0.1)],
)
def test_parameters_are_checked_when_it_is_trained(name, value):
    network = Adapter(**{name: value})
    with pytest.raises(UsageError, match=rf"^{name}: expected .*, got {value}$"):
        network.fit(*speech(20))


def test_errors():
    x, speakers = speech(5)
    with pytest.raises(InputError, match="at least 6 training speakers"):
        Adapter().fit(x, speakers)
    with pytest.raises(InputError, match="several utterances"):
        Adapter().fit(x, np.arange(len(x)))
    with pytest.raises(UsageError, match="not trained"):
        Adapter().transform(x)


def test_its_steps_are_those_of_torchs_optimiser():
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    own, other = ([torch.nn.Parameter(torch.ones(shape)) for shape in ((3, 4), (4,))] for _ in range(2))
    step = ladder._optimiser(own, 3e-3, 1e-3)
    optimiser = torch.optim.AdamW(other, lr=3e-3, weight_decay=1e-3, fused=True)
    for _ in range(20):
        gradients = [torch.from_numpy(rng.normal(size=tuple(each.shape)).astype(np.float32)) for each in own]
        step(gradients)
        for each, gradient in zip(other, gradients, strict=True):
            each.grad = gradient
        optimiser.step()
    assert all(map(torch.equal, own, other))
    assert not torch.equal(own[0], torch.ones(3, 4))


def test_torchs_compiler_is_not_imported():
    fit = "Adapter(hidden=2, epochs=1).fit(np.random.default_rng(0).normal(size=(24, 4)), np.repeat(list('abcdef'), 4))"
    loaded = modules_after(f"import numpy as np; from zeroevidence.attack.ladder import Adapter; {fit}")
    assert "torch" in loaded
    assert "torch._dynamo" not in loaded
