"""Linking through Dask with one worker and with two, each a process with one thread of its own, on the loopback.

    python benchmarks/link_dask.py [--trials 16000] [--identities 40000] [--dim 192] [--repeats 3]

Starts `dask scheduler` and `dask worker` as a cluster would, and gives the workers addresses of files. Prints how much
faster two workers are, and whether the answers are the same numbers. One task is done before the clock starts, so that
every worker has opened the files.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from distributed import Client
from timing import best

from zeroevidence.linkage import LinkOptions, link
from zeroevidence.run import Run


@contextmanager
def process(*arguments):
    """A program of Dask, ended in the end."""
    command = [sys.executable, "-m", "dask", *map(str, arguments)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.terminate()
        running.wait(30)


@contextmanager
def cluster(folder, workers):
    """A scheduler and its workers as processes of their own; its address."""
    where = folder / f"scheduler-{workers}.json"
    with ExitStack() as stack:
        stack.enter_context(
            process("scheduler", "--host", "127.0.0.1", "--port", 0, "--scheduler-file", where, "--no-dashboard")
        )
        while not where.exists() or not where.read_text():
            time.sleep(0.1)
        for _ in range(workers):
            stack.enter_context(
                process("worker", "--scheduler-file", where, "--nthreads", 1, "--no-dashboard", "--no-nanny")
            )
        yield json.loads(where.read_text())["address"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=16_000)
    parser.add_argument("--identities", type=int, default=40_000)
    parser.add_argument("--dim", type=int, default=192)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    y = rng.standard_normal((options.identities, options.dim), dtype=np.float32)
    mated = rng.integers(0, len(y), options.trials)
    x = y[mated] + rng.standard_normal((options.trials, options.dim), dtype=np.float32)
    times, answers = {}, {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for side, vectors in (("x", x), ("y", y)):
            np.save(folder / f"{side}.npy", vectors)
        files = folder / "x.npy", folder / "y.npy"
        for workers in (1, 2):
            with cluster(folder, workers) as address, Client(address) as client:
                client.wait_for_workers(workers)

                def call(block=1000, client=client):
                    settings = LinkOptions("dot", weight=3.0, engine="dask", block=block)
                    return link(*files, mated, settings, run=Run(scheduler=client))

                answers[workers] = call(block=options.trials // 2)
                times[workers] = best(call, options.repeats)
    same = np.array_equal(answers[1].lid, answers[2].lid)
    print(
        f"T = {options.trials}, N = {options.identities}, d = {options.dim}: one worker {times[1]:.2f} s, two "
        f"{times[2]:.2f} s, {times[1] / times[2]:.2f} times as fast; answers {'identical' if same else 'DIFFERENT'}"
    )


if __name__ == "__main__":
    main()
