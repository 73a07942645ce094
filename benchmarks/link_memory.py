"""Memory that `zeroevidence link` announces and the memory that it takes, as a Markdown table.

python benchmarks/link_memory.py [--sizes 10000 50000] [--dim 64] [--engine numpy] [--addresses MB]

The command runs in a process of its own; what it takes is the largest that the process had (`ru_maxrss`). `--addresses`
limits the addresses that the process may have, as `ulimit -v` does.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
# A process that starts another from a large one inherits its peak, so a small one stands between.
PEAK = """
import json, resource, subprocess, sys
limit = int(sys.argv.pop(1)) * 10**6 or resource.RLIM_INFINITY
resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
found = subprocess.run([sys.executable, "-m", "zeroevidence", *sys.argv[1:]], stderr=subprocess.PIPE, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = used.ru_utime + used.ru_stime
print(json.dumps({"code": found.returncode, "peak": used.ru_maxrss << 10, "said": found.stderr, "seconds": seconds}))
"""


def write_vectors(home: Path, size: int, dim: int) -> None:
    rng = np.random.default_rng(0)
    people = np.array([f"p{i:07d}" for i in range(size)])
    enrolled = rng.normal(size=(size, dim)).astype(np.float32)
    trials = enrolled + rng.normal(size=(size, dim)).astype(np.float32)
    np.savez(home / "enrol.npz", vectors=enrolled, utterance=people, speaker=people)
    np.savez(home / "trial.npz", vectors=trials, utterance=np.char.add("u", people), speaker=people)


def run(home: Path, arguments: list[str], megabytes: int = 0) -> dict[str, object]:
    """Run `zeroevidence` with so many addresses, 0 for any number: exit code, peak of memory, messages, seconds."""
    command = [sys.executable, "-c", PEAK, str(megabytes), *arguments]
    found: dict[str, object] = json.loads(subprocess.check_output(command, cwd=home, text=True))
    return found


def announced(said: str) -> float:
    size = re.search(r"about ([0-9.e+]+) (kB|MB|GB|TB) of memory", said)
    if size is None:
        raise RuntimeError(f"nothing was announced: {said}")
    return float(size[1]) * UNITS[size[2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 50_000])
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--engine", default="numpy")
    parser.add_argument("--addresses", type=int, default=0, metavar="MB")
    options = parser.parse_args()
    print("| T = N | d | announced | taken | taken / announced | processor time |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            write_vectors(home, size, options.dim)
            names = ["link", "--enrol", "enrol.npz", "--trial", "trial.npz", "--weight", "3"]
            ended = run(home, [*names, "--engine", options.engine, "-o", "out"], options.addresses)
            if ended["code"] != 0:
                raise SystemExit(str(ended["said"]))
        said, taken = announced(str(ended["said"])), float(str(ended["peak"]))
        sizes = f"{said / 1e6:.0f} MB | {taken / 1e6:.0f} MB | {taken / said:.2f}"
        print(f"| {size} | {options.dim} | {sizes} | {float(str(ended['seconds'])):.0f} s |", flush=True)


if __name__ == "__main__":
    main()
