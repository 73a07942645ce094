"""Peak memory of `evaluate` on a large score file, beside the size of the arrays that it reads from it.

python benchmarks/big_file.py [--megabytes 2000] [--people 1000] [--full]

The file has a line for each comparison: enrolled person, trial, score, label. Its arrays are what `read_scores` gives:
scores, and for each the places of its enrolment and its trial among the names. `--full` adds intervals and null.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

ARRAYS = """
import dataclasses, json, resource, sys
import numpy as np
from zeroevidence.data.formats.scores.reading.read import read_scores
def size(one):
    if isinstance(one, np.ndarray):
        return one.nbytes
    return sum(size(getattr(one, f.name)) for f in dataclasses.fields(one)) if dataclasses.is_dataclass(one) else 0
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
held = size(read_scores(sys.argv[1]).data)
print(json.dumps({"arrays": held, "start": start, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10}))
"""

PEAK = """
import resource, subprocess, sys
found = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss << 10)
print(found.stdout.decode())
"""


def write_scores(path: Path, size: int, people: int) -> int:
    """Write a score file of about so many bytes; return its number of lines."""
    rng = np.random.default_rng(0)
    names = np.array([f"spk{i:05d}" for i in range(people)])
    lines = trial = 0
    with path.open("wb") as stream:
        while stream.tell() < size:
            owners = rng.integers(people, size=max(1, 1_000_000 // people))
            trials = np.array([f"{names[person]}-u{trial + i:08d}" for i, person in enumerate(owners)])
            mated = owners[:, None] == np.arange(people)
            scores = (rng.normal(size=mated.shape) + 3.0 * mated).ravel()
            labels = np.where(mated.ravel(), "target", "nontarget")
            columns = {"e": np.tile(names, len(owners)), "t": np.repeat(trials, people), "s": scores, "l": labels}
            pl.DataFrame(columns).write_csv(stream, separator=" ", include_header=False, float_precision=5)
            lines, trial = lines + len(scores), trial + len(owners)
    return lines


def measured(command: Sequence[str]) -> tuple[str, int, float]:
    """Standard output, peak memory in bytes and seconds of a program."""
    start = time.monotonic()
    finished = subprocess.run([sys.executable, "-c", PEAK, *command], stdout=subprocess.PIPE, check=True, text=True)
    peak, _, out = finished.stdout.partition("\n")
    return out, int(peak), time.monotonic() - start


def reading(path: Path) -> dict[str, int]:
    """Bytes that the arrays of a file take, and that a process takes before and while it reads them."""
    sizes: dict[str, int] = json.loads(measured([sys.executable, "-c", ARRAYS, str(path)])[0])
    return sizes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, default=2000)
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--full", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.txt"
        lines, size = write_scores(path, arguments.megabytes * 1_000_000, arguments.people), path.stat().st_size
        held = reading(path)
        quick = () if arguments.full else ("--intervals", "0", "--null", "0")
        command = [sys.executable, "-m", "zeroevidence", "evaluate", str(path), *quick, "-f", "json"]
        out, peak, seconds = measured(command)
    counts = json.loads(out)["rows"][0]["counts"]
    assert counts["target"] + counts["nontarget"] == lines
    arrays, mega = held["arrays"], 1e-6
    print(
        f"{size * mega:.0f} MB, {lines} lines; arrays {arrays * mega:.0f} MB; memory at most {held['peak'] * mega:.0f} "
        f"MB to read and {peak * mega:.0f} MB to evaluate, {peak / arrays:.1f} times the arrays, of which "
        f"{held['start'] * mega:.0f} MB are there before anything is read; {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
