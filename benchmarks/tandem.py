"""Time the tandem measures against ``np.sort`` of the same scores: ``python benchmarks/tandem.py [SCORES]``.

SCORES is the number of scores of each system, a million unless told; half of the CM's are bona fide, a third
of the verifier's each target, non-target and spoof. Prints the best of several runs, and its ratio to the
sort. The goals are 2 for a minimum t-DCF and 10 for the t-EER.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

from zeroevidence.measure.tandem.cost import adcf_min
from zeroevidence.measure.tandem.tdcf import asv_rates, tdcf_joint_min, tdcf_min
from zeroevidence.measure.tandem.teer import teer

REPEATS = 9


def main(size: int) -> None:
    rng = np.random.default_rng(0)
    tar, non, spf = (rng.normal(mean, 1.0, size // 3) for mean in (3.0, 0.0, 1.5))
    bona, fake = (rng.normal(mean, 1.0, size // 2) for mean in (2.5, 0.0))
    everything = np.concatenate([tar, non, spf, bona, fake])

    def constrained() -> object:
        return tdcf_min(bona, fake, asv_rates(tar, non, spf, convention="challenge"), "2021")

    tasks: dict[str, Callable[[], object]] = {
        "np.sort of all scores": lambda: np.sort(everything),
        "minimum t-DCF, ASV at its EER": constrained,
        "minimum t-DCF over both thresholds": lambda: tdcf_joint_min(tar, non, spf, bona, fake),
        "concurrent t-EER": lambda: teer(tar, non, spf, bona, fake),
        "minimum a-DCF (ASV scores only)": lambda: adcf_min(tar, non, spf),
    }
    best = dict.fromkeys(tasks, float("inf"))
    for _ in range(REPEATS):  # interleaved, so that a slow moment of the machine hits all alike
        for name, task in tasks.items():
            start = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - start)
    unit = best["np.sort of all scores"]
    print(f"{bona.size + fake.size} CM and {tar.size + non.size + spf.size} ASV scores, best of {REPEATS}")
    for name, seconds in best.items():
        print(f"{name:<36} {1000 * seconds:9.2f} ms {seconds / unit:7.2f} x sort")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1_000_000)
