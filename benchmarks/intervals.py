"""What the intervals of the one-to-one measures cost against one `np.sort` of the scores, in the same run.

    python benchmarks/intervals.py [--workers 1]

10^4 target and 10^6 non-target scores of 101 speakers, who are left out one by one, and halved. Preparing the counts is
included.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from timing import best

from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.uncertainty.resampling.clusters import find_clusters
from zeroevidence.uncertainty.resampling.draws import run_batches
from zeroevidence.uncertainty.resampling.pairs import PairResampler


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    mated = np.repeat(np.arange(101), 100)[:10_000]
    values = rng.normal(size=(len(mated), 101))
    values[np.arange(len(mated)), mated] += 2
    names = np.array([f"s{i}" for i in range(101)])
    scores = ScoreMatrix(values, mated, trial_speakers=names[mated], enrolment_speakers=names).to_scores()
    both = np.concatenate((scores.target, scores.nontarget))
    ranked = rank(scores.target, scores.nontarget)
    floors = [best(lambda: np.sort(both), 5)]
    start = time.perf_counter()
    resampler = PairResampler(scores, ranked, clusters=find_clusters(scores))
    parts = run_batches(resampler.left_out, resampler.groups.number, workers=arguments.workers)
    left_out = sum(len(part["eer"]) for part in parts)
    halves = len(resampler.halves(16)["eer"])
    taken = time.perf_counter() - start
    floors.append(best(lambda: np.sort(both), 5))
    floor = min(floors)
    print(
        f"{len(scores.target)} + {len(scores.nontarget)} scores, {left_out} left out, {halves} halves, "
        f"{arguments.workers} worker(s): {taken:.2f} s, {taken / floor:.0f} times one sort ({1e3 * floor:.1f} ms)"
    )


if __name__ == "__main__":
    main()
