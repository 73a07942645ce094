"""Two processes train what one does, and a recorded step learns what a plain one does."""

import os
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from tests.effort import slow

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
if not torch.distributed.is_available():
    pytest.skip("torch without processes", allow_module_level=True)

from tests.attack.training.test_loop import CPU, Toy, speech, weights  # noqa: E402
from zeroevidence.attack.encoders import find_encoder  # noqa: E402
from zeroevidence.attack.networks import load_onnx  # noqa: E402
from zeroevidence.attack.training import (  # noqa: E402
    SCOPES,
    TrainingSettings,
    loop,
)
from zeroevidence.attack.training.compute import ProcessGroup, current_group  # noqa: E402
from zeroevidence.attack.training.features import FrameSet, TrainingFrames  # noqa: E402
from zeroevidence.attack.training.loop import train  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = """
import sys
import numpy as np
from tests.attack.training.test_compute import trained
from zeroevidence.attack.training.compute import joined_processes

with joined_processes("cpu") as (group, _):
    assert group.size == 2
    assert group.of_first("speech" if group.is_first else None) == "speech"
    values, losses = trained()
    np.savez(f"{sys.argv[1]}/{group.rank}.npz", values=values, losses=losses)
"""


def trained():
    """Weights and losses of trainings with batches of an odd number, the last of them smaller."""
    values, losses = [], []
    for scope in SCOPES:
        settings = TrainingSettings(scope=scope, epochs=2, batch=23, crop=20, learning_rate=3e-3, look=1, seed=3)
        frames = TrainingFrames(speech(20, seed=1), speech(10, seed=2, prefix="d"))
        result = train(Toy(), frames, settings, run=CPU)
        values.append(weights(result.network))
        losses += [epoch.loss for epoch in result.epochs[1:]]
    return np.concatenate(values), np.array(losses)


@slow
def test_two_processes_learn_what_one_does(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), *filter(None, sys.path)))}
    subprocess.run([*command, str(program), str(tmp_path)], check=True, timeout=900, env=environment)
    with np.load(tmp_path / "0.npz") as first, np.load(tmp_path / "1.npz") as second:
        np.testing.assert_array_equal(first["values"], second["values"])
        values, losses = trained()
        np.testing.assert_allclose(first["values"], values, atol=2e-5)
        np.testing.assert_allclose(first["losses"], losses, rtol=1e-5)


def test_shares_cover_a_batch_once():
    assert current_group() == ProcessGroup(0, 1)
    for size in (1, 2, 3):
        for count in range(1, 9):
            parts = [list(range(count))[ProcessGroup(rank, size).share(count)] for rank in range(size)]
            assert list(chain.from_iterable(parts)) == list(range(count))


def people(first, number):
    rng = np.random.default_rng(first)
    names = np.repeat([f"p{first + i:02d}" for i in range(number)], 8)
    return FrameSet.join([rng.normal(size=(250, 80)).astype(np.float32) for _ in names], names)


def plainly(self, pieces, labels, number):
    self.optimiser.zero_grad(set_to_none=True)
    return self._in_parts(pieces, labels, number)


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
