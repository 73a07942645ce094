"""The fused search on a CUDA device: times, and LID of sampled rows against double precision.

    PYTHONPATH=src python3 benchmarks/link_gpu.py [--size 1048576] [--dims 192 256 512] [--tune SECONDS] [--command]

`kernel` is the fused kernel alone, the one that `link` takes on this device, its inputs there; that in Triton is
timed beside it. `link` is the whole call, from arrays in host memory to results in host memory, once everything is
compiled; `product` is a bare 16-bit matrix product of the same shape in blocks, nothing kept. A number of identities
that is not a multiple of the tile is measured too, a search without signal, where ranks are random, cosines, vectors in
memory-mapped files, which the system has read before, and `link_resumable`, which the command calls, with its digests
and checkpoints.
`--tune` tries tile shapes of the kernel in Triton first, for at most that long. `--command` times `zeroevidence link`
of the same size alone, in a new process, from files to files.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch

from zeroevidence.data.embeddings import Embeddings
from zeroevidence.linkage import LinkOptions, SearchCalibration, link, link_resumable, pair
from zeroevidence.linkage.engines.torch_blocks import torch_moments
from zeroevidence.linkage.engines.triton_blocks import TritonLinker, TritonRows
from zeroevidence.linkage.gpu import TritonKernel, TritonTile, best_tile
from zeroevidence.linkage.plan import plan_search
from zeroevidence.run import Run


def draw(trials, identities, dim, signal, seed=0):
    """Enrolment vectors with a common mean, and trials that resemble the identity they are mated with."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    y = torch.randn(identities, dim, generator=generator, device="cuda") + 0.3
    mated = torch.randint(0, identities, (trials,), generator=generator, device="cuda")
    x = signal * y[mated] + torch.randn(trials, dim, generator=generator, device="cuda")
    return x.cpu().numpy(), y.cpu().numpy(), mated.cpu().numpy()


def seconds(function, repeats=3):
    """Median time on the device, after one run that compiles."""
    function()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        function()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 1e3)
    return float(np.median(times))


def plan_of(x, y, mated, weight=3.0):
    moments = partial(torch_moments, device="cuda")
    return plan_search(x, y, mated, SearchCalibration(weight), LinkOptions("dot"), moments=moments)


def kernel_seconds(plan, rows, kernel=None, repeats=3):
    """Time of a kernel on the device, by default of the one that `link` takes there."""
    linker = TritonLinker(plan, device="cuda", kernel=kernel)
    block = TritonRows(linker, rows)
    panel = next(iter(linker.panels()))[1]
    return seconds(lambda: block.launch(panel, 0, plan.identities), repeats)


def reference_lid(x, y, mated, rows, weight=3.0):
    """LID by double precision, row by row over all identities."""
    wide = torch.from_numpy(y).cuda().double()
    scores = torch.from_numpy(x[rows]).cuda().double() @ wide.T
    z = weight * (scores - scores.mean(1, keepdim=True)) / scores.std(1, correction=0, keepdim=True)
    mated_scores = z[torch.arange(len(rows)), torch.from_numpy(mated[rows]).cuda()]
    lid = (mated_scores - torch.logsumexp(z, 1) + np.log(len(y))) / np.log(2.0)
    true = scores[torch.arange(len(rows)), torch.from_numpy(mated[rows]).cuda()]
    return lid.cpu().numpy(), (scores > true[:, None]).sum(1).cpu().numpy()


