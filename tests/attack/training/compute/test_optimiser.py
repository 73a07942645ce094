"""The optimiser is torch's own, without the compiler that its methods import."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

from zeroevidence.attack.training.compute.optimiser import PlainAdamW, without_compiler  # noqa: E402

PROGRAM = """
import sys, torch
from zeroevidence.attack.training.compute.optimiser import PlainAdamW, without_compiler
with without_compiler():
    weight = torch.nn.Parameter(torch.ones(3))
    optimiser = PlainAdamW([weight], lr=0.1)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, [0.1], total_steps=4)
    (weight**2).sum().backward()
    optimiser.step()
    schedule.step()
    optimiser.zero_grad(set_to_none=True)
    optimiser.load_state_dict(optimiser.state_dict())
assert weight[0] < 1
assert "torch._dynamo" not in sys.modules
"""


def test_it_learns_without_the_compiler():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=600)


def test_its_steps_are_those_of_torch():
    ends = []
    for kind in (PlainAdamW, torch.optim.AdamW):
        torch.manual_seed(0)
        weight = torch.nn.Parameter(torch.randn(5))
        optimiser = kind([weight], lr=0.1, weight_decay=0.01)
        for _ in range(3):
            optimiser.zero_grad()
            (weight**4).sum().backward()
            with without_compiler():
                optimiser.step()
        ends.append(weight.detach())
    assert torch.equal(*ends)
