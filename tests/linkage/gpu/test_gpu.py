"""Which kernel a search on a GPU runs, and that the one in CUDA C++ compiles; numbers: `test_triton_blocks.py`."""

import re
import shutil
import subprocess
import warnings
from contextlib import nullcontext
from dataclasses import fields
from types import SimpleNamespace

import pytest

from tests.effort import slow
from zeroevidence.linkage import gpu
from zeroevidence.linkage.gpu import CudaError


def test_both_kernels_take_what_work_holds_in_its_order():
    """The kernel in CUDA C++ gets its arguments by position."""
    names = [field.name for field in fields(gpu.KernelArguments)]
    text = re.search(r"link_trials\((.*?)\) {", gpu.hopper_source(), re.DOTALL).group(1)
    arguments = [one.split()[-1].lstrip("*").removesuffix("_at") for one in text.split(",")]
    assert arguments == ["y", "z", "x", *names[3:]]


@pytest.mark.parametrize(("dim", "width"), [(1, 64), (192, 192), (193, 256), (257, 384), (320, 384), (448, 512)])
def test_vectors_are_padded_to_a_width_that_the_kernel_has(dim, width):
    assert gpu.hopper_width(dim) == width


@pytest.mark.parametrize(
    ("width", "fires"), [(192, True), *(pytest.param(*shape, marks=slow) for shape in ((64, False), (512, True)))]
)
def test_the_source_compiles_without_spills(width, fires, tmp_path):
    compiler = shutil.which("nvcc")
    if compiler is None:
        pytest.skip("no CUDA compiler")
    source = tmp_path / "kernel.cu"
    source.write_text(gpu.hopper_source())
    options = [one for one in gpu.hopper_options(width, fires=fires) if one.startswith("-D")]
    target = ["-gencode=arch=compute_90a,code=sm_90a", "-std=c++17", "-Xptxas", "-v"]
    words = [compiler, *target, *options, "-cubin", "-o", str(tmp_path / "kernel.cubin"), str(source)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "0 bytes spill stores, 0 bytes spill loads" in done.stderr
    assert "serialized" not in done.stderr  # products would not run beside anything


class _Device:
    type = "cuda"


def _pretend(monkeypatch, capability, cuda="13.0"):
    cuda_calls = SimpleNamespace(get_device_capability=lambda device: capability)
    torch = SimpleNamespace(cuda=cuda_calls, version=SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(gpu, "torch", torch)
    monkeypatch.setattr(gpu, "compiled", lambda *arguments: b"code")
    monkeypatch.setattr(gpu, "CudaFunction", lambda *arguments, **settings: "compiled")
    monkeypatch.setattr(gpu, "on_device", lambda device: nullcontext())
    return _Device()


@pytest.mark.parametrize(
    ("capability", "cuda", "half", "kind"),
    [
        ((9, 0), "13.0", True, gpu.HopperKernel),
        ((9, 0), "13.0", False, gpu.TritonKernel),
        ((8, 0), "13.0", True, gpu.TritonKernel),
        ((9, 0), None, True, gpu.TritonKernel),
    ],
)
def test_hopper_has_its_own_kernel_for_half_precision(monkeypatch, capability, cuda, half, kind):
    device = _pretend(monkeypatch, capability, cuda)
    assert type(gpu.pick_kernel(192, device, fires=False, half=half)) is kind


def test_a_kernel_that_does_not_compile_is_replaced_and_said(monkeypatch):
    device = _pretend(monkeypatch, (9, 0))

    def refuse(*arguments):
        raise CudaError("CUDA compiler: no such architecture")

    monkeypatch.setattr(gpu, "compiled", refuse)
    with pytest.warns(UserWarning, match="no such architecture"):
        found = gpu.pick_kernel(192, device, fires=False, half=True)
    assert isinstance(found, gpu.TritonKernel)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # once is enough
        assert isinstance(gpu.pick_kernel(192, device, fires=False, half=True), gpu.TritonKernel)
