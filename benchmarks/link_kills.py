"""Kill the command `link` at random moments, start it again, and compare with a run that was left alone.

    python benchmarks/link_kills.py [--kills 20] [--size 6000]

Prints how many kills struck while blocks were being written, and whether the final files are the same bytes.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl


def start(*arguments):
    command = [sys.executable, "-m", "zeroevidence", "link", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--size", type=int, default=6000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    people = np.array([f"p{i}" for i in range(options.size)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        voices = rng.standard_normal((options.size, 64)).astype(np.float32)
        trial = (voices + rng.standard_normal(voices.shape)).astype(np.float32)
        np.savez(folder / "e.npz", vectors=voices, utterance=people, speaker=people)
        np.savez(folder / "t.npz", vectors=trial, utterance=people, speaker=people)
        arguments = ["--enrol", folder / "e.npz", "--trial", folder / "t.npz", "--weight", 3, "--block", 40]
        begun = time.perf_counter()
        assert start(*arguments, "-o", folder / "whole").wait() == 0
        took = time.perf_counter() - begun
        chance = random.Random(options.seed)
        early, among, late, rounds = 0, 0, 0, 0
        blocks = folder / "killed" / "blocks"
        while early + among < options.kills:
            rounds += 1
            process = start(*arguments, "-o", folder / "killed")
            time.sleep(chance.uniform(0.0, 1.2) * took)
            done = process.poll() is not None
            had = len(list(blocks.glob("*/[!.]*")))
            process.send_signal(signal.SIGKILL)
            process.wait()
            if done:
                late += 1
                for path in sorted((folder / "killed").glob("*.*")):  # all done: begin again
                    path.unlink()
            elif had:
                among += 1
            else:
                early += 1
        assert start(*arguments, "-o", folder / "killed").wait() == 0
        same = (folder / "whole" / "result.json").read_bytes() == (folder / "killed" / "result.json").read_bytes()
        tables = [pl.read_parquet(folder / run / "trials.parquet") for run in ("whole", "killed")]
        print(
            f"{early + among} kills (run of {took:.1f} s): {early} before the first block, {among} among blocks, "
            f"{late} finished first; result {'identical' if same else 'DIFFERENT'}, "
            f"table {'identical' if tables[0].equals(tables[1]) else 'DIFFERENT'}"
        )


if __name__ == "__main__":
    main()