def tune(budget, dim, size):
    """Tile shapes from fast to slow, on a sixteenth of the trials."""
    x, y, mated = draw(max(size // 16, 128), size, dim, 0.5)
    plan = plan_of(x, y, mated)
    rows = np.arange(len(x))
    shapes = [
        (128, 64, 4, 2), (128, 64, 4, 1), (64, 64, 4, 2), (128, 32, 4, 2), (128, 128, 8, 1), (64, 128, 4, 1),
        (128, 32, 8, 2), (64, 64, 4, 1), (128, 64, 8, 2), (128, 64, 8, 3), (256, 64, 8, 1), (128, 128, 8, 3),
    ]  # fmt: skip
    timed_tiles = []
    deadline = time.perf_counter() + budget
    kinds = [(True, False), (True, True), (False, False), (False, True)]
    for tile in [TritonTile(*shape, copies=copies, held=held) for copies, held in kinds for shape in shapes]:
        if time.perf_counter() > deadline:
            break
        try:
            timed_tiles.append((kernel_seconds(plan, rows, TritonKernel(dim, fires=False, tile=tile)), tile))
            print(f"  {1e3 * timed_tiles[-1][0]:7.1f} ms {tile}", flush=True)
        except Exception as error:
            print(f"  failed {tile}: {' '.join(str(error).split())[:120]}", flush=True)
    for time_taken, tile in sorted(timed_tiles, key=lambda timed_tile: timed_tile[0])[:5]:
        print(f"best at {dim}: {16e3 * time_taken:.0f} ms for all trials, {tile}", flush=True)
    return min(timed_tiles, key=lambda timed_tile: timed_tile[0])[1] if timed_tiles else best_tile(dim)


def wall_seconds(function, repeats=3):
    """Median time of a call, after one that compiles and fills the caches of allocators."""
    function()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def measure(trials, identities, dim, signal):
    """Time and accuracy of one search; returns the kernel's time and the arrays."""
    x, y, mated = draw(trials, identities, dim, signal)
    kernel = kernel_seconds(plan_of(x, y, mated), np.arange(trials))
    call = partial(link, x, y, mated, LinkOptions("dot", weight=3.0, engine="triton"))
    whole, result = wall_seconds(call), call()
    rows = np.random.default_rng(0).choice(trials, 256, replace=False)
    lid, greater = reference_lid(x, y, mated, rows)
    error = np.abs(result.lid[rows] - lid).max()
    moved = np.abs(result.greater[rows] - greater).max()
    rate = 2.0 * trials * identities * dim / kernel / 1e12
    print(
        f"T = {trials}, N = {identities}, d = {dim}, signal {signal}: kernel {kernel:.3f} s ({rate:.0f} TFLOP/s), "
        f"link {whole:.2f} s, {whole / kernel:.2f} times that, "
        f"LID within {error:.1e} bit on 256 rows, ranks within {moved} of {identities}",
        flush=True,
    )
    return kernel, (x, y, mated)


def other_inputs(kernel, x, y, mated):
    """The whole call for cosines, from memory-mapped files, and with the digests and checkpoints of the command."""
    cosine = wall_seconds(partial(link, x, y, mated, LinkOptions(weight=3.0, engine="triton")))
    with tempfile.TemporaryDirectory() as folder:
        for name, vectors in (("x", x), ("y", y)):
            np.save(Path(folder) / f"{name}.npy", vectors)
        files = [Path(folder) / "x.npy", Path(folder) / "y.npy"]
        mapped = wall_seconds(partial(link, *files, mated, LinkOptions("dot", weight=3.0, engine="triton")))
    names = np.arange(len(y)).astype(np.str_)
    search = pair(Embeddings(x, speakers=names[mated]), Embeddings(y, names, names), scoring="dot")
    settings = LinkOptions("dot", weight=3.0, engine="triton")

    def resumable():
        with tempfile.TemporaryDirectory() as folder:
            link_resumable(search, folder, settings)

    resumed = wall_seconds(resumable)
    print(
        f"cosines: link {cosine:.2f} s, {cosine / kernel:.2f} times the kernel; memory-mapped files: {mapped:.2f} s, "
        f"{mapped / kernel:.2f} times; link_resumable {resumed:.2f} s, {resumed / kernel:.2f} times",
        flush=True,
    )


def command(size, dim):
    """The command in a new process, from files of vectors and names to results; the better of two."""
    x, y, mated = draw(size, size, dim, 0.5)
    names = np.char.add("s", np.arange(size).astype(str))
    with tempfile.TemporaryDirectory() as folder:
        enrol, trial, out = (str(Path(folder) / name) for name in ("enrol.npz", "trial.npz", "out"))
        np.savez(enrol, vectors=y, ids=names, speaker=names)
        np.savez(trial, vectors=x, ids=np.char.add("u", names), speaker=names[mated])
        words = ["link", "--enrol", enrol, "--trial", trial, "--weight", "3", "--scoring", "dot", "-o", out]
        times = []
        for _ in range(2):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-m", "zeroevidence", *words, "--overwrite"], check=True)
            times.append(time.perf_counter() - start)
    print(f"zeroevidence link, T = N = {size}, d = {dim}: {min(times):.1f} s", flush=True)


def agree():
    """Every engine of this machine against NumPy in double precision, on a small search with ties."""
    for dim in (100, 192, 512):
        x, y, mated = draw(2000, 3001, dim, 0.5)
        y[mated[:50]] = y[(mated[:50] + 1) % 3001]
        exact = LinkOptions("dot", weight=3.0, engine="numpy")
        expected = link(x.astype(np.float64), y.astype(np.float64), mated, exact)
        for name, changes in {
            "numpy float32": {},
            "torch float64": {"engine": "torch", "precision": 64},
            "torch float32": {"engine": "torch"},
            "triton float32": {"engine": "triton", "precision": 32},
            "triton float16": {"engine": "triton"},
        }.items():
            try:
                evidence = link(x, y, mated, replace(exact, **changes), run=Run(device="cuda"))
            except Exception as error:
                print(f"d = {dim}, {name}: failed: {' '.join(str(error).split())[:300]}", flush=True)
                continue
            print(
                f"d = {dim}, {name}: LID within {np.abs(evidence.lid - expected.lid).max():.1e} bit of numpy float64, "
                f"{(evidence.greater != expected.greater).sum()} ranks and "
                f"{(evidence.equal != expected.equal).sum()} ties of 2000 differ, "
                f"{(evidence.top != expected.top).sum()} leaders",
                flush=True,
            )


def product_seconds(size, dim):
    """Bare 16-bit product in blocks, written over."""
    x, y = (torch.randn(size, dim, device="cuda", dtype=torch.float16) for _ in range(2))
    rows = 1 << 13
    out = torch.empty(rows, size, device="cuda", dtype=torch.float16)

    def run():
        for start in range(0, size, rows):
            torch.matmul(x[start : start + rows], y.T, out=out)

    return seconds(run, 2)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=1 << 20)
    parser.add_argument("--dims", type=int, nargs="*", default=[192, 256, 512])
    parser.add_argument("--tune", type=float, metavar="SECONDS")
    parser.add_argument("--command", action="store_true")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device")
    import triton

    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}", flush=True)
    size = arguments.size
    if arguments.command:
        command(size, arguments.dims[0])
        return
    agree()
    for at, dim in enumerate(arguments.dims):
        tile = tune(arguments.tune, dim, size) if arguments.tune else best_tile(dim)
        kernel, arrays = measure(size, size, dim, 0.5)
        slower = kernel_seconds(plan_of(*arrays), np.arange(size), TritonKernel(dim, fires=False, tile=tile))
        print(
            f"the kernel in Triton: {slower:.3f} s ({2.0 * size * size * dim / slower / 1e12:.0f} TFLOP/s)", flush=True
        )
        product = product_seconds(size, dim)
        print(f"product of the same shape: {product:.3f} s, kernel {kernel / product:.2f} times that", flush=True)
        if at == 0:
            other_inputs(kernel, *arrays)
            measure(size, size, dim, 0.0)
            measure(size, size - 77, dim, 0.5)


if __name__ == "__main__":
    main()
