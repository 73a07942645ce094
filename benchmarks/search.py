"""All measures of a search through a float32 matrix against one pass computing `exp` of it, in the same run.

    python benchmarks/search.py [--size 10000]

Measured are LID and its summaries, ranks, rank disclosure, top-1, link probability and singling out, with a logistic
calibration. Both take one thread, and times are those of the processor, best of five in turns: other work on the
machine changes them little. Memory is the peak, the matrix included, in multiples of the matrix.
"""

from __future__ import annotations

import argparse
import tracemalloc

import numpy as np
from timing import processor_time

from zeroevidence.calibrate.rows import AffineCalibration
from zeroevidence.measure.search.disclosure import row_evidence, search_view
from zeroevidence.measure.search.longitudinal import link_probability, singling_out
from zeroevidence.measure.search.rank import rank_disclosure


def measures(scores, mated, calibration):
    evidence = row_evidence(scores, mated, calibration)
    ranks = rank_disclosure(evidence.greater, evidence.equal, evidence.identities)
    half = len(scores) // 2
    return (
        search_view(evidence),
        ranks.mean,
        link_probability(evidence.greater, evidence.equal),
        singling_out(scores[half:], scores[:half]),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    size = parser.parse_args().size
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((size, size), dtype=np.float32)
    mated = np.arange(size)
    scores[mated, mated] += 2
    calibration = AffineCalibration("logistic", 2.0, 0.0, 0.0)
    ways = {"exp": lambda: np.exp(scores), "measures": lambda: measures(scores, mated, calibration)}
    turns = [{name: processor_time(way) for name, way in ways.items()} for _ in range(5)]
    times = {name: min(turn[name] for turn in turns) for name in ways}
    tracemalloc.start()
    measures(scores, mated, calibration)
    peak = tracemalloc.get_traced_memory()[1]
    print(
        f"{size} x {size} float32: exp {1e3 * times['exp']:.0f} ms, measures {times['measures'] / times['exp']:.2f} "
        f"times that, memory {1 + peak / scores.nbytes:.2f} times the matrix"
    )


if __name__ == "__main__":
    main()
