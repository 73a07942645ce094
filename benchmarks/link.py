"""Linking from embeddings on the CPU against a bare blocked sgemm of the same shape, in the same run.

    python benchmarks/link.py [--size 20000] [--dim 192] [--threads 2] [--repeats 5]

The floor is timed twice: the product by threads of BLAS, and by threads of ours with a block each, which is faster on
some machines. `signal` makes trials resemble their identities; without it (`chance`) ranks are random, which is the
most work. Memory is how much the process grew while linking, beyond the vectors themselves. All cores are used unless
`--threads` says how many. NPY_DISABLE_CPU_FEATURES takes NumPy's vector instructions away, to see what other processors
make of it; `--exponential` names one way of `linkage/engines/numpy_blocks.py` to take powers of two.
"""

from __future__ import annotations

import argparse
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits
from timing import best_of_each

from zeroevidence.linkage import LinkOptions, link
from zeroevidence.linkage.engines import numpy_blocks
from zeroevidence.measure import softplus
from zeroevidence.optional import one_blas_thread
from zeroevidence.run import Run

_ROWS, _COLUMNS = 1024, 8160  # the shape that the back-end multiplies


def bare(x, y, out):
    """Every product, each block written over the last."""
    for start in range(0, len(x), _ROWS):
        rows = x[start : start + _ROWS]
        for first in range(0, len(y), _COLUMNS):
            columns = y[first : first + _COLUMNS]
            np.matmul(rows, columns.T, out=out[: len(rows), : len(columns)])


def bare_by_threads(x, y, threads):
    """The same, each thread with its own blocks, as the back-end does it; other work on the machine hurts this less."""
    local = threading.local()

    def job(start):
        if not hasattr(local, "out"):
            local.out = np.empty((_ROWS, min(_COLUMNS, len(y))), np.float32)
        bare(x[start : start + _ROWS], y, local.out)

    with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
        list(pool.map(job, range(0, len(x), _ROWS)))


def resident():
    """Bytes of memory in use by this process now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


def growth(function):
    """The most by which the process grew while a function ran, sampled every millisecond."""
    before, most, done = resident(), [0], threading.Event()

    def watch():
        while not done.wait(0.001):
            most[0] = max(most[0], resident() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    function()
    done.set()
    watcher.join()
    return most[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--dim", type=int, default=192)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--exponential", choices=["by_exp2", "by_exp", "by_torch"])
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    if options.exponential:
        numpy_blocks.powers_of_two = lambda _: getattr(numpy_blocks, options.exponential, softplus.by_exp)
    rng = np.random.default_rng(0)
    size, threads = options.size, options.threads
    y = rng.standard_normal((size, options.dim), dtype=np.float32)
    noise = rng.standard_normal((size, options.dim), dtype=np.float32)
    resembling = noise + y
    mated = np.arange(size)
    settings = LinkOptions("dot", weight=3.0, engine="numpy")
    call = partial(link, options=settings, run=Run(cores=threads))
    grown = growth(lambda: call(noise, y, mated))
    out = np.empty((_ROWS, min(_COLUMNS, size)), np.float32)
    with threadpool_limits(threads, user_api="blas"):
        times = best_of_each(
            {
                "sgemm": lambda: bare(noise, y, out),
                "sgemm by threads": lambda: bare_by_threads(noise, y, threads),
                "chance": lambda: call(noise, y, mated),
                "signal": lambda: call(resembling, y, mated),
            },
            options.repeats,
        )
    way = numpy_blocks.powers_of_two(size * size).__name__ if options.exponential is None else options.exponential
    for floor in ("sgemm", "sgemm by threads"):
        print(
            f"T = N = {size}, d = {options.dim}, float32, {threads} threads, {way}: {floor} {times[floor]:.3f} s, link "
            f"{times['chance'] / times[floor]:.2f} times that without signal, {times['signal'] / times[floor]:.2f} with"
        )
    print(f"memory grew by {grown / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
