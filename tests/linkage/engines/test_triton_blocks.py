"""The fused kernel: by its interpreter where there is no GPU, on the GPU where there is one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.linkage.searches import linked
from zeroevidence.errors import UsageError
from zeroevidence.run import Run

SCRIPT = """
import sys
import warnings

sys.path.insert(0, {root!r})
import numpy as np
from tests.linkage.searches import by_matrix, draw

from zeroevidence.linkage.engines.triton_blocks import TritonLinker
from zeroevidence.linkage.gpu import HopperKernel, TritonTile, TritonKernel
from zeroevidence.linkage.plan import LinkOptions, SearchCalibration, plan_search

warnings.filterwarnings("ignore", category=RuntimeWarning, module="triton")


def run(x, y, mated, weight, half, tile, threshold=None, linkers=TritonLinker):
    plan = plan_search(
        x, y, mated, SearchCalibration(weight, threshold=threshold), LinkOptions("dot"), dtype=np.float32
    )
    kernel = tile and TritonKernel(x.shape[1], fires=threshold is not None, tile=tile, half=half)
    linker = linkers(plan, device={device!r}, half=half, kernel=kernel)
    if {hopper} and half and tile is None:
        assert isinstance(linker.kernel, HopperKernel)
    return linker.rows(np.arange(len(x)))


for half, bits in ((False, 1e-5), (True, 5e-3)):
    for identities in (320, 301):  # a multiple of the tile, and not
        for kind in ("plain", "copies", "best")[:{kinds}]:
            x, y, mated = draw(trials=70, identities=identities, dim=100, dtype=np.float32)
            y[mated[3]] = y[(mated[3] + 5) % identities]  # a tie
            scores, evidence, best = by_matrix(x, y, mated, 3.0)
            limit = float(np.quantile(scores, 0.9))
            copies = kind == "copies"
            tile = None if kind == "best" else TritonTile({rows}, {columns}, 4, 1, copies=copies, held=half and copies)
            found = run(x, y, mated, 3.0, half, tile, limit)
            np.testing.assert_allclose(found.lid, evidence.lid, atol=bits, rtol=0)
            np.testing.assert_allclose(found.best_other, best, atol=(2e-2 if half else 1e-4))
            assert found.equal[3] == 1
            near = 1 if half else 0
            assert np.abs(found.greater - evidence.greater).max() <= near
            assert np.abs(found.fires - (scores > limit).sum(axis=1)).max() <= 4 * near
            if not half:
                np.testing.assert_array_equal(found.top, scores.argmax(axis=1))

# exponents beyond single precision are worked out again, and negative weights are weights
x, y, mated = draw(trials=40, identities=64, dim=64, dtype=np.float32)
for weight in (-2.0, 90.0):
    _, evidence, _ = by_matrix(x, y, mated, weight)
    found = run(x, y, mated, weight, False, TritonTile({rows}, {columns}, 4, 1))
    np.testing.assert_allclose(found.lid, evidence.lid, atol=1e-6 * abs(weight) + 1e-5)


class Panels(TritonLinker):
    def panel_rows(self):
        return {panel}


# several panels, the last of which holds one identity, that of a trial
identities = 2 * {panel} + 1
x, y, mated = draw(trials=40, identities=identities, dim=50, dtype=np.float32)
mated[7] = identities - 1
scores, evidence, best = by_matrix(x, y, mated, 3.0)
shape = TritonTile({rows}, {columns}, 4, 1)
kinds = [(False, shape), (True, shape), (True, None)][:{kinds}]
for half, tile in kinds:
    found = run(x, y, mated, 3.0, half, tile, linkers=Panels)
    np.testing.assert_allclose(found.lid, evidence.lid, atol=5e-3 if half else 1e-5, rtol=0)
    np.testing.assert_allclose(found.best_other, best, atol=2e-2)

# of vectors that tie for the highest score the first is named, though its tile, with a true identity, comes last
x, y, mated = draw(trials=16, identities=4 * {panel}, dim=50, dtype=np.float32)
y[20] = y[2 * {panel} + 5] = 9.0 * x[0]
for half, tile in kinds:
    assert run(x, y, np.arange(16), 3.0, half, tile).top[0] == 20

# the kernel of this device with vectors of every width, and several blocks of trials and tiles or few of them
for dim, trials, identities in [(dim, *size) for dim in {dims} for size in ((300, 1000), (130, 384), (3, 100))]:
    x, y, mated = draw(trials=trials, identities=identities, dim=dim, dtype=np.float32)
    scores, evidence, best = by_matrix(x, y, mated, 3.0)
    for limit in (None, float(np.quantile(scores, 0.9))):
        found = run(x, y, mated, 3.0, True, None, limit)
        np.testing.assert_allclose(found.lid, evidence.lid, atol=5e-3, rtol=0)
        assert np.abs(found.greater - evidence.greater).max() <= 3
        if limit is not None:
            assert np.abs(found.fires - (scores > limit).sum(axis=1)).max() <= 8
print("fine")
"""


def run(device, rows, columns, *, kinds, hopper=False, dims=(), **environment):
    shape = {"rows": rows, "columns": columns, "panel": 4 * columns}
    root = str(Path(__file__).parents[3])
    script = SCRIPT.format(root=root, device=device, kinds=kinds, hopper=hopper, dims=dims, **shape)
    command, variables = [sys.executable, "-c", script], {**os.environ, **environment}
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.stdout.strip() == "fine", done.stderr[-2000:]


def test_by_the_interpreter():
    pytest.importorskip("torch")
    triton = pytest.importorskip("triton", reason="Triton is not made for this machine")
    older = tuple(map(int, triton.__version__.split(".")[:2])) <= (3, 6)
    if older and np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        pytest.skip("Triton's interpreter up to 3.6 takes arrays of one entry for numbers, which NumPy 2.5 refuses")
    run("cpu", 16, 32, kinds=2, TRITON_INTERPRET="1")


def test_on_a_gpu():
    torch = pytest.importorskip("torch")
    pytest.importorskip("triton", reason="Triton is not made for this machine")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    hopper = torch.cuda.get_device_capability() == (9, 0)
    run("cuda", 64, 64, kinds=3, hopper=hopper, dims=(40, 100, 192, 256, 300, 512))


def test_vectors_too_long_are_refused():
    pytest.importorskip("torch")
    pytest.importorskip("triton", reason="Triton is not made for this machine")
    with pytest.raises(UsageError, match="at most 512"):
        linked(np.ones((3, 513)), np.eye(4, 513), np.arange(3), run=Run(device="cpu"), weight=1.0, engine="triton")
