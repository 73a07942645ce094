"""What the intervals of the one-to-one measures cost against one `np.sort` of the scores, in the same run.

    python benchmarks/intervals.py [--workers 1]

10^4 target and 10^6 non-target scores of 101 speakers, who are left out one by one, and halved. Preparing the counts is
included, importing the measures is not. The shortest of three times counts, as it does for the floor; processor time is
given beside it, which other work on the machine lengthens less.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from timing import best, processor_time

from zeroevidence.calibrate.pav import rank
from zeroevidence.data.matrix import ScoreMatrix
from zeroevidence.measure.measures import measures_of
from zeroevidence.parallel import compute_each
from zeroevidence.run import Run
from zeroevidence.uncertainty.groups import batches
from zeroevidence.uncertainty.lists import PreparedScores
from zeroevidence.uncertainty.pairs import PairResampler


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
    measures_of("one-to-one")

    def intervals() -> tuple[int, int]:
        resampler = PairResampler(PreparedScores(scores, ranked))
        groups, run = batches(resampler.groups.number), Run(cores=arguments.workers)
        parts = compute_each(lambda batch: resampler.left_out(*batch), groups, run)
        return sum(len(part["eer"]) for part in parts), len(resampler.halves(16)["eer"])

    times, processor = [], []
    left_out, halves = intervals()
    for _ in range(3):
        start = time.perf_counter()
        processor.append(processor_time(intervals))
        times.append(time.perf_counter() - start)
    taken = min(times)
    floors.append(best(lambda: np.sort(both), 5))
    floor, floor_processor = min(floors), min(processor_time(lambda: np.sort(both)) for _ in range(5))
    print(
        f"{len(scores.target)} + {len(scores.nontarget)} scores, {left_out} left out, {halves} halves, "
        f"{arguments.workers} worker(s): {taken:.2f} s, {taken / floor:.0f} times one sort ({1e3 * floor:.1f} ms); "
        f"{min(processor):.2f} s of processor time, {min(processor) / floor_processor:.1f} times that of one sort"
    )


if __name__ == "__main__":
    main()
