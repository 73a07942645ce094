"""Reading 3 million scores and their key against bare `polars.read_csv` of the same two files, in the same run.

python benchmarks/reading.py [--lines 3000000]
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from timing import best_of_each

from zeroevidence.data.formats.scores.read import diagnose, read_scores


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", type=int, default=3_000_000)
    n_speakers = 300
    n_trials = parser.parse_args().lines // n_speakers
    rng = np.random.default_rng(0)
    speakers = np.repeat([f"spk{i:04d}" for i in range(n_speakers)], n_trials)
    owner = rng.integers(n_speakers, size=n_trials)
    trials = np.tile([f"spk{o:04d}-utterance-{i:06d}" for i, o in enumerate(owner)], n_speakers)
    label = np.where(np.repeat(np.arange(n_speakers), n_trials) == np.tile(owner, n_speakers), "target", "nontarget")
    frame = pl.DataFrame({"enrol": speakers, "trial": trials, "score": rng.normal(size=len(speakers)), "label": label})
    with tempfile.TemporaryDirectory() as folder:
        paths = {name: Path(folder) / name for name in ("scores", "shuffled", "trials", "broken")}
        frame.select("enrol", "trial", "score").write_csv(
            paths["scores"], separator=" ", include_header=False, float_precision=5
        )
        frame.select("enrol", "trial", "score").sample(fraction=1.0, shuffle=True, seed=0).write_csv(
            paths["shuffled"], separator=" ", include_header=False, float_precision=5
        )
        frame.select("enrol", "trial", "label").write_csv(paths["trials"], separator=" ", include_header=False)

        lines = paths["scores"].read_bytes().split(b"\n")
        lines[len(lines) // 2] = b"two words"
        paths["broken"].write_bytes(b"\n".join(lines))

        def bare():
            for name, kind in (("scores", pl.Float64), ("trials", pl.String)):
                schema = {"a": pl.String, "b": pl.String, "c": kind}
                pl.read_csv(paths[name], separator=" ", has_header=False, schema=schema, quote_char=None)

        times = best_of_each(
            {
                "bare": bare,
                "same order": lambda: read_scores(paths["scores"], paths["trials"]),
                "shuffled": lambda: read_scores(paths["shuffled"], paths["trials"]),
                "one bad line": lambda: diagnose(paths["broken"], paths["trials"]),
            },
            repeats=3,
        )
    floor = times["bare"]
    print(
        f"{frame.height} lines: polars.read_csv of scores and key {floor:.2f} s; read, checked and joined in "
        f"{times['same order'] / floor:.1f} (same order) and {times['shuffled'] / floor:.1f} (shuffled) times that; "
        f"one bad line located in {times['one bad line'] / floor:.1f} times that ({times['one bad line']:.1f} s)"
    )


if __name__ == "__main__":
    main()
