"""A recorded step learns what a plain one does."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

from zeroevidence.attack.encoders import find_encoder  # noqa: E402
from zeroevidence.attack.networks import load_onnx  # noqa: E402
from zeroevidence.attack.training import TrainingSettings, loop  # noqa: E402
from zeroevidence.attack.training.features import FrameSet, TrainingFrames  # noqa: E402


def people(first, number):
    rng = np.random.default_rng(first)
    names = np.repeat([f"p{first + i:02d}" for i in range(number)], 8)
    return FrameSet.join([rng.normal(size=(250, 80)).astype(np.float32) for _ in names], names)


def plainly(self, pieces, labels):
    self.optimiser.zero_grad(set_to_none=True)
    return self._in_parts(pieces, labels)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
def test_recorded_steps_learn_what_plain_ones_do(monkeypatch):
    settings = TrainingSettings(epochs=2, batch=32).filled()
    found = []
    for recorded in (True, False):
        if not recorded:
            monkeypatch.setattr(loop.TrainingRun, "_gradients", plainly)
        place = torch.device("cuda")
        with loop.reproducible(settings.seed, place):
            network = load_onnx(find_encoder("campplus").card.file).to(place)
            running = loop.TrainingRun(network, TrainingFrames(people(0, 9), people(50, 3)), settings, place)
            running.epoch()  # 72 utterances: two recorded batches, and a smaller one that is not
        assert (running.recorded is not None) == recorded
        found.append({name: value.cpu() for name, value in network.state_dict().items()})
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
